"""Submit a batch: validate it, look up its parts, write the journal, and send each part once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError, LabextError, NotFoundError, OutcomeUnknownError, StorageError
from labext.jobs import identity, records
from labext.jobs.api import SUBMIT_BATCH, JobsApi
from labext.jobs.batch.draft import BatchDraft
from labext.jobs.batch.journal import Journal, JournalEntry, PartEvent
from labext.jobs.batch.merge_parts import PartFinder
from labext.jobs.batch.plan import LIMITS, BatchPart, BatchPlan
from labext.jobs.batch.report import BatchSubmission, PartOutcomes, build_report, plan_overview
from labext.jobs.error_messages import is_taken
from labext.jobs.identity import canonical_json, submission_difference
from labext.jobs.input_files import NO_FILES, ContentReader, InputContent
from labext.jobs.records import JobRecord
from labext.jobs.submission import name_taken_error, send_once
from labext.jobs.tools import Tool
from labext.progress import Outcome

if TYPE_CHECKING:
    import pandas as pd


OnSent = Callable[[int, int], None]
"""Takes the number of jobs of a batch that the service has received so far, and of all."""

_MAX_SINGLE_VALIDATIONS = 50
"""Maximum number of jobs to validate if the service validates one job per request."""

_MAX_VALIDATED_ROWS = 1000
_MAX_VALIDATED_BYTES = 3_000_000
"""Limits of one validation request, those of the service's own command-line client."""


