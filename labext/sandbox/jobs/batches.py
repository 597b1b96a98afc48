"""A batch as a whole: its budget, and what the end of one of its jobs does to it.

Source: job service contract, States; the words for a batch that ends otherwise are those of real
services, jobs: `batchStatus` may also be `Stopped`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import parents
from labext.sandbox.jobs.store import LIVING, RUNNING, STOPPED, Job
from labext.sandbox.queue import Task
from labext.sandbox.service import Site


def settle(session: Session, site: Site, parent: Job, job: Job) -> None:
    """After one of its jobs has ended: see to the budget, and end or aggregate the batch.

    The batch becomes Aggregating in the transaction that ends its last job, so that nobody sees all
    jobs ended and the batch still Running.
    """
    summed = parent.weighted_hours is not None
    if parent.batch_status == STOPPED and summed and not job.weighted_hours:
        return  # it never ran, as hundreds beside it
    session.flush()
    if parent.batch_status == STOPPED:  # by hand: what its jobs have used is known once they end
        parent.weighted_hours = max(parent.weighted_hours or 0.0, spent(session, parent))
    if parent.batch_status != RUNNING:
        return
    living = select(Job.id).where(Job.parent_id == parent.id, Job.status.in_(LIVING)).limit(1)
    if session.scalar(living) is not None:
        if parent.budget is not None and spent(session, parent) >= parent.budget:
            stop_over_budget(session, site, parent)
        return
    parent.weighted_hours = spent(session, parent)
    parents.conclude(session, site, parent)


def check_budgets(site: Site, session: Session, running: Sequence[Task]) -> None:
    """Once a second: stop the batches whose jobs, with those that run now, are over the budget."""
    numbers = [task.payload["job"] for task in running]
    over = select(Job).where(
        Job.id.in_(select(Job.parent_id).where(Job.id.in_(numbers))),
        Job.budget.is_not(None),
        Job.reason.is_(None),
    )
    for parent in session.scalars(over).all():
        mine = set(session.scalars(select(Job.id).where(Job.parent_id == parent.id)))
        seconds = sum(
            time.time() - task.started
            for task in running
            if task.payload["job"] in mine and task.started is not None
        )
        hours = spent(session, parent) + seconds / 3600
        if parent.budget is not None and hours >= parent.budget:
            stop_over_budget(session, site, parent)


def stop_over_budget(session: Session, site: Site, parent: Job) -> None:
    """Stop all jobs of a batch that are not ended; what is complete is aggregated."""
    if parent.reason is not None:  # they are being stopped
        return
    parent.reason = f"The batch's budget of {parent.budget:g} weighted hours is used up."
    living = select(Job.id).where(Job.parent_id == parent.id, Job.status.in_(LIVING))
    parents.cancel(session, site, session.scalars(living).all(), parent.reason)


def spent(session: Session, parent: Job) -> float:
    """The weighted hours of the batch's jobs that have ended."""
    hours = session.scalar(
        select(func.coalesce(func.sum(Job.weighted_hours), 0.0)).where(Job.parent_id == parent.id)
    )
    return round(float(hours or 0.0), 9)
