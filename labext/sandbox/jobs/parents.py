"""What the parents of jobs have in common, be they batches or pipelines.

A parent ends with its jobs: its archive is built by a task of its own, from which it becomes
Complete (job service contract, States). `batches` and `pipelines` say when. Where a job of a
complete parent is deleted, the archive that holds its files goes too: the parent is Aggregating
again until there is one without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.files import folders
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
from labext.sandbox.jobs.storing import run_key
from labext.sandbox.queue import Ending, Task
from labext.sandbox.service import Site

AGGREGATE = "jobs.aggregate"


def aggregate_key(parent_id: int) -> str:
    """The queue's key of the task that builds a parent's archive."""
    return f"{AGGREGATE}:{parent_id}"


def stop(parent: Job, reason: str) -> None:
    """End a parent without an archive; its jobs are another matter (`stop_parts`)."""
    parent.status, parent.bytes = STOPPED, 0
    if parent.is_batch:
        parent.batch_status = STOPPED
    parent.reason, parent.completed = reason, now()


def stop_parts(session: Session, site: Site, parent: Job, reason: str) -> list[str]:
    """Stop the parent's jobs that have not ended; returns the keys of the tasks to wait for."""
    living = select(Job).where(Job.parent_id == parent.id, Job.status.in_(LIVING))
    parts = session.scalars(living).all()
    for part in parts:
        stop_job(part, reason)
    return cancel(session, site, [part.id for part in parts], reason)


def stop_job(job: Job, reason: str) -> None:
    """Say of a job that it is stopped; its task is cancelled in the same transaction."""
    job.status, job.reason, job.completed = STOPPED, reason, now()


def cancel(session: Session, site: Site, numbers: Iterable[int], reason: str) -> list[str]:
    """Cancel the tasks of these jobs and parents; returns the keys of those that waited or ran."""
    keys = [key(number) for number in numbers for key in (run_key, aggregate_key)]
    return site.queue.cancel_all(session, keys, reason)


def conclude(session: Session, site: Site, parent: Job) -> None:
    """End a parent whose jobs have all ended: have its archive built, if there is what to put in.

    An earlier archive is out of reach from now on, and removed when the new one is begun.
    """
    session.flush()
    if not tally(session, Job.parent_id == parent.id)[COMPLETE]:
        stop(parent, _why_none(session, parent))
        folders.remove_after_commit(session, folders.work_folder(site, parent.id))
        return
    if parent.status not in LIVING:
        parent.status, parent.completed = RUNNING, None
    if parent.is_batch:
        parent.batch_status = AGGREGATING
    site.queue.put(session, AGGREGATE, aggregate_key(parent.id), _payload(session, parent))


def is_aggregating(session: Session, site: Site, parent: Job) -> bool:
    """Whether the parent's archive is being built, or waits for it."""
    return site.queue.find(session, aggregate_key(parent.id)) is not None


def aggregated(site: Site, session: Session, task: Task, ending: Ending) -> None:
    """The archive is there, or it failed."""
    number = task.payload["job"]
    parent = session.get(Job, number)
    if parent is None:  # deleted meanwhile
        folders.remove_after_commit(session, folders.job_folder(site, number))
        return
    if parent.state not in (*LIVING, AGGREGATING):  # stopped meanwhile: nobody gets what was made
        folders.remove_after_commit(session, folders.work_folder(site, number))
        return
    if [part["job"] for part in task.payload["parts"]] != _parts(session, parent):
        conclude(session, site, parent)  # a job was deleted meanwhile
        return
    if ending.outcome == "done":
        parent.status, parent.completed = COMPLETE, now()
        if parent.is_batch:
            parent.batch_status = COMPLETE
        parent.bytes = ending.result["bytes"]
        return
    folders.remove_after_commit(session, folders.work_folder(site, parent.id))
    if parent.is_batch:
        parent.status, parent.completed, parent.bytes = STOPPED, now(), 0
        parent.batch_status, parent.aggregation_error = AGGREGATION_FAILED, ending.reason
    else:
        stop(parent, f"Its archive could not be built: {ending.reason}")


def _payload(session: Session, parent: Job) -> dict[str, Any]:
    """What `aggregation.run` gets: the jobs in order, and how big the archive may become."""
    parts = session.execute(
        select(Job.id, Job.name, Job.status, Job.score)
        .where(Job.parent_id == parent.id)
        .order_by(Job.id)
    )
    account = session.get_one(Account, parent.account_id)
    # An earlier archive's room is kept for the one that takes its place.
    used = storage_used(session, account.id) - parent.bytes
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


def _parts(session: Session, parent: Job) -> list[int]:
    """The numbers of the parent's jobs, in their order."""
    return [
        *session.scalars(select(Job.id).where(Job.parent_id == parent.id).order_by(Job.id)).all()
    ]


def _why_none(session: Session, parent: Job) -> str:
    """Why there is nothing to put into an archive."""
    first = session.execute(
        select(Job.reason).where(Job.parent_id == parent.id).order_by(Job.id).limit(1)
    ).one_or_none()
    if first is None:
        return "All its jobs were deleted."
    if parent.reason is not None:
        return parent.reason
    return f"None of its jobs is complete; the first says: {first.reason}"
