"""A drawing of a result file: an SVG picture with a text for terminals."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import InputError
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape, plain

MAX_ROWS = 100_000
"""Maximum number of rows of a table that is drawn."""

_IMAGE = (
    "max-width:100%;height:auto;background-color:#ffffff;border-radius:4px;padding:6px;"
    "box-sizing:border-box"
)
_ROW = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px"


class Drawing:
    """A picture that is displayed when it is the value of a cell.

    Attributes:
        name: the job's name.
        svg: the picture as an SVG document.
        summary: a description in one line.
        parts: the parts of the picture by their names, as SVG documents that are displayed side by
            side, or below each other where an output is narrow.
    """

    def __init__(
        self,
        name: str,
        svg: str,
        summary: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        notes: Sequence[str] = (),
        parts: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.svg = svg
        self.parts = parts or {"": svg}
        self.summary = plain(summary)
        self._columns, self._rows, self._notes = columns, rows, notes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {plain(self.name)}: {self.summary}>"

    def __str__(self) -> str:
        """Return the content as a table for terminals."""
        lines = [f"{plain(self.name)}: {self.summary}", *map(plain, self._notes)]
        return "\n".join([*lines, *format_table(self._columns, self._rows)])

    def thumbnail(self, width: int, height: int) -> str:  # noqa: ARG002
        """Return a small picture as SVG, for a gallery; by default the picture itself.

        Args:
            width: the width in pixels.
            height: the height in pixels.
        """
        return self.svg

    def html(self) -> str:
        """Return the picture as HTML images below a heading."""
        title = escape(f"{plain(self.name, 100)}: {self.summary}")
        images = "".join(
            _image_html(svg, f"{title}; {part}" if part else title)
            for part, svg in self.parts.items()
        )
        return f'<div class="labext {UNTYPESET}">{div(title, MUTED)}{div(images, _ROW)}</div>'

    def _ipython_display_(self, **_: Any) -> None:
        if front_end() is FrontEnd.TERMINAL:
            print(self)
        else:
            display_html(self.html(), str(self))


def _image_html(svg: str, alt: str) -> str:
    encoded = base64.b64encode(svg.encode()).decode("ascii")
    return f'<img src="data:image/svg+xml;base64,{encoded}" alt="{alt}" style="{_IMAGE}">'


def format_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a table as lines of aligned columns; numbers are aligned at the right."""
    if not rows:
        return []
    cells = [[plain(cell, 60) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    is_number = [
        all(isinstance(cell, int | float) for cell in column) for column in zip(*rows, strict=True)
    ]

    def join(row: Sequence[str]) -> str:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        )
        return "  ".join(aligned).rstrip()

    return [join(columns), *map(join, cells)]


class Table:
    """The rows of a CSV file with the columns that a drawing needs.

    Args:
        text: the content of the file.
        columns: the columns that it must have.
        kind: the kind of file, for messages, such as `restriction digest`.
    """

    def __init__(self, text: str, columns: Sequence[str], kind: str) -> None:
        self.kind = kind
        try:
            reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")), strict=True)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise self.invalid(f"it has no column {missing[0]}")
            self.rows = [row for row, _ in zip(reader, range(MAX_ROWS + 1), strict=False)]
        except csv.Error as error:
            raise self.invalid(str(error)) from None
        if len(self.rows) > MAX_ROWS:
            raise self.invalid(f"it has more than {MAX_ROWS:,} rows")

    def invalid(self, reason: str) -> InputError:
        """Return the error that the file can't be drawn."""
        return InputError(
            f"This is not a valid table of a {self.kind}: {plain(reason, 200)}.", "Download it."
        )

    def whole(self, row: Mapping[str, str | None], column: str, low: int = 1) -> int:
        """Return a whole number of at least `low`."""
        value = row[column] or ""
        if not (value.isascii() and value.isdigit() and len(value) <= 10) or int(value) < low:
            raise self.invalid(f'{column} "{plain(value, 30)}" is not a whole number from {low}')
        return int(value)

    def number(self, row: Mapping[str, str | None], column: str) -> float:
        """Return a finite number."""
        value = row[column] or ""
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not abs(number) < float("inf"):
            raise self.invalid(f'{column} "{plain(value, 30)}" is not a number')
        return number
