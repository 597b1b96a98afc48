"""Plan of a batch: its jobs, limits and parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext.jobs import identity
from labext.jobs.frames import drop_equal_names
from labext.jobs.identity import submission_digest

if TYPE_CHECKING:
    import pandas as pd

MAX_JOBS = 100
"""Maximum number of jobs in one batch of the service."""

LIMITS = ("maxRuntimeSeconds", "weightedHoursBudget")
"""The fields of a batch with its limits, in a request and in its settings on the service."""

_MIN_NAME_LENGTH = 20  # a shorter limit would make job names useless

Settings = dict[str, Any]


@dataclass(frozen=True)
class BatchLimits:
    """Limits of a batch.

    Attributes:
        seconds: time limit of each job, a whole number of seconds.
        budget: budget of the whole batch, in weighted hours.
    """

    seconds: int | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            is_integer = isinstance(self.seconds, Integral) and not isinstance(self.seconds, bool)
            if not is_integer or self.seconds < 1:
                raise InputError(
                    f"{messages.quote_value(self.seconds)} is not a valid time limit for a job.",
                    "Give a whole number of seconds, at least 1.",
                )
            object.__setattr__(self, "seconds", int(self.seconds))  # NumPy integers are not JSON
        if self.budget is not None:
            hours = _parse_hours(self.budget)
            if hours is None:
                raise InputError(
                    f"{messages.quote_value(self.budget)} is not a valid budget.",
                    "Give a number of weighted hours above 0.",
                )
            object.__setattr__(self, "budget", hours)


@dataclass(frozen=True)
class BatchPart:
    """One batch on the service: a small batch, or a part with its share of the whole budget."""

    name: str
    jobs: tuple[str, ...]
    budget: float | None = None


@dataclass(frozen=True)
class BatchPlan:
    """The jobs and limits of a batch, as they will be sent.

    Attributes:
        jobs: settings by job name, in the order of the input.
        rows: the input rows in the order of the jobs; None if the input was not a frame.
    """

    name: str
    type: str
    jobs: Mapping[str, Settings]
    limits: BatchLimits = BatchLimits()
    rows: pd.DataFrame | None = field(default=None, repr=False, compare=False)
    name_column: str | None = None

    @cached_property
    def originals(self) -> dict[str, str]:
        """The original names of the jobs whose names were adapted, by job name."""
        if self.rows is None or self.name_column is None:
            return {}
        names = map(identity.name_text, self.rows[self.name_column])
        return {job: name for job, name in zip(self.jobs, names, strict=False) if job != name}

    @property
    def input_columns(self) -> pd.DataFrame | None:
        """The input rows, without the column of names if it equals the names of the jobs."""
        if self.rows is None or self.name_column is None:
            return self.rows
        return drop_equal_names(self.rows, self.name_column, list(self.jobs))

    @cached_property
    def parts(self) -> tuple[BatchPart, ...]:
        """The parts in which the batch is sent, each of at most `MAX_JOBS` jobs."""
        names = list(self.jobs)
        if len(names) <= MAX_JOBS:
            return (BatchPart(self.name, tuple(names), self.limits.budget),)
        count = _part_count(len(names))
        chunks = [
            tuple(names[start : start + MAX_JOBS]) for start in range(0, len(names), MAX_JOBS)
        ]
        return tuple(
            BatchPart(identity.part_name(self.name, number, count), jobs, self._share(len(jobs)))
            for number, jobs in enumerate(chunks, start=1)
        )

    @property
    def split(self) -> bool:
        """True if the batch is sent in several parts."""
        return len(self.parts) > 1

    def body(self, part: BatchPart) -> dict[str, Any]:
        """Return the request body of `/submit-batch` for one part."""
        body: dict[str, Any] = {
            "batchName": part.name,
            "type": self.type,
            "jobNames": list(part.jobs),
            "settings": [self.jobs[job] for job in part.jobs],
        }
        limits = zip(LIMITS, (self.limits.seconds, part.budget), strict=True)
        return body | {name: value for name, value in limits if value is not None}

    def digests(self) -> dict[str, str]:
        """Return a digest of the type and settings of each job, by job name."""
        return {job: submission_digest(self.type, settings) for job, settings in self.jobs.items()}

    def _share(self, jobs: int) -> float | None:
        budget = self.limits.budget
        return None if budget is None else budget * jobs / len(self.jobs)


def max_job_name_length(batch: str, jobs: int) -> int:
    """Return the maximum length of a job name for which `<batch or part>-<job>` is valid.

    If a long batch name leaves fewer than `_MIN_NAME_LENGTH` characters, the general maximum is
    returned, so that the error blames the batch name.
    """
    count = _part_count(jobs)
    longest = batch if count == 1 else identity.part_name(batch, count, count)
    remaining = identity.MAX_NAME_LENGTH - len(longest) - 1
    return remaining if remaining >= _MIN_NAME_LENGTH else identity.MAX_NAME_LENGTH


def _part_count(jobs: int) -> int:
    return max(1, math.ceil(jobs / MAX_JOBS))


def named_settings(jobs: Any, constants: Settings) -> dict[str, Settings]:
    """Return settings by job name, from jobs in any format except a frame.

    Formats: `{name: settings}`; the service's parallel arrays
    `{"jobNames": […], "settings": […]}`; and its list `[{"jobName": …, "settings": …}, …]`, which
    may also be the value of a key `jobs`. A job's settings take precedence over `constants`.
    """
    if isinstance(jobs, Mapping) and isinstance(jobs.get("jobs"), list | tuple):
        jobs = jobs["jobs"]
    if isinstance(jobs, Mapping) and isinstance(jobs.get("jobNames"), list | tuple):
        return _pair_settings(jobs["jobNames"], jobs.get("settings"), constants)
    if isinstance(jobs, Mapping):
        return _pair_settings(list(jobs), list(jobs.values()), constants)
    if not isinstance(jobs, list | tuple) or not all(
        isinstance(job, Mapping) and job.keys() <= {"jobName", "settings"} for job in jobs
    ):
        raise _unsupported_form()
    return _pair_settings(
        [job.get("jobName") for job in jobs], [job.get("settings", {}) for job in jobs], constants
    )


def _pair_settings(names: Sequence[Any], settings: Any, constants: Settings) -> dict[str, Settings]:
    if isinstance(settings, str) or not isinstance(settings, Sequence):
        raise _unsupported_form()
    if len(names) != len(settings):
        raise InputError(
            f"There are {len(names):,} job names and settings for "
            f"{messages.pluralize(len(settings), 'job')}.",
            "Give each job one name and one set of settings.",
        )
    if not all(isinstance(job_settings, Mapping) for job_settings in settings):
        raise _unsupported_form()
    job_names = [str(name) if isinstance(name, Integral) else name for name in names]
    identity.check_job_names(job_names, (), "the batch")
    return {
        name: {**constants, **job_settings}
        for name, job_settings in zip(job_names, settings, strict=True)
    }


def _unsupported_form() -> InputError:
    return InputError(
        "The jobs of a batch have an unsupported format.",
        "Give a DataFrame, or a mapping of job names to settings.",
    )


def _parse_hours(value: object) -> float | None:
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        hours = float(value)
    except OverflowError:
        return None
    return hours if 0 < hours < math.inf else None
