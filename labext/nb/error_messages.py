"""Map error responses of the notebook service to exceptions by their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from labext.actions import Action
from labext.errors import (
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
    render_next_step,
)
from labext.http import ErrorResponse
from labext.http.responses import quote_message
from labext.nb.records import SLOTS

_NEXT_STEP_START = re.compile(
    r"(?<=[.!?…] )(?=(?:Add|Ask|Change|Check|Choose|Clear|Copy|Correct|Create|Delete|Fix|Give"
    r"|Install|Look|Mend|Name|Order|Please|Put|Remove|Rephrase|Run|Save|See|Set|Shorten|Start|Take"
    r"|Try|Use|Wait(?:ing)?)\b)(?![^“”]*”)"
)
"""Start of the next step in a service's message, outside of quotations."""

_LIST_ACTIONS = (
    ("chats? about a source|chat message about a source", Action.list_source_chats()),
    ("insight", Action.list_insights()),
    ("podcast", Action.list_episodes()),
    ("command", Action.list_commands()),
    ("session", Action.list_chats()),
    ("chat", Action.list_chats()),
    ("note", Action.list_notes()),
    ("source", Action.list_sources()),
    ("notebook", Action.list_notebooks()),
    ("transformation", Action.list_transformations()),
    ("profile", Action.list_profiles()),
    ("credential", Action.list_credentials()),
    ("model", Action.list_models()),
    ("episode", Action.list_episodes()),
)
"""Patterns of nouns in an operation's name, with the action that lists the records."""


class Explanation(NamedTuple):
    """An error in plain words.

    Attributes:
        message: what happened.
        next_step: what the user can do; `{action}` in it stands for `action`.
        action: the same as data. Alone it is enough.
    """

    message: str
    next_step: str | None
    action: Action | None = None


class _Cause(NamedTuple):
    """A known cause of an error.

    Attributes:
        doing: a pattern for the operation's name.
        words: a pattern for the service's message, narrow enough not to match a user's names.
        step: the next step; `{action}` in it stands for `action`.
        action: the same as data; a default slot that the message names is filled in.
    """

    doing: str
    words: str
    step: str
    action: Action


_GENERATE, _RUN = "generate an episode", "run a transformation"
_NO_MODEL = r"^(?:there is |the profile has )?no (?:[\w-]+ ){0,2}model\b"
_CAUSES = (
    _Cause(
        "delete a (model|credential)",
        r"\bdefault\b|\bslot\b",
        "Give its slots another model: {action}.",
        Action.set_model(),
    ),
    _Cause(
        "",
        r"\bkey\b.*\bdecrypt|\bdecrypt.*\bkey\b|\bencryption key (?:has|may have) changed",
        "Set the key again: {action}.",
        Action.set_key(),
    ),
    _Cause(
        "credential|model|transformation",
        r"can.t be reached|unreachable|connection refused",
        "Check that it is running and that the address is right: {action}.",
        Action.set_address(),
    ),
    _Cause(
        _GENERATE,
        r"\bspeakers are too many|\btoo many speakers|\bmore speakers than",
        "Name fewer speakers: {action}.",
        Action.generate_episode(speakers="host,guest"),
    ),
    _Cause(
        _GENERATE,
        r"^the notebook\b.* (?:is empty|has nothing|has no)\b|^(?:there is )?no content\b",
        "Add something to the notebook: {action}, then run it again.",
        Action.add_source(),
    ),
    _Cause(
        _GENERATE, _NO_MODEL, "Set one: {action}, or set one in the profile.", Action.set_model()
    ),
    _Cause(_RUN, _NO_MODEL, "Choose one for this run, or set one: {action}.", Action.set_model()),
)
_OPERATION_SLOTS = {_GENERATE: "podcast", _RUN: "transformation"}
"""The default slot that an operation needs, used if the message names none."""


def split_message(words: str, step: str) -> tuple[str, str]:
    """Split a message into the error and the next step; `step` is the fallback for the latter."""
    message, *own = _NEXT_STEP_START.split(words.strip(), maxsplit=1)
    return message.strip(), own[0] if own else step


