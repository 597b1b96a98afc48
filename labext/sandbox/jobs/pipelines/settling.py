"""What a pipeline does when one of its jobs has ended: goes on, waits, fails, or is archived.

The last job of a stage to end starts the next in its own transaction (see `stage_jobs`), so that a
kill at any moment finds either the job still running or the next stage in the queue. A job that
fails ends the pipeline with its reason; after the last stage the archive is built, and then it is
Complete (real services, jobs).
"""

from __future__ import annotations

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import parents
from labext.sandbox.jobs.pipelines import stage_jobs
from labext.sandbox.jobs.pipelines.forms import Stage, plain_stages, title
from labext.sandbox.jobs.store import LIVING, STOPPED, Account, Job
from labext.sandbox.service import Site


def settle(session: Session, site: Site, parent: Job, job: Job, *, deleted: bool = False) -> None:
    """After one of its jobs has ended or was deleted: fail, go on, or wait for the others.

    The hours are added up as the jobs end, so that what a deleted one has used stays used.
    """
    if job.weighted_hours and not deleted:
        parent.weighted_hours = round((parent.weighted_hours or 0.0) + job.weighted_hours, 9)
    session.flush()
    if parent.status not in LIVING:
        return
    if deleted:
        if job.stage == parent.stage:
            _fail(session, site, parent, job.name, "It was deleted.")
        return
    mine = (Job.parent_id == parent.id, Job.stage == parent.stage)
    first = select(Job).where(*mine).order_by(Job.id).limit(1)
    failed = session.scalars(first.where(Job.status == STOPPED)).one_or_none()
    if failed is not None:
        _fail(session, site, parent, failed.name, failed.reason or "It was stopped.")
    elif session.scalars(first.where(Job.status.in_(LIVING))).one_or_none() is None:
        _go_on(session, site, parent)


def _go_on(session: Session, site: Site, parent: Job) -> None:
    """Start the next stage, or have the archive built; what can't start ends the pipeline."""
    stages = _stages(parent)
    place = (parent.stage or 0) + 1
    if place > len(stages):
        parents.conclude(session, site, parent)
        return
    pieces = stage_jobs.handed_on(session, site, parent)
    parent.stage = place
    stage = stages[place - 1]
    account = session.get_one(Account, parent.account_id)
    try:
        plan = stage_jobs.plan(session, site, account, parent.name, place, stage, pieces)
    except HTTPException as error:
        parents.stop(parent, f"{title(place, stage)} could not start: {error.detail}")
    else:
        stage_jobs.start(session, site, account, parent, plan)


def _fail(session: Session, site: Site, parent: Job, job: str, reason: str) -> None:
    """End the pipeline because of one of its jobs, and all that it still has to do."""
    place = parent.stage or 1
    stage = _stages(parent)[place - 1]
    parents.stop(parent, f"{title(place, stage)} failed: {job}: {reason}")
    ended = f"Its pipeline has ended, because {job} failed."
    parents.stop_parts(session, site, parent, ended)
    parents.cancel(session, site, [parent.id], ended)


def _stages(parent: Job) -> list[Stage]:
    return plain_stages(orjson.loads(parent.settings)["stages"])
