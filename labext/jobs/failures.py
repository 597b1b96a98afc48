"""What the job service means by a refusal, told by its text.

A 400 also stands for a bad key, an unknown job, a taken name and a result asked too early; a 403
for the budget, for a pause after too many requests, or for an address that is not there (real
services, section jobs). The service's own words are always kept.
"""

from __future__ import annotations

import re

from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    NotReadyError,
    SignInError,
)
from labext.jobs import operations
from labext.transport import Failure

_KEY = re.compile(r"(?i)api[-_ ]?key|unauthori[sz]ed|not authenticated|authentication|credentials")
_EARLY = re.compile(r"(?i)\bnot (?:yet )?(?:complete|finished|ready|done)|still (?:running|queued)")
_UPLOADED = re.compile(r"(?i)not been uploaded|not uploaded")
_TAKEN = re.compile(
    r"(?i)already (?:been )?(?:taken|exists?|in use|used)|duplicate (?:job|batch) ?name"
    r"|name\b.*\b(?:must be|not) unique"
)
_UNKNOWN = re.compile(
    r"(?i)not found|does(?: not|n't) exist|no such|non-?existent"
    r"|\bno (?:matching )?(?:jobs?|batch(?:es)?|files?|folders?)\b"
    r"|unknown (?:job|batch|file)|could(?: not|n't) find|can(?:not|'t) find"
)
_INVALID = re.compile(r"(?i)\binvalid (?:job|batch)[-_ ]?name")
"""Of a name that keeps the rule for names, which the client sees to: there is no job of it."""
_OUTPUT = re.compile(r"(?i)\b(?:output|files?|pdbs?|structures?)\b")
_BUDGET = re.compile(r"(?i)budget|quota|credit|weighted hours|billing|subscription")
_STORAGE = re.compile(r"(?i)storage|quota")
_CURSOR = re.compile(r"(?i)start[-_ ]?key|cursor")
_FLOOD = re.compile(r"(?i)too many|\brate|throttl|flood|blocked|forbidden by waf")
_NO_ADDRESS = re.compile(r"(?i)missing authentication token")


def explain(failure: Failure) -> LabextError | None:
    """Return the error that a refusal means; None leaves it to the general reading."""
    match failure.status:
        case 400 | 422:
            return _refused(failure)
        case 401:
            return _key(failure)
        case 403:
            return _forbidden(failure)
        case 404:
            return _unknown(failure)
        case 429:
            return BusyError(_said(failure, "The job service is asked too often"))
        case _:
            return None


def is_taken(words: str) -> bool:
    """Return whether the service's words mean that a name is taken."""
    return _TAKEN.search(words) is not None


def _refused(failure: Failure) -> LabextError:
    words = failure.words
    if _UPLOADED.search(words):
        return InputError(
            _said(failure, "A file is not there"),
            "Upload it with `%jobs upload`, then give its bare name.",
        )
    if _EARLY.search(words):
        return NotReadyError(
            _said(failure, "Too early"), "Wait with `%jobs watch`, then ask again."
        )
    if _TAKEN.search(words):
        return ConflictError(_said(failure, "The name is taken"), "Choose another name.")
    if failure.op.name not in operations.SUBMISSIONS and _UNKNOWN.search(words):
        return _unknown(failure)
    if failure.op.name in operations.BY_NAME and _INVALID.search(words):
        return _unknown(failure)
    if _KEY.search(words):
        return _key(failure)
    return InputError(
        _said(failure, f"The job service refused to {failure.op.name}"), _step(failure)
    )


def _key(failure: Failure) -> SignInError:
    return SignInError(
        _said(failure, "The job service does not accept the key"),
        "Check the key: `%jobs login`, or LABEXT_JOBS_API_KEY.",
    )


def _forbidden(failure: Failure) -> LabextError:
    words = failure.words
    if _NO_ADDRESS.search(words):
        return NotFoundError(
            _said(failure, f"The job service can't {failure.op.name}"),
            "Check the service's address.",
        )
    if _BUDGET.search(words):
        step = "Ask whoever runs the service for a larger budget."
    elif _FLOOD.search(words):
        step = "Wait a few minutes: after too many requests the service refuses all for a while."
    else:
        step = (
            "Ask whoever runs the service: it may be a permission, the budget, or a pause after "
            "too many requests."
        )
    return AccessError(_said(failure, f"The job service refused to {failure.op.name}"), step)


def _unknown(failure: Failure) -> NotFoundError:
    if failure.op.name == operations.RESULT.name and _OUTPUT.search(failure.words):
        return NotFoundError(
            _said(failure, "Not found"),
            "Without `--file` and `--pdbs-only` all the job's files are fetched.",
        )
    if failure.op.name in operations.BY_NAME:
        return NotFoundError(_said(failure, "Not found"), "See `%jobs list`.")
    if failure.op.name == operations.RUN_PIPELINE.name:
        return NotFoundError(
            _said(failure, "Not found"),
            "Check the pipeline's name: it is the one under which it was saved on the service.",
        )
    if failure.op.name == operations.DELETE_FILE.name:
        return NotFoundError(_said(failure, "Not found"), "See `%jobs files`.")
    return NotFoundError(
        _said(failure, f"The job service did not find what it needs to {failure.op.name}"),
        "Check the names, and the service's address.",
    )


def _step(failure: Failure) -> str:
    if failure.op.name in operations.PIPELINES:
        return "Correct the pipeline; `%jobs tool` shows what a tool takes."
    if failure.op.name in operations.SUBMISSIONS:
        return "Correct the settings; `%jobs tool` shows what the tool takes."
    if _CURSOR.search(failure.words):
        return "Take the key that the list before gave, or leave `--start-key` out."
    if _STORAGE.search(failure.words):
        return "Make room: `%jobs files` lists what is uploaded, `%jobs rm FILE --yes` removes it."
    return "Change what the service objects to."


def _said(failure: Failure, otherwise: str) -> str:
    """Return the service's words as a sentence, after what they mean."""
    words = failure.words.strip()
    if not words:
        return f"{otherwise} (status {failure.status}, without a word)."
    return f"{otherwise}: {words if words[-1] in '.!?…' else f'{words}.'}"
