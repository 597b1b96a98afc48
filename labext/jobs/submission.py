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
from labext.jobs.api import JobsApi
from labext.jobs.identity import submission_difference
from labext.jobs.input_files import InputContent
from labext.jobs.records import JobRecord
from labext.progress import Outcome

_TRIES = 3
_PAUSE = 0.5
"""Seconds before the second try, twice as long before the third."""


@dataclass(frozen=True)
class Submission:
    """A job or pipeline that was submitted, or that already existed.

    Attributes:
        name, type: the job's; a pipeline's type is `pipeline`.
        created: False if an identical one existed, and nothing was sent.
        message: the outcome, one sentence.
        row: its row, if it already existed or had to be looked up.
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
    """Submit one job with clean settings, unless it exists.

    Raises:
        ConflictError: the name is taken by another job, or by one with other content.
        OutcomeUnknownError: the response was lost and the service can't be queried.
    """
    body: dict[str, Any] = {"jobName": name, "type": type, "settings": dict(settings)}
    if project_tag is not None:
        body["projectTag"] = project_tag

    return submit_once(
        service,
        name,
        type,
        lambda: service.submit_job(body),
        lambda row: _job_difference(type, settings, row),
        "settings",
        content,
    )


def submit_once(
    service: JobsApi,
    name: str,
    type: str,
    send: Callable[[], str],
    unlike: Callable[[JobRecord], str | None],
    shared_properties: str,
    content: InputContent,
) -> Submission:
    """Send a submission under a name of its own, unless it already exists.

    Args:
        service: the service.
        name: the submission's name.
        type: its type, as in its row.
        send: sends it, and returns the service's message.
        unlike: returns in a few words how the row with this name differs from this submission; None
            if it is the same submission.
        shared_properties: properties that such a row shares with this submission, in the plural.
        content: the content of the files that the settings name.

    Raises:
        ConflictError: the name is taken by another submission.
        OutcomeUnknownError: the response was lost and the service can't be queried.
    """

    def same() -> JobRecord | None:
        row = service.find(name)
        if row is not None:
            if difference := unlike(row):
                raise name_taken_error(name, difference)
            content.check(name, row)
        return row

    row = same()
    if row is not None:
        return Submission(
            name, type, False, _reuse_message(name, row, shared_properties, content), row
        )
    content.remember(name)
    message, row, created = send_once(
        name, send, same, f"1 {type}" if type == "pipeline" else f"1 job of {type}"
    )
    if row is not None and not created:
        return Submission(
            name, type, False, _reuse_message(name, row, shared_properties, content), row
        )
    return Submission(name, type, True, message or f"{name} was submitted.", row)


def validate_job(
    service: JobsApi, name: str, type: str, settings: Mapping[str, Any], content: InputContent
) -> None:
    """Ask the service whether it would take a job with clean settings, without submitting it.

    Raises:
        ConflictError: the name is taken by another job, or by one with other content.
        InputError: the service would refuse it.
    """
    row = service.find(name)
    if row is not None:
        if difference := _job_difference(type, settings, row):
            raise name_taken_error(name, difference)
        content.check(name, row)
        return
    answer = service.validate({"jobName": name, "type": type, "settings": dict(settings)})
    if answer is not None and not answer[0]:
        raise InputError(
            f"The service would reject this job: {answer[1]}", action=Action.show_tool(type)
        )


def send_once(
    name: str, send: Callable[[], str], same: Callable[[], JobRecord | None], description: str
) -> tuple[str, JobRecord | None, bool]:
    """Send a submission whose name was free; if its response is lost, look up the outcome.

    Args:
        name: for messages.
        send: sends it, and returns the service's message.
        same: looks the name up: the row if it is this submission, None if it is free.
        description: number of jobs and tool, for messages.

    Returns:
        The service's message; the row if it was looked up; whether this call sent it.

    Raises:
        ConflictError: meanwhile another submission has taken the name.
        OutcomeUnknownError: the response was lost and the service can't be queried.
        LabextError: the service refused.
    """
    lost: LabextError | None = None
    for number in range(_TRIES):
        time.sleep(number * _PAUSE)
        refused: ConflictError | None = None
        try:
            return send(), None, True
        except ConflictError as error:
            refused = error
        except UnreachableError as error:
            if lost is None:
                raise  # it did not arrive
            raise _outcome_unknown(name, description, lost, error) from None
        except ServiceError as error:
            # Lost on the way, or failed by the service's own word, and perhaps after the fact.
            lost = error
        row = _look_up(name, same, lost or refused, description)
        if row is not None:
            return "", row, lost is not None
        if refused is not None:
            raise refused
    if lost is None:
        raise ServiceError(f"{name} could not be submitted.")
    raise _never_arrived(name, description, lost)


def name_taken_error(name: str, unlike: str) -> ConflictError:
    """Return the error for a name taken by another submission."""
    return ConflictError(
        f"{name} already exists and differs: {unlike}.",
        "Choose another name, or delete it: {action}.",
        action=Action.delete_job(name),
    )


def _look_up(
    name: str, same: Callable[[], JobRecord | None], after: LabextError | None, description: str
) -> JobRecord | None:
    try:
        return same()
    except ConflictError:
        raise
    except LabextError as error:
        raise _outcome_unknown(name, description, after or error, error) from None


def _outcome_unknown(
    name: str, description: str, lost: LabextError, now: LabextError
) -> OutcomeUnknownError:
    return _with_server_message(
        lost,
        f"{name} ({description}) was sent, but the response was lost, and looking it up failed: "
        f"{now.message}",
        "{action} shows later whether it exists; submitting it again checks first and creates no "
        "duplicate.",
        Action.show_job(name),
    )


def _never_arrived(name: str, description: str, lost: LabextError) -> LabextError:
    """Return the error for a submission that was sent repeatedly and never found on the service."""
    if not isinstance(lost, OutcomeUnknownError):
        return lost  # the service itself reported the failure
    return _with_server_message(
        lost,
        f"{name} ({description}) was sent {_TRIES} times without a response, and did not exist "
        f"when it was looked up: {lost.message}",
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


def _reuse_message(name: str, row: JobRecord, shared_properties: str, content: InputContent) -> str:
    """Return the message that an identical submission exists, and how to rerun it if useful."""
    phase = records.phase(row)
    message = f"{name} already exists with the same {shared_properties} ({phase}); nothing was sent"
    if caveat := content.caveat(name, row):
        return f"{message}. {caveat}"
    if records.outcome(row) not in (None, Outcome.COMPLETE):
        return f"{message}; to run it again, delete it first: {Action.delete_job(name)}."
    return f"{message}."
