"""Limits of running and queued jobs per account, the workers, and why a job is waiting."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, or_, select
from sqlalchemy.orm import Session

from labext import messages
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.queue import IS_TAKEN, QUEUED, Task
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.job_creation import RUN_KIND, run_key
from labext.sandbox.jobs.limits import LIMITS, limit_value
from labext.sandbox.jobs.schemas import forbidden
from labext.sandbox.jobs.tables import ACTIVE_STATES, IN_QUEUE, Account, Job, Limit
from labext.sandbox.jobs.tools import catalogue

_GENERAL_LIMIT = "max_running_per_account"
_ACCOUNTS = Account.metadata.tables[Account.__tablename__].c
_LIMITS = Limit.metadata.tables[Limit.__tablename__].c
_LIMIT = func.coalesce(
    _ACCOUNTS.max_running,
    select(_LIMITS.value).where(_LIMITS.name == _GENERAL_LIMIT).scalar_subquery(),
    LIMITS[_GENERAL_LIMIT].default,
)
_RUNNING_LIMIT = select(_LIMIT).where(_ACCOUNTS.id == bindparam("account_id"), _LIMIT > 0)
"""Built once, since it is executed whenever a job is claimed."""


def running_limit(session: Session, owner: str) -> int | None:
    """Return the maximum number of running jobs of a task owner; None if it has no limit."""
    account_id = int(owner.rpartition(":")[2])
    limit = session.connection().execute(_RUNNING_LIMIT, {"account_id": account_id}).scalar()
    return None if limit is None else int(limit)


def check_queue_limit(session: Session, site: Site, account: Account, jobs: int) -> None:
    """Raise 403 if `jobs` further jobs would exceed the account's limit of queued jobs.

    `account` must be loaded in this transaction, so that a new limit applies to the next
    submission.
    """
    limit = account.max_queued
    if limit is None:
        limit = limit_value(session, "max_queued_per_account")
    if not limit:
        return
    queued = site.queue.count_waiting(session, account.queue_owner)
    if queued + jobs > limit:
        raise forbidden(
            f"{account.email} has {messages.pluralize(queued, 'queued job')}; with {jobs} more it "
            f"would exceed its limit of {limit}. Submit them when earlier jobs have ended."
        )


def queue_reason(session: Session, site: Site, job: Job) -> str | None:
    """Return the reason why a job is waiting in the queue, or None if it is not waiting."""
    task = site.queue.find(session, run_key(job.id)) if job.status == IN_QUEUE else None
    if task is None or task.state != QUEUED:
        return None
    reason = site.executors.problem() or _limit_reason(session, task)
    reason = reason or worker_reason(session, site, job.tool) or "All slots are busy."
    own = (Task.owner == task.owner, Task.kind == RUN_KIND, Task.state == QUEUED)
    earlier = or_(
        Task.priority > task.priority,
        (Task.priority == task.priority)
        & or_(Task.turn < task.turn, (Task.turn == task.turn) & (Task.id < task.id)),
    )
    count = count_rows(session, Task, *own, earlier)
    if count:
        reason += f" {messages.pluralize(count, 'other job')} of the account will start before it."
    return reason


def _limit_reason(session: Session, task: Task) -> str:
    limit = running_limit(session, task.owner)
    if limit is None:
        return ""
    taken = (IS_TAKEN, Task.kind == RUN_KIND, Task.owner == task.owner)
    running = count_rows(session, Task, *taken)
    if running < limit:
        return ""
    return f"The account runs {running} of at most {messages.pluralize(limit, 'job')} at a time."


def worker_reason(session: Session, site: Site, tool_name: str) -> str:
    """Return the reason why no worker can run a tool; empty if a worker can."""
    limit = limit_value(session, "job_memory")
    tool = catalogue.find_definition(tool_name)
    cores = 1 if tool is None else tool.cores
    memory = limit if tool is None or tool.memory is None else min(limit, tool.memory)
    return site.executors.why_waiting(tool_name, cores, memory)


def list_workers(site: Site, caller: Account) -> dict[str, Any]:
    """Return the executor, its workers, and the number of waiting jobs per tool with the reason.

    `jobs` of a worker names the caller's jobs; `busy` also counts those of other accounts.
    """
    with site.database.read() as session:
        jobs = select(Job.id, Job.name).where(
            Job.account_id == caller.id, Job.status.in_(ACTIVE_STATES)
        )
        names = {run_key(job_id): name for job_id, name in session.execute(jobs)}
        waiting = (
            select(Task.needs, func.count())
            .where(Task.kind == RUN_KIND, Task.state == QUEUED, Task.owner == caller.queue_owner)
            .group_by(Task.needs)
        )
        counts = {str(tool): int(count) for tool, count in session.execute(waiting)}
        reasons = {tool: worker_reason(session, site, tool) for tool in sorted(counts)}
    return {
        "executor": site.executors.address,
        "workers": [
            {
                "name": worker.name,
                "address": worker.address,
                "state": worker.state,
                "slots": worker.slots,
                "busy": worker.busy,
                "memory": worker.memory,
                "tools": [*worker.capabilities] or [*catalogue.available_tools()],
                "jobs": sorted(names[key] for key in worker.tasks if key in names),
                "lastSeen": round(worker.last_seen, 1),
                "sharedDir": worker.shared_dir,
                "note": worker.note,
            }
            for worker in site.executors.workers()
        ],
        "waiting": [
            {"tool": tool, "jobs": counts[tool], "reason": reason}
            for tool, reason in reasons.items()
            if reason
        ],
    }
