"""The client's methods that submit pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext.jobs import names
from labext.jobs.client.base import Base
from labext.jobs.input_content import InputContent
from labext.jobs.pipeline_submission import TYPE, check_references, submit_pipeline
from labext.jobs.pipelines import Pipeline, clean_stages, listed_inputs
from labext.jobs.submission import Submission

if TYPE_CHECKING:
    import pandas as pd

    Inputs = Sequence[Any] | pd.Series[Any]


class Pipelines(Base):
    """Several tools, one after the other."""

    def submit_pipeline(
        self,
        name: str | None,
        stages: Sequence[Mapping[str, Any]],
        initial_inputs: Inputs,
        project_tag: str | None = None,
    ) -> Submission:
        """Submit a pipeline, or take an identical one that is there as it.

        Each input goes through on its own. A stage runs its tools side by side, once for each
        output of the stage before (job service contract, `/submit-pipeline`; the form of a stage:
        real services, jobs).

        Args:
            name: unique, as a job's. None makes one up, always the same for the same pipeline and
                content of the files that it names.
            stages: `{"task": …, "toolSettings": {tool: settings}}` each; the value `"pipe"` in a
                setting takes the output of the stage before, in the first one the input.
            initial_inputs: a list, or a column of a frame: sequences, other texts, the bare names
                of uploaded files, `<Job>/path` of an earlier job's output.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: something has to be corrected; nothing was sent. Every fault is named.
            ConflictError: the name is taken by something else, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the answer was lost and the service can't be asked.
        """
        names.check_project(project_tag)
        if name is not None:
            names.check(name, "pipeline")
        inputs = listed_inputs(initial_inputs)
        pipeline = Pipeline(inputs, clean_stages(self._catalogue, stages))
        content = self._pipeline_content(pipeline)
        made = name or names.made_up(TYPE, pipeline.settings, content.checksums())
        return submit_pipeline(self._service, made, pipeline, project_tag, content)

    def run_pipeline(
        self,
        name: str | None,
        pipeline: str,
        inputs: Inputs,
        project_tag: str | None = None,
    ) -> Submission:
        """Run a pipeline that is saved on the service, or take an identical run as this one.

        Args:
            name: of this run; unique, as a job's. None makes one up, always the same for the same
                pipeline and inputs.
            pipeline: the saved pipeline's name (job service contract, `/run-pipeline`).
            inputs: as `initial_inputs` of `submit_pipeline`.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: something has to be corrected; nothing was sent.
            ConflictError: the name is taken by something else, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the answer was lost and the service can't be asked.
        """
        names.check_project(project_tag)
        if not isinstance(pipeline, str) or not pipeline.strip():
            raise InputError(
                f"{wording.shown(pipeline)} is no saved pipeline.", "Give the name of one."
            )
        if name is not None:
            names.check(name, "pipeline")
        saved = Pipeline(listed_inputs(inputs), saved=pipeline)
        content = self._pipeline_content(saved)
        made = name or names.made_up(pipeline, saved.settings, content.checksums())
        return submit_pipeline(self._service, made, saved, project_tag, content)

    def _pipeline_content(self, pipeline: Pipeline) -> InputContent:
        """Return the content of the files that a pipeline names, once all are known to be there."""
        named = check_references(self._service, self._catalogue, pipeline)
        return self._contents.of(named.uploaded, named.outputs)
