"""Submit a batch: validate it, look it up, journal it, and send each part once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError, LabextError, NotFoundError, OutcomeUnknownError, StorageError
from labext.jobs import identity, records
from labext.jobs.api import JobsApi
from labext.jobs.batch.draft import BatchDraft
from labext.jobs.batch.journal import Journal, JournalEntry, PartEvent
from labext.jobs.batch.merge_parts import PartFinder
from labext.jobs.batch.plan import BatchPart, BatchPlan
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


class PartLookup:
    """Look up the jobs and batches under a plan's names on one service."""

    def __init__(self, service: JobsApi, journal: Journal, parts: PartFinder) -> None:
        self._service = service
        self._journal = journal
        self._parts = parts

    def find_all(self, plan: BatchPlan, content: InputContent = NO_FILES) -> dict[str, JobRecord]:
        """Return the rows of the parts that exist, by their names.

        Each is compared with the plan, at one request a part, and with the content of the files
        that the settings name.

        Raises:
            ConflictError: a name is taken by another submission, or by a batch with other content.
        """
        return self._split(plan, content) if plan.split else self._single(plan, content)

    def find(
        self, plan: BatchPlan, part: BatchPart, content: InputContent = NO_FILES
    ) -> JobRecord | None:
        """Return the row of one part; None if its name is free.

        Raises:
            ConflictError: the name is taken by another submission, or by a batch with other
                content.
        """
        row = self._service.find(part.name)
        if row is not None:
            self._check(plan, part, row, content)
        return row

    def _single(self, plan: BatchPlan, content: InputContent) -> dict[str, JobRecord]:
        entry = self._journal.read(plan.name)
        if (
            entry is not None
            and entry.plan.split
            and any(self._service.find(part.name) for part in entry.plan.parts)
        ):
            raise name_taken_error(plan.name, f"it is a batch of {len(entry.plan.jobs):,} jobs")
        (part,) = plan.parts
        row = self.find(plan, part, content)
        return {} if row is None else {part.name: row}

    def _split(self, plan: BatchPlan, content: InputContent) -> dict[str, JobRecord]:
        if (row := self._service.find(plan.name)) is not None:
            kind = "batch that is not split" if records.is_batch(row) else _kind_name(row)
            raise name_taken_error(plan.name, f"it is a {kind}")
        parts = self._parts.list_parts(plan.name).parts
        for count in parts:
            if count != len(plan.parts):
                raise name_taken_error(
                    plan.name, f"it is a batch in {count} parts, not {len(plan.parts)}"
                )
        rows = {}
        for number, row in parts.get(len(plan.parts), {}).items():
            part = plan.parts[number - 1]
            self._check(plan, part, row, content)
            rows[part.name] = row
        return rows

    def _check(
        self, plan: BatchPlan, part: BatchPart, row: JobRecord, content: InputContent
    ) -> None:
        """Compare a batch on the service with the part that is to be sent.

        Raises:
            ConflictError: it is not the same, or its files had other content.
        """
        if not records.is_batch(row):
            raise name_taken_error(plan.name, f"{part.name} is a {_kind_name(row)}")
        conflicts = {
            identity.strip_batch_name(str(job.get("JobName")), part.name): job
            for page in self._service.pages(batch=part.name)
            for job in page.rows
        }
        surplus = [job for job in conflicts if job not in set(part.jobs)]
        missing = [job for job in part.jobs if job not in conflicts]
        if surplus or missing:
            which = f"has a job {surplus[0]}" if surplus else f"has no job {missing[0]}"
            raise name_taken_error(plan.name, f"{part.name if plan.split else 'it'} {which}")
        for job in part.jobs:
            difference = submission_difference(plan.type, plan.jobs[job], conflicts[job])
            if difference is not None:
                raise name_taken_error(plan.name, f"in job {job}, {difference}")
        settings = [plan.jobs[job] for job in part.jobs]
        values = {value for one in settings for value in one.values() if isinstance(value, str)}
        content.check(plan.name, row, values)


def _kind_name(row: JobRecord) -> str:
    return "pipeline" if records.is_pipeline(row) else "single job"