def explain_message(
    words: str,
    doing: str,
    step: str | None,
    action: Action | None = None,
    server_action: Action | None = None,
) -> Explanation:
    """Return the error and the next step for a message (`words`) on the operation `doing`.

    `step` and `action` are the next step if the message implies none; `server_action` was
    downloaded with the message.
    """
    message, own = split_message(words, "")
    if server_action is not None:
        return Explanation(message, server_action.sentence(own), server_action)
    if "`" in own or "pip install" in own:
        return Explanation(message, own)
    for cause in _CAUSES:
        if re.search(cause.doing, doing) and re.search(rf"(?i){cause.words}", message):
            return Explanation(message, cause.step, _with_slot(cause.action, message, doing))
    return Explanation(message, own) if own else Explanation(message, step, action)


def explain_response(
    words: str,
    doing: str,
    step: str | None,
    action: Action | None = None,
    server_action: Action | None = None,
) -> Explanation:
    """Return a message in plain words, like `rewrite_message`, or else as `explain_message`."""
    explanation = rewrite_message(words)
    if explanation.next_step is not None or explanation.action is not None:
        return explanation
    return explain_message(explanation.message, doing, step, action, server_action)


def list_action(doing: str) -> Action | None:
    """Return the action that lists the records an operation works on."""
    matches = (a for noun, a in _LIST_ACTIONS if re.search(rf"\b(?:{noun})\b", doing))
    return next(matches, None)


def _with_slot(action: Action, message: str, doing: str) -> Action:
    """Fill in the default slot that a message or an operation refers to."""
    words = re.sub(r"[-\s]", "_", message.casefold())
    named = (slot for slot in SLOTS if re.search(rf"(?<![a-z]){slot}(?![a-z])", words))
    slot = next(named, _OPERATION_SLOTS.get(doing))
    return action if slot is None else action.with_arguments(slot=slot)


class _MessagePattern(NamedTuple):
    """A pattern for a message, with the text, the next step and the action that replace it."""

    words: str
    plain: str
    step: str | None = None
    action: Action | None = None


_MESSAGE_PATTERNS = (
    _MessagePattern(r"Object with id (?P<id>\S+) not found - .*", "There is no {id}."),
    _MessagePattern(
        r"Model with ID (?P<id>\S+) not found\.?",
        "There is no model {id}.",
        action=Action.list_models(),
    ),
    _MessagePattern(
        r"No model configured for .*type=(?P<slot>\w+)\. Please go to .*",
        "No model is set for {slot}.",
        "Set one: {action}.",
        Action.set_model(),
    ),
    _MessagePattern(
        r"(?P<what>\w[\w ]* requires an embedding model\.) Please configure .*",
        "{what}",
        "Set one: {action}.",
        Action.set_model("embedding"),
    ),
    _MessagePattern(
        r"Model is not a LanguageModel: .*",
        "The model is not a language model.",
        "Choose a language model: {action}.",
        Action.list_models("llm"),
    ),
    _MessagePattern(
        r"default_(?P<slot>\w+)_model is required and cannot be cleared.*",
        "The slot {slot} can't be cleared, only set to another model.",
        "Set another: {action}.",
        Action.set_model(),
    ),
    _MessagePattern(
        r"(?P<what>Authentication failed\.) Please check your API key in .*",
        "{what}",
        "Set another: {action}.",
        Action.set_key(),
    ),
    _MessagePattern(
        r"(?:AI service error: )*(?P<what>The AI provider is temporarily unavailable\.) Please .*",
        "{what}",
        "Try again in a few minutes, or test the model: {action}.",
        Action.test_model(),
    ),
    _MessagePattern(
        r"(?P<what>Rate limit exceeded\.) Please .*",
        "{what}",
        "Wait a moment and try again, or use another model: {action}.",
        Action.list_models(),
    ),
    _MessagePattern(
        r"(?:AI service error: )*(?P<what>Invalid json output): .*",
        "The model did not respond in the required format ({what}).",
        "Use another model: {action}.",
        Action.list_models("llm"),
    ),
    _MessagePattern(
        r"Encryption key not configured\. Set (?P<name>\w+) .*",
        "The service has no key to encrypt credentials.",
        "Its administrator sets {name} and restarts it; then see {action}.",
        Action.list_credential_status(),
    ),
    _MessagePattern(
        r".*invalid string provided for parse\..*",
        "The identifier is invalid.",
        "Give the title, or an identifier such as `notebook:abc123`: {action}.",
        Action.list_notebooks(),
    ),
    _MessagePattern(
        r"(?P<what>Failed to submit podcast generation job)\.?",
        "{what}.",
        "Check that its profiles exist: {action}.",
        Action.list_profiles(),
    ),
    _MessagePattern(
        r"(?P<what>No answer generated)\.?",
        "{what}.",
        "Rephrase the question, or use another model: {action}.",
        Action.list_models("llm"),
    ),
    _MessagePattern(
        r"(?P<what>Error creating source)\.?",
        "The service could not read the source.",
        "Check that the file opens elsewhere, then add it again: {action}.",
        Action.add_source(),
    ),
    _MessagePattern(
        r"Source asset has no file_path or url",
        "The source has neither a file nor an address to be read again.",
        "If it is a text that failed, delete it and add it again: {action}.",
        Action.add_text(),
    ),
    _MessagePattern(
        r"Episode is not in a failed state .*",
        "The episode has not failed.",
        action=Action.list_episodes(),
    ),
)


