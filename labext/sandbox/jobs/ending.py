"""Stops and deletes jobs (job service contract, POST /stop-job and DELETE /delete-job)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import batches, fields, folders
from labext.sandbox.jobs.faults import absent
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import (
    AGGREGATING,
    LIVING,
    STOPPED,
    Account,
    Job,
    job_named,
    now,
)
from labext.sandbox.service import Site

BY_HAND = "Stopped by hand."
KILL_SECONDS = 5.0
"""How long an answer waits for the processes to be gone."""


def stop_job(site: Site, account: Account, body: bytes) -> str:
    """Stop a job, or a batch with all its jobs; what is finished stays as it is. A message."""
    name = fields.text(fields.parse_body(body), "jobName")
    with site.database.write() as session:
        job = _job(session, account, name)
        state = job.state
        if state not in (*LIVING, AGGREGATING):
            return f"{job.name} is already {state}."
        parts = _living_parts(session, job)
        if job.is_batch:
            batches.stop(job, BY_HAND)
        for part in parts:
            part.status, part.reason, part.completed = STOPPED, BY_HAND, now()
        stopped = _cancel(session, site, [job.id, *(part.id for part in parts)], BY_HAND)
    _wait_gone(site, stopped)
    return f"{job.name} is stopped."


def delete_job(site: Site, account: Account, body: bytes, name: str | None) -> str:
    """Delete a job, or a batch with all its jobs: what runs is stopped, rows and bytes go."""
    if body or name is None:
        name = fields.text(fields.parse_body(body or b"{}"), "jobName")
    with site.database.write() as session:
        job = _job(session, account, name)
        parent = job.parent
        numbers = [job.id, *session.scalars(select(Job.id).where(Job.parent_id == job.id))]
        session.execute(delete(Job).where(Job.parent_id == job.id))
        session.delete(job)
        session.flush()
        stopped = _cancel(session, site, numbers, "Deleted.")
        if parent is not None:
            batches.settle(session, site, parent)
    _wait_gone(site, stopped)
    folders.remove_jobs(site, numbers)
    return f"{name} is deleted."


def _job(session: Session, account: Account, name: str) -> Job:
    job = job_named(session, account.id, name)
    if job is None:
        raise absent(f"There is no job {shown(name)}.")
    return job


def _living_parts(session: Session, job: Job) -> list[Job]:
    if not job.is_batch:
        return [job]
    living = select(Job).where(Job.parent_id == job.id, Job.status.in_(LIVING))
    return list(session.scalars(living))


def _cancel(session: Session, site: Site, numbers: Sequence[int], reason: str) -> list[str]:
    """Cancel the tasks of these jobs; returns the keys of those that waited or ran."""
    keys = [key(number) for number in numbers for key in (batches.run_key, batches.aggregate_key)]
    return [key for key in keys if site.queue.cancel(session, key, reason)]


def _wait_gone(site: Site, keys: Sequence[str]) -> None:
    for key in keys:
        site.queue.wait(site.database, key, KILL_SECONDS)
