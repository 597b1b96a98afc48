"""Continue a pipeline when one of its jobs has ended.

The last job of a stage to end starts the next stage in its own transaction (see `stage_jobs`), so
that a kill at any moment leaves either the job running or the next stage in the queue. Inputs are
independent: a job that fails ends its own branch, and the next stage takes what the complete jobs
hand on. A pipeline is Complete, with an archive, if a job of its last stage is complete; its
`Reason` then says how many jobs did not complete. A stage without any complete job ends it.
"""

from __future__ import annotations

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import wording
from labext.sandbox.jobs import parents
from labext.sandbox.jobs.pipelines import stage_jobs
from labext.sandbox.jobs.pipelines.forms import Stage, plain_stages, title
from labext.sandbox.jobs.store import COMPLETE, LIVING, STOPPED, Account, Job
from labext.sandbox.service import Site

DELETED = "It was deleted."


def settle(session: Session, site: Site, parent: Job, job: Job, *, deleted: bool = False) -> None:
    """Continue the pipeline once the stage of a job that ended, or was deleted, is over.

    The hours are added up as the jobs end, so that what a deleted job has used stays used.
    """
    if job.weighted_hours and not deleted:
        parent.weighted_hours = round((parent.weighted_hours or 0.0) + job.weighted_hours, 9)
    session.flush()
    if parent.status not in LIVING or (deleted and job.stage != parent.stage):
        return
    if _in_stage(session, parent, *LIVING) is None:
        _end_stage(session, site, parent, last=job)


def _end_stage(session: Session, site: Site, parent: Job, last: Job) -> None:
    """Start the next stage or the archive, or end the pipeline if nothing of the stage is complete.

    `last` is the job whose end or deletion ended the stage.
    """
    stages = _stages(parent)
    place = parent.stage or 1
    if _in_stage(session, parent, COMPLETE) is None:
        failed = _in_stage(session, parent, STOPPED)
        reason = DELETED if failed is None else failed.reason or "It was stopped."
        name = last.name if failed is None else failed.name
        parents.stop(parent, f"{title(place, stages[place - 1])} failed: {name}: {reason}")
    elif place == len(stages):
        parent.reason = _failures(session, parent)
        parents.conclude(session, site, parent)
    else:
        _start_stage(session, site, parent, place + 1, stages[place])


def _start_stage(session: Session, site: Site, parent: Job, place: int, stage: Stage) -> None:
    """Start a stage with what the one before hands on; end the pipeline if none of it can run."""
    pieces = stage_jobs.handed_on(session, site, parent)
    parent.stage = place
    account = session.get_one(Account, parent.account_id)
    try:
        plan = stage_jobs.plan(session, site, account, parent.name, place, stage, pieces)
    except HTTPException as error:
        parents.stop(parent, f"{title(place, stage)} could not start: {error.detail}")
        return
    if not stage_jobs.start(session, site, account, parent, plan):
        refusal = stage_jobs.first_refusal(plan)
        parents.stop(parent, f"{title(place, stage)} could not start: {refusal}")


def _in_stage(session: Session, parent: Job, *states: str) -> Job | None:
    """Return the first job of the pipeline's current stage that is in one of the states."""
    first = select(Job).where(
        Job.parent_id == parent.id, Job.stage == parent.stage, Job.status.in_(states)
    )
    return session.scalars(first.order_by(Job.id).limit(1)).one_or_none()


def _failures(session: Session, parent: Job) -> str | None:
    """Return how many jobs did not complete, and why the first did not; None if all did."""
    mine = Job.parent_id == parent.id
    stopped = session.execute(
        select(Job.name, Job.reason).where(mine, Job.status == STOPPED).order_by(Job.id)
    ).all()
    if not stopped:
        return None
    jobs = wording.count(session.scalar(select(func.count()).where(mine)) or 0, "job")
    name, reason = stopped[0]
    first = "" if len(stopped) == 1 else "the first, "
    return f"{len(stopped):,} of {jobs} did not complete: {first}{name}: {reason}"


def _stages(parent: Job) -> list[Stage]:
    return plain_stages(orjson.loads(parent.settings)["stages"])
