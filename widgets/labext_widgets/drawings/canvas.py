"""SVG elements of drawings on a white background, and the placement of labels."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labext.errors import InputError
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import (
    MUTED,
    PAPER,
    WRAPPED,
    data_uri,
    div,
    escape,
    plain,
    view_html,
)

INK, MUTED_INK, RULE, PALE = "#222222", "#555555", "#8c8c8c", "#d9dde2"
BLUE, VERMILLION = "#0072b2", "#d55e00"
ENZYME_COLORS = ("#0072b2", "#d55e00", "#007a5e", "#a4508b", "#8a6d00", "#31739c")
"""Dark variants of the Okabe-Ito colors, which color-blind people can tell apart."""

SHADES = ("#fff7bc", "#c7e9b4", "#7fcdbb", "#41b6c4", "#225ea8", "#253494")
"""A sequential scale from light (low) to dark (high)."""

FONT_SIZE = 12
SMALL = 11

Point = tuple[float, float]


def svg_document(width: float, height: float, elements: Iterable[str]) -> str:
    """Return an SVG document with a white background."""
    width, height = math.ceil(width), math.ceil(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica,Arial,sans-serif" '
        f'font-size="{FONT_SIZE}" fill="{INK}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(elements)}</svg>'
    )


def text(
    x: float,
    y: float,
    content: object,
    anchor: str = "start",
    *,
    size: float = FONT_SIZE,
    fill: str = "",
    bold: bool = False,
    mono: bool = False,
    kind: str = "",
) -> str:
    """Return a text, vertically centered at `y`."""
    attributes = [f'x="{x:.1f}"', f'y="{y + 0.35 * size:.1f}"']
    optional = {
        "class": kind,
        "text-anchor": "" if anchor == "start" else anchor,
        "font-size": "" if size == FONT_SIZE else f"{size:g}",
        "fill": fill,
        "font-weight": "bold" if bold else "",
        "font-family": "Menlo,Consolas,monospace" if mono else "",
    }
    attributes += [f'{name}="{value}"' for name, value in optional.items() if value]
    return f"<text {' '.join(attributes)}>{escape(content)}</text>"


def line(
    start: Point, end: Point, color: str = RULE, width: float = 1, *, kind: str = "", dash: str = ""
) -> str:
    """Return a straight line."""
    return polyline([start, end], color, width, kind=kind, dash=dash)


def polyline(
    points: Sequence[Point], color: str = RULE, width: float = 1, *, kind: str = "", dash: str = ""
) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    more = (f' class="{kind}"' if kind else "") + (f' stroke-dasharray="{dash}"' if dash else "")
    return (
        f'<polyline{more} points="{path}" fill="none" stroke="{color}" stroke-width="{width:g}" '
        'stroke-linejoin="round"/>'
    )


def polygon(
    points: Sequence[Point],
    fill: str,
    *,
    stroke: str = "none",
    dash: str = "",
    kind: str = "",
    title: str = "",
) -> str:
    """Return a filled polygon."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    more = (f' class="{kind}"' if kind else "") + (f' stroke-dasharray="{dash}"' if dash else "")
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<polygon{more} points="{path}" fill="{fill}" stroke="{stroke}">{inner}</polygon>'


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "none",
    radius: float = 0,
    opacity: float = 1,
    kind: str = "",
) -> str:
    """Return a filled rectangle."""
    more = f' class="{kind}"' if kind else ""
    more += f' rx="{radius:g}"' if radius else ""
    more += f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return (
        f'<rect{more} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def circle(
    center: Point, radius: float, fill: str, *, stroke: str = "none", width: float = 1
) -> str:
    """Return a circle."""
    return (
        f'<circle cx="{center[0]:.1f}" cy="{center[1]:.1f}" r="{radius:.1f}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{width:g}"/>'
    )


def text_width(content: str, size: float = FONT_SIZE, *, mono: bool = False) -> float:
    """Return an upper estimate of the width of a text."""
    return len(content) * size * (0.61 if mono else 0.6)


def shade(share: float) -> str:
    """Return the color of a value between 0 and 1 on the sequential scale."""
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    index = min(int(place), len(SHADES) - 2)
    low, high = _channels(SHADES[index]), _channels(SHADES[index + 1])
    mixed = (round(a + (b - a) * (place - index)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(background: str) -> str:
    """Return black or white, whichever has more contrast on a color."""
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (value / 255 for value in _channels(background))
    ]
    luminance = sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def _channels(color: str) -> tuple[int, int, int]:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


MAX_ROWS = 100_000
"""Maximum number of rows of a table that is drawn."""

_IMAGE = f"max-width:100%;height:auto;{PAPER};border-radius:4px;padding:6px;box-sizing:border-box"
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
        heading = div(title, f"{MUTED};{WRAPPED}")
        return view_html(heading + div(images, _ROW))

    def _ipython_display_(self, **_: Any) -> None:
        if front_end() is FrontEnd.TERMINAL:
            print(self)
        else:
            display_html(self.html(), str(self))


def _image_html(svg: str, alt: str) -> str:
    image = data_uri(svg.encode(), "image/svg+xml")
    return f'<img src="{image}" alt="{alt}" style="{_IMAGE}">'


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

    def whole(self, row: Mapping[str, str | None], column: str) -> int:
        """Return a whole number of at least 1."""
        value = row[column] or ""
        if not (value.isascii() and value.isdigit() and len(value) <= 10) or int(value) < 1:
            raise self.invalid(f'{column} "{plain(value, 30)}" is not a whole number from 1')
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
