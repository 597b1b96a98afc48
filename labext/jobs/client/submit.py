"""Client methods that check and submit jobs, batches and pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import parameter
from labext.errors import AccessError, InputError, NotFoundError
from labext.jobs import identity
from labext.jobs.client.base import BaseClient
from labext.jobs.input_files import NO_FILES, FileReferences, InputContent, check_references
from labext.jobs.records import jobs_frame
from labext.jobs.submission import Submission, submit_job, validate_job

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.batch.draft import BatchDraft
    from labext.jobs.batch.report import BatchSubmission
    from labext.jobs.estimates import Estimate
    from labext.jobs.pipelines import Pipeline
    from labext.jobs.tools import Tool

    Inputs = Sequence[Any] | pd.Series[Any]


class SubmitMethods(BaseClient):
    """Submitting jobs and batches, and checking them without submitting."""

    def check(self, type: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings as they would be sent, checked against the tool's parameters.

        Nothing is submitted, and nothing added: defaults are the service's (JOBS-32 and JOBS-33
        among its rules). The schema is read again before anything is refused.

        Raises:
            InputError: the tool is unknown, or the settings have faults; every one is named.
        """
        clean, _ = self._checked(type, settings)
        return clean

    def validate(
        self, type: str, settings: Mapping[str, Any], name: str | None = None
    ) -> dict[str, Any]:
        """Return settings as they would be sent, checked here and by the service itself.

        The service's `/validate-job` runs the check of a submission without submitting; where it
        has none, the check here is all.

        Raises:
            InputError: the settings would be refused.
            ConflictError: the name is taken by another job.
        """
        if name is not None:
            identity.check_name(name)
        clean, content = self._checked(type, settings)
        name = name or identity.generate_name(type, clean, content.checksums())
        validate_job(self._service, name, type, clean, content)
        return clean

    def submit(
        self,
        name: str | None,
        type: str,
        settings: Mapping[str, Any],
        project_tag: str | None = None,
    ) -> Submission:
        """Submit one job, or return an identical one that already exists.

        Args:
            name: unique; letters, digits, `-` and `_`, 1 to 100. None generates one, always the
                same for the same type, settings and content of the files that they name.
            type: the tool.
            settings: the tool's settings; `check` reports their faults.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: the submission is invalid; nothing was sent.
            ConflictError: the name is taken by a job of another type, with other settings, or whose
                files had other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        if name is not None:
            identity.check_name(name)
        identity.check_project_tag(project_tag)
        clean, content = self._checked(type, settings)
        if name is None:
            name = identity.generate_name(type, clean, content.checksums())
        return submit_job(self._service, name, type, clean, project_tag, content)

    def submitted_row(self, submission: Submission) -> pd.DataFrame:
        """Return the current row of a submitted job or pipeline, displayed in one line.

        Raises:
            NotFoundError: it was deleted since.
        """
        from labext.jobs.views import SUBMITTED

        return SUBMITTED.show(jobs_frame([self._service.row(submission.name)]))

    def submit_batch(
        self,
        name: str,
        type: str,
        jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None = None,
        name_column: str | None = None,
        mapping: Mapping[str, str] | None = None,
        max_runtime_seconds: int | None = None,
        weighted_hours_budget: float | None = None,
        skip_invalid: bool = False,
        over_budget: bool = False,
    ) -> BatchSubmission:
        """Submit jobs of one tool as one batch, or return an identical one that already exists.

        More than 100 jobs are sent as `<name>-part1of3` and so on, and shown as one batch. All jobs
        are checked before anything is sent, and written to a journal; an interrupted submission is
        finished by `resume`, or by repeating the same call, which sends the missing parts.

        Args:
            name: the batch's name.
            type: the tool, one for all jobs.
            jobs: a DataFrame, one row per job; or a mapping of job names to settings; or the
                service's own forms, `{"jobNames": […], "settings": […]}` and
                `[{"jobName": …, "settings": …}]`.
            settings: settings that all jobs share.
            name_column: the frame's column with the jobs' names; without it they are numbered. An
                invalid name is adapted: other characters become `-`, and it is cut if it is too
                long.
            mapping: for each setting the frame's column that holds it; without it all other columns
                must have the names of settings.
            max_runtime_seconds: the time limit of each job.
            weighted_hours_budget: the limit of the whole batch, divided over its parts.
            skip_invalid: submit the jobs that are valid; `.refused` has the others.
            over_budget: submit it also if `estimate` expects it to need more than its budget.

        Raises:
            InputError: the submission is invalid, or expected to exceed its budget; nothing was
                sent.
            InvalidJobsError: jobs are not valid; all of them are named, and nothing was sent.
            ConflictError: the name is taken by another submission, or by a batch whose files had
                other content.
            StorageError: the journal can't be written; nothing was sent.
            OutcomeUnknownError: a response was lost and the service can't be queried.
        """
        from labext.jobs.batch.draft import make_draft
        from labext.jobs.batch.plan import BatchLimits

        limits = BatchLimits(max_runtime_seconds, weighted_hours_budget)
        draft = make_draft(
            self._catalogue, name, type, jobs, settings or {}, name_column, mapping, limits
        )
        tool, content = self._batch_content(draft)
        if limits.budget is not None and not over_budget and not self._journal.has(name):
            self._check_budget(draft, limits.budget)
        return self._submitter.submit(draft, tool, content, skip_invalid=skip_invalid)

    def resume(self, name: str) -> BatchSubmission:
        """Finish an interrupted batch submission, from this machine's journal alone.

        Neither the frame nor the process that began it is needed. Parts that are on the service are
        not sent; a part that was sent and deleted since is reported (`gone`) and not sent again;
        for a complete batch nothing is sent, and the message says so. It may be called repeatedly.
        It works for batches that were sent from this machine, to this address, with this key.

        Args:
            name: the batch's name, as given to `submit_batch`.

        Raises:
            NotFoundError: this machine has sent no batch of that name; the error names a close
                match.
            ConflictError: a part's name has been taken by another submission, or a file that the
                settings name has other content than when the first parts were sent.
            NotReadyError: another process of this machine is sending it now.
            StorageError: the journal of it is damaged, or can't be written; nothing was sent.
            OutcomeUnknownError: a response was lost and the service can't be queried.
        """
        return self._submitter.resume(identity.check_name(name, "batch"))

    def unfinished(self) -> pd.DataFrame:
        """Return the batches sent from this machine and not known to be complete, newest first.

        Columns: Name, Type, Jobs, Parts, Sent (parts that the service has confirmed), Missing
        (jobs in the others), Written (UTC), Note (parts whose response was lost; a record that is
        damaged). The service is not asked.
        """
        from labext.jobs.batch.report import unfinished_frame

        return unfinished_frame(self._journal)

    def unfinished_names(self) -> list[str]:
        """Return the names that `unfinished` may list, without reading the batches' contents."""
        from labext.jobs.batch.report import unfinished_names

        return unfinished_names(self._journal)

    def check_batch(
        self,
        name: str,
        type: str,
        jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None = None,
        name_column: str | None = None,
        mapping: Mapping[str, str] | None = None,
        max_runtime_seconds: int | None = None,
        weighted_hours_budget: float | None = None,
        skip_invalid: bool = False,
    ) -> pd.DataFrame:
        """Check a batch as `submit_batch` does, and by the service's `/validate-job`; send nothing.

        A service that does not check several jobs at once is asked about one of each shape of
        settings.

        Returns:
            A row a job: Name, JobName (as the service would know it), Part, the input's columns;
            where names were adapted the original ones behind JobName; last ExpectedSeconds, if
            the tool has been used before. With `skip_invalid` the jobs that would be refused:
            Name, Error, the input's columns. `.attrs["estimate"]` holds the fields of `estimate`.

        Raises:
            InputError, InvalidJobsError, ConflictError: as for `submit_batch`.
        """
        from labext.jobs.batch.draft import make_draft
        from labext.jobs.batch.plan import BatchLimits

        limits = BatchLimits(max_runtime_seconds, weighted_hours_budget)
        draft = make_draft(
            self._catalogue, name, type, jobs, settings or {}, name_column, mapping, limits
        )
        tool, content = self._batch_content(draft)
        checked = self._submitter.check(draft, tool, content, skip_invalid=skip_invalid)
        expected = self.estimate(type, _valid_settings(draft))
        if expected is not None:
            checked.attrs["estimate"] = asdict(expected)
            if not skip_invalid:
                checked["ExpectedSeconds"] = expected.seconds
        return checked

    def estimate(self, type: str, jobs: Sequence[Mapping[str, Any]]) -> Estimate | None:
        """Estimate the computing time and weighted hours of jobs from earlier runs of their tool.

        The runs are the complete jobs among the account's latest 5,000, at most 500 of them. From
        ten runs on the estimate depends on the sizes of the settings.

        Args:
            type: the tool.
            jobs: the settings of each job.

        Returns:
            None if there are no runs.

        Raises:
            InputError: the service has no such tool.
        """
        from labext.jobs.estimates import estimate, find_runs, parse_budget_left

        parameters = self._catalogue.tool(type).parameters.values()
        pages = self._service.pages(limit=5000, includeSubjobs=True)
        runs = find_runs((row for page in pages for row in page.rows), type, 500)
        expected = estimate(runs, jobs, [p.name for p in parameters if p.is_file])
        if expected is None:
            return None
        try:
            answer = self._service.usage("weighted_hours", "user")
        except (NotFoundError, AccessError):  # beyond the contract, or not for this account
            return expected
        return replace(expected, budget_left=parse_budget_left(answer))

    def _check_budget(self, draft: BatchDraft, budget: float) -> None:
        """Refuse a batch that is expected to need more than its budget."""
        expected = self.estimate(draft.type, _valid_settings(draft))
        if expected is None or (expected.weighted_hours or 0) <= budget:
            return
        raise InputError(
            f"{draft.name} is expected to need {expected.weighted_hours:.3g} weighted hours "
            f"(by {messages.pluralize(expected.runs, 'earlier run')}); its budget is {budget:g}.",
            f"Raise the budget, or add {parameter('over_budget')}; the service stops a batch "
            "that has used its budget.",
        )

    def _checked(
        self, type: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, Any], InputContent]:
        """Return clean settings, and the content of the files that they name."""
        clean = self._catalogue.check(type, settings)
        references = check_references(self._service, self._catalogue.tool(type), [clean])
        return clean, self._content_of(references)

    def _content_of(self, references: FileReferences) -> InputContent:
        """Return the current content of the files that settings refer to."""
        if not references.uploaded and not references.outputs:
            return NO_FILES
        return self._contents.read_files(references.uploaded, references.outputs)

    def _batch_content(self, draft: BatchDraft) -> tuple[Tool, InputContent]:
        """Return a draft's tool, and the content of the files that its rows name.

        A row that names a missing file gets a fault.
        """
        from labext.jobs.input_files import resolve_references
        from labext.jobs.tools import file_values, settings_error

        tool = self._catalogue.tool(draft.type)
        valid = [draft.settings[row] for row in draft.valid_rows]
        references = resolve_references(self._service, tool, valid)
        sound = not draft.faults
        for row in draft.valid_rows:
            values = file_values(tool, draft.settings[row]).values()
            faults = [references.faults[value] for value in values if value in references.faults]
            if faults:
                draft.add_faults({row: faults})
        if sound and draft.faults:
            draft.errors[frozenset(draft.faults)] = settings_error(
                tool, draft.fault_lines(), references.next_step
            )
        return tool, self._content_of(references)


