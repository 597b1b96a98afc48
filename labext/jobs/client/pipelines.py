"""Client methods that check, submit and run pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext.jobs import identity
from labext.jobs.client.submit import SubmitMethods
from labext.jobs.input_files import InputContent
from labext.jobs.submission import Submission

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.estimates import Estimate, PipelineEstimate
    from labext.jobs.pipelines import Pipeline

    Inputs = Sequence[Any] | pd.Series[Any]


class PipelineMethods(SubmitMethods):
    """Submit and run pipelines."""

    def submit_pipeline(
        self,
        name: str | None,
        stages: Sequence[Mapping[str, Any]],
        initial_inputs: Inputs,
        project_tag: str | None = None,
        over_budget: bool = False,
    ) -> Submission:
        """Submit a pipeline, or return an identical one that already exists.

        Each input is processed separately. The tools of a stage run in parallel, once per output of
        the previous stage (JOBS-144, JOBS-153).

        Args:
            name: unique name, as for a job. None generates a name from the pipeline and the content
                of the files that it names.
            stages: one `{"task": …, "toolSettings": {tool: settings}}` per stage; the value
                `"pipe"` of a setting stands for an output of the previous stage, or in the first
                stage for an initial input.
            initial_inputs: list or column of a frame, with sequences, other texts, names of
                uploaded files, or outputs of earlier jobs (`<Job>/path`).
            project_tag: identifier of a project, `proj_<id>`.
            over_budget: submit even if the estimate exceeds what is left of the account's budget.

        Raises:
            InputError: the submission is invalid, and the error lists all faults; or it is expected
                to exceed the budget. Nothing was sent.
            ConflictError: the name is taken by another submission, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        identity.check_project_tag(project_tag)
        pipeline = self._inline_pipeline(name, stages, initial_inputs)
        return self._submit_pipeline(name, pipeline, project_tag, over_budget)

    def run_pipeline(
        self,
        name: str | None,
        pipeline: str,
        inputs: Inputs,
        project_tag: str | None = None,
        over_budget: bool = False,
    ) -> Submission:
        """Run a pipeline saved on the service, or return an identical run.

        Args:
            name: unique name of the run, as for a job. None generates a name from the pipeline and
                the inputs.
            pipeline: name of the saved pipeline (JOBS-145).
            inputs: as `initial_inputs` of `submit_pipeline`.
            project_tag: identifier of a project, `proj_<id>`.
            over_budget: submit even if the estimate exceeds what is left of the account's budget.

        Raises:
            InputError: the submission is invalid, or is expected to exceed the budget; nothing was
                sent.
            ConflictError: the name is taken by another submission, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        identity.check_project_tag(project_tag)
        saved = _saved_pipeline(name, pipeline, inputs)
        return self._submit_pipeline(name, saved, project_tag, over_budget)

    def check_pipeline(
        self, name: str | None, stages: Sequence[Mapping[str, Any]], initial_inputs: Inputs
    ) -> pd.DataFrame:
        """Validate a pipeline and estimate its time and cost, without submitting it.

        The jobs of the first tools are also validated on the service (`/validate-job`), each with
        the first input.

        Returns:
            One row per tool of each stage: Stage, Task, Tool, Jobs, ExpectedSeconds (of all jobs),
            WeightedHours, Runs (earlier runs of the tool) and Basis. The inputs of later stages are
            unknown: one output of each job of the previous stage and the usual size of the tool's
            inputs are assumed. `.attrs["estimate"]` has the fields of the estimate of all stages.

        Raises:
            InputError, ConflictError: as for `submit_pipeline`.
        """
        return self._check_pipeline(name, self._inline_pipeline(name, stages, initial_inputs))

    def check_saved_pipeline(self, name: str | None, pipeline: str, inputs: Inputs) -> pd.DataFrame:
        """Validate the inputs of a saved pipeline and estimate its cost, without running it.

        The stages are those of the latest run of the pipeline among the account's latest jobs;
        without one, the result has no rows and no estimate.

        Returns:
            As `check_pipeline`.

        Raises:
            InputError, ConflictError: as for `run_pipeline`.
        """
        return self._check_pipeline(name, _saved_pipeline(name, pipeline, inputs))

    def _inline_pipeline(
        self, name: str | None, stages: Sequence[Mapping[str, Any]], inputs: Inputs
    ) -> Pipeline:
        from labext.jobs.pipelines import Pipeline, clean_stages, parse_inputs

        _check_name(name)
        return Pipeline(parse_inputs(inputs), clean_stages(self._catalogue, stages))

    def _submit_pipeline(
        self, name: str | None, pipeline: Pipeline, project_tag: str | None, over_budget: bool
    ) -> Submission:
        from labext.jobs.pipelines import submit_pipeline

        name, content = self._pipeline_content(name, pipeline)

        def expect() -> Estimate | None:
            expected = self._estimate_pipeline(pipeline)
            return None if expected is None else expected.total()

        if not over_budget:
            self._check_budget(name, name, expect)
        return submit_pipeline(self._service, name, pipeline, project_tag, content)

    def _check_pipeline(self, name: str | None, pipeline: Pipeline) -> pd.DataFrame:
        from labext.jobs.estimates import stages_frame
        from labext.jobs.pipelines import validate_pipeline

        name, content = self._pipeline_content(name, pipeline)
        validate_pipeline(self._service, name, pipeline, content)
        expected = self._estimate_pipeline(pipeline)
        if expected is None:
            return stages_frame([])
        frame, total = expected.frame(), expected.total()
        if total is not None:
            frame.attrs["estimate"] = asdict(replace(total, budget_left=self._budget_left()))
        return frame

    def _pipeline_content(self, name: str | None, pipeline: Pipeline) -> tuple[str, InputContent]:
        """Return the name of a pipeline, generated if None, and the content of its files."""
        from labext.jobs.pipelines import PIPELINE_TYPE, check_pipeline_references

        references = check_pipeline_references(self._service, self._catalogue, pipeline)
        content = self._content_of(references)
        name = name or identity.generate_name(
            pipeline.saved or PIPELINE_TYPE, pipeline.settings, content.checksums()
        )
        self._check_not_split(name)
        return name, content

    def _estimate_pipeline(self, pipeline: Pipeline) -> PipelineEstimate | None:
        """Return the estimates of the tools; None if the stages are unknown."""
        from labext.jobs.estimates import PipelineEstimate, latest_stages

        history = self._history()
        stages = pipeline.stages
        if pipeline.saved is not None:
            stages = latest_stages(history, pipeline.saved)
        if stages is None:
            return None
        tools = self._catalogue.cached_tools()
        return PipelineEstimate(
            stages,
            pipeline.inputs,
            lambda tool, jobs: self._estimate(tool, jobs, history) if tool in tools else None,
        )


def _saved_pipeline(name: str | None, pipeline: str, inputs: Inputs) -> Pipeline:
    from labext.jobs.pipelines import Pipeline, parse_inputs

    if not isinstance(pipeline, str) or not pipeline.strip():
        raise InputError(
            f"{messages.quote_value(pipeline)} is not the name of a pipeline.",
            "Give the name of a saved pipeline.",
        )
    _check_name(name)
    return Pipeline(parse_inputs(inputs), saved=pipeline)


def _check_name(name: str | None) -> None:
    if name is not None:
        identity.check_name(name, "pipeline")