class BatchSubmitter:
    """Submits and resumes batches on one service."""

    def __init__(
        self, service: JobsApi, journal: Journal, parts: PartFinder, contents: ContentReader
    ) -> None:
        self._service = service
        self._journal = journal
        self._parts = parts
        self._contents = contents
        self._validates_rows = True

    def submit(
        self,
        draft: BatchDraft,
        tool: Tool,
        content: InputContent,
        *,
        skip_invalid: bool = False,
        on_sent: OnSent | None = None,
    ) -> BatchSubmission:
        """Send the missing parts of a batch that was validated locally."""
        if skip_invalid or draft.faults:
            self._validate_all(draft, thorough=skip_invalid, tool=tool)
            if draft.faults and not skip_invalid:
                raise draft.error()
        plan = draft.plan()
        with self._journal.lock(plan.name):
            existing = self._find_parts(plan, content)
            absent = [part for part in plan.parts if part.name not in existing]
            if not skip_invalid:
                self._validate(draft, plan, absent, tool, one_by_one=plan.split)
            if not existing:
                content.remember(plan.name)
            entry = self._journal.write(plan, free=[part.name for part in absent])
            self._parts.forget(plan.name)
            outcomes = self._record_existing(entry, existing)
            try:
                self._send_all(entry, absent, outcomes, content, on_sent)
            except InputError:
                if not entry.log.attempted and not outcomes.sent:
                    self._journal.forget(plan.name)  # the service will never accept this batch
                raise
            self._note_complete(entry, outcomes)
        caveats = [content.caveat(plan.name, row) for row in [*existing.values()][:1]]
        caveats += [_limits_caveat(plan, existing), draft.unused_message]
        return build_report(
            plan, outcomes, resumed=False, refused=draft.rejected_rows(), caveats=caveats
        )

    def resume(self, name: str, on_sent: OnSent | None = None) -> BatchSubmission:
        """Send the unsent parts of a batch in the journal.

        A part that this machine sent and that no longer exists was deleted on the service: it is
        reported, and not sent again.
        """
        self._read_entry(name)
        with self._journal.lock(name):
            entry = self._read_entry(name)
            existing = self._find_parts(entry.plan)
            absent = [part for part in entry.plan.parts if part.name not in existing]
            deleted = [part for part in absent if self._was_deleted(entry, part)]
            absent = [part for part in absent if part not in deleted]
            content = self._contents.recorded(name) if absent else NO_FILES
            if existing:
                content.check_unchanged(name)
            else:
                content.remember(name)
            if not entry.log.complete:
                # These names are free, so a part that appears under one of them was sent by us.
                entry = self._journal.write(entry.plan, free=[part.name for part in absent])
            self._parts.forget(name)
            outcomes = self._record_existing(entry, existing)
            outcomes.deleted += deleted
            self._send_all(entry, absent, outcomes, content, on_sent)
            self._note_complete(entry, outcomes)
        return build_report(entry.plan, outcomes, resumed=True)

    def check(
        self, draft: BatchDraft, tool: Tool, content: InputContent, *, skip_invalid: bool = False
    ) -> pd.DataFrame:
        """Validate a batch as `submit` does, without sending it; return one row per job.

        With `skip_invalid`, only the invalid rows are returned.
        """
        if skip_invalid or draft.faults:
            self._validate_all(draft, thorough=skip_invalid, tool=tool)
            if skip_invalid:
                return draft.rejected_rows()
            raise draft.error()
        plan = draft.plan()
        existing = self._find_parts(plan, content)
        absent = [part for part in plan.parts if part.name not in existing]
        self._validate(draft, plan, absent, tool, one_by_one=True)
        overview = plan_overview(plan)
        overview.attrs["unused"] = draft.unused_message
        return overview

    def _find_parts(
        self, plan: BatchPlan, content: InputContent = NO_FILES
    ) -> dict[str, JobRecord]:
        """Return the rows of the existing parts, by name.

        Each part is compared with the plan, which takes one request per part, and with the content
        of the files that the settings name.
        """
        if not plan.split:
            self._parts.check_not_split(plan.name)
            row = self._find_part(plan, plan.parts[0], content)
            return {} if row is None else {plan.name: row}
        if (row := self._service.find(plan.name)) is not None:
            kind = "an unsplit batch" if records.is_batch(row) else f"a {_kind_name(row)}"
            raise name_taken_error(plan.name, f"it is {kind}")
        parts = self._parts.list_parts(plan.name).parts
        for count in parts:
            if count != len(plan.parts):
                raise name_taken_error(
                    plan.name, f"it is a batch in {count} parts, not {len(plan.parts)}"
                )
        rows = {}
        for number, row in parts.get(len(plan.parts), {}).items():
            part = plan.parts[number - 1]
            self._compare(plan, part, row, content)
            rows[part.name] = row
        return rows

    def _find_part(
        self, plan: BatchPlan, part: BatchPart, content: InputContent
    ) -> JobRecord | None:
        """Return the row of one part; None if its name is free."""
        row = self._service.find(part.name)
        if row is not None:
            self._compare(plan, part, row, content)
        return row

    def _compare(
        self, plan: BatchPlan, part: BatchPart, row: JobRecord, content: InputContent
    ) -> None:
        """Check that a batch on the service has the jobs and the files of a part of the plan."""
        if not records.is_batch(row):
            raise name_taken_error(part.name, f"it is a {_kind_name(row)}")
        existing = {
            identity.strip_batch_name(str(job.get("JobName")), part.name): job
            for page in self._service.pages(batch=part.name)
            for job in page.rows
        }
        surplus = [job for job in existing if job not in set(part.jobs)]
        missing = [job for job in part.jobs if job not in existing]
        if surplus or missing:
            difference = f"has a job {surplus[0]}" if surplus else f"has no job {missing[0]}"
            raise name_taken_error(plan.name, f"{part.name if plan.split else 'it'} {difference}")
        for job in part.jobs:
            job_difference = submission_difference(plan.type, plan.jobs[job], existing[job])
            if job_difference is not None:
                raise name_taken_error(plan.name, f"in job {job}, {job_difference}")
        values = {
            value
            for job in part.jobs
            for value in plan.jobs[job].values()
            if isinstance(value, str)
        }
        content.check(plan.name, row, values)

    def _read_entry(self, name: str) -> JournalEntry:
        entry = self._journal.read(name)
        if entry is not None:
            return entry
        hint = "Submitting the batch again sends only its missing parts."
        if self._journal.has(name):
            raise StorageError(f"This machine's record of {name} is damaged.", hint)
        if self._journal.is_other_account(name):
            raise NotFoundError(
                f"{name} was sent from this machine, but to another address or with another key.",
                f"Connect with that address and key. {hint}",
            )
        part = identity.parse_part_name(name)
        suggestion = messages.did_you_mean(part[0] if part else name, self._journal.names())
        raise NotFoundError(
            f'No batch called "{name}" was sent from this machine{suggestion}.',
            f"{{action}} lists unfinished batches. {hint}",
            action=Action.list_unfinished_batches(),
        )

    def _was_deleted(self, entry: JournalEntry, part: BatchPart) -> bool:
        """Return whether a missing part existed earlier."""
        if part.name in entry.log.confirmed or part.name in entry.log.preexisting:
            return True
        if part.name not in entry.log.attempted:
            return False
        try:
            return records.phase(self._service.row(part.name)) == "Deleted"
        except NotFoundError:
            return False

    def _record_existing(
        self, entry: JournalEntry, existing: Mapping[str, JobRecord]
    ) -> PartOutcomes:
        """Record in the journal which existing parts were sent by this machine."""
        outcomes, log = PartOutcomes(), self._journal.log(entry.plan.name)
        for part in entry.plan.parts:
            row = existing.get(part.name)
            if row is None:
                continue
            if records.outcome(row) is Outcome.STOPPED:
                outcomes.stopped.append(part)
            if part.name in entry.log.confirmed:
                outcomes.sent_before.append(part)
            elif part.name in entry.log.preexisting:
                outcomes.preexisting.append(part)
            elif entry.was_sent_from_here(part.name):
                log.note(PartEvent.SENT, part.name)
                outcomes.confirmed_late.append(part)
            else:
                log.note(PartEvent.PREEXISTING, part.name)
                outcomes.preexisting.append(part)
        return outcomes

    def _send_all(
        self,
        entry: JournalEntry,
        absent: list[BatchPart],
        outcomes: PartOutcomes,
        content: InputContent,
        on_sent: OnSent | None,
    ) -> None:
        total, remaining = len(entry.plan.jobs), sum(len(part.jobs) for part in absent)
        for part in absent:
            try:
                self._send(entry, part, outcomes, content)
            except LabextError as error:
                unknown = isinstance(error, OutcomeUnknownError | StorageError)
                if not unknown and part not in outcomes.sent:  # the part does not exist
                    with contextlib.suppress(StorageError):  # report the original error instead
                        self._journal.log(entry.plan.name).note(PartEvent.REFUSED, part.name)
                raise _interrupted_error(entry.plan, part, outcomes, error) from None
            remaining -= len(part.jobs)
            if remaining and on_sent is not None:
                on_sent(total - remaining, total)

    def _send(
        self, entry: JournalEntry, part: BatchPart, outcomes: PartOutcomes, content: InputContent
    ) -> None:
        plan, log = entry.plan, self._journal.log(entry.plan.name)
        log.note(PartEvent.SENDING, part.name)
        _, _, created = send_once(
            part.name,
            lambda: self._service.submit(SUBMIT_BATCH, plan.body(part)),
            lambda: self._find_part(plan, part, content),
            f"{messages.pluralize(len(part.jobs), 'job')} of {plan.type}",
        )
        if created:
            outcomes.sent.append(part)
        elif entry.was_sent_from_here(part.name):
            outcomes.confirmed_late.append(part)  # sent by an earlier process
        else:
            outcomes.preexisting.append(part)  # created by another client since the lookup
            log.note(PartEvent.PREEXISTING, part.name)
            return
        log.note(PartEvent.SENT, part.name)

    def _note_complete(self, entry: JournalEntry, outcomes: PartOutcomes) -> None:
        if outcomes.sent or not entry.log.complete:
            # A failure is harmless: the log records each part.
            with contextlib.suppress(StorageError):
                self._journal.log(entry.plan.name).note_complete()

    def _validate_all(self, draft: BatchDraft, tool: Tool, *, thorough: bool) -> None:
        """Validate the locally valid rows on the service, and add its faults to the draft.

        Taken names are ignored here: whether they belong to the same jobs is checked later.
        """
        jobs = {draft.names[row]: draft.settings[row] for row in draft.valid_rows}
        if not jobs:
            return
        stored = {job: f"{draft.name}-{job}" for job in jobs}
        rejected = self._rejected_jobs(draft.type, jobs, stored, tool, thorough=thorough)
        draft.add_rejections({job: text for job, text in rejected.items() if not is_taken(text)})

    def _validate(
        self,
        draft: BatchDraft,
        plan: BatchPlan,
        parts: list[BatchPart],
        tool: Tool,
        *,
        one_by_one: bool,
    ) -> None:
        """Check that the service accepts the jobs of these parts, else raise InvalidJobsError.

        Without `one_by_one`, nothing is validated if the service only validates one job per
        request: an unsplit batch is accepted or rejected as a whole.
        """
        stored = {job: f"{part.name}-{job}" for part in parts for job in part.jobs}
        jobs = {job: plan.jobs[job] for job in stored}
        rejected = self._rejected_jobs(plan.type, jobs, stored, tool, one_by_one=one_by_one)
        draft.add_rejections(rejected)
        if draft.faults:
            raise draft.error()

    def _rejected_jobs(
        self,
        type: str,
        jobs: Mapping[str, Mapping[str, Any]],
        stored: Mapping[str, str],
        tool: Tool,
        *,
        thorough: bool = False,
        one_by_one: bool = True,
    ) -> dict[str, str]:
        """Validate jobs on the service; return its error messages by job name.

        If the service validates one job per request, only one job of each shape is validated, or
        every job if `thorough`.
        """
        rejected: dict[str, str] = {}
        for chunk in validation_chunks(jobs) if self._validates_rows else ():
            by_row = self._service.validate_rows(
                {
                    "type": type,
                    "jobNames": [stored[job] for job in chunk],
                    "settings": [jobs[job] for job in chunk],
                }
            )
            if by_row is None:
                self._validates_rows = False
                break
            rejected |= {chunk[row]: message for row, message in by_row.items()}
        if self._validates_rows or not one_by_one:
            return rejected
        samples = list(jobs) if thorough else distinct_shapes(tool, jobs)[:_MAX_SINGLE_VALIDATIONS]
        for job in samples:
            response = self._service.validate(
                {"jobName": stored[job], "type": type, "settings": jobs[job]}
            )
            if response is None:
                break
            valid, message = response
            if not valid:
                rejected[job] = message
        return rejected