__all__ = ["BatchSubmission", "BatchSubmitter"]

_MAX_SINGLE_VALIDATIONS = 50
"""Maximum number of a batch's jobs to check with a service that checks them one by one."""


_MAX_VALIDATED_ROWS = 1000
_MAX_VALIDATED_BYTES = 3_000_000
"""How much one request for validation has, as the service's own command line keeps it."""


class BatchSubmitter:
    """Sends plans to one service."""

    def __init__(
        self, service: JobsApi, journal: Journal, parts: PartFinder, contents: ContentReader
    ) -> None:
        self._service = service
        self._journal = journal
        self._parts = parts
        self._contents = contents
        self._presence = PartLookup(service, journal, parts)
        self._checks_rows = True

    def submit(
        self, draft: BatchDraft, tool: Tool, content: InputContent, *, skip_invalid: bool = False
    ) -> BatchSubmission:
        """Send the missing parts of a batch.

        Args:
            draft: the batch, checked locally.
            tool: its tool.
            content: the content of the files that its settings name.
            skip_invalid: leave out the rows that are faulty.

        Raises:
            ConflictError: the name is taken by another batch or job, or by one with other content.
            InvalidJobsError: rows are faulty; then nothing was sent.
            NotReadyError: another process of this machine is sending it.
            StorageError: the journal can't be written; then nothing was sent.
        """
        if skip_invalid or draft.faults:
            self._validate_all(draft, thorough=skip_invalid, tool=tool)
            if draft.faults and not skip_invalid:
                raise draft.error()
        plan = draft.plan()
        with self._journal.lock(plan.name):
            existing = self._presence.find_all(plan, content)
            absent = [part for part in plan.parts if part.name not in existing]
            if not skip_invalid:
                self._validate(draft, plan, absent, tool, whole=plan.split)
            if not existing:
                content.remember(plan.name)
            entry = self._journal.write(plan, free=[part.name for part in absent])
            self._parts.forget(plan.name)
            outcomes = self._settle(entry, existing)
            try:
                self._send_all(entry, absent, outcomes, content)
            except InputError:
                if not entry.log.attempted and not outcomes.sent:
                    self._journal.forget(plan.name)  # in this form it can never be sent
                raise
            self._note_whole(entry, outcomes)
        caveats = [content.caveat(plan.name, row) for row in [*existing.values()][:1]]
        return build_report(plan, outcomes, resumed=False, refused=draft.refused(), caveats=caveats)

    def resume(self, name: str) -> BatchSubmission:
        """Send the unsent parts of a batch in the journal.

        A part that was sent from here and is no longer on the service was deleted by somebody: it
        is reported, and not sent again.

        Raises:
            NotFoundError: the journal has no batch of the name; the error names a close match.
            ConflictError: a part's name has been taken by another submission, or a file that the
                settings name has other content than when the first parts were sent.
            NotReadyError: another process of this machine is sending it.
            StorageError: the journal is damaged, or can't be written; nothing was sent.
        """
        self._recorded(name)
        with self._journal.lock(name):
            entry = self._recorded(name)
            existing = self._presence.find_all(entry.plan)
            absent = [part for part in entry.plan.parts if part.name not in existing]
            gone = [part for part in absent if self._is_gone(entry, part)]
            absent = [part for part in absent if part not in gone]
            content = self._contents.recorded(name) if absent else NO_FILES
            if existing:
                content.check_unchanged(name)
            else:
                content.remember(name)
            if not entry.log.complete:
                # Their names are known to be free, so whatever appears under them now is ours.
                entry = self._journal.write(entry.plan, free=[part.name for part in absent])
            self._parts.forget(name)
            outcomes = self._settle(entry, existing)
            outcomes.deleted += gone
            self._send_all(entry, absent, outcomes, content)
            self._note_whole(entry, outcomes)
        return build_report(entry.plan, outcomes, resumed=True)

    def check(
        self, draft: BatchDraft, tool: Tool, content: InputContent, *, skip_invalid: bool = False
    ) -> pd.DataFrame:
        """Check a batch as `submit` would, and send nothing.

        Returns:
            A row a job; with `skip_invalid` the rows that would be refused.

        Raises:
            ConflictError: the name is taken by another batch or job, or by one with other content.
            InvalidJobsError: rows are faulty.
        """
        if skip_invalid or draft.faults:
            self._validate_all(draft, thorough=skip_invalid, tool=tool)
            if skip_invalid:
                return draft.refused()
            raise draft.error()
        plan = draft.plan()
        existing = self._presence.find_all(plan, content)
        absent = [part for part in plan.parts if part.name not in existing]
        self._validate(draft, plan, absent, tool, whole=True)
        return plan_overview(plan)

    def _recorded(self, name: str) -> JournalEntry:
        entry = self._journal.read(name)
        if entry is not None:
            return entry
        again = "Submitting the batch again sends only the parts that the service does not have."
        if self._journal.has(name):
            raise StorageError(f"This machine's record of {name} is damaged.", again)
        if self._journal.is_other_account(name):
            raise NotFoundError(
                f"{name} was sent from this machine, but to another address or with another key.",
                f"Connect with that address and key. {again}",
            )
        part = identity.parse_part_name(name)
        suggestion = messages.did_you_mean(part[0] if part else name, self._journal.names())
        raise NotFoundError(
            f'No batch called "{name}" was sent from this machine{suggestion}.',
            f"{{action}} lists unfinished batches. {again}",
            action=Action.list_unfinished_batches(),
        )

    def _is_gone(self, entry: JournalEntry, part: BatchPart) -> bool:
        """Return whether a missing part once existed, and was deleted."""
        if part.name in entry.log.confirmed or part.name in entry.log.preexisting:
            return True
        if part.name not in entry.log.attempted:
            return False
        try:
            return records.phase(self._service.row(part.name)) == "Deleted"
        except NotFoundError:
            return False

    def _settle(self, entry: JournalEntry, existing: Mapping[str, JobRecord]) -> PartOutcomes:
        """Record which of the existing parts were sent from here."""
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
                log.note(PartEvent.THERE, part.name)
                outcomes.preexisting.append(part)
        return outcomes

    def _send_all(
        self,
        entry: JournalEntry,
        absent: list[BatchPart],
        outcomes: PartOutcomes,
        content: InputContent,
    ) -> None:
        for part in absent:
            try:
                self._send(entry, part, outcomes, content)
            except LabextError as error:
                self._refused(entry.plan, part, outcomes, error)
                raise _interrupted_error(entry.plan, part, outcomes, error) from None

    def _send(
        self, entry: JournalEntry, part: BatchPart, outcomes: PartOutcomes, content: InputContent
    ) -> None:
        plan, log = entry.plan, self._journal.log(entry.plan.name)
        log.note(PartEvent.SENDING, part.name)
        _, _, created = send_once(
            part.name,
            lambda: self._service.submit_batch(plan.body(part)),
            lambda: self._presence.find(plan, part, content),
            f"{messages.pluralize(len(part.jobs), 'job')} of {plan.type}",
        )
        if created:
            outcomes.sent.append(part)
        elif entry.was_sent_from_here(part.name):
            outcomes.confirmed_late.append(
                part
            )  # sent by an earlier process, and outcomes only now
        else:
            outcomes.preexisting.append(part)  # created by another client since it was looked up
            log.note(PartEvent.THERE, part.name)
            return
        log.note(PartEvent.SENT, part.name)

    def _note_whole(self, entry: JournalEntry, outcomes: PartOutcomes) -> None:
        if outcomes.sent or not entry.log.complete:
            with contextlib.suppress(
                StorageError
            ):  # all parts exist, and each part's line records it
                self._journal.log(entry.plan.name).note_complete()

    def _refused(
        self, plan: BatchPlan, part: BatchPart, outcomes: PartOutcomes, error: LabextError
    ) -> None:
        """Record that a part does not exist."""
        if isinstance(error, OutcomeUnknownError | StorageError) or part in outcomes.sent:
            return
        with contextlib.suppress(StorageError):  # report the refusal, not this error
            self._journal.log(plan.name).note(PartEvent.REFUSED, part.name)

    def _validate_all(self, draft: BatchDraft, tool: Tool, *, thorough: bool) -> None:
        """Add to a draft the faults that the service finds in rows without a local fault.

        A taken name is ignored here: whether it belongs to the same job is checked later.
        """
        jobs = {draft.names[row]: draft.settings[row] for row in draft.valid_rows}
        if not jobs:
            return
        stored = {job: f"{draft.name}-{job}" for job in jobs}
        refused = self._refused_jobs(draft.type, jobs, stored, tool, thorough=thorough)
        draft.add_refusals({job: words for job, words in refused.items() if not is_taken(words)})

    def _validate(
        self, draft: BatchDraft, plan: BatchPlan, parts: list[BatchPart], tool: Tool, *, whole: bool
    ) -> None:
        """Ask the service to validate the jobs of these parts, without submitting them.

        Args:
            draft: the source of the plan.
            plan: the batch.
            parts: the missing parts.
            tool: the batch's tool.
            whole: also use a service that can only check jobs one by one. Such a service checks a
                batch that is not split when it is submitted, all of it or none.

        Raises:
            InvalidJobsError: it would refuse some.
        """
        stored = {job: f"{part.name}-{job}" for part in parts for job in part.jobs}
        jobs = {job: plan.jobs[job] for job in stored}
        draft.add_refusals(self._refused_jobs(plan.type, jobs, stored, tool, one_by_one=whole))
        if draft.faults:
            raise draft.error()

    def _refused_jobs(
        self,
        type: str,
        jobs: Mapping[str, Mapping[str, Any]],
        stored: Mapping[str, str],
        tool: Tool,
        *,
        thorough: bool = False,
        one_by_one: bool = True,
    ) -> dict[str, str]:
        """Return the service's message about each job that it would refuse, by the job's own name.

        A service that does not check several jobs at once is asked about one job of each shape, or
        with `thorough` about every job.
        """
        words: dict[str, str] = {}
        for chunk in validation_chunks(jobs) if self._checks_rows else ():
            refused = self._service.validate_rows(
                {
                    "type": type,
                    "jobNames": [stored[job] for job in chunk],
                    "settings": [jobs[job] for job in chunk],
                }
            )
            if refused is None:
                self._checks_rows = False
                break
            words |= {chunk[row]: fault for row, fault in refused.items()}
        if self._checks_rows or not one_by_one:
            return words
        for job in (
            list(jobs) if thorough else distinct_shapes(tool, jobs)[:_MAX_SINGLE_VALIDATIONS]
        ):
            answer = self._service.validate(
                {"jobName": stored[job], "type": type, "settings": jobs[job]}
            )
            if answer is None:
                break
            valid, fault = answer
            if not valid:
                words[job] = fault
        return words


