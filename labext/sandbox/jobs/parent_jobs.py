"""Stop, finish and aggregate parents, the rows of batches and pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.messages import format_number
from labext.sandbox.core.queue import Task, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.job_creation import run_key
from labext.sandbox.jobs.tables import (
    ACTIVE_STATES,
    AGGREGATING,
    AGGREGATION_FAILED,
    COMPLETE,
    RUNNING,
    STOPPED,
    Account,
    Job,
    count_by_state,
    current_timestamp,
    used_storage,
)

AGGREGATE_KIND = "jobs.aggregate"


def aggregate_key(parent_id: int) -> str:
    """Return the key of the task that builds a parent's archive."""
    return f"{AGGREGATE_KIND}:{parent_id}"


def stop_parent(parent: Job, reason: str) -> None:
    """Mark a parent as stopped without an archive; its jobs are stopped by `stop_parts`."""
    parent.status, parent.bytes = STOPPED, 0
    if parent.is_batch:
        parent.batch_status = STOPPED
    parent.reason, parent.completed = reason, current_timestamp()


def stop_parts(session: Session, site: Site, parent: Job, reason: str) -> list[str]:
    """Stop the unfinished jobs of a parent; return the keys of their tasks."""
    unfinished = select(Job).where(Job.parent_id == parent.id, Job.status.in_(ACTIVE_STATES))
    parts = session.scalars(unfinished).all()
    for part in parts:
        mark_stopped(part, reason)
    return cancel_tasks(session, site, [part.id for part in parts], reason)


def mark_stopped(job: Job, reason: str) -> None:
    """Mark a job as stopped; the caller cancels its task in the same transaction."""
    job.status, job.reason, job.completed = STOPPED, reason, current_timestamp()


def cancel_tasks(session: Session, site: Site, ids: Iterable[int], reason: str) -> list[str]:
    """Cancel the tasks of these jobs and parents; return the keys of the unfinished tasks."""
    keys = [key(job_id) for job_id in ids for key in (run_key, aggregate_key)]
    return site.queue.cancel_all(session, keys, reason)


def finish_parent(session: Session, site: Site, parent: Job) -> None:
    """End a parent whose jobs have all ended; queue its archive if any job is complete.

    An earlier archive is no longer served, and is removed when the new archive is started.
    """
    session.flush()
    if not count_by_state(session, Job.parent_id == parent.id)[COMPLETE]:
        stop_parent(parent, _no_results_reason(session, parent))
        job_files.remove_after_commit(session, site, parent.id, "work")
        return
    if parent.status not in ACTIVE_STATES:
        parent.status, parent.completed = RUNNING, None
    if parent.is_batch:
        parent.batch_status = AGGREGATING
    site.queue.put(
        session,
        AGGREGATE_KIND,
        aggregate_key(parent.id),
        _aggregation_payload(session, parent),
        owner=parent.account.queue_owner,
        weight=parent.account.weight,
    )


def is_aggregating(session: Session, site: Site, parent: Job) -> bool:
    """Return whether the parent's archive is queued or being built."""
    return site.queue.find(session, aggregate_key(parent.id)) is not None


def on_aggregation_end(site: Site, session: Session, task: Task, outcome: TaskOutcome) -> None:
    """Update the parent after its archive was written or could not be written."""
    parent_id = task.payload["job"]
    parent = session.get(Job, parent_id)
    if parent is None:  # deleted meanwhile
        job_files.remove_after_commit(session, site, parent_id)
        return
    if parent.state not in (*ACTIVE_STATES, AGGREGATING):  # stopped meanwhile: discard the archive
        job_files.remove_after_commit(session, site, parent_id, "work")
        return
    part_ids = select(Job.id).where(Job.parent_id == parent_id).order_by(Job.id)
    if [part["job"] for part in task.payload["parts"]] != session.scalars(part_ids).all():
        finish_parent(session, site, parent)  # a job was deleted meanwhile
        return
    if site.files.is_remote:
        for number in (parent_id, *(part["job"] for part in task.payload["parts"])):
            job_files.remove_folder_after_commit(session, job_files.job_folder(site, number))
    if outcome.outcome == "done":
        parent.status, parent.completed = COMPLETE, current_timestamp()
        if parent.is_batch:
            parent.batch_status = COMPLETE
        parent.bytes = outcome.result["bytes"]
        return
    job_files.remove_after_commit(session, site, parent.id, "work")
    if parent.is_batch:
        parent.status, parent.completed, parent.bytes = STOPPED, current_timestamp(), 0
        parent.batch_status, parent.aggregation_error = AGGREGATION_FAILED, outcome.reason
    else:
        stop_parent(parent, f"The archive could not be built: {outcome.reason}")


