"""Find the parts of a split batch and merge them into a single row."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError, NotFoundError
from labext.jobs import identity, records
from labext.jobs.api import JobsApi
from labext.jobs.batch.journal import Journal, JournalEntry
from labext.jobs.identity import stored_settings
from labext.jobs.records import JobRecord

NOT_SENT = "not sent"
"""The state, in a tally, of jobs whose part is not on the service."""

_DIVIDED_SETTINGS = ("jobs", "weightedHoursBudget")
"""Of a batch's settings those that are divided among its parts."""


class PartFinder:
    """Find and cache the service's batches that belong to a name."""

    def __init__(self, service: JobsApi, journal: Journal) -> None:
        self._service = service
        self._journal = journal
        self._known: dict[tuple[str, str | None], tuple[str, ...]] = {}

    def entry(self, name: str) -> JournalEntry | None:
        """Return this machine's journal entry of a batch."""
        return self._journal.read(name) if identity.name_fault(name) is None else None

    def parts_of(self, name: str, email: str | None = None) -> tuple[str, ...]:
        """Return the parts of a split batch, in order; empty if `name` is not a split batch.

        All parts are named, also those that the service does not have.
        """
        key = (name, email)
        if key not in self._known:
            entry = self.entry(name) if email is None else None
            if entry is not None and entry.plan.split:
                self._known[key] = tuple(part.name for part in entry.plan.parts)
        return self._known.get(key, ())

    def search(self, name: str, email: str | None = None) -> tuple[str, ...]:
        """Find the parts of a split batch in the service's list.

        Raises:
            NotFoundError: there is neither a job nor a part of that name; the error names a close
                match.
        """
        parts = self.list_parts(name, email)
        if not parts.parts:
            raise records.unknown_name_error(name, messages.did_you_mean(name, parts.others))
        count = max(parts.parts)
        names = tuple(identity.part_name(name, number, count) for number in range(1, count + 1))
        self._known[name, email] = names
        return names

    def list_parts(self, name: str, email: str | None = None) -> ListedParts:
        """Look through the service's list for the parts of a split batch."""
        parts: dict[int, dict[int, JobRecord]] = {}
        others: list[str] = []
        for page in self._service.pages(jobEmail=email):
            for row in page.rows:
                job = str(row.get("JobName"))
                part = identity.parse_part_name(job)
                others.append(job if part is None else part[0])
                if part is not None and part[0] == name and records.phase(row) != "Deleted":
                    parts.setdefault(part[2], {})[part[1]] = row
        return ListedParts(parts, others)

    def forget(self, name: str) -> None:
        """Forget the cached parts of a batch."""
        for key in [key for key in self._known if key[0] == name]:
            del self._known[key]


class ListedParts:
    """The parts found in a job list, by their count and number, and the other names."""

    def __init__(self, parts: Mapping[int, Mapping[int, JobRecord]], others: Iterable[str]) -> None:
        self.parts = parts
        self.others = list(others)


def merge_part_rows(
    name: str, part_rows: Mapping[str, JobRecord | None], sizes: Mapping[str, int]
) -> JobRecord:
    """Return one parent row for a split batch.

    Args:
        name: the batch's name.
        part_rows: the row of each part, in order; None for a part that the service does not have.
        sizes: the known numbers of jobs of the parts.

    Returns:
        A row as of a single batch: `batchStatus` is `Complete` only if every part's is; the
        `statuses` are summed, and jobs of a missing part counted as `not sent`.
    """
    rows = [row for row in part_rows.values() if row is not None]
    missing = [part for part, row in part_rows.items() if row is None]
    row: JobRecord = {"JobName": name, "Type": "batch"}
    word = merge_phases([records.phase(one) for one in rows], missing)
    row["batchStatus"] = word
    if any(one.get("JobStatus") for one in rows):
        row["JobStatus"] = word
    _merge_times(row, rows, whole=records.outcome(row) is not None and not missing)
    hours = [
        one["WeightedHours"] for one in rows if isinstance(one.get("WeightedHours"), float | int)
    ]
    if hours:
        row["WeightedHours"] = sum(hours)
    if (settings := _merge_settings(rows, whole=not missing)) is not None:
        row["Settings"] = json.dumps(settings)
    row["statuses"] = merge_statuses(part_rows, sizes)
    for key in ("AggregationError", "Reason"):
        if reason := _merge_reasons(rows, key):
            row[key] = reason
    if missing and word != "Running":
        row["Reason"] = (
            f"{messages.join_words(missing, 3)} is missing on the service; "
            f"{Action.resume_batch(name)} "
            "explains why, and sends parts that were never sent."
        )
    row["parts"] = list(part_rows)
    return row