def validation_chunks(jobs: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the jobs' names in groups that one request for validation may have.

    A service takes so many rows in one request, and so many bytes: over these it answers without
    a word, in front of its own code.
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
    """Return the error for a batch that broke off, with how to finish it."""
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
    """Return the message on an interrupted submission: its progress, and the error."""
    if not plan.split:
        if part in outcomes.sent:
            return f"{plan.name} was submitted, but this could not be recorded: {error.message}"
        return error.message
    arrived = [
        *outcomes.preexisting,
        *outcomes.sent_before,
        *outcomes.confirmed_late,
        *outcomes.sent,
    ]
    done = f"{len(arrived)} of {len(plan.parts)} parts of {plan.name}"
    if part in arrived or isinstance(error, OutcomeUnknownError):
        return f"{done} were received by the service before this error: {error.message}"
    return f"{done} were sent, but not {part.name}: {error.message}"


def distinct_shapes(tool: Tool, jobs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return one job of each shape: the settings it has, and the values of those with options."""
    choices = [
        parameter.name
        for parameter in tool.parameters.values()
        if parameter.options or parameter.kind == "boolean"
    ]
    first: dict[tuple[Any, ...], str] = {}
    for job, settings in jobs.items():
        chosen = tuple(canonical_json(settings.get(name)) for name in choices)
        first.setdefault((frozenset(settings), chosen), job)
    return list(first.values())
