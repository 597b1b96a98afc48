"""List the workers, and the reasons why queued jobs are waiting (JOBS-200 to JOBS-202)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from labext.sandbox.core.queue import QUEUED, Task
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs.job_creation import RUN_KIND, run_key
from labext.sandbox.jobs.scheduling import worker_reason
from labext.sandbox.jobs.tables import ACTIVE_STATES, Account, Job
from labext.sandbox.jobs.tools import catalogue


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
