"""Estimate the time and cost of a pipeline from earlier runs of its tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.jobs.estimates import Estimate
from labext.jobs.identity import stored_settings
from labext.jobs.pipelines import PIPE, Pipeline, Stage, first_stage_jobs
from labext.jobs.records import JobRecord, is_pipeline

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ToolJobs:
    """The expected jobs of one tool in a stage.

    Attributes:
        stage: the number of the stage, from 1.
        task: the title of the stage.
        tool: the tool.
        jobs: the settings of each job, without those whose values are still unknown.
        inputs_known: False if the jobs depend on outputs of the previous stage.
    """

    stage: int
    task: str
    tool: str
    jobs: list[dict[str, Any]]
    inputs_known: bool


class PipelineEstimate:
    """The estimates of all tools of a pipeline.

    Args:
        stages: the stages.
        inputs: the initial inputs.
        estimate: estimates jobs by tool and settings; None without earlier runs of the tool.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        inputs: Sequence[Any],
        estimate: Callable[[str, list[dict[str, Any]]], Estimate | None],
    ) -> None:
        self._plan = plan_jobs(Pipeline([*inputs], [*stages]))
        self._estimates = [estimate(part.tool, part.jobs) for part in self._plan]

    def total(self) -> Estimate | None:
        """Return the estimate of all stages; None if no tool has been used before."""
        known = [item for item in self._estimates if item is not None]
        if not known:
            return None
        hours = [item.weighted_hours for item in known if item.weighted_hours is not None]
        runs = {
            part.tool: item.runs
            for part, item in zip(self._plan, self._estimates, strict=True)
            if item is not None
        }
        return Estimate(
            [seconds for item in known for seconds in item.seconds],
            max(item.factor for item in known),
            sum(hours) if hours else None,
            sum(runs.values()),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterable[str]:
        assumed = dict.fromkeys(part.stage for part in self._plan if not part.inputs_known)
        if assumed:
            numbers = messages.join_words(map(str, assumed))
            yield (
                f"The inputs of {'stage' if len(assumed) == 1 else 'stages'} {numbers} are "
                "unknown: inputs of the usual size are assumed, one from each job of the stage "
                "before."
            )
        unused = dict.fromkeys(
            part.tool
            for part, item in zip(self._plan, self._estimates, strict=True)
            if item is None
        )
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
            for part, item in zip(self._plan, self._estimates, strict=True)
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
