"""Task kinds of the job service, and the updates of job rows when tasks start and end."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import orjson
from sqlalchemy.orm import Session, joinedload

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs import parent_jobs, usage
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.job_creation import RUN_KIND
from labext.sandbox.jobs.limits import limit_value
from labext.sandbox.jobs.pipelines import service
from labext.sandbox.jobs.scheduling import running_limit
from labext.sandbox.jobs.tables import (
    ACTIVE_STATES,
    COMPLETE,
    IN_QUEUE,
    RUNNING,
    STOPPED,
    Job,
    current_timestamp,
    format_timestamp,
)
from labext.sandbox.jobs.tools import catalogue


def task_kinds(site: Site) -> list[TaskKind]:
    """Return the task kinds of the service."""

    def work(task: Task) -> Path:
        return job_files.work_folder(site, task.payload["job"])

    def inputs(task: Task) -> list[Path]:
        return [job_files.inputs_folder(site, task.payload["job"])]

    save = partial(job_files.store_results, site) if site.files.is_remote else None
    return [
        TaskKind(
            name=RUN_KIND,
            entry="labext.sandbox.jobs.execution:run_job",
            on_start=_on_start,
            on_end=partial(_on_end, site),
            on_requeue=_on_requeue,
            on_tick=partial(parent_jobs.check_budgets, site),
            work=work,
            memory=partial(limit_value, name="job_memory"),
            owner_limit=running_limit,
            inputs=inputs,
            cores=_cores,
            reserved=_reserved_memory,
            prepare=partial(job_files.fetch_inputs, site) if site.files.is_remote else None,
            save=save,
        ),
        TaskKind(
            name=parent_jobs.AGGREGATE_KIND,
            entry="labext.sandbox.jobs.files.result_archives:aggregate",
            on_end=partial(parent_jobs.on_aggregation_end, site),
            work=work,
            memory=partial(limit_value, name="job_memory"),
            prepare=partial(job_files.fetch_parts, site) if site.files.is_remote else None,
            save=save,
        ),
    ]


def _cores(task: Task) -> int:
    tool = catalogue.find_definition(task.payload["tool"])
    return 1 if tool is None else tool.cores


def _reserved_memory(task: Task) -> int | None:
    tool = catalogue.find_definition(task.payload["tool"])
    return None if tool is None else tool.memory


def settle_parent(
    session: Session, site: Site, parent: Job, job: Job, *, deleted: bool = False
) -> None:
    """Update a parent after one of its jobs has ended or was deleted.

    Runs in the transaction that ends or deletes the job, so a crash cannot leave the parent
    waiting.
    """
    if deleted and parent_jobs.is_aggregating(session, site, parent):
        return  # `on_aggregation_end` detects the missing job
    if deleted and parent.state == COMPLETE:
        parent_jobs.finish_parent(session, site, parent)
        return
    if parent.is_batch:
        parent_jobs.settle_batch(session, site, parent, job)
    else:
        service.settle_pipeline(session, site, parent, job, deleted=deleted)


def _load_job(session: Session, task: Task) -> Job | None:
    """Load the task's job with its parent in one statement; None if it was deleted."""
    return session.get(Job, task.payload["job"], options=[joinedload(Job.parent)])


def _on_start(session: Session, task: Task) -> None:
    job = _load_job(session, task)
    if job is None or job.status not in ACTIVE_STATES:
        return
    job.status, job.started = RUNNING, format_timestamp(task.started or time.time())
    if job.parent is not None and job.parent.status == IN_QUEUE:
        job.parent.status, job.parent.started = RUNNING, job.started


def _on_requeue(session: Session, task: Task) -> None:
    job = session.get(Job, task.payload["job"])
    if job is not None and job.status == RUNNING:
        job.status, job.started = IN_QUEUE, None


def _on_end(site: Site, session: Session, task: Task, outcome: TaskOutcome) -> None:
    job = _load_job(session, task)
    hours = round(outcome.seconds / 3600, 9)
    account = task.payload.get("account") if job is None else job.account_id
    if hours and account is not None:
        usage.add_usage(session, account, task.payload["tool"], hours=hours)
    if job is None:  # deleted while it ran
        job_files.remove_after_commit(session, site, task.payload["job"])
        return
    job_files.remove_after_commit(session, site, job.id, "inputs")
    if site.files.is_remote:
        job_files.remove_folder_after_commit(session, job_files.job_folder(site, job.id))
    job.weighted_hours = hours
    job.completed = current_timestamp()
    if job.status in ACTIVE_STATES:  # not stopped by the user meanwhile
        if outcome.outcome == "done":
            job.status, job.score = COMPLETE, orjson.dumps(outcome.result).decode()
        else:
            job.status, job.reason = STOPPED, _failure_reason(outcome)
    if job.parent is not None:
        settle_parent(session, site, job.parent, job)


def _failure_reason(outcome: TaskOutcome) -> str:
    if outcome.over == "memory":
        command = admin_command("jobs limits set job_memory VALUE")
        return f"{outcome.reason} To allow more: {command}."
    return outcome.reason