def rewrite_reason(words: object) -> str | None:
    """Return a rewritten failure reason with the next step; None without a reason."""
    if not isinstance(words, str) or not words.strip():
        return None
    message, step, action = rewrite_message(words)
    return f"{message} {render_next_step(step, action)}".rstrip()


def rewrite_message(words: str) -> Explanation:
    """Return a server's message in plain words with a next step; unknown ones unchanged."""
    for pattern in _MESSAGE_PATTERNS:
        match = re.fullmatch(pattern.words, words.strip(), re.DOTALL)
        if match:
            groups = match.groupdict()
            step = pattern.step and pattern.step.format(action="{action}", **groups)
            action = pattern.action and pattern.action.with_arguments(**groups)
            return Explanation(pattern.plain.format(**groups), step, action)
    return Explanation(words, None)


FINAL_STATUSES = frozenset({502})
"""Statuses that report the failure of an upstream service, such as a model provider.

The outcome is known, and an immediate retry is pointless.
"""

_PROVIDER_KEY = re.compile(r"(?i)\b(?:api key|credential|provider)")
"""Matches the message of a 401 that comes from a model provider."""

_CONFIGURATION_WORDS = re.compile(
    r"(?i)\b(?:model|provider|credential|configur|embedding|api key|install|encrypt)"
)

_MISSING_SETUP = re.compile(r"requires an embedding model|^Encryption key not configured")
"""Matches the message of a 400 of Open Notebook about its configuration."""

_FORM_FIELD = re.compile(r"(?:body|query|path)\.")
"""Matches a validation error of a request field, which is no configuration error."""

_MISSING_OBJECT = re.compile(r"(?:There is no |Object with id )?([A-Za-z_ ]+)(?=.*not found\b|:)")
"""Matches the missing record in a message."""


