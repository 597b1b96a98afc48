"""Map error responses of the notebook service to exceptions by their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from labext.errors import (
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http import ErrorResponse
from labext.nb.records import SLOTS

_NEXT_STEP_START = re.compile(
    r"(?<=[.!?…] )(?=(?:Add|Ask|Change|Check|Choose|Copy|Delete|Give|Install|Look|Mend|Name|Order"
    r"|Please|Put|Remove|Run|Save|See|Set|Shorten|Start|Take|Try|Use|Wait)\b)"
)
"""Start of the next step in a service's message."""

_LIST_NOUNS = (
    ("chats? about a source|chat message about a source", "source-chats"),
    ("insight", "insights"),
    ("command", "commands"),
    ("session", "sessions"),
    ("chat", "sessions"),
    ("note", "notes"),
    ("source", "sources"),
    ("notebook", "notebooks"),
    ("transformation", "transformations"),
    ("profile", "profiles"),
    ("credential", "credentials"),
    ("model", "models"),
    ("episode", "episodes"),
    ("podcast", "episodes"),
)
"""Patterns of nouns in an operation's name, with the noun of `%nb` that lists the records."""


class _Cause(NamedTuple):
    """A known cause of an error.

    Attributes:
        doing: a pattern for the operation's name.
        words: a pattern for the service's message, narrow enough not to match a user's names.
        step: the next step; `{slot}` is the default slot that the message names.
    """

    doing: str
    words: str
    step: str


_GENERATE, _RUN = "generate an episode", "run a transformation"
_NO_MODEL = r"^(?:there is |the profile has )?no (?:[\w-]+ ){0,2}model\b"
_CAUSES = (
    _Cause(
        "delete a (model|credential)",
        r"\bdefault\b|\bslot\b",
        "`%nb models defaults` shows its slots: give them another model, `--set SLOT=NAME`.",
    ),
    _Cause(
        "",
        r"\bkey\b.*\bdecrypt|\bdecrypt.*\bkey\b|\bencryption key (?:has|may have) changed",
        "Give the key again: `%nb credentials edit NAME --new-key`.",
    ),
    _Cause(
        "credential|model|transformation",
        r"can.t be reached|unreachable|connection refused",
        "See that it runs, and at which address: `%nb credentials edit NAME --base-url URL`.",
    ),
    _Cause(
        _GENERATE,
        r"\bspeakers are too many|\btoo many speakers|\bmore speakers than",
        "Name fewer speakers: `%nb podcast … --speakers host,guest`.",
    ),
    _Cause(
        _GENERATE,
        r"^the notebook\b.* (?:is empty|has nothing|has no)\b|^(?:there is )?no content\b",
        "Add something to the notebook: `%nb add FILE`, then run it again.",
    ),
    _Cause(
        _GENERATE,
        _NO_MODEL,
        "Set one: `%nb models defaults --set {slot}=NAME`, or `%nb profiles edit`.",
    ),
    _Cause(
        _RUN,
        _NO_MODEL,
        "Name one: `%nb transform … --model NAME`, or `%nb models defaults --set {slot}=NAME`.",
    ),
)
_OPERATION_SLOTS = {_GENERATE: "podcast", _RUN: "transformation"}
"""The default slot that an operation needs, used if the message names none."""


def split_message(words: str, step: str) -> tuple[str, str]:
    """Split a message into the error and the next step; `step` is the fallback for the latter."""
    what, *own = _NEXT_STEP_START.split(words.strip(), maxsplit=1)
    return what.strip(), own[0] if own else step


def explain_message(words: str, doing: str, step: str) -> tuple[str, str]:
    """Return the error and the next step for a service's message.

    Args:
        words: the message.
        doing: the name of the operation that failed: `delete a model`.
        step: the fallback for the next step.
    """
    what, own = split_message(words, "")
    if "`%nb " in own or "pip install" in own:
        return what, own
    return what, _known_fix(what, doing) or own or step


def list_hint(doing: str) -> str | None:
    """Return the line that lists the records an operation works on."""
    for noun, plural in _LIST_NOUNS:
        if re.search(rf"\b(?:{noun})\b", doing):
            return f"See `%nb {plural}`."
    return None


def _known_fix(what: str, doing: str) -> str | None:
    for cause in _CAUSES:
        if re.search(cause.doing, doing) and re.search(rf"(?i){cause.words}", what):
            return cause.step.format(slot=_named_slot(what, doing))
    return None


def _named_slot(what: str, doing: str) -> str:
    """Return the default slot that a message or an operation refers to."""
    words = re.sub(r"[-\s]", "_", what.casefold())
    named = (slot for slot in SLOTS if re.search(rf"(?<![a-z]){slot}(?![a-z])", words))
    return next(named, _OPERATION_SLOTS.get(doing, "SLOT"))


