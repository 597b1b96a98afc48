"""Name the jobs of a batch or a pipeline that did not complete, in the message on its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext import wording
from labext.jobs import rows
from labext.jobs.results import outputs
from labext.progress import Outcome

_SHOWN = 3


def said(jobs: Sequence[Mapping[str, Any]], of: str) -> str:
    """Return how many jobs did not complete, which, and why; empty if all did.

    Args:
        jobs: the rows of the jobs.
        of: the batch or the pipeline that they belong to.
    """
    failed = [job for job in jobs if rows.outcome(job) is not Outcome.COMPLETE]
    if not failed:
        return ""
    by_reason: dict[str, list[str]] = {}
    for job in failed:
        reason = rows.reason(job) or rows.phase(job)
        name = outputs.own_name(str(job.get("JobName")), of)
        by_reason.setdefault(reason.rstrip("."), []).append(name)
    groups = [
        f"{wording.listed(names, _SHOWN)} ({reason})"
        for reason, names in list(by_reason.items())[:_SHOWN]
    ]
    if len(by_reason) > _SHOWN:
        others = sum(map(len, list(by_reason.values())[_SHOWN:]))
        groups.append(f"{others:,} more for other reasons")
    total = wording.count(len(jobs), "job")
    return f"{len(failed):,} of {total} did not complete: {'; '.join(groups)}"
