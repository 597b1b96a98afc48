"""Client methods that check and submit jobs and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import parameter
from labext.errors import AccessError, InputError, NotFoundError
from labext.jobs import identity
from labext.jobs.api import budget_step
from labext.jobs.client.base import BaseClient
from labext.jobs.input_files import NO_FILES, FileReferences, InputContent, check_references
from labext.jobs.records import JobRecord, jobs_frame
from labext.jobs.submission import Submission, submit_job, validate_job

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs.batch.draft import BatchDraft
    from labext.jobs.batch.report import BatchSubmission
    from labext.jobs.batch.submit_batch import OnSent
    from labext.jobs.estimates import Estimate
    from labext.jobs.tools import Tool


class SubmitMethods(BaseClient):
    """Submit jobs and batches, or validate them without submitting."""

    def check(self, type: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Validate settings against the parameters of a tool; return them as they would be sent.

        Nothing is submitted, and no defaults are added: the service does that (JOBS-32, JOBS-33).
        The parameters are read again before settings are rejected.

        Raises:
            InputError: the tool is unknown, or settings are invalid; the error lists all of them.
        """
        clean, _ = self._checked(type, settings)
        return clean

    def validate(
        self, type: str, settings: Mapping[str, Any], name: str | None = None
    ) -> dict[str, Any]:
        """Validate settings locally and on the service; return them as they would be sent.

        If the service does not provide `/validate-job`, they are only validated locally.

        Raises:
            InputError: the settings are invalid.
            ConflictError: the name is taken by another job.
        """
        if name is not None:
            identity.check_name(name)
        clean, content = self._checked(type, settings)
        name = name or identity.generate_name(type, clean, content.checksums())
        self._check_not_split(name)
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
            name: unique name of 1 to 100 letters, digits, `-` and `_`. None generates a name from
                the type, the settings and the content of the files that they name.
            type: the tool.
            settings: settings of the tool; `check` validates them.
            project_tag: identifier of a project, `proj_<id>`.

        Raises:
            InputError: the submission is invalid; nothing was sent.
            ConflictError: the name is taken by a job of another type or with other settings, or by
                a job whose files had other content.
            OutcomeUnknownError: the response was lost and the service can't be queried.
        """
        if name is not None:
            identity.check_name(name)
        identity.check_project_tag(project_tag)
        clean, content = self._checked(type, settings)
        if name is None:
            name = identity.generate_name(type, clean, content.checksums())
        self._check_not_split(name)
        return submit_job(self._service, name, type, clean, project_tag, content)

    def submitted_row(self, submission: Submission) -> pd.DataFrame:
        """Return the current row of a submitted job or pipeline, displayed in one line.

        Raises:
            NotFoundError: the job was deleted.
        """
        from labext.jobs.frames import SUBMITTED

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
        on_sent: OnSent | None = None,
    ) -> BatchSubmission:
        """Submit jobs of one tool as one batch, or return an identical one that already exists.

        More than 100 jobs are sent in parts, `<name>-part1of3` and so on, and shown as one batch.
        All jobs are validated and written to a journal before anything is sent. To finish an
        interrupted submission, call `resume` or repeat the same call; only missing parts are sent.

        Args:
            name: name of the batch.
            type: the tool of all jobs.
            jobs: a DataFrame with one row per job, a mapping of job names to settings, or the
                service's formats `{"jobNames": […], "settings": […]}` and
                `[{"jobName": …, "settings": …}]`.
            settings: settings shared by all jobs.
            name_column: column of the frame with the names of the jobs; by default they are
                numbered. Invalid names are adapted: invalid characters are replaced by `-`, and
                long names are truncated. Names that are then equal, ignoring case, get a digest.
            mapping: column of the frame for each setting; by default, each remaining column is the
                setting of the same name.
            max_runtime_seconds: time limit of each job.
            weighted_hours_budget: budget of the whole batch, divided among its parts.
            skip_invalid: submit only the valid jobs; `.refused` has the invalid ones.
            over_budget: submit even if `estimate` exceeds the budget of the batch or what is left
                of the account's budget.
            on_sent: called after each part but the last, with the number of jobs that the service
                has received so far and of all.

        Raises:
            InputError: the submission is invalid, or is expected to exceed its budget; nothing was
                sent.
            InvalidJobsError: jobs are invalid; the error lists all of them. Nothing was sent.
            ConflictError: the name is taken by another submission, or by a batch whose files had
                other content.
            NotReadyError: another thread or process of this machine is submitting the batch.
            StorageError: the journal can't be written; nothing was sent.
            OutcomeUnknownError: a response was lost and the service can't be queried.
        """
        from labext.jobs.batch.draft import make_draft
        from labext.jobs.batch.plan import BatchLimits

        limits = BatchLimits(max_runtime_seconds, weighted_hours_budget)
        draft = make_draft(
            self._catalogue, name, type, jobs, settings, name_column, mapping, limits
        )
        tool, content = self._batch_content(draft)
        if not over_budget:
            self._check_budget(
                name,
                draft.plan().parts[0].name,
                lambda: self._estimate(type, _valid_settings(draft), self._history()),
                limits.budget,
            )
        return self._submitter.submit(
            draft, tool, content, skip_invalid=skip_invalid, on_sent=on_sent
        )

    def resume(self, name: str, on_sent: OnSent | None = None) -> BatchSubmission:
        """Finish an interrupted batch submission, using this machine's journal.

        Only missing parts are sent, so repeated calls are safe. A part that was sent and then
        deleted on the service is reported in `deleted` and not sent again. Works for batches that
        were sent from this machine to this address with this key; the input frame is not needed.

        Args:
            name: name of the batch, as given to `submit_batch`.
            on_sent: as for `submit_batch`.

        Raises:
            NotFoundError: the journal has no batch of this name; the error suggests a similar name.
            ConflictError: a part's name has been taken by another submission, or a file that the
                settings name has other content than when the first parts were sent.
            NotReadyError: another thread or process of this machine is submitting the batch.
            StorageError: the record of the batch is damaged, or can't be written; nothing was sent.
            OutcomeUnknownError: a response was lost and the service can't be queried.
        """
        return self._submitter.resume(identity.check_name(name, "batch"), on_sent)

    def unfinished(self) -> pd.DataFrame:
        """Return the unfinished batches of this machine's journal, newest first, one per row.

        Columns: Name, Type, Jobs, Parts, Sent (number of confirmed parts), Missing (number of jobs
        in the other parts), Written (UTC), Note (parts whose response was lost, or a damaged
        record). The service is not queried.
        """
        from labext.jobs.batch.report import unfinished_frame

        return unfinished_frame(self._journal)

    def unfinished_names(self) -> list[str]:
        """Return the names of unfinished batches; faster than `unfinished`, but may list more."""
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
        """Validate a batch locally and on the service (`/validate-job`), without submitting it.

        If the service validates one job per request, one job of each shape of settings is
        validated there.

        Returns:
            One row per job: Name, JobName (on the service), the original name if names were
            adapted, Part, the input columns, and ExpectedSeconds if the tool has been used before.
            With `skip_invalid`, the invalid jobs instead: Name, Error, the input columns.
            `.attrs["estimate"]` has the fields of `estimate`.

        Raises:
            InputError, InvalidJobsError, ConflictError: as for `submit_batch`.
        """
        from labext.jobs.batch.draft import make_draft
        from labext.jobs.batch.plan import BatchLimits

        limits = BatchLimits(max_runtime_seconds, weighted_hours_budget)
        draft = make_draft(
            self._catalogue, name, type, jobs, settings, name_column, mapping, limits
        )
        tool, content = self._batch_content(draft)
        checked = self._submitter.check(draft, tool, content, skip_invalid=skip_invalid)
        expected = self.estimate(type, _valid_settings(draft))
        if expected is not None:
            if limits.budget is not None and limits.budget < (expected.weighted_hours or 0):
                hours = messages.format_number(limits.budget)
                note = f"This exceeds the batch's budget of {hours} weighted hours."
                expected = replace(expected, notes=(note, *expected.notes))
            checked.attrs["estimate"] = asdict(expected)
            if not skip_invalid:
                checked["ExpectedSeconds"] = expected.seconds
        return checked

    def estimate(self, type: str, jobs: Sequence[Mapping[str, Any]]) -> Estimate | None:
        """Estimate the computing time and weighted hours of jobs from earlier runs of their tool.

        Uses at most 500 complete jobs among the account's latest 5,000. With ten or more runs, the
        estimate depends on the sizes of the settings and of the uploaded files that they name.

        Args:
            type: the tool.
            jobs: the settings of each job.

        Returns:
            The estimate; None without earlier runs.

        Raises:
            InputError: the service has no such tool, or the jobs are not settings.
        """
        if not isinstance(jobs, list | tuple) or not all(isinstance(job, Mapping) for job in jobs):
            raise InputError(
                "The jobs to estimate are not a list of settings.",
                'Give the settings of each job, such as those of frame.to_dict("records").',
            )
        expected = self._estimate(type, jobs, self._history())
        return None if expected is None else replace(expected, budget_left=self._budget_left())

    def _history(self) -> list[JobRecord]:
        """Return the account's latest jobs, including those of batches and pipelines."""
        pages = self._service.pages(limit=5000, includeSubjobs=True)
        return [row for page in pages for row in page.rows]

    def _estimate(
        self, type: str, jobs: Sequence[Mapping[str, Any]], history: Sequence[JobRecord]
    ) -> Estimate | None:
        """Return the estimate of jobs, without the budget."""
        from labext.jobs.estimates import estimate, find_runs

        tool = self._catalogue.tool(type)
        runs = find_runs(history, type, 500)
        names = [p.name for p in tool.parameters.values() if p.is_file]
        sizes = self._contents.sizes(tool, [*jobs, *(run.settings for run in runs)])
        return estimate(runs, jobs, names, sizes)

    def _budget_left(self) -> float | None:
        """Return the weighted hours that the account may still use; None if unknown."""
        from labext.jobs.estimates import parse_budget_left

        try:
            return parse_budget_left(self._service.usage("weighted_hours", "user"))
        except (NotFoundError, AccessError):  # the service lacks the endpoint, or denies access
            return None

    def _check_budget(
        self,
        name: str,
        first: str,
        expect: Callable[[], Estimate | None],
        budget: float | None = None,
    ) -> None:
        """Check that the expected cost exceeds neither the budget given nor that of the account.

        If the first part exists on the service, nothing will be sent.
        """
        left = self._budget_left()
        limit = min((hours for hours in (budget, left) if hours is not None), default=None)
        if limit is None or self._service.find(first) is not None:
            return
        if limit <= 0:
            step = budget_step(self._service.address)
            raise AccessError("The budget of your account is used up.", step)
        expected = expect()
        if expected is None or (expected.weighted_hours or 0) <= limit:
            return
        if limit == budget:
            budget_text = f"its budget is {messages.format_number(limit)}."
            remedy, rule = "Raise the budget", "the service stops a batch that has used its budget."
        else:
            budget_text = f"{messages.format_number(limit, 3)} of your budget are left."
            remedy, rule = "Submit fewer jobs", "the service accepts no more jobs once it is used."
        need = messages.format_number(expected.weighted_hours or 0, 3)
        raise InputError(
            f"{name} is expected to need {need} weighted hours "
            f"(estimated from {messages.pluralize(expected.runs, 'earlier run')}); {budget_text}",
            f"{remedy}, or add {parameter('over_budget')}; {rule}",
        )

    def _check_not_split(self, name: str) -> None:
        """Check that no split batch sent from this machine has a name, else raise ConflictError."""
        # Without a record of this name, the modules of batches need not be imported.
        if any(self._state.glob(f"batches/{name}.*")):
            self._parts.check_not_split(name)

    def _checked(
        self, type: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, Any], InputContent]:
        """Return validated settings, and the content of the files that they name."""
        clean = self._catalogue.check(type, settings)
        references = check_references(self._service, self._catalogue.tool(type), [clean])
        return clean, self._content_of(references)

    def _content_of(self, references: FileReferences) -> InputContent:
        """Return the current content of the files that settings refer to."""
        if not references.uploaded and not references.outputs:
            return NO_FILES
        return self._contents.read_files(references.uploaded, references.outputs)

    def _batch_content(self, draft: BatchDraft) -> tuple[Tool, InputContent]:
        """Return the tool of a draft, and the content of the files that its rows name.

        Adds faults to rows that name a missing file.
        """
        from labext.jobs.input_files import resolve_references
        from labext.jobs.tools import file_values, settings_error

        tool = self._catalogue.tool(draft.type)
        valid = [draft.settings[row] for row in draft.valid_rows]
        references = resolve_references(self._service, tool, valid)
        was_valid = not draft.faults
        for row in draft.valid_rows:
            values = file_values(tool, draft.settings[row]).values()
            faults = [references.faults[value] for value in values if value in references.faults]
            if faults:
                draft.add_faults({row: faults})
        if was_valid and draft.faults:
            draft.errors[frozenset(draft.faults)] = settings_error(
                tool, draft.fault_lines(), references.next_step
            )
        return tool, self._content_of(references)


def _valid_settings(draft: BatchDraft) -> list[dict[str, Any]]:
    return [draft.settings[row] for row in draft.valid_rows]
