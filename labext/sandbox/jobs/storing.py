"""Stores jobs with their tasks and their input files: one job, a batch's, a pipeline stage's.

Whoever calls has checked the settings; all of it stands or falls with the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs import usage
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.references import Input, References, not_uploaded_sentence
from labext.sandbox.jobs.store import IN_QUEUE, STOPPED, Account, Job, now
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.service import Site

RUN = "jobs.run"
"""The kind of the tasks that run a tool (see `tasks`)."""


def run_key(job_id: int) -> str:
    """The queue's key of the task that runs a job."""
    return f"{RUN}:{job_id}"


@dataclass(frozen=True)
class Order:
    """One job to be stored: its full name, its settings as they were sent, and its files."""

    name: str
    settings: dict[str, Any]
    inputs: dict[str, Input]


def check_free(session: Session, account: Account, names: Sequence[str]) -> None:
    """Refuse a name that one of the account's jobs has (400)."""
    taken = session.scalars(
        select(Job.name).where(Job.account_id == account.id, Job.name.in_(names)).limit(1)
    ).first()
    if taken is not None:
        raise invalid(f"Job name {taken} is already taken.")


def orders(references: References, tool: Tool, jobs: Sequence[tuple[str, Any]]) -> list[Order]:
    """Find the files of all jobs, given by their names and settings; 400 where one is not there."""
    wrong = [v for _name, settings in jobs for v in references.not_uploaded(tool, settings)]
    if wrong:
        raise invalid(not_uploaded_sentence(wrong))
    return [Order(name, settings, references.inputs(tool, settings)) for name, settings in jobs]


def store(
    session: Session,
    site: Site,
    account: Account,
    tool: Tool,
    orders: Sequence[Order],
    *,
    project: str | None = None,
    parent: Job | None = None,
    stage: int | None = None,
    max_seconds: float | None = None,
) -> None:
    """Write the jobs' rows and tasks, keep their input files, and count them as submitted.

    Args:
        session: the transaction; a parent's row has its number by now.
        site: where the files and the queue are.
        account: whose jobs they are.
        tool: of all of them.
        orders: in the order in which they are listed and started.
        project: the `projectTag`.
        parent: the batch or pipeline that they belong to.
        stage: of a pipeline, which they are the jobs of.
        max_seconds: how long each may run, where that is less than any job may.
    """
    created = now()
    jobs = [
        Job(
            account_id=account.id,
            parent_id=None if parent is None else parent.id,
            name=order.name,
            type=tool.name,
            tool=tool.name,
            status=IN_QUEUE,
            created=created,
            settings=json_text(order.settings),
            project_tag=project,
            stage=stage,
        )
        for order in orders
    ]
    session.add_all(jobs)
    session.flush()
    limits = (limit(session, "job_seconds"), tool.seconds, max_seconds)
    seconds = min(float(each) for each in limits if each is not None)
    try:
        for job, order in zip(jobs, orders, strict=True):
            _keep_inputs(site, job, order.inputs)
            _put_run(session, site, job, order.settings, seconds)
        usage.submitted(session, account.id, tool.name, len(jobs))
        session.flush()
    except BaseException:
        folders.remove_jobs(site, [job.id for job in jobs])
        raise


def store_stopped(
    session: Session,
    account: Account,
    tool: Tool,
    jobs: Sequence[tuple[str, Mapping[str, Any], str]],
    *,
    parent: Job,
) -> None:
    """Write the rows of jobs of a pipeline's stage that can't run: name, settings and reason."""
    moment = now()
    session.add_all(
        Job(
            account_id=account.id,
            parent_id=parent.id,
            name=name,
            type=tool.name,
            tool=tool.name,
            status=STOPPED,
            created=moment,
            completed=moment,
            settings=json_text(settings),
            reason=reason,
            project_tag=parent.project_tag,
            stage=parent.stage,
        )
        for name, settings, reason in jobs
    )


def json_text(value: Mapping[str, Any]) -> str:
    """JSON as the rows keep it."""
    return orjson.dumps(value).decode()


def _put_run(
    session: Session, site: Site, job: Job, settings: Mapping[str, Any], max_seconds: float
) -> None:
    site.queue.put(
        session,
        RUN,
        run_key(job.id),
        {"job": job.id, "account": job.account_id, "tool": job.tool, "settings": settings},
        max_seconds=max_seconds,
    )


def _keep_inputs(site: Site, job: Job, inputs: dict[str, Input]) -> None:
    """Keep each input as it is now: the upload or the earlier job may be deleted meanwhile."""
    # A submission that could not be committed had the same number, and may have left its own.
    folders.remove_jobs(site, [job.id])
    for setting, found in inputs.items():
        folders.link(found.source, folders.inputs_folder(site, job.id) / setting / found.name)