def _aggregation_payload(session: Session, parent: Job) -> dict[str, Any]:
    """Return the payload of the aggregation: the jobs in order and the archive's size limit."""
    columns = select(Job.id, Job.name, Job.status, Job.score)
    parts = session.execute(columns.where(Job.parent_id == parent.id).order_by(Job.id))
    account = session.get_one(Account, parent.account_id)
    # The new archive replaces the earlier one, whose storage is therefore available.
    used = used_storage(session, account.id) - parent.bytes
    return {
        "job": parent.id,
        "bytes_left": account.storage_quota - used,
        "parts": [
            {
                "job": part.id,
                "name": part.name.removeprefix(f"{parent.name}-"),
                "status": part.status,
                "score": orjson.loads(part.score) if part.score else {},
            }
            for part in parts
        ],
    }


def _no_results_reason(session: Session, parent: Job) -> str:
    """Return the reason why no job of the parent is complete."""
    first = session.execute(
        select(Job.reason).where(Job.parent_id == parent.id).order_by(Job.id).limit(1)
    ).one_or_none()
    if first is None:
        return "All its jobs were deleted."
    if parent.reason is not None:
        return parent.reason
    return f"None of its jobs is complete; reason of the first: {first.reason}"


def settle_batch(session: Session, site: Site, parent: Job, job: Job) -> None:
    """Update a batch after one of its jobs has ended: check the budget, and end the batch.

    The batch becomes Aggregating in the transaction that ends its last job, so it is never Running
    with all jobs ended.
    """
    is_summed = parent.weighted_hours is not None
    if parent.batch_status == STOPPED and is_summed and not job.weighted_hours:
        return  # the job never ran; a stopped batch can have many of these
    session.flush()
    if parent.batch_status == STOPPED:  # the hours of a job are known once it has ended
        parent.weighted_hours = max(parent.weighted_hours or 0.0, used_hours(session, parent))
    if parent.batch_status != RUNNING:
        return
    unfinished = (
        select(Job.id).where(Job.parent_id == parent.id, Job.status.in_(ACTIVE_STATES)).limit(1)
    )
    if session.scalar(unfinished) is not None:
        if parent.budget is not None and used_hours(session, parent) >= parent.budget:
            stop_over_budget(session, site, parent)
        return
    parent.weighted_hours = used_hours(session, parent)
    finish_parent(session, site, parent)


def check_budgets(site: Site, session: Session, running: Mapping[Task, float]) -> None:
    """Stop the batches whose ended and running jobs exceed the budget; called once per second.

    `running` has the seconds for which the jobs have run. The clock of the machine, which may jump,
    does not count.
    """
    job_ids = [task.payload["job"] for task in running]
    parents = select(Job).where(Job.id.in_(select(Job.parent_id).where(Job.id.in_(job_ids))))
    with_budget = parents.where(Job.budget.is_not(None), Job.reason.is_(None))
    for parent in session.scalars(with_budget).all():
        part_ids = set(session.scalars(select(Job.id).where(Job.parent_id == parent.id)))
        seconds = sum(
            seconds for task, seconds in running.items() if task.payload["job"] in part_ids
        )
        hours = used_hours(session, parent) + seconds / 3600
        if parent.budget is not None and hours >= parent.budget:
            stop_over_budget(session, site, parent)


def stop_over_budget(session: Session, site: Site, parent: Job) -> None:
    """Stop the unfinished jobs of a batch; the complete jobs are aggregated."""
    if parent.reason is not None:  # already being stopped
        return
    budget = format_number(parent.budget or 0)
    parent.reason = f"The batch's budget of {budget} weighted hours is used up."
    unfinished = select(Job.id).where(Job.parent_id == parent.id, Job.status.in_(ACTIVE_STATES))
    cancel_tasks(session, site, session.scalars(unfinished).all(), parent.reason)


def used_hours(session: Session, parent: Job) -> float:
    """Return the total weighted hours of the ended jobs of a batch."""
    hours = session.scalar(
        select(func.coalesce(func.sum(Job.weighted_hours), 0.0)).where(Job.parent_id == parent.id)
    )
    return round(float(hours or 0.0), 9)
