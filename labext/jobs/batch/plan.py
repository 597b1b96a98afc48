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
from labext.jobs.identity import submission_digest

if TYPE_CHECKING:
    import pandas as pd

MAX_JOBS = 100
"""The most jobs in a batch of the service."""

_MIN_NAME_LENGTH = 20  # characters that a useful job name needs

Settings = dict[str, Any]


@dataclass(frozen=True)
class BatchLimits:
    """A batch's limits.

    Attributes:
        seconds: of each job, whole.
        budget: of the whole batch, in weighted hours.

    Raises:
        InputError: one is not above 0, or the seconds are not whole.
    """

    seconds: int | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            whole = isinstance(self.seconds, Integral) and not isinstance(self.seconds, bool)
            if not whole or self.seconds < 1:
                raise InputError(
                    f"A job's time limit can't be {messages.quote_value(self.seconds)}.",
                    "Give whole seconds, 1 or more.",
                )
            object.__setattr__(self, "seconds", int(self.seconds))  # numpy's have no JSON form
        if self.budget is not None:
            hours = _parse_hours(self.budget)
            if hours is None:
                raise InputError(
                    f"A budget can't be {messages.quote_value(self.budget)}.",
                    "Give weighted hours, more than 0.",
                )
            object.__setattr__(self, "budget", hours)


@dataclass(frozen=True)
class BatchPart:
    """One batch of the service: the whole of a small one, or a part of a split one.

    Attributes:
        name: the name that the service knows.
        jobs: the own names of its jobs, in order.
        budget: its share of the batch's, in weighted hours.
    """

    name: str
    jobs: tuple[str, ...]
    budget: float | None = None


@dataclass(frozen=True)
class BatchPlan:
    """All that is to be sent under one batch's name.

    Attributes:
        name: the batch's name, as the user knows it.
        type: the tool.
        jobs: settings by the job's own name, in the input's order.
        limits: the time limit of each job, and the budget.
        rows: the input's rows, in the same order as the jobs, where they came in a frame.
        name_column: the column of `rows` that holds the jobs' names.
    """

    name: str
    type: str
    jobs: Mapping[str, Settings]
    limits: BatchLimits = BatchLimits()
    rows: pd.DataFrame | None = field(default=None, repr=False, compare=False)
    name_column: str | None = None

    @cached_property
    def originals(self) -> dict[str, str]:
        """The names that were adapted, as the input has them, by the jobs' own names."""
        if self.rows is None or self.name_column is None:
            return {}
        names = map(str, self.rows[self.name_column])
        return {job: name for job, name in zip(self.jobs, names, strict=False) if job != name}

    @property
    def input_columns(self) -> pd.DataFrame | None:
        """The input's rows without the jobs' names, unless some of these were adapted."""
        if self.rows is None or self.name_column is None or self.originals:
            return self.rows
        return self.rows.drop(columns=self.name_column)

    @cached_property
    def parts(self) -> tuple[BatchPart, ...]:
        """The batches of the service that this one is sent as."""
        items = list(self.jobs)
        if len(items) <= MAX_JOBS:
            return (BatchPart(self.name, tuple(items), self.limits.budget),)
        count = _part_count(len(items))
        cut = [tuple(items[start : start + MAX_JOBS]) for start in range(0, len(items), MAX_JOBS)]
        return tuple(
            BatchPart(identity.part_name(self.name, number, count), jobs, self._share(len(jobs)))
            for number, jobs in enumerate(cut, start=1)
        )

    @property
    def split(self) -> bool:
        """Whether it is sent as several batches."""
        return len(self.parts) > 1

    def body(self, part: BatchPart) -> dict[str, Any]:
        """Return the body of `/submit-batch` for one part."""
        body: dict[str, Any] = {
            "batchName": part.name,
            "type": self.type,
            "jobNames": list(part.jobs),
            "settings": [self.jobs[job] for job in part.jobs],
        }
        if self.limits.seconds is not None:
            body["maxRuntimeSeconds"] = self.limits.seconds
        if part.budget is not None:
            body["weightedHoursBudget"] = part.budget
        return body

    def digests(self) -> dict[str, str]:
        """Return a digest of type and settings for each job."""
        return {job: submission_digest(self.type, settings) for job, settings in self.jobs.items()}

    def _share(self, jobs: int) -> float | None:
        budget = self.limits.budget
        return None if budget is None else budget * jobs / len(self.jobs)


def max_job_name_length(batch: str, jobs: int) -> int:
    """Return the maximum length of a job's own name, so that `<batch or part>-<job>` is valid.

    If the batch's name leaves next to no room, it is the general maximum: the batch's name is then
    the one that is too long.
    """
    count = _part_count(jobs)
    longest = batch if count == 1 else identity.part_name(batch, count, count)
    left = identity.MAX_NAME_LENGTH - len(longest) - 1
    return left if left >= _MIN_NAME_LENGTH else identity.MAX_NAME_LENGTH


def _part_count(jobs: int) -> int:
    return max(1, math.ceil(jobs / MAX_JOBS))


def named_settings(jobs: Any, constants: Settings) -> dict[str, Settings]:
    """Return settings by job name from any form except a frame.

    The forms: `{name: settings}`; the service's parallel arrays
    `{"jobNames": […], "settings": […]}`; and its `[{"jobName": …, "settings": …}, …]`, also under
    the key `jobs`.

    Args:
        jobs: the jobs.
        constants: settings of every job; a job's own come first.

    Raises:
        InputError: names and settings differ in number, a name is there twice, or it is none of
            the forms.
    """
    if isinstance(jobs, Mapping) and isinstance(jobs.get("jobs"), list | tuple):
        jobs = jobs["jobs"]
    if isinstance(jobs, Mapping) and isinstance(jobs.get("jobNames"), list | tuple):
        return _pair_settings(jobs["jobNames"], jobs.get("settings"), constants)
    if isinstance(jobs, Mapping):
        return _pair_settings(list(jobs), list(jobs.values()), constants)
    if not isinstance(jobs, list | tuple) or not all(isinstance(job, Mapping) for job in jobs):
        raise _unsupported_form()
    return _pair_settings(
        [job.get("jobName") for job in jobs], [job.get("settings", {}) for job in jobs], constants
    )


def _pair_settings(names: Sequence[Any], settings: Any, constants: Settings) -> dict[str, Settings]:
    if isinstance(settings, str) or not isinstance(settings, Sequence):
        raise _unsupported_form()
    if len(names) != len(settings):
        raise InputError(
            f"There are {len(names):,} job names and settings for {len(settings):,} jobs.",
            "Give each job one name and one set of settings.",
        )
    if not all(isinstance(one, Mapping) for one in settings):
        raise _unsupported_form()
    text = [str(name) if isinstance(name, int) else name for name in names]
    identity.check_job_names(text, (), "the batch")
    return {name: {**constants, **one} for name, one in zip(text, settings, strict=True)}


def _unsupported_form() -> InputError:
    return InputError(
        "The jobs of a batch have an unsupported type.",
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
