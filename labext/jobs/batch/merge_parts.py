"""Find the parts of a split batch and merge them into a single row."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from labext import messages
from labext.actions import Action
from labext.errors import InputError, NotFoundError
from labext.jobs import identity, records
from labext.jobs.api import JobsApi
from labext.jobs.batch.journal import Journal, JournalEntry
from labext.jobs.identity import stored_settings
from labext.jobs.records import JobRecord
from labext.jobs.submission import name_taken_error

NOT_SENT = "not sent"
"""The state under which the jobs of missing parts are counted."""

_DIVIDED_SETTINGS = ("jobs", "weightedHoursBudget")
"""Settings of a batch that are divided among its parts."""


class PartFinder:
    """Find and cache the parts of split batches."""

    def __init__(self, service: JobsApi, journal: Journal) -> None:
        self._service = service
        self._journal = journal
        self._known: dict[tuple[str, str | None], tuple[str, ...]] = {}

    def entry(self, name: str) -> JournalEntry | None:
        """Return this machine's journal entry of a batch."""
        return self._journal.read(name) if identity.name_fault(name) is None else None

    def parts_of(self, name: str, email: str | None = None) -> tuple[str, ...]:
        """Return the names of all parts of a split batch, including parts missing on the service.

        Empty if no split batch of this name is known.
        """
        key = (name, email)
        if key not in self._known:
            entry = self.entry(name) if email is None else None
            if entry is not None and entry.plan.split:
                self._known[key] = tuple(part.name for part in entry.plan.parts)
        return self._known.get(key, ())

    def check_not_split(self, name: str) -> None:
        """Check that no split batch that was sent from here has this name: a job would hide it."""
        entry = self.entry(name)
        if (
            entry is not None
            and entry.plan.split
            and any(self._service.find(part.name) for part in entry.plan.parts)
        ):
            raise name_taken_error(name, f"it is a batch of {len(entry.plan.jobs):,} jobs")

    def search(self, name: str, email: str | None = None) -> tuple[str, ...]:
        """Find the parts of a split batch in the service's list."""
        listed = self.list_parts(name, email)
        counts = [n for n, rows in listed.parts.items() if any(map(_parse_part, rows.values()))]
        if not counts:
            raise records.unknown_name_error(name, messages.did_you_mean(name, listed.names))
        names = identity.part_names(name, max(counts))
        self._known[name, email] = names
        return names

    def list_parts(self, name: str, email: str | None = None) -> ListedParts:
        """Read the service's job list and return the parts of a split batch, and jobs so named."""
        parts: dict[int, dict[int, JobRecord]] = {}
        names: list[str] = []
        for page in self._service.pages(jobEmail=email):
            for row in page.rows:
                job = str(row.get("JobName"))
                part = identity.parse_part_name(job)
                names.append(part[0] if part is not None and records.is_batch(row) else job)
                if part is not None and part[0] == name and records.phase(row) != "Deleted":
                    parts.setdefault(part[2], {})[part[1]] = row
        return ListedParts(parts, names)

    def forget(self, name: str) -> None:
        """Forget the cached parts of a batch."""
        for key in [key for key in self._known if key[0] == name]:
            del self._known[key]


class ListedParts(NamedTuple):
    """Parts in a job list by number of parts and part number, and the names of all listed jobs."""

    parts: Mapping[int, Mapping[int, JobRecord]]
    names: list[str]


def merge_part_rows(
    name: str, part_rows: Mapping[str, JobRecord | None], sizes: Mapping[str, int]
) -> JobRecord:
    """Merge the rows of the parts of a split batch into a row like that of an unsplit batch.

    The rows are in order, None for a missing part; `sizes` are the numbers of jobs, if known.
    `batchStatus` is `Complete` only if all parts are complete; `statuses` are summed, and the jobs
    of missing parts are counted as `not sent`.
    """
    rows = [row for row in part_rows.values() if row is not None]
    missing = [part for part, row in part_rows.items() if row is None]
    row: JobRecord = {"JobName": name, "Type": "batch"}
    phase = merge_phases([records.phase(part) for part in rows], missing)
    row["batchStatus"] = phase
    if any(part.get("JobStatus") for part in rows):
        row["JobStatus"] = phase
    ended = records.outcome(row) is not None and not missing
    for key, select in (("Created", min), ("Started", min), ("Completed", max)):
        times = [str(part[key]) for part in rows if part.get(key)]
        if times and (key != "Completed" or (ended and len(times) == len(rows))):
            row[key] = select(times)
    hours = [
        part["WeightedHours"] for part in rows if isinstance(part.get("WeightedHours"), float | int)
    ]
    if hours:
        row["WeightedHours"] = sum(hours)
    if (settings := _merge_settings(rows, complete=not missing)) is not None:
        row["Settings"] = json.dumps(settings)
    row["statuses"] = merge_statuses(part_rows, sizes)
    for key in ("AggregationError", "Reason"):
        if reason := _merge_reasons(rows, key):
            row[key] = reason
    if missing and phase != "Running":
        row["Reason"] = (
            f"{messages.join_subject(missing)} missing on the service; "
            f"{Action.resume_batch(name)} "
            "explains why, and sends parts that were never sent."
        )
    row["parts"] = list(part_rows)
    return row


