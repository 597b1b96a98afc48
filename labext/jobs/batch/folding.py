"""Merge the parts of a split batch into one row of a job list."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from labext.jobs import names, rows
from labext.jobs.batch.parts import merged
from labext.jobs.rows import Row

Split = tuple[str, int]
"""A split batch in a list: its name, and its number of parts."""


class Folded:
    """Rows in listing order, a split batch at the place of the part that came first.

    Args:
        matches: which rows count; a split batch is judged by the parts that have come.
    """

    def __init__(self, matches: Callable[[Row], bool] = lambda _: True) -> None:
        self._matches = matches
        self._rows: list[Row | Split] = []
        self._parts: dict[Split, dict[int, Row]] = {}
        self._counted: set[Split] = set()
        self._single = 0

    @property
    def matching(self) -> int:
        """How many of the rows count so far."""
        return self._single + len(self._counted)

    def add(self, found: Iterable[Row], most: int | None = None) -> int | None:
        """Add rows of the service's list.

        Args:
            found: the rows.
            most: stop as soon as so many rows count.

        Returns:
            How many were added where it stopped before the last one, else None.
        """
        every = list(found)
        for number, row in enumerate(every, start=1):
            self._add(row)
            if most is not None and self.matching >= most and number < len(every):
                return number
        return None

    def _add(self, row: Row) -> None:
        part = names.parse_part(str(row.get("JobName"))) if rows.is_batch(row) else None
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

    def rows(self, find: Callable[[str], Row | None] | None) -> list[Row]:
        """Return the rows that count.

        Args:
            find: looks for a part that did not come, where the list was cut short; None where the
                list is whole, so that such a part is not there.
        """
        every = (self._merged(row, find) if isinstance(row, tuple) else row for row in self._rows)
        return [row for row in every if self._matches(row)]

    def _merged(self, split: Split, find: Callable[[str], Row | None] | None) -> Row:
        name, count = split
        parts = self._parts[split]
        found: dict[str, Row | None] = {}
        for number in range(1, count + 1):
            part = names.part(name, number, count)
            found[part] = parts.get(number) or (find(part) if find else None)
        row = merged(name, found, {})
        del row["parts"], row["statuses"]
        return row
