"""The service's kinds of tasks, and what their starts and ends do to the rows.

Each hook runs in the transaction that changes the task. `jobs.run` runs a tool, `jobs.aggregate`
builds a batch's archive once its last job has ended (job service contract, States).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy.orm import Session

from labext.sandbox.jobs import batches, folders
from labext.sandbox.jobs.store import COMPLETE, IN_QUEUE, LIVING, RUNNING, STOPPED, Job, now
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site

RUN = "jobs.run"


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
        ),
        Kind(
            name=batches.AGGREGATE,
            entry="labext.sandbox.jobs.aggregation:run",
            on_end=partial(batches.aggregated, site),
            work=work,
        ),
    ]


def put_run(
    session: Session, site: Site, job: Job, settings: Mapping[str, Any], max_seconds: float
) -> None:
    """Queue a job; its row has its number by now."""
    site.queue.put(
        session,
        RUN,
        batches.run_key(job.id),
        {"job": job.id, "tool": job.tool, "settings": settings},
        max_seconds=max_seconds,
    )


def _work(site: Site, task: Task) -> Path:
    return folders.work_folder(site, task.payload["job"])


def _started(session: Session, task: Task) -> None:
    job = session.get(Job, task.payload["job"])
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
    job = session.get(Job, task.payload["job"])
    if job is None:  # deleted while it ran
        folders.remove_after_commit(session, folders.job_folder(site, task.payload["job"]))
        return
    folders.remove_after_commit(session, folders.inputs_folder(site, job.id))
    job.weighted_hours = round(ending.seconds / 3600, 9)
    job.completed = now()
    if job.status in LIVING:  # not stopped by hand meanwhile
        if ending.outcome == "done":
            job.status, job.score = COMPLETE, orjson.dumps(ending.result).decode()
        else:
            job.status, job.reason = STOPPED, ending.reason
    if job.parent is not None:
        batches.settle(session, site, job.parent)