def make_error_mapper(*, has_password: bool) -> Callable[[ErrorResponse], LabextError | None]:
    """Return the function that maps error responses to exceptions."""

    def map_error(failure: ErrorResponse) -> LabextError | None:
        refusal = f"The notebook service refused to {failure.op.name}"
        match failure.status:
            case 401 if not failure.has_challenge and _PROVIDER_KEY.search(failure.server_message):
                # A 401 from the service itself would have a WWW-Authenticate challenge.
                return _build_error(
                    SetupError,
                    failure,
                    "A model provider rejected the key",
                    "Set another: {action}.",
                    Action.set_key(),
                )
            case 401:
                return _sign_in_error(failure, has_password=has_password)
            case 400:
                missing = _MISSING_SETUP.search(failure.server_message)
                kind = SetupError if missing else InputError
                return _build_error(kind, failure, refusal, *_change_hint(failure))
            case 404:
                return _build_error(NotFoundError, failure, "Not found", *_lookup_hint(failure))
            case 409:
                return _build_error(ConflictError, failure, refusal, "Choose another name.")
            case 413:
                return _build_error(
                    InputError,
                    failure,
                    "The request is too large for the notebook service",
                    "Add a smaller file or a shorter text, or ask the administrator of the service "
                    "for a larger limit.",
                )
            case 415:
                summary = "The notebook service does not support this file type"
                return InputError(
                    _compose_message(failure, summary),
                    "Convert it to PDF, DOCX, Markdown or plain text, or add its text: {action}.",
                    action=Action.add_text(),
                )
            case 422:
                return _validation_error(failure, refusal)
            case 429:
                return _build_error(
                    BusyError,
                    failure,
                    "The rate limit of the notebook service or of a model was exceeded",
                    "Wait a moment and try again; {action} shows whether it responds.",
                    Action.show_service(),
                )
            case 502 if failure.from_service:
                return _build_error(
                    ServiceError,
                    failure,
                    "A server that the notebook service depends on failed",
                    "Check the model or page that the message names, then try again.",
                )
            case 500 if failure.from_service:
                return _build_error(
                    ServiceError,
                    failure,
                    f"The notebook service failed to {failure.op.name}",
                    "Check it, {action}, then try again.",
                    Action.show_service(),
                )
            case _:
                return None

    return map_error


def _sign_in_error(failure: ErrorResponse, *, has_password: bool) -> SignInError:
    reason = "does not accept the password" if has_password else "requires a password"
    # In parentheses, since masking treats text after "password:" as a secret.
    words = quote_message(failure.server_message)
    step = "Check it" if has_password else "Give it"
    return SignInError(
        f"The notebook service {reason}{words}.",
        f"{step}: {{action}}, or LABEXT_NB_PASSWORD.",
        action=Action.sign_in("nb", "password"),
    )


def _validation_error(failure: ErrorResponse, refusal: str) -> LabextError:
    if _FORM_FIELD.match(failure.server_message) or not _CONFIGURATION_WORDS.search(
        failure.server_message
    ):
        return _build_error(InputError, failure, refusal, *_change_hint(failure))
    return _build_error(
        SetupError, failure, refusal, "Set a model for it, or ask the administrator of the service."
    )


def _change_hint(failure: ErrorResponse) -> tuple[str, Action | None]:
    """Return the next step after rejected input, with the action that lists the records."""
    action = list_action(failure.op.name)
    return f"Correct the input.{' See {action}.' if action else ''}", action


def _lookup_hint(failure: ErrorResponse) -> tuple[str | None, Action]:
    """Return the next step and the action that lists the kind of the missing record."""
    match = _MISSING_OBJECT.match(failure.server_message)
    action = (list_action(match[1].casefold()) if match else None) or list_action(failure.op.name)
    if action is None:
        return "Check the names, and the address: {action}.", Action.show_service()
    return None, action


def _build_error(
    kind: type[LabextError],
    failure: ErrorResponse,
    otherwise: str,
    step: str | None,
    action: Action | None = None,
) -> LabextError:
    """Return the error for an error response; `step` and `action` if its message implies none."""
    explanation = explain_response(
        failure.server_message, failure.op.name, step, action, failure.action
    )
    message = _compose_message(replace(failure, server_message=explanation.message), otherwise)
    return kind(message, explanation.next_step, action=explanation.action)


def _compose_message(failure: ErrorResponse, otherwise: str) -> str:
    """Return the error message with the service's own text, if any."""
    words = failure.server_message.strip()
    if not words:
        return f"{otherwise} (status {failure.status}, without a message)."
    return f"{otherwise}: {words if words[-1] in '.!?…' else f'{words}.'}"
