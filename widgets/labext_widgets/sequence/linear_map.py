"""Draw the map of a linear sequence."""

from __future__ import annotations

from collections.abc import Sequence

from labext_widgets.sequence import svg
from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule

_MARGIN, _ROW, _TALL, _LETTERS = 14.0, 16.0, 11.0, 32


def draw(
    on: Molecule, shown: Sequence[Annotation], labelled: set[int], cuts: Sequence[Site]
) -> str:
    """Return the picture; `labelled` are the indices of those of `shown` that have a label."""
    scale = (svg.WIDTH - 2 * _MARGIN) / (len(on) or 1)
    above, up = _cuts(cuts, scale)
    axis = 12 + up * _ROW + (8 if up else 0)
    below, down = _marks(shown, labelled, scale)
    pieces = [
        svg.polyline([(_MARGIN, axis), (svg.WIDTH - _MARGIN, axis)], svg.FAINT, 1.5),
        *_ticks(on, scale, axis),
        *(
            svg.polyline([(x, axis), (x, axis - 18 - row * _ROW)], svg.FAINT, 0.8)
            for x, _, row, _ in above
        ),
        *(
            svg.text_element(text, left, axis - 14 - row * _ROW, "start", ' font-style="italic"')
            for _, left, row, text in above
        ),
        *(_mark(each, text, x, row, scale, axis + 32) for each, text, x, row in below),
    ]
    return svg.svg_document(axis + 32 + down * _ROW + 4, pieces)


def _cuts(cuts: Sequence[Site], scale: float) -> tuple[list[tuple[float, float, int, str]], int]:
    """(place, left edge of the name, row above the axis, name), and how many rows there are.

    A name stands on the right of its line, and above every name whose line it would cover.
    """
    placed: list[tuple[float, float, int, str]] = []
    for each in sorted(cuts, key=lambda site: -site.cut):
        x, width = _MARGIN + each.cut * scale, svg.text_width(each.enzyme)
        left = min(x + 3, svg.WIDTH - width - 2)
        covered = [row for other, begin, row, _ in placed if min(other, begin) < left + width + 4]
        placed.append((x, left, max(covered, default=-1) + 1, each.enzyme))
    return placed, max((row for _, _, row, _ in placed), default=-1) + 1


def _marks(
    shown: Sequence[Annotation], labelled: set[int], scale: float
) -> tuple[list[tuple[Annotation, str, float, int]], int]:
    """(annotation, name, where the name begins, row), and how many rows there are."""
    rows: list[float] = []
    placed = []
    for i, each in enumerate(shown):
        text = svg.truncate(each.name, _LETTERS) if i in labelled else ""
        begin, end = _MARGIN + each.start * scale, _MARGIN + each.end * scale
        left = max(end, begin + 3) + 4
        if left + svg.text_width(text) > svg.WIDTH - 2:  # no room after it: before it
            left = begin - 4 - svg.text_width(text)
        if left < 2:  # nor before it: at the picture's edge, on the band itself
            left = max(svg.WIDTH - 4 - svg.text_width(text), begin + 6)
        reach = max(end, left + svg.text_width(text)) if text else end
        placed.append(
            (each, text, left, _row(rows, min(begin, left) if text else begin, reach + 6))
        )
    return placed, len(rows)


def _row(rows: list[float], begin: float, end: float) -> int:
    """Return the first row that is free from `begin` on, and take it up to `end`."""
    for i, taken in enumerate(rows):
        if taken <= begin:
            rows[i] = end
            return i
    rows.append(end)
    return len(rows) - 1


def _mark(each: Annotation, text: str, x: float, row: int, scale: float, top: float) -> str:
    begin, end = _MARGIN + each.start * scale, _MARGIN + each.end * scale
    if end - begin < 2:
        begin, end = (begin + end) / 2 - 1, (begin + end) / 2 + 1
    head = min(6.0, (end - begin) / 2) if each.strand else 0.0
    y, low, mid = top + row * _ROW, top + row * _ROW + _TALL, top + row * _ROW + _TALL / 2
    a, b = (begin + head, end) if each.strand < 0 else (begin, end - head)
    tip = f"L{end:.1f} {mid:.1f}" if each.strand > 0 else ""
    tail = f"L{begin:.1f} {mid:.1f}" if each.strand < 0 else ""
    path = f"M{a:.1f} {y:.1f}L{b:.1f} {y:.1f}{tip}L{b:.1f} {low:.1f}L{a:.1f} {low:.1f}{tail}Z"
    on_band = text and begin < x < end
    name = svg.text_element(text, x, mid, more=' fill="#000000"' if on_band else "") if text else ""
    return svg.path_element(path, each.color, each.name) + name


def _ticks(on: Molecule, scale: float, axis: float) -> list[str]:
    apart = svg.tick_step(len(on), 8)
    pieces = []
    for base in sorted({1, *range(apart, len(on) + 1, apart)}):
        x = _MARGIN + (base - 0.5) * scale
        pieces.append(svg.polyline([(x, axis), (x, axis + 5)]))
        place = min(
            max(x, svg.text_width(f"{base:,}") / 2), svg.WIDTH - svg.text_width(f"{base:,}") / 2
        )
        pieces.append(svg.text_element(f"{base:,}", place, axis + 13, "middle", ' font-size="9"'))
    return pieces