class PipelineMethods(SubmitMethods):
    """Several tools, one after the other."""

    def submit_pipeline(
        self,
        name: str | None,
        stages: Sequence[Mapping[str, Any]],
        initial_inputs: Inputs,
        project_tag: str | None = None,
    ) -> Submission:
        """Submit a pipeline, or return an identical one that already exists.

        Each input goes through on its own. A stage runs its tools side by side, once for each
        output of the stage before (JOBS-144, JOBS-153).

        Args:
            name: unique, as a job's. None generates one, always the same for the same pipeline and
                content of the files that it names.
            stages: `{"task": …, "toolSettings": {tool: settings}}` each; the value `"pipe"` in a
                setting takes the output of the stage before, in the first one the input.
            initial_inputs: a list, or a column of a frame: sequences, other texts, the bare names
                of uploaded files, `<Job>/path` of an earlier job's output.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: the submission is invalid; nothing was sent. Every fault is named.
            ConflictError: the name is taken by another submission, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        from labext.jobs.pipelines import Pipeline, clean_stages, parse_inputs

        _check_pipeline_name(name, project_tag)
        inputs = parse_inputs(initial_inputs)
        pipeline = Pipeline(inputs, clean_stages(self._catalogue, stages))
        return self._submit_pipeline(name, pipeline, project_tag)

    def run_pipeline(
        self,
        name: str | None,
        pipeline: str,
        inputs: Inputs,
        project_tag: str | None = None,
    ) -> Submission:
        """Run a pipeline that is saved on the service, or return an identical run.

        Args:
            name: of this run; unique, as a job's. None generates one, always the same for the same
                pipeline and inputs.
            pipeline: the saved pipeline's name (JOBS-145).
            inputs: as `initial_inputs` of `submit_pipeline`.
            project_tag: the project to file it under, `proj_<id>`.

        Raises:
            InputError: the submission is invalid; nothing was sent.
            ConflictError: the name is taken by another submission, or by a pipeline whose files had
                other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        from labext.jobs.pipelines import Pipeline, parse_inputs

        if not isinstance(pipeline, str) or not pipeline.strip():
            raise InputError(
                f"{messages.quote_value(pipeline)} is not a saved pipeline.",
                "Give the name of one.",
            )
        _check_pipeline_name(name, project_tag)
        saved = Pipeline(parse_inputs(inputs), saved=pipeline)
        return self._submit_pipeline(name, saved, project_tag)

    def _submit_pipeline(
        self, name: str | None, pipeline: Pipeline, project_tag: str | None
    ) -> Submission:
        from labext.jobs.pipelines import (
            PIPELINE_TYPE,
            check_pipeline_references,
            submit_pipeline,
        )

        references = check_pipeline_references(self._service, self._catalogue, pipeline)
        content = self._content_of(references)
        name = name or identity.generate_name(
            pipeline.saved or PIPELINE_TYPE, pipeline.settings, content.checksums()
        )
        return submit_pipeline(self._service, name, pipeline, project_tag, content)


def _valid_settings(draft: BatchDraft) -> list[dict[str, Any]]:
    return [draft.settings[row] for row in draft.valid_rows]


def _check_pipeline_name(name: str | None, project_tag: str | None) -> None:
    identity.check_project_tag(project_tag)
    if name is not None:
        identity.check_name(name, "pipeline")
