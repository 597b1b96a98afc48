"""Submit a job at most once, reusing an identical one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labext.actions import Action
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    OutcomeUnknownError,
    ServiceError,
    UnreachableError,
)
from labext.jobs import records
from labext.jobs.api import SUBMIT, JobsApi
from labext.jobs.identity import submission_difference
from labext.jobs.input_files import InputContent
from labext.jobs.records import JobRecord
from labext.messages import end_sentence
from labext.progress import Outcome

_MAX_ATTEMPTS = 3
_BACKOFF = 0.5
"""Delay before the second attempt in seconds; the delay before the third is twice as long."""


@dataclass(frozen=True)
class Submission:
    """A job or pipeline that was submitted, or that already existed.

    Attributes:
        name: the name of the job or pipeline.
        type: the tool, or `pipeline`.
        created: False if an identical submission existed, and nothing was sent.
        message: the outcome in one sentence.
        row: the row of the job, if it was looked up; None otherwise.
    """

    name: str
    type: str
    created: bool
    message: str
    row: JobRecord | None = field(default=None, repr=False)


def submit_job(
    service: JobsApi,
    name: str,
    type: str,
    settings: Mapping[str, Any],
    project_tag: str | None,
    content: InputContent,
) -> Submission:
    """Submit one job with validated settings, unless it exists."""
    body: dict[str, Any] = {"jobName": name, "type": type, "settings": dict(settings)}
    if project_tag is not None:
        body["projectTag"] = project_tag
    return submit_once(
        service,
        name,
        type,
        lambda: service.submit(SUBMIT, body),
        lambda row: _job_difference(type, settings, row),
        "settings",
        content,
    )


def submit_once(
    service: JobsApi,
    name: str,
    type: str,
    send: Callable[[], str],
    difference: Callable[[JobRecord], str | None],
    compared: str,
    content: InputContent,
) -> Submission:
    """Send a submission unless it already exists.

    `send` returns the service's message; `difference` describes how a row differs from the
    submission; `compared` names the compared properties in the plural, for messages.
    """

    def look_up() -> JobRecord | None:
        return find_identical(service, name, difference, content)

    message, created, row = "", False, look_up()
    if row is None:
        content.remember(name)
        description = f"1 {type}" if type == "pipeline" else f"1 job of {type}"
        message, row, created = send_once(name, send, look_up, description)
    if row is not None and not created:
        return Submission(name, type, False, _reuse_message(name, row, compared, content), row)
    return Submission(name, type, True, message or f"{name} was submitted.", row)


def find_identical(
    service: JobsApi,
    name: str,
    difference: Callable[[JobRecord], str | None],
    content: InputContent,
) -> JobRecord | None:
    """Return the row of an identical submission; None if the name is free."""
    row = service.find(name)
    if row is not None:
        if text := difference(row):
            raise name_taken_error(name, text)
        content.check(name, row)
    return row


def validate_job(
    service: JobsApi, name: str, type: str, settings: Mapping[str, Any], content: InputContent
) -> None:
    """Validate a job with validated settings on the service, without submitting it."""
    if find_identical(service, name, lambda row: _job_difference(type, settings, row), content):
        return
    response = service.validate({"jobName": name, "type": type, "settings": dict(settings)})
    if response is not None and not response[0]:
        raise InputError(
            end_sentence(f"The service would reject this job: {response[1]}"),
            action=Action.show_tool(type),
        )


def send_once(
    name: str, send: Callable[[], str], look_up: Callable[[], JobRecord | None], description: str
) -> tuple[str, JobRecord | None, bool]:
    """Send a submission whose name was free; if its response is lost, look up the outcome.

    `send` returns the service's message. `look_up` returns the row if the submission exists, None
    if the name is free, and raises ConflictError if another submission has the name.
    `description` has the number of jobs and the tool, for messages.

    Returns:
        The service's message; the row if it was looked up; True if this call created it.

    Raises:
        ConflictError: another submission has taken the name in the meantime.
        OutcomeUnknownError: the response was lost and the service can't be queried.
        LabextError: the service rejected the submission.
    """
    lost: LabextError | None = None
    for attempt in range(_MAX_ATTEMPTS):
        time.sleep(attempt * _BACKOFF)
        refused: ConflictError | None = None
        try:
            return send(), None, True
        except ConflictError as error:
            refused = error
        except UnreachableError as error:
            if lost is None:
                raise  # the request did not arrive
            raise _outcome_unknown(name, description, lost, error) from None
        except ServiceError as error:
            # The response was lost, or the service failed; the job may have been created anyway.
            lost = error
        try:
            row = look_up()
        except ConflictError:
            raise
        except LabextError as error:
            if lost is None and refused is not None:
                raise refused from None
            raise _outcome_unknown(name, description, lost or error, error) from None
        if row is not None:
            return "", row, lost is not None
        if refused is not None:
            raise refused
    assert lost is not None
    raise _never_arrived(name, description, lost)


def name_taken_error(name: str, difference: str) -> ConflictError:
    """Return the error for a name taken by another submission; `difference` describes it."""
    return ConflictError(
        f"{name} already exists and differs: {difference}.",
        "Choose another name, or delete it: {action}.",
        action=Action.delete_job(name),
    )


def _outcome_unknown(
    name: str, description: str, lost: LabextError, lookup_error: LabextError
) -> OutcomeUnknownError:
    return _with_server_message(
        lost,
        f"{name} ({description}) was sent, but the response was lost, and looking it up failed: "
        f"{lookup_error.message}",
        "{action} shows later whether it exists; submitting it again checks first and creates no "
        "duplicate.",
        Action.show_job(name),
    )


def _never_arrived(name: str, description: str, lost: LabextError) -> LabextError:
    """Return the error for a submission that was sent repeatedly but never existed."""
    if not isinstance(lost, OutcomeUnknownError):
        return lost  # the service itself reported the failure
    return _with_server_message(
        lost,
        f"{name} ({description}) was sent {_MAX_ATTEMPTS} times, and did not exist when it was "
        f"looked up: {lost.reason or lost.message}",
        "{action} shows whether it exists now; submitting it again checks first and creates no "
        "duplicate.",
        Action.show_job(name),
    )


def _with_server_message(
    lost: LabextError, message: str, step: str, action: Action
) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        message,
        step,
        action=action,
        status=lost.status,
        method=lost.method,
        path=lost.path,
        server=lost.server,
    )


def _job_difference(type: str, settings: Mapping[str, Any], row: JobRecord) -> str | None:
    if records.is_parent(row):
        return f"it is a {records.kind(row)}"
    return submission_difference(type, settings, row)


def _reuse_message(name: str, row: JobRecord, compared: str, content: InputContent) -> str:
    """Return the message for an existing identical submission, and how to rerun it if useful."""
    phase = records.phase(row)
    message = f"{name} already exists with the same {compared} ({phase}); nothing was sent"
    if caveat := content.caveat(name, row):
        return f"{message}. {caveat}"
    if records.outcome(row) not in (None, Outcome.COMPLETE):
        return f"{message}; to run it again, delete it first: {Action.delete_job(name)}."
    return f"{message}."
