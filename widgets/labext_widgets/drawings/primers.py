"""Primer pairs as arrows on their template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labext.messages import pluralize
from labext_widgets.core.layout import nice_step
from labext_widgets.core.markup import plain
from labext_widgets.drawings import canvas
from labext_widgets.drawings.canvas import (
    Drawing,
    Table,
    line,
    polygon,
    rectangle,
    svg_document,
    text,
)

_MAX_PAIRS = 40
_LEFT, _MAP, _ROW = 74.0, 320.0, 46.0
_OVERVIEW, _RULER = 56.0, 46.0
_HEAD, _HALF = 7.0, 4.0
"""Length and half the width of an arrowhead."""

_SIDES = (("forward", canvas.BLUE), ("reverse", canvas.VERMILLION))
_ENLARGED_BELOW = 0.6
"""Share of the template up to which only the part with products is drawn large."""


@dataclass(frozen=True)
class Primer:
    """A primer; positions are counted from 1 on the given strand of the template.

    Attributes:
        sequence: 5' to 3', as ordered.
        start: the first position.
        end: the last position.
        tm: the melting temperature in °C.
        gc: the GC content in percent.
    """

    sequence: str
    start: int
    end: int
    tm: float
    gc: float


@dataclass(frozen=True)
class PrimerPair:
    """A pair of primers and the product that they amplify."""

    number: str
    start: int
    end: int
    forward: Primer
    reverse: Primer

    @property
    def size(self) -> int:
        """The length of the product in base pairs."""
        return self.end - self.start + 1


class PrimersView(Drawing):
    """Primer pairs on their template.

    Attributes:
        pairs: the pairs, the best first.
        length: the length of the template, or the end of the last product if it is not known.
        window: the first and last position of the part that is drawn large.
    """

    def __init__(self, name: str, pairs: Sequence[PrimerPair], length: int) -> None:
        self.pairs = pairs
        self.length = length
        self.window = _choose_window(pairs, length)
        notes = []
        if len(pairs) > _MAX_PAIRS:
            notes.append(f"Showing the best {_MAX_PAIRS} of {len(pairs)} pairs.")
        summary = f"{pluralize(len(pairs), 'primer pair')} on a template of {length:,} bp"
        columns = ["pair", "product", "primer", "5'–3'", "start", "end", "Tm", "GC %"]
        rows = [
            [pair.number, f"{pair.size} bp", side, p.sequence, p.start, p.end, p.tm, p.gc]
            for pair in pairs[:_MAX_PAIRS]
            for side, p in (("forward", pair.forward), ("reverse", pair.reverse))
        ]
        super().__init__(name, self._draw(notes), summary, columns, rows, notes)

    def _draw(self, notes: Sequence[str]) -> str:
        pairs = self.pairs[:_MAX_PAIRS]
        letters = max(
            [18, *(len(p.sequence) for pair in pairs for p in (pair.forward, pair.reverse))]
        )
        letters = min(letters, 36)
        table_x = _LEFT + _MAP + 30
        tm_x = table_x + 16 + canvas.text_width("M" * letters, mono=True) + 52
        gc_x = tm_x + 54
        width = gc_x + 14
        top = _OVERVIEW if self.window != (1, self.length) else 14.0
        elements = self._draw_overview(top) if self.window != (1, self.length) else []
        elements += self._draw_ruler(top + 12)
        y = top + _RULER
        for x, title, anchor in (
            (table_x + 16, "Primer, 5′ → 3′", "start"),
            (tm_x, "Tm, °C", "end"),
            (gc_x, "GC, %", "end"),
        ):
            if pairs:
                elements.append(text(x, top + 12, title, anchor, bold=True))
        for index, pair in enumerate(pairs):
            row = y + index * _ROW
            if index % 2 == 0:
                elements.append(rectangle(0, row, width, _ROW, "#f4f6f8"))
            elements.append(text(10, row + 23, f"Pair {plain(pair.number, 4)}", bold=True))
            elements += self._draw_pair(pair, row + 27)
            for (side, color), line_y in zip(_SIDES, (row + 14, row + 32), strict=True):
                primer = pair.forward if side == "forward" else pair.reverse
                elements += _draw_icon(table_x, line_y, side, color)
                sequence = plain(primer.sequence, letters)
                elements.append(text(table_x + 16, line_y, sequence, mono=True))
                elements.append(text(tm_x, line_y, f"{primer.tm:.1f}", "end"))
                elements.append(text(gc_x, line_y, f"{primer.gc:.0f}", "end"))
        y += len(pairs) * _ROW
        if not pairs:
            elements.append(text(_LEFT + _MAP / 2, y + 8, "No primer pairs.", "middle"))
            y += 24
        for note in notes:
            elements.append(text(10, y + 14, note))
            y += 20
        return svg_document(width, y + 6, elements)

    def _x(self, boundary: float) -> float:
        """Return the place of a boundary between bases; 0 is before the first base."""
        low, high = self.window
        return _LEFT + (boundary - low + 1) / (high - low + 1) * _MAP

    def _draw_overview(self, top: float) -> list[str]:
        """Draw the whole template, with lines to the part that is enlarged."""
        low, high = self.window
        x1 = _LEFT + (low - 1) / self.length * _MAP
        x2 = _LEFT + high / self.length * _MAP
        return [
            text(10, 18, "Template"),
            rectangle(_LEFT, 14, _MAP, 8, canvas.PALE),
            rectangle(x1, 14, max(x2 - x1, 1), 8, canvas.RULE),
            text(_LEFT + _MAP + 8, 18, f"{self.length:,} bp"),
            line((x1, 22), (_LEFT, top + 4), dash="3 3"),
            line((x2, 22), (_LEFT + _MAP, top + 4), dash="3 3"),
        ]

    def _draw_ruler(self, y: float) -> list[str]:
        low, high = self.window
        elements = [
            rectangle(_LEFT, y - 4, _MAP, 8, canvas.PALE),
            text(_LEFT - 8, y, "5′", "end"),
            text(_LEFT + _MAP + 8, y, "3′"),
        ]
        step = nice_step(high - low + 1, 6)
        positions = [position for position in range(0, high + 1, step) if position > low]
        if low == 1 and (not positions or self._x(positions[0]) - _LEFT > 30):
            positions.insert(0, 1)
        for position in positions:
            x = self._x(position - 0.5)
            elements.append(line((x, y + 4), (x, y + 9)))
            number = f"{position:,}"
            elements.append(
                text(x, y + 17, number, "middle", size=canvas.SMALL, fill=canvas.MUTED_INK)
            )
        return elements

    def _draw_pair(self, pair: PrimerPair, y: float) -> list[str]:
        start, end = self._x(pair.start - 1), self._x(pair.end)
        label = f"{pair.size:,} bp"
        half = canvas.text_width(label) / 2
        middle = min(max((start + end) / 2, _LEFT + half), _LEFT + _MAP - half)
        elements = [
            line((start, y), (end, y), canvas.RULE, 1.5, kind="product"),
            text(middle, y - 14, label, "middle", kind="product-size"),
        ]
        for (side, color), primer in zip(_SIDES, (pair.forward, pair.reverse), strict=True):
            tail, tip = self._x(primer.start - 1), self._x(primer.end)
            elements.append(_arrow(tail, tip, y, color, side))
        return elements


def primers_view(csv: str, template: str, *, name: str) -> PrimersView:
    """Return the drawing of primer pairs on their template.

    Args:
        csv: the table of the pairs.
        template: the sequence, plain or as FASTA; without it the last product ends the template.
        name: the job's name.

    Raises:
        InputError: the table is not valid, or not of this template.
    """
    sides = [
        f"{side}{suffix}" for side, _ in _SIDES for suffix in ("", "_start", "_end", "_tm", "_gc")
    ]
    table = Table(csv, ["pair", "product_start", "product_end", *sides], "primer design")
    pairs = []
    for row in table.rows:
        forward, reverse = (
            Primer(
                plain(row[side] or "", 60),
                table.whole(row, f"{side}_start"),
                table.whole(row, f"{side}_end"),
                table.number(row, f"{side}_tm"),
                table.number(row, f"{side}_gc"),
            )
            for side, _ in _SIDES
        )
        start, end = table.whole(row, "product_start"), table.whole(row, "product_end")
        number = plain(row["pair"] or "", 12)
        for primer in (forward, reverse):
            if not start <= primer.start <= primer.end <= end:
                raise table.invalid(f"a primer of pair {number} is outside its product")
        pairs.append(PrimerPair(number, start, end, forward, reverse))
    length = _template_length(template)
    last = max((pair.end for pair in pairs), default=1)
    if length and last > length:
        raise table.invalid(
            f"a product ends at {last:,}, after the end of the template, {length:,}"
        )
    return PrimersView(name, pairs, length or last)


def _template_length(template: str) -> int:
    lines = template.lstrip("\ufeff").splitlines()
    return sum(len("".join(row.split())) for row in lines if not row.startswith(">"))


def _choose_window(pairs: Sequence[PrimerPair], length: int) -> tuple[int, int]:
    """Return the part of the template to draw large: all of it, or that with the products."""
    if not pairs:
        return 1, length
    low, high = min(pair.start for pair in pairs), max(pair.end for pair in pairs)
    margin = max((high - low + 1) // 12, 10)
    low, high = max(low - margin, 1), min(high + margin, length)
    return (low, high) if high - low + 1 < _ENLARGED_BELOW * length else (1, length)


def _arrow(left: float, right: float, y: float, color: str, side: str) -> str:
    """Return an arrow from `left` to `right`, or back for a reverse primer."""
    tail, tip = (left, right) if side == "forward" else (right, left)
    sign = 1 if tip >= tail else -1
    neck = tip - sign * min(_HEAD, abs(tip - tail))
    points = [
        (tail, y - 2),
        (neck, y - 2),
        (neck, y - 2 - _HALF),
        (tip, y),
        (neck, y + 2 + _HALF),
        (neck, y + 2),
        (tail, y + 2),
    ]
    return polygon(points, color, kind=side)


def _draw_icon(x: float, y: float, side: str, color: str) -> list[str]:
    """Return the arrow before the sequence of a primer."""
    points = [(x, y - 5), (x + 10, y), (x, y + 5)]
    if side == "reverse":
        points = [(x + 10, y - 5), (x, y), (x + 10, y + 5)]
    return [polygon(points, color, kind="key")]
