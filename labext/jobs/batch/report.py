"""Report a submitted or unfinished batch as a message and a DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from labext import messages
from labext.actions import Action
from labext.frames import conversion
from labext.jobs import identity
from labext.jobs.batch.journal import Journal, JournalEntry
from labext.jobs.batch.plan import BatchPart, BatchPlan
from labext.jobs.frames import JOBS, UNFINISHED, concat_input_rows


@dataclass(frozen=True)
class BatchSubmission:
    """The outcome of submitting or resuming a batch.

    Attributes:
        name: the name of the batch.
        parts: the names of its parts on the service; a batch that is not split has one part, of the
            same name.
        count: number of jobs.
        created: True if any part was sent.
        message: the outcome in a few sentences.
        frame: one row per job: Name, JobName (on the service), Part, and the input columns;
            if names were adapted, the original names follow JobName.
        sent: the parts sent by this call.
        deleted: parts that were sent earlier and then deleted on the service; `resume` does not
            send them again.
        refused: the invalid rows, which were skipped: Name, Error, and the input columns.
    """

    name: str
    parts: tuple[str, ...]
    count: int
    created: bool
    message: str
    frame: pd.DataFrame = field(repr=False, compare=False)
    sent: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    refused: pd.DataFrame | None = field(default=None, repr=False, compare=False)


@dataclass
class PartOutcomes:
    """The parts of a batch by outcome.

    Attributes:
        preexisting: parts that existed on the service before this machine sent anything.
        sent_before: parts that this machine sent earlier, according to the journal.
        confirmed_late: parts that this machine sent earlier, and whose response was lost.
        sent: parts sent by this call.
        deleted: parts that this machine sent, and that no longer exist on the service.
        stopped: existing parts that have been stopped.
    """

    preexisting: list[BatchPart] = field(default_factory=list)
    sent_before: list[BatchPart] = field(default_factory=list)
    confirmed_late: list[BatchPart] = field(default_factory=list)
    sent: list[BatchPart] = field(default_factory=list)
    deleted: list[BatchPart] = field(default_factory=list)
    stopped: list[BatchPart] = field(default_factory=list)


def build_report(
    plan: BatchPlan,
    outcomes: PartOutcomes,
    *,
    resumed: bool,
    refused: pd.DataFrame | None = None,
    caveats: Iterable[str] = (),
) -> BatchSubmission:
    """Return the report of a batch after all parts have been processed.

    `refused` has the invalid rows, which were skipped; `caveats` are sentences about file content
    that could not be compared, and about unused columns.
    """
    sentences = [
        _resume_message(plan, outcomes) if resumed else _submission_message(plan, outcomes)
    ]
    sentences += [caveat for caveat in caveats if caveat]
    if refused is not None and len(refused):
        were = "row was" if len(refused) == 1 else "rows were"
        names = [*refused["Name"].dropna()]
        unnamed = len(refused) - len(names)
        if unnamed:
            names.insert(0, "one without a name" if unnamed == 1 else f"{unnamed:,} without a name")
        sentences.append(f"{len(refused):,} invalid {were} skipped: {messages.join_words(names)}.")
    if outcomes.deleted:
        were, they = ("was", "It was") if len(outcomes.deleted) == 1 else ("were", "They were")
        sentences.append(
            f"{_part_names(outcomes.deleted)} {were} sent earlier and deleted since: "
            f"{_job_count(outcomes.deleted)}. "
            f"{they} not sent again; to send deleted parts, submit the whole batch again."
        )
    if message := identity.adapted_names_message(plan.originals):
        sentences.append(message)
    if outcomes.stopped:
        has = "has" if len(outcomes.stopped) == 1 else "have"
        sentences.append(
            f"{_part_names(outcomes.stopped)} {has} been stopped. To run {plan.name} again, delete "
            f"it first: {Action.delete_job(plan.name)}."
        )
    return BatchSubmission(
        plan.name,
        tuple(part.name for part in plan.parts),
        len(plan.jobs),
        bool(outcomes.sent),
        " ".join(sentences),
        plan_overview(plan),
        tuple(part.name for part in outcomes.sent),
        tuple(part.name for part in outcomes.deleted),
        refused,
    )


def plan_overview(plan: BatchPlan) -> pd.DataFrame:
    """Return one row per job of a plan: Name, JobName, Part, and the input columns.

    If names were adapted, the original names follow JobName, and `.attrs["adapted"]` has a message
    that lists them.
    """
    records = [(job, f"{part.name}-{job}", part.name) for part in plan.parts for job in part.jobs]
    frame = pd.DataFrame(records, columns=["Name", "JobName", "Part"])
    if plan.input_columns is None:
        return JOBS.show(frame.assign(Settings=pd.Series([*plan.jobs.values()], dtype=object)))
    overview = JOBS.show(concat_input_rows(frame, plan.input_columns, plan.name_column))
    overview.attrs["adapted"] = identity.adapted_names_message(plan.originals)
    return overview


def _submission_message(plan: BatchPlan, outcomes: PartOutcomes) -> str:
    """Return the message of a first or repeated submission."""
    jobs, count = _job_count(plan.parts), len(plan.parts)
    if not outcomes.sent:
        message = f"The batch {plan.name} already exists with the same {jobs}; nothing was sent."
        if outcomes.confirmed_late:
            message += f" {_arrival_message(plan, outcomes)}"
        return message
    if not plan.split:
        return f"{plan.name} was submitted with {jobs}."
    if len(outcomes.sent) == count:
        first, last = plan.parts[0].name, plan.parts[-1].name
        return f"{plan.name} was submitted with {jobs}, in {count} parts ({first} to {last})."
    return (
        f"{count - len(outcomes.sent)} of {count} parts of {plan.name} already existed; "
        f"the other {_submitted_message(outcomes.sent)}."
    )


def _resume_message(plan: BatchPlan, outcomes: PartOutcomes) -> str:
    """Return the message of a resumed submission: its missing parts and the parts sent."""
    jobs, count = _job_count(plan.parts), len(plan.parts)
    if not outcomes.sent and not outcomes.confirmed_late:
        if outcomes.deleted:
            return f"No part of {plan.name} remains to be sent."
        parts = f" in {count} parts" if plan.split else ""
        return f"The service already has all jobs of {plan.name} ({jobs}{parts}); nothing was sent."
    sentences = []
    if outcomes.confirmed_late:
        sentences.append(_arrival_message(plan, outcomes))
    if outcomes.sent:
        were = "was" if len(outcomes.sent) == 1 else "were"
        sentences.append(
            f"{_part_names(outcomes.sent)} {were} missing: {_submitted_message(outcomes.sent)}."
        )
    else:
        sentences.append("Nothing was sent.")
    if not outcomes.deleted:
        sentences.append(f"The service now has all jobs of {plan.name} ({jobs}).")
    return " ".join(sentences)


def _arrival_message(plan: BatchPlan, outcomes: PartOutcomes) -> str:
    names = _part_names(outcomes.confirmed_late) if plan.split else plan.name
    return f"The service had received {names}, but its response was lost."


def _part_names(parts: Collection[BatchPart]) -> str:
    return messages.join_words((part.name for part in parts), 3)


def _job_count(parts: Iterable[BatchPart]) -> str:
    return messages.pluralize(sum(len(part.jobs) for part in parts), "job")


def _submitted_message(parts: Collection[BatchPart]) -> str:
    jobs = _job_count(parts)
    return f"{jobs} was submitted" if jobs == "1 job" else f"{jobs} were submitted"


def unfinished_frame(journal: Journal) -> pd.DataFrame:
    """Return one row per unfinished batch, newest first; see `JobsClient.unfinished`."""
    records = [
        record
        for name in unfinished_names(journal)
        if (record := _unfinished_record(name, journal.read(name)))
    ]
    columns = conversion.make_columns(
        Name="text",
        Type="category",
        Jobs="integer",
        Parts="integer",
        Sent="integer",
        Missing="integer",
        Written="time",
        Note="text",
    )
    frame = conversion.records_to_frame(records, columns)
    return UNFINISHED.show(
        frame.sort_values("Written", ascending=False, ignore_index=True, kind="stable")
    )


def unfinished_names(journal: Journal) -> list[str]:
    """Return the names of unfinished batches, reading only the logs of the journal."""
    return [name for name in journal.names() if not journal.log(name).is_complete()]


def _unfinished_record(name: str, entry: JournalEntry | None) -> dict[str, Any] | None:
    if entry is None:
        note = "its record is damaged; submitting the batch again sends the missing jobs"
        return {"Name": name, "Note": note}
    if not entry.unconfirmed_parts:
        return None  # all parts exist; only the last line of the log is missing
    return {
        "Name": name,
        "Type": entry.plan.type,
        "Jobs": len(entry.plan.jobs),
        "Parts": len(entry.plan.parts),
        "Sent": len(entry.plan.parts) - len(entry.unconfirmed_parts),
        "Missing": sum(len(part.jobs) for part in entry.unconfirmed_parts),
        "Written": entry.written.isoformat(),
        "Note": _unfinished_note(entry),
    }


def _unfinished_note(entry: JournalEntry) -> str:
    sent = [part.name for part in entry.unconfirmed_parts if part.name in entry.log.attempted]
    if not sent:
        return ""
    was, it = ("was", "it") if len(sent) == 1 else ("were", "them")
    return f"{messages.join_words(sent, 3)} {was} sent; the service may have received {it}"
