"""Estimate the computing time and weighted hours of jobs from earlier runs of their tool."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from labext import messages
from labext.jobs.file_versions import parse_time
from labext.jobs.identity import stored_settings
from labext.jobs.pipelines import PIPE, Pipeline, Stage, first_stage_jobs
from labext.jobs.records import JobRecord, is_pipeline, phase

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

MIN_RUNS = 10
"""With fewer runs, every estimate is the median of all runs."""

COVERAGE = 0.8
"""The fraction of jobs whose time is expected within `Estimate.factor` of the estimate."""

_MIN_SECONDS = 0.001
_PENALTIES = (0.1, 1.0, 10.0, 100.0)
_MAX_CATEGORIES = 8


class Run(NamedTuple):
    """Settings, time in seconds and weighted hours (if known) of a complete job."""

    settings: Mapping[str, Any]
    seconds: float
    weighted_hours: float | None

    @classmethod
    def from_row(cls, row: JobRecord) -> Run | None:
        """Return the run in a job row; None if its settings or times are missing."""
        settings = stored_settings(row)
        started, completed = parse_time(row.get("Started")), parse_time(row.get("Completed"))
        if settings is None or started is None or completed is None or completed < started:
            return None
        seconds = max((completed - started).total_seconds(), _MIN_SECONDS)
        return cls(settings, seconds, _parse_number(row.get("WeightedHours")) or None)


@dataclass(frozen=True)
class Estimate:
    """The expected computing time and cost of jobs.

    Attributes:
        seconds: the expected time of each job, in the order of the settings.
        factor: 80 % of the jobs are expected to take between `1 / factor` and `factor` times this.
        weighted_hours: the expected cost of all jobs; None if the service reports no costs.
        runs: the number of earlier runs.
        budget_left: remaining budget of the account in weighted hours; None if unknown.
        notes: sentences about what the estimate assumes or leaves out.
    """

    seconds: list[float]
    factor: float
    weighted_hours: float | None
    runs: int
    budget_left: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def total_seconds(self) -> float:
        """The total expected computing time of all jobs, in seconds."""
        return math.fsum(self.seconds)

    def __str__(self) -> str:
        total = self.total_seconds
        least, most = format_duration(total / self.factor), format_duration(total * self.factor)
        text = f"Expected: {format_duration(total)} of computing"
        if least != most:
            text += f" ({least} to {most})"
        if self.weighted_hours is not None:
            text += f", {messages.format_number(self.weighted_hours, 3)} weighted hours"
        text += f", by {messages.pluralize(self.runs, 'earlier run')}."
        text = " ".join([text, *self.notes])
        if self.budget_left is not None:
            only = "Only " if self.budget_left < (self.weighted_hours or 0) else ""
            left = messages.format_number(self.budget_left, 3)
            text += f" {only}{left} weighted hours of the budget are left."
        return text


def find_runs(rows: Iterable[JobRecord], tool: str, limit: int) -> list[Run]:
    """Return the first `limit` complete runs of a tool among job rows, newest first."""
    complete = (row for row in rows if (row.get("Type"), phase(row)) == (tool, "Complete"))
    runs = (Run.from_row(row) for row in complete)
    return list(islice((run for run in runs if run is not None), limit))


def parse_budget_left(answer: Any) -> float | None:
    """Return `budgetLeft` of a response to GET /usage-statistics; None if missing (JOBS-198)."""
    return _parse_number(answer.get("budgetLeft")) if isinstance(answer, Mapping) else None


def _parse_number(value: Any) -> float | None:
    """Return a finite number of at least 0; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def format_duration(seconds: float) -> str:
    """Return a duration with two significant digits: `0.5 s`, `40 s`, `12 min`, `3.5 h`."""
    if seconds < 0.1:
        return "under 0.1 s"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(seconds)} s"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def estimate(
    runs: Iterable[Run],
    jobs: Sequence[Mapping[str, Any]],
    file_settings: Iterable[str] = (),
    file_sizes: Mapping[str, int] | None = None,
) -> Estimate | None:
    """Estimate jobs from earlier runs of the same tool; None without runs or jobs.

    The logarithm of the time is estimated by ridge regression on features of the settings:
    numbers, lengths of texts and lists, sizes of files, and categories of settings with few values.
    The penalty and the factor are determined by leave-one-out cross-validation.

    `file_settings` are the settings whose values are files: a name, a path or the content itself;
    `file_sizes` are the sizes in bytes of the files with these names and paths, as far as known.
    """
    import numpy as np

    known = list(runs)
    if not known or not jobs:
        return None
    logs = np.log([run.seconds for run in known])
    predicted, errors = np.full(len(jobs), np.median(logs)), logs - np.median(logs)
    if len(known) >= MIN_RUNS:
        features = _Features(
            [run.settings for run in known], frozenset(file_settings), file_sizes or {}
        )
        if features.count:
            predicted, errors = _regress(
                features.matrix([run.settings for run in known]), logs, features.matrix(jobs)
            )
    seconds = [float(value) for value in np.exp(predicted)]
    spread = float(np.quantile(np.abs(errors), COVERAGE)) if len(known) > 1 else math.log(3)
    hourly = [run.weighted_hours / run.seconds for run in known if run.weighted_hours is not None]
    cost = median(hourly) * math.fsum(seconds) if hourly else None
    factor = max(math.exp(spread), 1.1 if len(known) >= MIN_RUNS else 2.0)
    return Estimate(seconds, factor, cost, len(known))