def merge_phases(words: Sequence[str], missing: Sequence[str] = ()) -> str:
    """Return the phase of a batch from its parts' phases.

    It goes on while any part does: as the parts' own word if they agree, as `Running` if not. Once
    all have ended it is `Complete` only if all are, and no part is missing.
    """
    going = [word for word in words if records.outcome({"batchStatus": word}) is None]
    if going:
        return going[0] if len(set(going)) == 1 else "Running"
    if "AggregationFailed" in words:
        return "AggregationFailed"
    return "Complete" if set(words) == {"Complete"} and not missing else "Stopped"


def merge_statuses(
    part_rows: Mapping[str, JobRecord | None], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return how many jobs are in which state, over all parts."""
    counted: Counter[str] = Counter()
    for part, row in part_rows.items():
        if row is None:
            counted[NOT_SENT] += sizes.get(part, 0)
        else:
            counted.update(records.parse_tally(row.get("statuses")))
    return {state: count for state, count in counted.items() if count}


def refuse_part_name(name: str) -> None:
    """Refuse a batch's name that is one of a part.

    Raises:
        InputError: it is.
    """
    if identity.parse_part_name(name) is not None:
        raise InputError(
            f'"{name}" is reserved for a part of a split batch.', "Choose another name."
        )


def _merge_reasons(rows: Sequence[JobRecord], key: str) -> str:
    """Return the parts' reasons as one sentence; repeated ones appear once."""
    by_words: dict[str, list[str]] = {}
    for row in rows:
        if words := str(row.get(key) or "").strip().rstrip("."):
            by_words.setdefault(words, []).append(str(row["JobName"]))
    if not by_words:
        return ""
    if [len(parts) for parts in by_words.values()] == [len(rows)]:
        return f"{next(iter(by_words))}."
    return "; ".join(f"{', '.join(parts)}: {words}" for words, parts in by_words.items()) + "."


def _merge_settings(rows: Sequence[JobRecord], *, whole: bool) -> dict[str, Any] | None:
    """Return the settings that the parts have in common, and the sums of the divided limits.

    None if a part's settings can't be read. Without all parts there are no sums.
    """
    parts = [settings for row in rows if (settings := stored_settings(row)) is not None]
    if not parts or len(parts) < len(rows):
        return None
    merged = {
        name: value
        for name, value in parts[0].items()
        if name not in _DIVIDED_SETTINGS
        and all(name in one and one[name] == value for one in parts)
    }
    for name in _DIVIDED_SETTINGS:
        shares = [one[name] for one in parts if isinstance(one.get(name), int | float)]
        if whole and len(shares) == len(parts):
            total = round(math.fsum(shares), 12)
            merged[name] = int(total) if total.is_integer() else total
    return merged


def _merge_times(row: JobRecord, rows: Sequence[Mapping[str, Any]], *, whole: bool) -> None:
    for key, pick in (("Created", min), ("Started", min), ("Completed", max)):
        stamps = [str(one[key]) for one in rows if one.get(key)]
        if stamps and (key != "Completed" or (whole and len(stamps) == len(rows))):
            row[key] = pick(stamps)


def find_rows(
    service: JobsApi, parts: PartFinder, name: str, email: str | None = None
) -> dict[str, JobRecord | None]:
    """Return the rows of a name: its own, or one for each part of a split batch.

    Raises:
        NotFoundError: there is none; the error names a close match.
    """
    part_names = parts.parts_of(name, email)
    if part_names:
        rows = {part: service.find(part, email) for part in part_names}
        if any(rows.values()):
            return rows
        parts.forget(name)  # deleted from elsewhere; the name may have been reused
    try:
        return {name: service.row(name, email)}
    except NotFoundError:
        return {part: service.find(part, email) for part in parts.search(name, email)}


def merge_found_rows(
    name: str, part_rows: Mapping[str, JobRecord | None], known_sizes: Mapping[str, int]
) -> JobRecord:
    """Return the rows that `find_rows` has found as one row.

    Raises:
        NotFoundError: no part of it exists.
    """
    if name in part_rows and (row := part_rows[name]) is not None:
        return row
    if not any(part_rows.values()):
        raise records.unknown_name_error(name)
    return merge_part_rows(name, part_rows, known_sizes)


def part_sizes(parts: PartFinder, name: str) -> dict[str, int]:
    """Return how many jobs each part of a batch has, as far as this machine knows."""
    entry = parts.entry(name)
    return {} if entry is None else {part.name: len(part.jobs) for part in entry.plan.parts}


def find_row(service: JobsApi, parts: PartFinder, name: str, email: str | None = None) -> JobRecord:
    """Return one job's or batch's row; of a split batch a row merged from its parts' rows.

    Raises:
        NotFoundError: there is none of that name; the error names a close match.
    """
    rows = find_rows(service, parts, name, email)
    return merge_found_rows(name, rows, {} if email else part_sizes(parts, name))


SplitBatch = tuple[str, int]
"""A split batch in a list: its name, and its number of parts."""


class PartMerger:
    """Rows in listing order, a split batch at the position of its first part.

    Args:
        matches: which rows count; a split batch is judged by the parts that have come.
    """

    def __init__(self, matches: Callable[[JobRecord], bool] = lambda _: True) -> None:
        self._matches = matches
        self._rows: list[JobRecord | SplitBatch] = []
        self._parts: dict[SplitBatch, dict[int, JobRecord]] = {}
        self._counted: set[SplitBatch] = set()
        self._single = 0

    @property
    def match_count(self) -> int:
        """How many of the rows count so far."""
        return self._single + len(self._counted)

    def add_rows(self, rows: Iterable[JobRecord], most: int | None = None) -> int | None:
        """Add rows of the service's list.

        Args:
            rows: the rows.
            most: stop at this number of matching rows.

        Returns:
            How many were added where it stopped before the last one, else None.
        """
        every = list(rows)
        for number, row in enumerate(every, start=1):
            self._add(row)
            if most is not None and self.match_count >= most and number < len(every):
                return number
        return None

    def _add(self, row: JobRecord) -> None:
        part = identity.parse_part_name(str(row.get("JobName"))) if records.is_batch(row) else None
        if part is None:
            self._rows.append(row)
            self._single += self._matches(row)
            return
        name, number, count = part
        split = (name, count)
        if split not in self._parts:
            self._parts[split] = {}
            self._rows.append(split)
        self._parts[split][number] = row
        if self._matches(self._merged(split, None)):
            self._counted.add(split)
        else:
            self._counted.discard(split)

    def rows(self, find: Callable[[str], JobRecord | None] | None) -> list[JobRecord]:
        """Return the rows that count.

        Args:
            find: looks for a part that did not come, where the list was cut short; None if the
                list is whole, so that such a part does not exist.
        """
        every = (self._merged(row, find) if isinstance(row, tuple) else row for row in self._rows)
        return [row for row in every if self._matches(row)]

    def _merged(
        self, split: SplitBatch, find: Callable[[str], JobRecord | None] | None
    ) -> JobRecord:
        name, count = split
        parts = self._parts[split]
        part_rows: dict[str, JobRecord | None] = {}
        for number in range(1, count + 1):
            part = identity.part_name(name, number, count)
            part_rows[part] = parts.get(number) or (find(part) if find else None)
        row = merge_part_rows(name, part_rows, {})
        del row["parts"], row["statuses"]
        return row
