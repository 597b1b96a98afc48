"""What the notebook service means by a refusal (contract, Errors)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

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
from labext.nb.advice import advised, listing
from labext.nb.dialects.open_notebook_sayings import plainly
from labext.transport import Failure

LAST_WORDS = frozenset({502})
"""What the service says of another one that failed it, such as a model's provider: its last word.

Nothing is gained by asking again at once, and nothing is left unknown.
"""

_KEY = re.compile(r"(?i)\b(?:api key|credential|provider)")
"""What a 401 is about that a model's provider has given."""

_SETUP = re.compile(
    r"(?i)\b(?:model|provider|credential|configur|embedding|api key|install|encrypt)"
)

_MODEL = re.compile(r"(?i)^(?:there is )?no model\b|\bmodel\b.*\bnot found\b")
"""What a 404 is about that a model is named by, among much else."""


_FIELD = re.compile(r"(?:body|query|path)\.")
"""What a refusal of the form of a request begins with: it is no word on the setup."""

_NAMED = re.compile(r"(?:There is no |Object with id )?([A-Za-z_ ]+)(?=.*not found\b|:)")
"""What was not found, in the service's words."""


def explainer(*, has_password: bool) -> Callable[[Failure], LabextError | None]:
    """Return the reading of refusals, for a client with a password or without."""

    def explain(failure: Failure) -> LabextError | None:
        asked = f"The notebook service refused to {failure.op.name}"
        match failure.status:
            case 401 if not failure.challenged and _KEY.search(failure.words):
                # Not the service's own, which would say how one signs in to it.
                return SetupError(
                    *_advised(
                        failure,
                        "A model's provider does not accept its key",
                        "Give it another: `%nb credentials edit NAME --new-key`.",
                    )
                )
            case 401:
                return _unknown(failure, has_password=has_password)
            case 400:
                return InputError(*_advised(failure, asked, _change(failure)))
            case 404:
                return NotFoundError(*_advised(failure, "Not found", _see(failure)))
            case 409:
                return ConflictError(*_advised(failure, asked, "Choose another name."))
            case 413:
                return InputError(
                    _said(failure, "It is larger than the notebook service takes"),
                    "`%nb add` a smaller file, or ask whoever runs the service for a larger limit.",
                )
            case 415:
                return InputError(
                    _said(failure, "The notebook service can't read that kind of file"),
                    "Convert it to PDF, DOCX, Markdown or plain text and `%nb add` that, or paste "
                    "its text below `%%nb source --title TITLE`.",
                )
            case 422:
                return _configuration(failure, asked)
            case 429:
                return BusyError(
                    *_advised(
                        failure,
                        "The notebook service, or a model that it uses, is asked too often",
                        "Wait a little and try again; `%nb status` shows whether it answers.",
                    )
                )
            case 502 if failure.spoken:
                return ServiceError(
                    *_advised(
                        failure,
                        "Something that the notebook service needs has failed",
                        "Look at the model or page that it names, then try again.",
                    )
                )
            case 500 if failure.spoken:
                return ServiceError(
                    *_advised(
                        failure,
                        f"The notebook service failed to {failure.op.name}",
                        "Look at it, `%nb status`, then try again.",
                    )
                )
            case _:
                return None

    return explain


def _unknown(failure: Failure, *, has_password: bool) -> SignInError:
    what = "does not accept the password" if has_password else "asks for a password"
    # Words behind "password:" would be taken for one, and masked.
    words = f" (“{failure.words.strip().rstrip('.')}”)" if failure.words.strip() else ""
    step = "Check it" if has_password else "Give it"
    return SignInError(
        f"The notebook service {what}{words}.", f"{step}: `%nb login`, or LABEXT_NB_PASSWORD."
    )


def _configuration(failure: Failure, asked: str) -> LabextError:
    if _FIELD.match(failure.words) or not _SETUP.search(failure.words):
        return InputError(*_advised(failure, asked, _change(failure)))
    return SetupError(
        *_advised(
            failure,
            asked,
            "Set a model for it, or ask whoever runs the service: `labext sandbox nb models`.",
        )
    )


def _change(failure: Failure) -> str:
    """Return the step after a refusal of what was given: where that is listed, or the help."""
    seen = listing(failure.op.name)
    return f"Change what it objects to. {seen or 'See `%nb --help`.'}"


def _see(failure: Failure) -> str:
    """Return the list of what was not found: what the words name, else what was asked about."""
    found = _NAMED.match(failure.words)
    named = listing(found[1].casefold()) if found else None
    return named or listing(failure.op.name) or "Check the names, and the address: `%nb status`."


def _advised(failure: Failure, otherwise: str, step: str) -> tuple[str, str]:
    """Return what a refusal means, and the next step."""
    words, known = plainly(failure.words)
    if known is None:
        words, known = advised(words, failure.op.name, step)
    return _said(replace(failure, words=words), otherwise), known


def _said(failure: Failure, otherwise: str) -> str:
    """Return what a refusal means, and the service's own words."""
    words = failure.words.strip()
    if not words:
        return f"{otherwise} (status {failure.status}, without a word)."
    return f"{otherwise}: {words if words[-1] in '.!?…' else f'{words}.'}"