class _MessagePattern(NamedTuple):
    """A pattern for a message, with the text and the next step that replace it."""

    words: str
    plain: str
    step: str | None = None


_SET_DEFAULT = "Set one: `%nb models defaults --set {slot}=NAME`."
_MESSAGE_PATTERNS = (
    _MessagePattern(r"Object with id (?P<id>\S+) not found - .*", "There is no {id}."),
    _MessagePattern(
        r"Model with ID (?P<id>\S+) not found\.?", "There is no model {id}.", "See `%nb models`."
    ),
    _MessagePattern(
        r"No model configured for .*type=(?P<slot>\w+)\. Please go to .*",
        "No model is set for {slot}.",
        _SET_DEFAULT,
    ),
    _MessagePattern(
        r"(?P<what>\w[\w ]* requires an embedding model\.) Please configure .*",
        "{what}",
        _SET_DEFAULT.format(slot="embedding"),
    ),
    _MessagePattern(
        r"Model is not a LanguageModel: .*",
        "The model is none that writes text.",
        "Name another one: `%nb models --type llm`.",
    ),
    _MessagePattern(
        r"default_(?P<slot>\w+)_model is required and cannot be cleared.*",
        "The slot {slot} can't be cleared, only given another model.",
        "Give it another: `%nb models defaults --set {slot}=NAME`.",
    ),
    _MessagePattern(
        r"(?P<what>Authentication failed\.) Please check your API key in .*",
        "{what}",
        "Give it another: `%nb credentials edit NAME --new-key`.",
    ),
    _MessagePattern(
        r"(?:AI service error: )*(?P<what>The AI provider is temporarily unavailable\.) Please .*",
        "{what}",
        "Try again in a few minutes, or look at the model: `%nb models test NAME`.",
    ),
    _MessagePattern(
        r"(?P<what>Rate limit exceeded\.) Please .*",
        "{what}",
        "Wait a little and try again, or use another model: `%nb models`.",
    ),
    _MessagePattern(
        r"(?:AI service error: )*(?P<what>Invalid json output): .*",
        "The model did not answer as it was asked to ({what}).",
        "Use another model: `%nb models --type llm`.",
    ),
    _MessagePattern(
        r"Encryption key not configured\. Set (?P<name>\w+) .*",
        "It has no key to encrypt what it stores.",
        "Whoever runs it sets {name} and starts it again; then see `%nb credentials status`.",
    ),
    _MessagePattern(
        r".*invalid string provided for parse\..*",
        "It knows no identifier of that form.",
        "Give the title, or an identifier such as `notebook:abc123`: `%nb notebooks`.",
    ),
    _MessagePattern(
        r"(?P<what>Failed to submit podcast generation job)\.?",
        "{what}.",
        "See that its profiles are there: `%nb profiles`.",
    ),
    _MessagePattern(
        r"(?P<what>No answer generated)\.?",
        "{what}.",
        "Ask in other words, or by another model: `%nb models --type llm`.",
    ),
    _MessagePattern(
        r"(?P<what>Error creating source)\.?",
        "It could not read the source.",
        "See whether the file opens elsewhere, then `%nb add` it again.",
    ),
)


def rewrite_reason(words: object) -> str | None:
    """Return a rewritten failure reason with the next step; None without a reason."""
    if not isinstance(words, str) or not words.strip():
        return None
    return " ".join(filter(None, rewrite_message(words)))


def rewrite_message(words: str) -> tuple[str, str | None]:
    """Return a server's message in plain words with a next step; unknown ones unchanged."""
    for pattern in _MESSAGE_PATTERNS:
        match = re.fullmatch(pattern.words, words.strip(), re.DOTALL)
        if match:
            groups = match.groupdict()
            step = pattern.step
            return pattern.plain.format(**groups), step.format(**groups) if step else None
    return words, None


FINAL_STATUSES = frozenset({502})
"""Statuses that report the failure of an upstream service, such as a model provider.

The outcome is known, and an immediate retry is pointless.
"""

_PROVIDER_KEY = re.compile(r"(?i)\b(?:api key|credential|provider)")
"""Matches the message of a 401 that comes from a model provider."""

_CONFIGURATION_WORDS = re.compile(
    r"(?i)\b(?:model|provider|credential|configur|embedding|api key|install|encrypt)"
)

_MISSING_MODEL = re.compile(r"(?i)^(?:there is )?no model\b|\bmodel\b.*\bnot found\b")
"""Matches the message of a 404 about a missing model."""


_FORM_FIELD = re.compile(r"(?:body|query|path)\.")
"""Matches a validation error of a request field, which is no configuration error."""

