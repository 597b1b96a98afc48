"""A list of jobs in which the parts of a split batch are one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from labext.jobs import names, rows
from labext.jobs.batch.parts import merged
from labext.jobs.rows import Row

Split = tuple[str, int]
"""A split batch in a list: its name, and its number of parts."""


class Folded:
    """Rows as they come, a split batch's at the place of the part that came first."""

    def __init__(self) -> None:
        self._rows: list[Row | Split] = []
        self._parts: dict[Split, dict[int, Row]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, found: Iterable[Row]) -> None:
        """Add rows of the service's list."""
        for row in found:
            part = names.parse_part(str(row.get("JobName"))) if rows.is_batch(row) else None
            if part is None:
                self._rows.append(row)
                continue
            name, number, count = part
            split = (name, count)
            if split not in self._parts:
                self._parts[split] = {}
                self._rows.append(split)
            self._parts[split][number] = row

    def rows(self, find: Callable[[str], Row | None] | None) -> list[Row]:
        """Return the rows.

        Args:
            find: looks for a part that did not come, where the list was cut short; None where the
                list is whole, so that such a part is not there.
        """
        return [self._merged(row, find) if isinstance(row, tuple) else row for row in self._rows]

    def _merged(self, split: Split, find: Callable[[str], Row | None] | None) -> Row:
        name, count = split
        came = self._parts[split]
        found: dict[str, Row | None] = {}
        for number in range(1, count + 1):
            part = names.part(name, number, count)
            found[part] = came.get(number) or (find(part) if find else None)
        row = merged(name, found, {})
        del row["parts"], row["statuses"]
        return row
