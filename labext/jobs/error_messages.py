"""Map error responses of the job service to exceptions by their text."""

from __future__ import annotations

import re

from labext.actions import Action, parameter
from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
    SignInError,
)
from labext.http import ErrorResponse
from labext.jobs import api
from labext.messages import end_sentence

_KEY_PATTERN = re.compile(
    r"(?i)api[-_ ]?key|unauthori[sz]ed|not authenticated|authentication|credentials"
)
_EARLY_PATTERN = re.compile(
    r"(?i)\bnot (?:yet )?(?:complete|finished|ready|done)|still (?:running|queued)"
)
_ENDED_PATTERN = re.compile(r"(?i)\bstatus: (?:stopped|failed|deleted|aggregationfailed)")
_NOT_UPLOADED_PATTERN = re.compile(r"(?i)not been uploaded|not uploaded")
_TAKEN_PATTERN = re.compile(
    r"(?i)already (?:been )?(?:taken|exists?|in use|used)|duplicate (?:job|batch) ?name"
    r"|name\b.*\b(?:must be|not) unique"
)
_UNKNOWN_PATTERN = re.compile(
    r"(?i)not found|does(?: not|n't) exist|no such|non-?existent"
    r"|\bno (?:matching )?(?:jobs?|batch(?:es)?|files?|folders?)\b"
    r"|unknown (?:job|batch|file)|could(?: not|n't) find|can(?:not|'t) find"
)
_INVALID_NAME_PATTERN = re.compile(r"(?i)\binvalid (?:job|batch)[-_ ]?name")
"""The client only sends valid names, so this message means that no such job exists."""
_OUTPUT_PATTERN = re.compile(r"(?i)\b(?:output|files?|pdbs?|structures?)\b")
_BUDGET_PATTERN = re.compile(r"(?i)budget|quota|credit|weighted hours|billing|subscription")
_QUEUE_LIMIT_PATTERN = re.compile(r"(?i)\bqueued jobs?\b.*\blimit\b")
_STORAGE_PATTERN = re.compile(r"(?i)storage|quota")
_CURSOR_PATTERN = re.compile(r"(?i)start[-_ ]?key|cursor")
_RATE_PATTERN = re.compile(r"(?i)too many|\brate|throttl|flood|blocked|forbidden by waf")
_NO_PATH_PATTERN = re.compile(r"(?i)(?:404 )?(?:page |file )?not found[.!]?|a web page.*")
"""Messages of web servers about a path that they do not serve."""
_NO_ENDPOINT_PATTERN = re.compile(r"(?i)missing authentication token")


def map_error(failure: ErrorResponse, address: str) -> LabextError | None:
    """Return the exception for an error response of the service at `address`.

    None for the default mapping.
    """
    match failure.status:
        case 400 | 422:
            return _bad_request_error(failure)
        case 401:
            return _sign_in_error(failure)
        case 403:
            return _forbidden_error(failure, address)
        case 404:
            return _not_found_error(failure)
        case 429:
            return BusyError(_with_server_message(failure, "Too many requests to the job service"))
        case _:
            return None


def is_taken(message: str) -> bool:
    """Return whether the service's message means that a name is taken."""
    return _TAKEN_PATTERN.search(message) is not None


def _bad_request_error(failure: ErrorResponse) -> LabextError:
    message = failure.server_message.strip()
    if _NOT_UPLOADED_PATTERN.search(message):
        return InputError(
            end_sentence(message),
            "Upload it with {action}, then use its plain file name.",
            action=Action.upload_file(),
        )
    if _EARLY_PATTERN.search(message):
        if _ENDED_PATTERN.search(message):
            return JobFailedError(
                _with_server_message(failure, "The job has no results"), action=Action.show_job()
            )
        return NotReadyError(
            end_sentence(message),
            "Wait for it with {action}, then try again.",
            action=Action.watch_job(),
        )
    if _TAKEN_PATTERN.search(message):
        return ConflictError(end_sentence(message), "Choose another name.")
    if failure.op.name not in api.SUBMISSIONS and _UNKNOWN_PATTERN.search(message):
        return _not_found_error(failure)
    if failure.op.name in api.BY_NAME and _INVALID_NAME_PATTERN.search(message):
        return _not_found_error(failure)
    if _KEY_PATTERN.search(message):
        return _sign_in_error(failure)
    step, action = _next_step(failure)
    return InputError(
        _with_server_message(failure, f"The job service refused to {failure.op.name}"),
        step,
        action=action,
    )


