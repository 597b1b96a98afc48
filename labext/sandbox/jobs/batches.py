"""A batch as a whole: its budget, its end, its aggregation.

Source: job service contract, States; the words for a batch that ends otherwise are those of real
services, jobs: `batchStatus` may also be `Stopped`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import folders
from labext.sandbox.jobs.store import (
    AGGREGATING,
    AGGREGATION_FAILED,
    COMPLETE,
    LIVING,
    RUNNING,
    STOPPED,
    Account,
    Job,
    now,
    storage_used,
    tally,
)
from labext.sandbox.queue import Ending, Task
from labext.sandbox.service import Site

AGGREGATE = "jobs.aggregate"


def run_key(job_id: int) -> str:
    """The queue's key of the task that runs a job."""
    return f"jobs.run:{job_id}"


def aggregate_key(parent_id: int) -> str:
    """The queue's key of the task that builds a batch's archive."""
    return f"{AGGREGATE}:{parent_id}"


def settle(session: Session, site: Site, parent: Job) -> None:
    """After one of its jobs has ended: see to the budget, and end or aggregate the batch.

    The batch becomes Aggregating in the transaction that ends its last job, so that nobody sees all
    jobs ended and the batch still Running.
    """
    session.flush()
    if parent.batch_status == STOPPED:  # by hand: what its jobs have used is known once they end
        parent.weighted_hours = max(parent.weighted_hours or 0.0, spent(session, parent))
    if parent.batch_status != RUNNING:
        return
    counts = tally(session, Job.parent_id == parent.id)
    if sum(counts[state] for state in LIVING):
        if parent.budget is not None and spent(session, parent) >= parent.budget:
            stop_over_budget(session, site, parent)
        return
    parent.weighted_hours = spent(session, parent)
    if counts[COMPLETE]:
        parent.batch_status = AGGREGATING
        site.queue.put(session, AGGREGATE, aggregate_key(parent.id), _payload(session, parent))
    else:
        stop(parent, _why_none(session, parent))


def stop(parent: Job, reason: str) -> None:
    """End a batch without an archive."""
    parent.batch_status = parent.status = STOPPED
    parent.reason, parent.completed = reason, now()


def aggregated(site: Site, session: Session, task: Task, ending: Ending) -> None:
    """The archive is there, or it failed."""
    number = task.payload["job"]
    parent = session.get(Job, number)
    if parent is None:  # deleted meanwhile
        folders.remove_after_commit(session, folders.job_folder(site, number))
        return
    if parent.batch_status != AGGREGATING:  # stopped by hand: nobody gets what was made so far
        folders.remove_after_commit(session, folders.work_folder(site, number))
        return
    parent.completed = now()
    if ending.outcome == "done":
        parent.batch_status = parent.status = COMPLETE
        parent.bytes = ending.result["bytes"]
    else:
        parent.batch_status, parent.status = AGGREGATION_FAILED, STOPPED
        parent.aggregation_error = ending.reason
        folders.remove_partial(folders.work_folder(site, parent.id))


def check_budgets(site: Site, session: Session, running: Sequence[Task]) -> None:
    """Once a second: stop the batches whose jobs, with those that run now, are over the budget."""
    numbers = [task.payload["job"] for task in running]
    parents = select(Job).where(
        Job.id.in_(select(Job.parent_id).where(Job.id.in_(numbers))),
        Job.budget.is_not(None),
        Job.reason.is_(None),
    )
    for parent in session.scalars(parents).all():
        mine = set(session.scalars(select(Job.id).where(Job.parent_id == parent.id)))
        seconds = sum(
            time.time() - task.started
            for task in running
            if task.payload["job"] in mine and task.started is not None
        )
        if parent.budget is not None and spent(session, parent) + seconds / 3600 >= parent.budget:
            stop_over_budget(session, site, parent)


def stop_over_budget(session: Session, site: Site, parent: Job) -> None:
    """Stop all jobs of a batch that are not ended; what is complete is aggregated."""
    if parent.reason is not None:  # they are being stopped
        return
    parent.reason = f"The batch's budget of {parent.budget:g} weighted hours is used up."
    living = select(Job.id).where(Job.parent_id == parent.id, Job.status.in_(LIVING))
    for number in session.scalars(living).all():
        site.queue.cancel(session, run_key(number), parent.reason)


def spent(session: Session, parent: Job) -> float:
    """The weighted hours of the batch's jobs that have ended."""
    hours = session.scalar(
        select(func.coalesce(func.sum(Job.weighted_hours), 0.0)).where(Job.parent_id == parent.id)
    )
    return float(hours or 0.0)


def _why_none(session: Session, parent: Job) -> str:
    if parent.reason is not None:
        return parent.reason
    first = session.scalars(
        select(Job.reason).where(Job.parent_id == parent.id).order_by(Job.id).limit(1)
    ).first()
    if first is None:
        return "All its jobs were deleted."
    return f"None of its jobs is complete; the first says: {first}"


def _payload(session: Session, parent: Job) -> dict[str, Any]:
    """What `aggregation.run` gets: the jobs in order, and how big the archive may become."""
    parts = session.execute(
        select(Job.id, Job.name, Job.status, Job.score)
        .where(Job.parent_id == parent.id)
        .order_by(Job.id)
    )
    account = session.get_one(Account, parent.account_id)
    return {
        "job": parent.id,
        "bytes_left": account.storage_quota - storage_used(session, account.id),
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