def _limits_caveat(plan: BatchPlan, existing: Mapping[str, JobRecord]) -> str:
    """Return a sentence if an existing part is still active and has other limits, else ""."""
    for part in plan.parts:
        row, body = existing.get(part.name, {}), plan.body(part)
        stored = None if records.outcome(row) else identity.stored_settings(row)
        if stored is not None and any(stored.get(name) != body.get(name) for name in LIMITS):
            return (
                "The existing jobs keep their budget and time limit; to change these, delete the "
                "batch and submit it again."
            )
    return ""


def _kind_name(row: JobRecord) -> str:
    return "pipeline" if records.is_pipeline(row) else "single job"


def validation_chunks(jobs: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the names of jobs in chunks that fit into one validation request.

    Gateways in front of a service reject larger requests without an error message.
    """
    group: list[str] = []
    size = 0
    for job, settings in jobs.items():
        length = len(canonical_json(settings).encode("utf-8", "replace")) + len(job)
        if group and (len(group) == _MAX_VALIDATED_ROWS or size + length > _MAX_VALIDATED_BYTES):
            yield group
            group, size = [], 0
        group.append(job)
        size += length
    if group:
        yield group


def _interrupted_error(
    plan: BatchPlan, part: BatchPart, outcomes: PartOutcomes, error: LabextError
) -> LabextError:
    """Return the error of an interrupted submission, with the steps to finish it."""
    if isinstance(error, InputError) and not plan.split:
        return error
    finish = "finish it with {action}, or submit it again: only missing parts are sent."
    if isinstance(error, OutcomeUnknownError):
        step = f"Try again later: {finish}"
    else:
        step = f"{error.next_step} Then {finish}"
    return error.__class__(
        _interruption_message(plan, part, outcomes, error),
        step,
        action=Action.resume_batch(plan.name),
        status=error.status,
        method=error.method,
        path=error.path,
        server=error.server,
    )


def _interruption_message(
    plan: BatchPlan, part: BatchPart, outcomes: PartOutcomes, error: LabextError
) -> str:
    """Return the message of an interrupted submission: its progress and the error."""
    if not plan.split:
        if part in outcomes.sent:
            return f"{plan.name} was submitted, but this could not be recorded: {error.message}"
        return error.message
    received = [
        *outcomes.preexisting,
        *outcomes.sent_before,
        *outcomes.confirmed_late,
        *outcomes.sent,
    ]
    progress = f"{len(received)} of {len(plan.parts)} parts of {plan.name}"
    if part in received or isinstance(error, OutcomeUnknownError):
        return f"{progress} were received by the service before this error: {error.message}"
    return f"{progress} were sent, but not {part.name}: {error.message}"


def distinct_shapes(tool: Tool, jobs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the first job of each shape: its set of settings and its choices of options."""
    choices = [
        parameter.name
        for parameter in tool.parameters.values()
        if parameter.options or parameter.kind == "boolean"
    ]
    first: dict[tuple[Any, ...], str] = {}
    for job, settings in jobs.items():
        values = tuple(canonical_json(settings.get(name)) for name in choices)
        first.setdefault((frozenset(settings), values), job)
    return list(first.values())