def _sign_in_error(failure: ErrorResponse) -> SignInError:
    return SignInError(
        _with_server_message(failure, "The job service does not accept the key"),
        "Check the key: {action}, or LABEXT_JOBS_API_KEY.",
        action=Action.sign_in("jobs", "api_key"),
    )


def _forbidden_error(failure: ErrorResponse, address: str) -> LabextError:
    message = failure.server_message
    if _NO_ENDPOINT_PATTERN.search(message):
        return NotFoundError(
            _with_server_message(failure, f"The job service can't {failure.op.name}"),
            "Check the service's address.",
        )
    if _QUEUE_LIMIT_PATTERN.search(message):
        return AccessError(
            _with_server_message(failure, f"The job service refused to {failure.op.name}"),
            "{action} lists the queued jobs.",
            action=Action.list_jobs(),
        )
    if _BUDGET_PATTERN.search(message):
        step = api.budget_step(address)
    elif _RATE_PATTERN.search(message):
        step = "Wait a few minutes: the service blocks all requests for a while after too many."
    else:
        step = (
            "Ask the administrator of the service: the cause may be a permission, the budget, or "
            "too many requests."
        )
    return AccessError(
        _with_server_message(failure, f"The job service refused to {failure.op.name}"), step
    )


def _not_found_error(failure: ErrorResponse) -> NotFoundError:
    operation, words = failure.op.name, failure.server_message
    message = _with_server_message(failure, "Not found")
    if operation == api.RESULT.name and _OUTPUT_PATTERN.search(words):
        return NotFoundError(message, "{action} lists its files.", action=Action.list_outputs())
    if operation in api.BY_NAME:
        return NotFoundError(message, action=Action.list_jobs())
    if operation == api.RUN_PIPELINE.name:
        step = "Check the pipeline's name: it is the one under which it was saved on the service."
        return NotFoundError(message, step)
    if operation == api.OUTPUT.name:
        return NotFoundError(message, action=Action.list_outputs())
    if operation == api.DELETE_FILE.name:
        return NotFoundError(message, action=Action.list_files())
    if not words or _NO_PATH_PATTERN.fullmatch(words.strip()):
        return NotFoundError(
            f"There is no job service at this address, or it can't {operation} "
            f"({failure.status} for {failure.path}).",
            "Check the service's address, with the path of its API.",
        )
    summary = f"The job service can't {operation}: no object has this name"
    return NotFoundError(
        _with_server_message(failure, summary), "Check the names, and the service's address."
    )


def _next_step(failure: ErrorResponse) -> tuple[str, Action | None]:
    if failure.op.name in api.PIPELINES:
        return "Correct the pipeline; {action} shows what a tool takes.", Action.show_tool()
    if failure.op.name in api.SUBMISSIONS:
        return "Correct the settings; {action} shows what the tool takes.", Action.show_tool()
    if _CURSOR_PATTERN.search(failure.server_message):
        without = parameter("start_key", "KEY")
        return f"Use the key that the previous page returned, or omit {without}.", None
    if _STORAGE_PATTERN.search(failure.server_message):
        remove = Action.delete_file()
        return (
            f"Free some storage: {{action}} lists uploaded files, {remove} deletes one.",
            Action.list_files(),
        )
    return "Correct the request.", None


def _with_server_message(failure: ErrorResponse, summary: str) -> str:
    """Return a summary, followed by the service's message as a sentence."""
    message = failure.server_message.strip()
    if not message:
        return f"{summary} (status {failure.status}, without a message)."
    return end_sentence(f"{summary}: {message}")