class _Features:
    """Numeric features of settings, chosen by the settings of earlier runs."""

    def __init__(
        self,
        settings: Sequence[Mapping[str, Any]],
        file_settings: frozenset[str],
        file_sizes: Mapping[str, int],
    ) -> None:
        self._file_settings, self._file_sizes = file_settings, file_sizes
        self._sizes: list[str] = []
        self._choices: list[tuple[str, str]] = []
        for name in sorted({key for job in settings for key in job}):
            if len({self._size(job, name) for job in settings}) > 1:
                self._sizes.append(name)
            values = [job.get(name) for job in settings]
            counts = Counter(str(value) for value in values if isinstance(value, str | bool))
            if 1 < len(counts) <= _MAX_CATEGORIES and name not in file_settings:
                self._choices += [(name, choice) for choice, count in counts.items() if count > 1]

    @property
    def count(self) -> int:
        return len(self._sizes) + len(self._choices)

    def matrix(self, settings: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Return one row per job: logarithms of sizes (NaN if missing), then indicators."""
        import numpy as np

        rows = [
            [self._size(job, name) for name in self._sizes]
            + [float(str(job.get(name)) == choice) for name, choice in self._choices]
            for job in settings
        ]
        return np.array(rows, dtype=float).reshape(len(settings), self.count)

    def _size(self, settings: Mapping[str, Any], name: str) -> float:
        value = settings.get(name)
        if name in self._file_settings and isinstance(value, str) and "\n" not in value:
            return _size(self._file_sizes.get(value))
        return _size(value)


def _size(value: Any) -> float:
    """Return the logarithm of 1 plus a number, or plus the length of a text, list or object."""
    if isinstance(value, bool) or value is None:
        return math.nan
    if isinstance(value, int | float):
        return math.log1p(abs(value)) if abs(value) <= sys.float_info.max else math.nan
    return math.log1p(len(value)) if isinstance(value, str | list | dict) else math.nan


def _regress(
    known: NDArray[np.float64], logs: NDArray[np.float64], jobs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the predictions for jobs, and the leave-one-out errors of the runs."""
    import numpy as np

    medians = np.nan_to_num(np.nanmedian(known, axis=0))
    known, jobs = (np.where(np.isnan(rows), medians, rows) for rows in (known, jobs))
    # A second slope above the median: for small inputs, start-up dominates the time.
    known, jobs = (np.hstack([rows, np.maximum(rows - medians, 0)]) for rows in (known, jobs))
    center, scale = known.mean(axis=0), known.std(axis=0)
    scale[scale < 1e-9] = np.inf
    known, jobs = (known - center) / scale, (jobs - center) / scale
    mean = logs.mean()
    best = None
    for penalty in _PENALTIES:
        weights = np.linalg.solve(known.T @ known + penalty * np.eye(known.shape[1]), known.T)
        leverage = np.einsum("ij,ji->i", known, weights) + 1 / len(logs)
        errors = (logs - mean - known @ (weights @ (logs - mean))) / (1 - leverage)
        if best is None or (errors**2).sum() < (best[0] ** 2).sum():
            best = errors, weights
    assert best is not None
    errors, weights = best
    return mean + jobs @ (weights @ (logs - mean)), errors


@dataclass(frozen=True)
class ToolJobs:
    """The expected jobs of one tool in a stage.

    Attributes:
        jobs: the settings of each job, without those whose values are still unknown.
        inputs_known: False if the jobs depend on outputs of the previous stage.
    """

    stage: int
    task: str
    tool: str
    jobs: list[dict[str, Any]]
    inputs_known: bool


class PipelineEstimate:
    """The estimates of all tools of a pipeline."""

    def __init__(
        self,
        stages: Sequence[Stage],
        inputs: Sequence[Any],
        estimate: Callable[[str, list[dict[str, Any]]], Estimate | None],
    ) -> None:
        plan = plan_jobs(Pipeline([*inputs], [*stages]))
        self._parts = [(part, estimate(part.tool, part.jobs)) for part in plan]

    def total(self) -> Estimate | None:
        """Return the estimate of all stages; None if no tool has been used before."""
        known = [item for _, item in self._parts if item is not None]
        if not known:
            return None
        hours = [item.weighted_hours for item in known if item.weighted_hours is not None]
        runs = {part.tool: item.runs for part, item in self._parts if item is not None}
        return Estimate(
            [seconds for item in known for seconds in item.seconds],
            max(item.factor for item in known),
            sum(hours) if hours else None,
            sum(runs.values()),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterable[str]:
        assumed = dict.fromkeys(part.stage for part, _ in self._parts if not part.inputs_known)
        if assumed:
            numbers = messages.join_words(map(str, assumed))
            yield (
                f"The inputs of {'stage' if len(assumed) == 1 else 'stages'} {numbers} are "
                "unknown: inputs of the usual size are assumed, one from each job of the stage "
                "before."
            )
        unused = dict.fromkeys(part.tool for part, item in self._parts if item is None)
        if unused:
            verb = "has" if len(unused) == 1 else "have"
            yield f"Not included: {messages.join_words(unused)}, which {verb} no earlier runs."

    def frame(self) -> pd.DataFrame:
        """Return one row per tool of each stage; `Basis` says what the estimate is based on."""
        rows = [
            {
                "Stage": part.stage,
                "Task": part.task,
                "Tool": part.tool,
                "Jobs": len(part.jobs),
                "ExpectedSeconds": item.total_seconds if item else None,
                "WeightedHours": item.weighted_hours if item else None,
                "Runs": item.runs if item else 0,
                "Basis": "no earlier runs"
                if item is None
                else "earlier runs and these inputs"
                if part.inputs_known
                else "earlier runs; inputs unknown",
            }
            for part, item in self._parts
        ]
        return stages_frame(rows)


def stages_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per tool of each stage; without rows, the columns only."""
    import pandas as pd

    from labext.jobs.frames import ESTIMATED_STAGES

    columns = ["Stage", "Task", "Tool", "Jobs", "ExpectedSeconds", "WeightedHours", "Runs"]
    frame = pd.DataFrame(rows, columns=[*columns, "Basis"])
    return ESTIMATED_STAGES.show(frame.astype({"ExpectedSeconds": float, "WeightedHours": float}))


def plan_jobs(pipeline: Pipeline) -> list[ToolJobs]:
    """Return the expected jobs of a pipeline.

    A tool without a piped setting runs once. Another one runs for each initial input, or in later
    stages for each job of the previous stage, which is assumed to pass on one output.
    """
    plan: list[ToolJobs] = []
    for number, stage in enumerate(pipeline.stages or (), start=1):
        upstream = sum(len(part.jobs) for part in plan if part.stage == number - 1)
        for tool, settings in stage["toolSettings"].items():
            known = {name: value for name, value in settings.items() if value != PIPE}
            is_piped = len(known) < len(settings)
            if not is_piped:
                jobs = [known]
            elif number == 1:
                jobs = first_stage_jobs(settings, pipeline.inputs)
            else:
                jobs = [known] * upstream
            inputs_known = number == 1 or not is_piped
            plan.append(ToolJobs(number, stage["task"], tool, jobs, inputs_known))
    return plan


def latest_stages(history: Iterable[JobRecord], saved: str) -> list[Stage] | None:
    """Return the stages of the latest run of a saved pipeline, newest row first; None if unknown.

    Rows of other services may lack the stages, or have them in another form.
    """
    for row in history:
        settings = stored_settings(row) if is_pipeline(row) else None
        if settings is None or settings.get("pipelineName") != saved:
            continue
        stages = settings.get("stages")
        if isinstance(stages, list) and stages and all(map(_is_stage, stages)):
            return [{**stage, "task": str(stage.get("task") or "")} for stage in stages]
    return None


def _is_stage(stage: Any) -> bool:
    tools = stage.get("toolSettings") if isinstance(stage, Mapping) else None
    return isinstance(tools, Mapping) and all(isinstance(item, Mapping) for item in tools.values())
