"""A job as the contract's job row: fields that do not apply are absent, never null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.jobs.store import BATCH, COMPLETE, IN_QUEUE, RUNNING, STOPPED, Job

FIELDS: dict[str, InstrumentedAttribute[Any]] = {
    "JobName": Job.name,
    "Type": Job.type,
    "JobStatus": Job.status,
    "batchStatus": Job.batch_status,
    "Created": Job.created,
    "Started": Job.started,
    "Completed": Job.completed,
    "WeightedHours": Job.weighted_hours,
    "Settings": Job.settings,
    "Score": Job.score,
    "AggregationError": Job.aggregation_error,
    "Reason": Job.reason,
    "ProjectTag": Job.project_tag,
}
"""The row's fields. Beyond the contract: `Reason` (why a job is Stopped) and `ProjectTag`."""

_NAMES = tuple(FIELDS)


def record(values: Sequence[Any]) -> dict[str, Any]:
    """The row of one job, from its columns in the order of `FIELDS`."""
    return {name: value for name, value in zip(_NAMES, values, strict=True) if value is not None}


def row(job: Job) -> dict[str, Any]:
    """The row of one job."""
    return record([getattr(job, column.key) for column in FIELDS.values()])


def tally(session: Session, *selection: Any) -> dict[str, int]:
    """How many of the selected jobs are in each state: the list's `statuses`."""
    counted = session.execute(
        select(Job.status, func.count()).where(*selection).group_by(Job.status)
    ).all()
    return {COMPLETE: 0, RUNNING: 0, IN_QUEUE: 0, STOPPED: 0} | {r[0]: r[1] for r in counted}


def tally_of(session: Session, job: Job) -> dict[str, int]:
    """The `statuses` of a row asked by name: a batch's jobs, or the job itself."""
    if job.type == BATCH:
        return tally(session, Job.parent_id == job.id)
    return tally(session, Job.id == job.id)
