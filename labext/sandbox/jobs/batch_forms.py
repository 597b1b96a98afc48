"""Reads the two forms of a batch's body into one.

Source: job service contract, POST /submit-batch: `{batchName, type, jobNames, settings}` with
arrays of the same length, or `{tool, batchName, jobs: [{jobName, settings}]}`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from labext.sandbox.jobs import fields
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.fields import Body
from labext.sandbox.jobs.names import LONGEST, name_fault, shown

MOST_JOBS = 100
MOST_VALIDATED = 1000
"""Rows that one request to `/validate-job` may have."""

LONGEST_RUN = 30 * 24 * 3600
MOST_HOURS = 1_000_000


@dataclass(frozen=True)
class BatchOrder:
    """A batch as it was asked for.

    Attributes:
        name: the parent's.
        type: the tool of all jobs; `type_field` is the field that named it.
        jobs: each job's short name and settings, in order.
        max_seconds: the time limit of each job.
        budget: the weighted hours that all jobs may use together.
        project: the `projectTag`.
    """

    name: str
    type: str
    type_field: str
    jobs: list[tuple[str, dict[str, Any]]]
    max_seconds: float | None
    budget: float | None
    project: str | None


def read_batch(body: Body) -> BatchOrder:
    """Read and check a batch's body, all but the tool and its settings; 400 for the first fault."""
    name = fields.name(body, "batchName")
    type_field = "tool" if "type" not in body and ("tool" in body or "jobs" in body) else "type"
    type_name = fields.text(body, type_field)
    jobs = _pairs(body) if "jobs" in body else _arrays(body)
    _check_names(name, [job for job, _settings in jobs])
    return BatchOrder(
        name=name,
        type=type_name,
        type_field=type_field,
        jobs=jobs,
        max_seconds=fields.positive(body, "maxRuntimeSeconds", LONGEST_RUN, whole=True),
        budget=fields.positive(body, "weightedHoursBudget", MOST_HOURS, whole=False),
        project=fields.project(body),
    )


def named_rows(body: Body, most: int) -> list[tuple[Any, Any]]:
    """Return name and settings of each row of a body with arrays, unchecked.

    The name is None where the body has no `jobNames`; 400 for more than `most` rows.
    """
    settings = fields.array(body, "settings")
    if not 1 <= len(settings) <= most:
        raise invalid(f"settings has {len(settings)} items; 1 to {most} are taken.")
    if body.get("jobNames") is None:
        return [(None, item) for item in settings]
    names = fields.array(body, "jobNames")
    if len(names) != len(settings):
        raise invalid(
            f"jobNames and settings have different lengths: {len(names)} and {len(settings)}."
        )
    return [*zip(names, settings, strict=True)]


def _arrays(body: Body) -> list[tuple[str, dict[str, Any]]]:
    _check_count("jobNames", len(fields.array(body, "jobNames")))
    return [
        (job_name(name, f"jobNames[{place}]"), record(item, f"settings[{place}]"))
        for place, (name, item) in enumerate(named_rows(body, MOST_JOBS))
    ]


def _pairs(body: Body) -> list[tuple[str, dict[str, Any]]]:
    if "jobNames" in body:
        raise invalid("jobNames and jobs are two forms of the same: send one of them.")
    jobs = fields.array(body, "jobs")
    _check_count("jobs", len(jobs))
    pairs = []
    for place, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise invalid(f"jobs[{place}] is not an object: {shown(job)}.")
        name = job_name(job.get("jobName"), f"jobs[{place}].jobName")
        pairs.append((name, record(job.get("settings"), f"jobs[{place}].settings")))
    return pairs


def _check_count(field: str, count: int) -> None:
    if not 1 <= count <= MOST_JOBS:
        raise invalid(f"{field} has {count} items; a batch has 1 to {MOST_JOBS} jobs.")


def job_name(value: object, field: str) -> str:
    """Return a job's name, checked; 400 if it can't be one."""
    if not isinstance(value, str):
        raise invalid(f"{field} is not a string: {shown(value)}.")
    if fault := name_fault(field, value):
        raise invalid(fault)
    return value


def record(value: object, field: str) -> dict[str, Any]:
    """Return a JSON object; 400 if it is none."""
    if not isinstance(value, dict):
        raise invalid(f"{field} is not an object: {shown(value)}.")
    return value


def _check_names(batch: str, names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise invalid(f"Job names occur more than once in the batch: {', '.join(twice[:5])}.")
    for name in names:
        full = f"{batch}-{name}"
        if len(full) > LONGEST:
            raise invalid(
                f"Job {name} would be named {shown(full)}, which has {len(full)} characters; "
                f"{LONGEST} are the most."
            )
