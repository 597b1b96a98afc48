"""Draw the map of a linear sequence."""

from __future__ import annotations

from collections.abc import Sequence

from labext_widgets.sequence import svg
from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule

_MARGIN, _ROW, _TALL, _LETTERS = 14.0, 16.0, 11.0, 32


def draw(
    molecule: Molecule, annotations: Sequence[Annotation], labelled: set[int], cuts: Sequence[Site]
) -> str:
    """Return the map; `labelled` contains the indices of the annotations with a label."""
    scale = (svg.WIDTH - 2 * _MARGIN) / (len(molecule) or 1)
    above, up = _cuts(cuts, scale)
    axis = 12 + up * _ROW + (8 if up else 0)
    below, down = _marks(annotations, labelled, scale)
    pieces = [
        svg.polyline([(_MARGIN, axis), (svg.WIDTH - _MARGIN, axis)], svg.FAINT, 1.5),
        *_ticks(molecule, scale, axis),
        *(
            svg.polyline([(x, axis), (x, axis - 18 - row * _ROW)], svg.FAINT, 0.8)
            for x, _, row, _ in above
        ),
        *(
            svg.text_element(text, left, axis - 14 - row * _ROW, "start", ' font-style="italic"')
            for _, left, row, text in above
        ),
        *(_mark(annotation, text, x, row, scale, axis + 32) for annotation, text, x, row in below),
    ]
    return svg.svg_document(axis + 32 + down * _ROW + 4, pieces)


def _cuts(cuts: Sequence[Site], scale: float) -> tuple[list[tuple[float, float, int, str]], int]:
    """Return position, label position, row and label of each cut, and the number of rows.

    A label is placed to the right of its line, above any label that would cross that line.
    """
    placed: list[tuple[float, float, int, str]] = []
    for cut in sorted(cuts, key=lambda site: -site.cut):
        x, width = _MARGIN + cut.cut * scale, svg.text_width(cut.enzyme)
        left = min(x + 3, svg.WIDTH - width - 2)
        covered = [row for other, begin, row, _ in placed if min(other, begin) < left + width + 4]
        placed.append((x, left, max(covered, default=-1) + 1, cut.enzyme))
    return placed, max((row for _, _, row, _ in placed), default=-1) + 1


def _marks(
    annotations: Sequence[Annotation], labelled: set[int], scale: float
) -> tuple[list[tuple[Annotation, str, float, int]], int]:
    """Return annotation, label, label position and row of each mark, and the number of rows."""
    rows: list[float] = []
    placed = []
    for i, annotation in enumerate(annotations):
        text = svg.truncate(annotation.name, _LETTERS) if i in labelled else ""
        begin, end = _MARGIN + annotation.start * scale, _MARGIN + annotation.end * scale
        left = max(end, begin + 3) + 4
        if left + svg.text_width(text) > svg.WIDTH - 2:  # no room after it: place it before
            left = begin - 4 - svg.text_width(text)
        if left < 2:  # nor before: at the edge, on the band itself
            left = max(svg.WIDTH - 4 - svg.text_width(text), begin + 6)
        reach = max(end, left + svg.text_width(text)) if text else end
        placed.append(
            (annotation, text, left, _row(rows, min(begin, left) if text else begin, reach + 6))
        )
    return placed, len(rows)


def _row(rows: list[float], begin: float, end: float) -> int:
    """Return the first row that is free from `begin` on, and occupy it up to `end`."""
    for i, occupied in enumerate(rows):
        if occupied <= begin:
            rows[i] = end
            return i
    rows.append(end)
    return len(rows) - 1


def _mark(annotation: Annotation, text: str, x: float, row: int, scale: float, top: float) -> str:
    begin, end = _MARGIN + annotation.start * scale, _MARGIN + annotation.end * scale
    if end - begin < 2:
        begin, end = (begin + end) / 2 - 1, (begin + end) / 2 + 1
    head = min(6.0, (end - begin) / 2) if annotation.strand else 0.0
    y, low, mid = top + row * _ROW, top + row * _ROW + _TALL, top + row * _ROW + _TALL / 2
    a, b = (begin + head, end) if annotation.strand < 0 else (begin, end - head)
    tip = f"L{end:.1f} {mid:.1f}" if annotation.strand > 0 else ""
    tail = f"L{begin:.1f} {mid:.1f}" if annotation.strand < 0 else ""
    path = f"M{a:.1f} {y:.1f}L{b:.1f} {y:.1f}{tip}L{b:.1f} {low:.1f}L{a:.1f} {low:.1f}{tail}Z"
    on_band = text and begin < x < end
    name = svg.text_element(text, x, mid, more=' fill="#000000"' if on_band else "") if text else ""
    return svg.path_element(path, annotation.color, annotation.name) + name


def _ticks(molecule: Molecule, scale: float, axis: float) -> list[str]:
    apart = svg.tick_step(len(molecule), 8)
    pieces = []
    for base in sorted({1, *range(apart, len(molecule) + 1, apart)}):
        x = _MARGIN + (base - 0.5) * scale
        pieces.append(svg.polyline([(x, axis), (x, axis + 5)]))
        place = min(
            max(x, svg.text_width(f"{base:,}") / 2), svg.WIDTH - svg.text_width(f"{base:,}") / 2
        )
        pieces.append(svg.text_element(f"{base:,}", place, axis + 13, "middle", ' font-size="9"'))
    return pieces
