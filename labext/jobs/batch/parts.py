"""A split batch seen as one: where its parts are, and their rows merged into a parent's.

The parts are known from the journal of the machine that sent them; from another machine they are
found in the list by their names, `<batch>-part<k>of<n>`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.jobs import names, rows
from labext.jobs.batch.journal import Entry, Journal
from labext.jobs.identity import stored_settings
from labext.jobs.rows import Row
from labext.jobs.service import Service

NOT_SENT = "not sent"
"""The state, in a tally, of jobs whose part is not on the service."""

_DIVIDED = ("jobs", "weightedHoursBudget")
"""Of a batch's settings those that are divided among its parts."""


class Parts:
    """Finds the service's batches behind a name, and remembers them."""

    def __init__(self, service: Service, journal: Journal) -> None:
        self._service = service
        self._journal = journal
        self._known: dict[tuple[str, str | None], tuple[str, ...]] = {}

    def entry(self, name: str) -> Entry | None:
        """Return what this machine's journal says about a batch."""
        return self._journal.read(name) if names.fault(name) is None else None

    def of(self, name: str, email: str | None = None) -> tuple[str, ...]:
        """Return the parts of a split batch, in order; empty where `name` is no split batch.

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
            NotFoundError: there is neither a job nor a part of that name; a near name is told.
        """
        listed = self.listed(name, email)
        if not listed.parts:
            raise rows.unknown(name, wording.did_you_mean(name, listed.others))
        count = max(listed.parts)
        found = tuple(names.part(name, number, count) for number in range(1, count + 1))
        self._known[name, email] = found
        return found

    def listed(self, name: str, email: str | None = None) -> Listed:
        """Look through the service's list for the parts of a split batch."""
        parts: dict[int, dict[int, Row]] = {}
        others: list[str] = []
        for page in self._service.pages(jobEmail=email):
            for row in page.rows:
                job = str(row.get("JobName"))
                part = names.parse_part(job)
                others.append(job if part is None else part[0])
                if part is not None and part[0] == name and rows.phase(row) != "Deleted":
                    parts.setdefault(part[2], {})[part[1]] = row
        return Listed(parts, others)

    def forget(self, name: str) -> None:
        """Forget where the parts of a batch are."""
        for key in [key for key in self._known if key[0] == name]:
            del self._known[key]


class Listed:
    """What a look through the list has found: parts by their count and number, and other names."""

    def __init__(self, parts: Mapping[int, Mapping[int, Row]], others: Iterable[str]) -> None:
        self.parts = parts
        self.others = list(others)


def merged(name: str, found: Mapping[str, Row | None], sizes: Mapping[str, int]) -> Row:
    """Return one parent row for a split batch.

    Args:
        name: the batch's name.
        found: the row of each part, in order; None for a part that the service does not have.
        sizes: how many jobs each part has, where that is known.

    Returns:
        A row as of a single batch: `batchStatus` is `Complete` only if every part's is; the
        `statuses` are summed, and jobs of a missing part counted as `not sent`.
    """
    there = [row for row in found.values() if row is not None]
    missing = [part for part, row in found.items() if row is None]
    row: Row = {"JobName": name, "Type": "batch"}
    word = phase([rows.phase(one) for one in there], missing)
    row["batchStatus"] = word
    if any(one.get("JobStatus") for one in there):
        row["JobStatus"] = word
    _times(row, there, whole=rows.outcome(row) is not None and not missing)
    hours = [
        one["WeightedHours"] for one in there if isinstance(one.get("WeightedHours"), float | int)
    ]
    if hours:
        row["WeightedHours"] = sum(hours)
    if (settings := _settings(there, whole=not missing)) is not None:
        row["Settings"] = json.dumps(settings)
    row["statuses"] = statuses(found, sizes)
    for key in ("AggregationError", "Reason"):
        if said := _said(there, key):
            row[key] = said
    if missing and word != "Running":
        row["Reason"] = (
            f"{wording.listed(missing, 3)} is not on the service; `%jobs resume {name}` tells "
            "why, and sends what never was."
        )
    row["parts"] = list(found)
    return row


def phase(words: Sequence[str], missing: Sequence[str] = ()) -> str:
    """Return the phase of a batch out of its parts'.

    It goes on while any part does: as the parts' own word if they agree, as `Running` if not. Once
    all have ended it is `Complete` only if all are, and no part is missing.
    """
    going = [word for word in words if rows.outcome({"batchStatus": word}) is None]
    if going:
        return going[0] if len(set(going)) == 1 else "Running"
    if "AggregationFailed" in words:
        return "AggregationFailed"
    return "Complete" if set(words) == {"Complete"} and not missing else "Stopped"


def statuses(found: Mapping[str, Row | None], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return how many jobs are in which state, over all parts."""
    counted: Counter[str] = Counter()
    for part, row in found.items():
        if row is None:
            counted[NOT_SENT] += sizes.get(part, 0)
        else:
            counted.update(rows.tally(row.get("statuses")))
    return {state: count for state, count in counted.items() if count}


def refuse_part_name(name: str) -> None:
    """Refuse a batch's name that is one of a part.

    Raises:
        InputError: it is.
    """
    if names.parse_part(name) is not None:
        raise InputError(
            f'"{name}" is what a part of a split batch is called.', "Choose another name."
        )


def _said(there: Sequence[Row], key: str) -> str:
    """Return the parts' words as one sentence; what several say is said once."""
    by_words: dict[str, list[str]] = {}
    for row in there:
        if words := str(row.get(key) or "").strip().rstrip("."):
            by_words.setdefault(words, []).append(str(row["JobName"]))
    if not by_words:
        return ""
    if [len(parts) for parts in by_words.values()] == [len(there)]:
        return f"{next(iter(by_words))}."
    return "; ".join(f"{', '.join(parts)}: {words}" for words, parts in by_words.items()) + "."


def _settings(there: Sequence[Row], *, whole: bool) -> dict[str, Any] | None:
    """Return what the parts' settings agree on, and the sums of what was divided among them.

    None where a part's can't be read. Without all parts there are no sums.
    """
    parts = [settings for row in there if (settings := stored_settings(row)) is not None]
    if not parts or len(parts) < len(there):
        return None
    merged = {
        name: value
        for name, value in parts[0].items()
        if name not in _DIVIDED and all(name in one and one[name] == value for one in parts)
    }
    for name in _DIVIDED:
        shares = [one[name] for one in parts if isinstance(one.get(name), int | float)]
        if whole and len(shares) == len(parts):
            total = round(math.fsum(shares), 12)
            merged[name] = int(total) if total.is_integer() else total
    return merged


def _times(row: Row, there: Sequence[Mapping[str, Any]], *, whole: bool) -> None:
    for key, pick in (("Created", min), ("Started", min), ("Completed", max)):
        stamps = [str(one[key]) for one in there if one.get(key)]
        if stamps and (key != "Completed" or (whole and len(stamps) == len(there))):
            row[key] = pick(stamps)