_MISSING_OBJECT = re.compile(r"(?:There is no |Object with id )?([A-Za-z_ ]+)(?=.*not found\b|:)")
"""Matches the missing record in a message."""


def make_error_mapper(*, has_password: bool) -> Callable[[ErrorResponse], LabextError | None]:
    """Return the function that maps error responses to exceptions."""

    def explain(failure: ErrorResponse) -> LabextError | None:
        refusal = f"The notebook service refused to {failure.op.name}"
        match failure.status:
            case 401 if not failure.has_challenge and _PROVIDER_KEY.search(failure.server_message):
                # A 401 from the service itself would have a WWW-Authenticate challenge.
                return SetupError(
                    *_message_and_step(
                        failure,
                        "A model's provider does not accept its key",
                        "Give it another: `%nb credentials edit NAME --new-key`.",
                    )
                )
            case 401:
                return _sign_in_error(failure, has_password=has_password)
            case 400:
                return InputError(*_message_and_step(failure, refusal, _change_hint(failure)))
            case 404:
                return NotFoundError(
                    *_message_and_step(failure, "Not found", _lookup_hint(failure))
                )
            case 409:
                return ConflictError(*_message_and_step(failure, refusal, "Choose another name."))
            case 413:
                return InputError(
                    _compose_message(failure, "It is larger than the notebook service takes"),
                    "`%nb add` a smaller file, or ask whoever runs the service for a larger limit.",
                )
            case 415:
                return InputError(
                    _compose_message(failure, "The notebook service can't read that kind of file"),
                    "Convert it to PDF, DOCX, Markdown or plain text and `%nb add` that, or paste "
                    "its text below `%%nb source --title TITLE`.",
                )
            case 422:
                return _validation_error(failure, refusal)
            case 429:
                return BusyError(
                    *_message_and_step(
                        failure,
                        "The notebook service, or a model that it uses, is asked too often",
                        "Wait a little and try again; `%nb status` shows whether it answers.",
                    )
                )
            case 502 if failure.from_service:
                return ServiceError(
                    *_message_and_step(
                        failure,
                        "Something that the notebook service needs has failed",
                        "Look at the model or page that it names, then try again.",
                    )
                )
            case 500 if failure.from_service:
                return ServiceError(
                    *_message_and_step(
                        failure,
                        f"The notebook service failed to {failure.op.name}",
                        "Look at it, `%nb status`, then try again.",
                    )
                )
            case _:
                return None

    return explain


def _sign_in_error(failure: ErrorResponse, *, has_password: bool) -> SignInError:
    what = "does not accept the password" if has_password else "asks for a password"
    # In parentheses, since masking treats text after "password:" as a secret.
    words = (
        f" (“{failure.server_message.strip().rstrip('.')}”)"
        if failure.server_message.strip()
        else ""
    )
    step = "Check it" if has_password else "Give it"
    return SignInError(
        f"The notebook service {what}{words}.", f"{step}: `%nb login`, or LABEXT_NB_PASSWORD."
    )


def _validation_error(failure: ErrorResponse, refusal: str) -> LabextError:
    if _FORM_FIELD.match(failure.server_message) or not _CONFIGURATION_WORDS.search(
        failure.server_message
    ):
        return InputError(*_message_and_step(failure, refusal, _change_hint(failure)))
    return SetupError(
        *_message_and_step(
            failure,
            refusal,
            "Set a model for it, or ask whoever runs the service: `labext sandbox nb models`.",
        )
    )


def _change_hint(failure: ErrorResponse) -> str:
    """Return the next step after rejected input: the list of the records, or the help."""
    hint = list_hint(failure.op.name)
    return f"Change what it objects to. {hint or 'See `%nb --help`.'}"


def _lookup_hint(failure: ErrorResponse) -> str:
    """Return the line that lists the kind of the missing record."""
    match = _MISSING_OBJECT.match(failure.server_message)
    named = list_hint(match[1].casefold()) if match else None
    return named or list_hint(failure.op.name) or "Check the names, and the address: `%nb status`."


def _message_and_step(failure: ErrorResponse, otherwise: str, step: str) -> tuple[str, str]:
    """Return the error message and the next step for an error response."""
    words, next_step = rewrite_message(failure.server_message)
    if next_step is None:
        words, next_step = explain_message(words, failure.op.name, step)
    return _compose_message(replace(failure, server_message=words), otherwise), next_step


def _compose_message(failure: ErrorResponse, otherwise: str) -> str:
    """Return the error message with the service's own text, if any."""
    words = failure.server_message.strip()
    if not words:
        return f"{otherwise} (status {failure.status}, without a word)."
    return f"{otherwise}: {words if words[-1] in '.!?…' else f'{words}.'}"