def merge_phases(phases: Sequence[str], missing: Sequence[str] = ()) -> str:
    """Return the phase of a split batch, given the phases of its parts.

    While parts are active, the phase is theirs if they agree, and `Running` otherwise. After all
    parts have ended, it is `Complete` only if all parts are complete and none is missing.
    """
    active = [phase for phase in phases if records.outcome({"batchStatus": phase}) is None]
    if active:
        return active[0] if len(set(active)) == 1 else "Running"
    if "AggregationFailed" in phases:
        return "AggregationFailed"
    return "Complete" if set(phases) == {"Complete"} and not missing else "Stopped"


def merge_statuses(
    part_rows: Mapping[str, JobRecord | None], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return the number of jobs by state, summed over all parts."""
    counts: Counter[str] = Counter()
    for part, row in part_rows.items():
        if row is None:
            counts[NOT_SENT] += sizes.get(part, 0)
        else:
            counts.update(records.parse_tally(row.get("statuses")))
    return {state: count for state, count in counts.items() if count}


def refuse_part_name(name: str) -> None:
    """Check that the name of a batch is not that of a part, else raise InputError."""
    if identity.parse_part_name(name) is not None:
        raise InputError(
            f'"{name}" is reserved for a part of a split batch.', "Choose another name."
        )


def _merge_reasons(rows: Sequence[JobRecord], key: str) -> str:
    """Return the reasons of the parts as one sentence, without repetitions."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if reason := str(row.get(key) or "").strip().rstrip("."):
            by_reason.setdefault(reason, []).append(str(row["JobName"]))
    if not by_reason:
        return ""
    if [len(parts) for parts in by_reason.values()] == [len(rows)]:
        return f"{next(iter(by_reason))}."
    return "; ".join(f"{', '.join(parts)}: {reason}" for reason, parts in by_reason.items()) + "."


def _merge_settings(rows: Sequence[JobRecord], *, complete: bool) -> dict[str, Any] | None:
    """Return the common settings of the parts, with the sums of the divided settings.

    The sums are included only if `complete`, that is, if `rows` has all parts. None if the
    settings of a part can't be read.
    """
    parts = [settings for row in rows if (settings := stored_settings(row)) is not None]
    if not parts or len(parts) < len(rows):
        return None
    merged = {
        name: value
        for name, value in parts[0].items()
        if name not in _DIVIDED_SETTINGS
        and all(name in part and part[name] == value for part in parts)
    }
    for name in _DIVIDED_SETTINGS:
        shares = [part[name] for part in parts if isinstance(part.get(name), int | float)]
        if complete and len(shares) == len(parts):
            total = round(math.fsum(shares), 12)
            merged[name] = int(total) if total.is_integer() else total
    return merged


def find_rows(
    service: JobsApi, parts: PartFinder, name: str, email: str | None = None
) -> dict[str, JobRecord | None]:
    """Return the row of a job or batch by name, or the rows of the parts of a split batch."""
    part_names = parts.parts_of(name, email)
    if part_names:
        rows = {part: service.find(part, email) for part in part_names}
        if any(rows.values()):
            return rows
        parts.forget(name)  # deleted by another client; the name may be in use again
    with suppress(NotFoundError):
        return {name: service.row(name, email)}
    return {part: service.find(part, email) for part in parts.search(name, email)}


def merge_found_rows(
    name: str, part_rows: Mapping[str, JobRecord | None], known_sizes: Mapping[str, int]
) -> JobRecord:
    """Merge the rows returned by `find_rows` into one row."""
    if name in part_rows and (row := part_rows[name]) is not None:
        return row
    if not any(part_rows.values()):
        raise records.unknown_name_error(name)
    return merge_part_rows(name, part_rows, known_sizes)


def part_sizes(parts: PartFinder, name: str) -> dict[str, int]:
    """Return the number of jobs in each part of a batch from the journal; empty if unknown."""
    entry = parts.entry(name)
    return {} if entry is None else {part.name: len(part.jobs) for part in entry.plan.parts}


def find_row(service: JobsApi, parts: PartFinder, name: str, email: str | None = None) -> JobRecord:
    """Return the row of a job or batch; for a split batch, the merged rows of its parts."""
    rows = find_rows(service, parts, name, email)
    return merge_found_rows(name, rows, {} if email else part_sizes(parts, name))


SplitBatch = tuple[str, int]
"""A split batch in a list: its name and its number of parts."""


class PartMerger:
    """Collect rows in listing order, replacing the parts of a split batch by one row.

    The row of a split batch has the position of its first part; `matches` filters the merged rows.
    """

    def __init__(self, matches: Callable[[JobRecord], bool] = lambda _: True) -> None:
        self._matches = matches
        self._rows: list[JobRecord | SplitBatch] = []
        self._parts: dict[SplitBatch, dict[int, JobRecord]] = {}
        self._found: dict[str, JobRecord | None] = {}  # parts known from elsewhere
        self._matching: dict[SplitBatch, bool] = {}  # without batches that have new parts
        self._matching_rows = 0

    def restart(self) -> None:
        """Remove all rows; the rows of parts are kept for split batches that are added again."""
        for parts in self._parts.values():
            self._found |= {str(row["JobName"]): row for row in parts.values()}
        self._rows, self._parts, self._matching, self._matching_rows = [], {}, {}, 0

    @property
    def match_count(self) -> int:
        """Number of matching rows so far."""
        for split in self._parts.keys() - self._matching.keys():
            self._matching_row(split, None)
        return self._matching_rows + sum(self._matching.values())

    def add_rows(self, rows: Sequence[JobRecord], limit: int | None = None) -> int | None:
        """Add rows of the service's list up to a limit of matching rows.

        Returns:
            The number of added rows if the limit was reached before the last row; None if all rows
            were added.
        """
        for number, row in enumerate(rows, start=1):
            self._add(row)
            enough = limit is not None and len(self._rows) >= limit <= self.match_count
            if enough and number < len(rows):
                return number
        return None

    @property
    def unlisted_count(self) -> int:
        """Number of parts of the last batch without a row; 0 if the last row is no split batch."""
        last = self._rows[-1] if self._rows else None
        return last[1] - len(self._parts[last]) if isinstance(last, tuple) else 0

    def add_parts(self, rows: Sequence[JobRecord]) -> bool:
        """Add rows if all are unlisted parts of the last batch, else none; return whether so."""
        parts = [_parse_part(row) for row in rows]
        last = self._rows[-1]
        if not isinstance(last, tuple) or not all(
            part and (part[0], part[2]) == last and part[1] not in self._parts[last]
            for part in parts
        ):
            return False
        for row in rows:
            self._add(row)
        return bool(rows)

    def _add(self, row: JobRecord) -> None:
        part = _parse_part(row)
        if part is None:
            self._rows.append(row)
            self._matching_rows += self._matches(row)
            return
        name, number, count = part
        split = (name, count)
        if split not in self._parts:
            self._parts[split] = {}
            self._rows.append(split)
        self._parts[split][number] = row
        self._matching.pop(split, None)

    def rows(self, find: Callable[[str], JobRecord | None] | None) -> list[JobRecord]:
        """Return the matching rows.

        A split batch belongs to the list that has its newest part, so that it occurs once in lists
        that continue one another.

        Args:
            find: looks up an unlisted part of a truncated list; None if the list is complete, so
                that unlisted parts do not exist.
        """
        rows = []
        for row in self._rows:
            if isinstance(row, tuple):
                merged = self._matching_row(row, find)
                if merged is not None:
                    rows.append(merged)
            elif self._matches(row):
                rows.append(row)
        return rows

    def _matching_row(
        self, split: SplitBatch, find: Callable[[str], JobRecord | None] | None
    ) -> JobRecord | None:
        """Return the row of a split batch; None if it does not match or is in an earlier list."""
        name, count = split
        parts = self._parts[split]
        part_rows: dict[str, JobRecord | None] = {}
        for number, part in enumerate(identity.part_names(name, count), start=1):
            if find and number not in parts and part not in self._found:
                self._found[part] = find(part)
            part_rows[part] = parts.get(number) or self._found.get(part)
        row = _merged(split, part_rows)
        self._matching[split] = _newest(part_rows) in parts.values() and self._matches(row)
        return row if self._matching[split] else None


def _parse_part(row: JobRecord) -> tuple[str, int, int] | None:
    """Return the name of the batch, the number and the number of parts; None for other rows."""
    return identity.parse_part_name(str(row.get("JobName"))) if records.is_batch(row) else None


def _newest(part_rows: Mapping[str, JobRecord | None]) -> JobRecord:
    rows = [row for row in part_rows.values() if row is not None]
    rows = [row for row in rows if records.phase(row) != "Deleted"] or rows
    return max(reversed(rows), key=lambda row: str(row.get("Created") or ""))


def _merged(split: SplitBatch, part_rows: Mapping[str, JobRecord | None]) -> JobRecord:
    row = merge_part_rows(split[0], part_rows, {})
    del row["parts"], row["statuses"]
    return row
