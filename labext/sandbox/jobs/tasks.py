"""The service's kinds of tasks, and what their starts and ends do to the rows.

Each hook runs in the transaction that changes the task. `jobs.run` runs a tool, `jobs.aggregate`
builds the archive of a batch or a pipeline once its last job has ended (job service contract,
States).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import orjson
from sqlalchemy.orm import Session, joinedload

from labext.sandbox.jobs import batches, parents, usage
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.pipelines import settling
from labext.sandbox.jobs.store import COMPLETE, IN_QUEUE, LIVING, RUNNING, STOPPED, Job, now
from labext.sandbox.jobs.storing import RUN
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site


def kinds(site: Site) -> list[Kind]:
    """What the service puts into the queue."""
    work = partial(_work, site)
    return [
        Kind(
            name=RUN,
            entry="labext.sandbox.jobs.execution:run",
            on_start=_started,
            on_end=partial(_ended, site),
            on_requeue=_requeued,
            on_tick=partial(batches.check_budgets, site),
            work=work,
            memory=partial(limit, name="job_memory"),
        ),
        Kind(
            name=parents.AGGREGATE,
            entry="labext.sandbox.jobs.aggregation:run",
            on_end=partial(parents.aggregated, site),
            work=work,
            memory=partial(limit, name="job_memory"),
        ),
    ]


def settle(session: Session, site: Site, parent: Job, job: Job, *, deleted: bool = False) -> None:
    """See to a parent after one of its jobs has ended, or was deleted.

    In the transaction that ends or deletes the job: whatever is killed when, the parent goes on.
    """
    if deleted and parents.is_aggregating(session, site, parent):
        return  # once the archive is built it shows that it has to be built again
    if deleted and parent.state == COMPLETE:
        parents.conclude(session, site, parent)
        return
    if parent.is_batch:
        batches.settle(session, site, parent, job)
    else:
        settling.settle(session, site, parent, job, deleted=deleted)


def _work(site: Site, task: Task) -> Path:
    return folders.work_folder(site, task.payload["job"])


def _job(session: Session, task: Task) -> Job | None:
    """The task's job, and with it its parent, where it has one: in one statement."""
    return session.get(Job, task.payload["job"], options=[joinedload(Job.parent)])


def _started(session: Session, task: Task) -> None:
    job = _job(session, task)
    if job is None or job.status not in LIVING:
        return
    job.status, job.started = RUNNING, now()
    if job.parent is not None and job.parent.status == IN_QUEUE:
        job.parent.status, job.parent.started = RUNNING, job.started


def _requeued(session: Session, task: Task) -> None:
    job = session.get(Job, task.payload["job"])
    if job is not None and job.status == RUNNING:
        job.status, job.started = IN_QUEUE, None


def _ended(site: Site, session: Session, task: Task, ending: Ending) -> None:
    job = _job(session, task)
    hours = round(ending.seconds / 3600, 9)
    _charge(session, task, job, hours)
    if job is None:  # deleted while it ran
        folders.remove_after_commit(session, folders.job_folder(site, task.payload["job"]))
        return
    folders.remove_after_commit(session, folders.inputs_folder(site, job.id))
    job.weighted_hours = hours
    job.completed = now()
    if job.status in LIVING:  # not stopped by hand meanwhile
        if ending.outcome == "done":
            job.status, job.score = COMPLETE, orjson.dumps(ending.result).decode()
        else:
            job.status, job.reason = STOPPED, _reason(ending)
    if job.parent is not None:
        settle(session, site, job.parent, job)


def _reason(ending: Ending) -> str:
    if ending.over == "memory":
        return f"{ending.reason} To allow more: `labext sandbox jobs limits set job_memory`."
    return ending.reason


def _charge(session: Session, task: Task, job: Job | None, hours: float) -> None:
    """Count what a job has used, also where it was deleted while it ran."""
    account = task.payload.get("account") if job is None else job.account_id
    if hours and account is not None:
        usage.ended(session, account, task.payload["tool"], hours)
