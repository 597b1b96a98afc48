"""Stops and deletes jobs (job service contract, POST /stop-job and DELETE /delete-job)."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import fields, parents, tasks
from labext.sandbox.jobs.faults import absent
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import AGGREGATING, LIVING, Account, Job, job_named
from labext.sandbox.service import Site

BY_HAND = "Stopped by hand."
KILL_SECONDS = 5.0
"""How long an answer waits for the processes to be gone."""


def stop_job(site: Site, account: Account, body: bytes) -> str:
    """Stop a job, or a parent with all its jobs; what is finished stays as it is. A message."""
    return _stop(site, account, fields.text(fields.parse_body(body), "jobName"))


def cancel_job(site: Site, account: Account, body: bytes) -> str:
    """As `stop_job`, for whatever is no batch; a batch is 404 (real services, jobs)."""
    name = fields.text(fields.parse_body(body), "jobName")
    return _stop(site, account, name, batch=False)


def cancel_batch(site: Site, account: Account, body: bytes) -> str:
    """As `stop_job`, for a batch, which `batchName` or `jobName` names; anything else is 404."""
    content = fields.parse_body(body)
    batch = fields.optional_text(content, "batchName") is not None or "jobName" not in content
    name = fields.text(content, "batchName" if batch else "jobName")
    return _stop(site, account, name, batch=True)


def _stop(site: Site, account: Account, name: str, *, batch: bool | None = None) -> str:
    """Stop it; with `batch`, only if it is one, or is none."""
    with site.database.write() as session:
        job = _job(session, account, name)
        if batch is not None and batch != job.is_batch:
            raise absent(f"{shown(name)} is {'no batch' if batch else 'a batch'}.")
        state = job.state
        if state not in (*LIVING, AGGREGATING):
            return f"{job.name} is already {state}."
        if job.is_parent:
            parents.stop(job, BY_HAND)
            stopped = parents.stop_parts(session, site, job, BY_HAND)
        else:
            parents.stop_job(job, BY_HAND)
            stopped = []
        stopped += parents.cancel(session, site, [job.id], BY_HAND)
    site.queue.wait_all(site.database, stopped, KILL_SECONDS)
    return f"{job.name} is stopped."


def delete_job(site: Site, account: Account, body: bytes, name: str | None) -> str:
    """Delete a job, or a parent with all its jobs: what runs is stopped, rows and bytes go."""
    if body or name is None:
        name = fields.text(fields.parse_body(body or b"{}"), "jobName")
    with site.database.write() as session:
        job = _job(session, account, name)
        parent = job.parent
        numbers = [job.id, *session.scalars(select(Job.id).where(Job.parent_id == job.id))]
        session.execute(delete(Job).where(Job.parent_id == job.id))
        session.delete(job)
        session.flush()
        stopped = parents.cancel(session, site, numbers, "Deleted.")
        message = f"{name} is deleted."
        if parent is not None:
            tasks.settle(session, site, parent, job, deleted=True)
            if parents.is_aggregating(session, site, parent):
                message += f" The archive of {parent.name} is built again without it."
    site.queue.wait_all(site.database, stopped, KILL_SECONDS)
    folders.remove_jobs(site, numbers)
    return message


def _job(session: Session, account: Account, name: str) -> Job:
    job = job_named(session, account.id, name)
    if job is None:
        raise absent(f"There is no job {shown(name)}.")
    return job
