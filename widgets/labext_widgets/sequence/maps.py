"""Draw the linear map of a sequence and the circular map of a plasmid as SVG."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from html import escape
from math import cos, pi, sin
from typing import NamedTuple

from labext_widgets.core.layout import nice_step, spread
from labext_widgets.core.markup import truncate
from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule

WIDTH = 640
INK, FAINT = "#7c7c7c", "#9a9a9a"
SIZE = 11
_LETTER = 0.6 * SIZE


def svg_document(height: float, pieces: Sequence[str]) -> str:
    """Return an SVG document of the standard width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="{SIZE}" '
        f'fill="{INK}">{"".join(pieces)}</svg>'
    )


def text_element(text: str, x: float, y: float, anchor: str = "start", more: str = "") -> str:
    """Return a text element, vertically centered at `y`."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y + SIZE * 0.35:.1f}"{anchored}{more}>{escape(text)}</text>'


def polyline(points: Sequence[tuple[float, float]], color: str = FAINT, width: float = 1) -> str:
    """Return a line through the points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def path_element(path: str, color: str, title: str = "") -> str:
    """Return a filled path."""
    named = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{path}" fill="{readable_color(color)}">{named}</path>'


def text_width(text: str) -> float:
    """Return the approximate width of a text."""
    return len(text) * _LETTER


def readable_color(color: str) -> str:
    """Return a color of the same hue that is readable on white and on black."""
    digits = color[1:] if len(color) == 7 else "".join(digit * 2 for digit in color[1:])
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    hue, light, strong = colorsys.rgb_to_hls(red, green, blue)
    toned = colorsys.hls_to_rgb(hue, min(max(light, 0.42), 0.66), strong)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in toned)


_MARGIN, _ROW, _TALL, _LINEAR_LETTERS = 14.0, 16.0, 11.0, 32


def draw_linear(
    molecule: Molecule, annotations: Sequence[Annotation], labelled: set[int], cuts: Sequence[Site]
) -> str:
    """Return the map; `labelled` contains the indices of the annotations with a label."""
    scale = (WIDTH - 2 * _MARGIN) / (len(molecule) or 1)
    above, up = _cuts(cuts, scale)
    axis = 12 + up * _ROW + (8 if up else 0)
    below, down = _marks(annotations, labelled, scale)
    pieces = [
        polyline([(_MARGIN, axis), (WIDTH - _MARGIN, axis)], FAINT, 1.5),
        *_linear_ticks(molecule, scale, axis),
        *(polyline([(x, axis), (x, axis - 18 - row * _ROW)], FAINT, 0.8) for x, _, row, _ in above),
        *(
            text_element(text, left, axis - 14 - row * _ROW, "start", ' font-style="italic"')
            for _, left, row, text in above
        ),
        *(_mark(annotation, text, x, row, scale, axis + 32) for annotation, text, x, row in below),
    ]
    return svg_document(axis + 32 + down * _ROW + 4, pieces)


def _cuts(cuts: Sequence[Site], scale: float) -> tuple[list[tuple[float, float, int, str]], int]:
    """Return position, label position, row and label of each cut, and the number of rows.

    A label is placed to the right of its line, above any label that would cross that line.
    """
    placed: list[tuple[float, float, int, str]] = []
    for cut in sorted(cuts, key=lambda site: -site.cut):
        x, width = _MARGIN + cut.cut * scale, text_width(cut.enzyme)
        left = min(x + 3, WIDTH - width - 2)
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
        text = truncate(annotation.name, _LINEAR_LETTERS) if i in labelled else ""
        begin, end = _MARGIN + annotation.start * scale, _MARGIN + annotation.end * scale
        left = max(end, begin + 3) + 4
        if left + text_width(text) > WIDTH - 2:  # not enough space after it: place it before
            left = begin - 4 - text_width(text)
        if left < 2:  # not enough space before it: on the band itself
            left = max(min(end - 10, WIDTH - 4) - text_width(text), begin + 6)
        reach = max(end, left + text_width(text)) if text else end
        row = _free_row(rows, min(begin, left) if text else begin, reach + 6)
        placed.append((annotation, text, left, row))
    return placed, len(rows)


def _free_row(rows: list[float], begin: float, end: float) -> int:
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
    name = text_element(text, x, mid, more=' fill="#000000"' if on_band else "") if text else ""
    return path_element(path, annotation.color, annotation.name) + name


def _linear_ticks(molecule: Molecule, scale: float, axis: float) -> list[str]:
    apart = nice_step(len(molecule), 8)
    pieces = []
    for base in sorted({1, *range(apart, len(molecule) + 1, apart)}):
        x = _MARGIN + (base - 0.5) * scale
        pieces.append(polyline([(x, axis), (x, axis + 5)]))
        place = min(max(x, text_width(f"{base:,}") / 2), WIDTH - text_width(f"{base:,}") / 2)
        pieces.append(text_element(f"{base:,}", place, axis + 13, "middle", ' font-size="9"'))
    return pieces


RADIUS, THICK, LANE, LANES = 130.0, 12.0, 16.0, 4
_CIRCULAR_LETTERS, _GAP, _REACH = 23, 14.0, 36.0


class _Label(NamedTuple):
    turn: float  # fraction of the circle, clockwise from the top
    text: str
    color: str
    cuts: bool


def draw_circular(
    molecule: Molecule, annotations: Sequence[Annotation], labelled: set[int], cuts: Sequence[Site]
) -> str:
    """Return the map; `labelled` contains the indices of the annotations with a label."""

    def middle(mark: Annotation) -> float:
        return (mark.start + molecule.span(mark.start, mark.end) / 2) / len(molecule) % 1

    labels = [
        _Label(middle(mark), truncate(mark.name, _CIRCULAR_LETTERS), mark.color, False)
        for i, mark in enumerate(annotations)
        if i in labelled
    ]
    labels += [_Label(site.cut / len(molecule), site.enzyme, INK, True) for site in cuts]
    left = sorted((label for label in labels if label.turn >= 0.5), key=lambda label: -label.turn)
    right = sorted((label for label in labels if label.turn < 0.5), key=lambda label: label.turn)
    columns = [_heights(left), _heights(right)]
    top = min([-RADIUS - 20, *(height - 10 for column in columns for height in column)])
    bottom = max([RADIUS + 20, *(height + 10 for column in columns for height in column)])
    center = (WIDTH / 2, -top)
    lanes, _ = assign_lanes(molecule, annotations)
    free = RADIUS - LANE * max(lanes, default=0) - THICK / 2 - 3
    pieces = [
        f'<circle cx="{center[0]:.0f}" cy="{center[1]:.0f}" r="{RADIUS:.0f}" fill="none" '
        f'stroke="{FAINT}" stroke-width="1.5"/>',
        *_circular_ticks(molecule, center, free),
        *(
            _arc(molecule, annotation, center, lane)
            for annotation, lane in zip(annotations, lanes, strict=True)
        ),
        *_side(left, columns[0], center, -1),
        *_side(right, columns[1], center, 1),
        *_name(molecule, center, free),
        text_element(f"{len(molecule):,} bp", center[0], center[1] + 10, "middle"),
    ]
    return svg_document(bottom - top, pieces)


def _at(center: tuple[float, float], turn: float, radius: float) -> tuple[float, float]:
    angle = 2 * pi * turn
    return center[0] + radius * sin(angle), center[1] - radius * cos(angle)


def assign_lanes(molecule: Molecule, annotations: Sequence[Annotation]) -> tuple[list[int], int]:
    """Return the outermost free lane of each annotation, and how many have no free lane.

    Those are in the innermost lane, over others.
    """
    occupied: list[list[tuple[int, int]]] = [[] for _ in range(LANES)]
    lanes, crowded = [], 0
    for annotation in annotations:
        pieces = (
            [(annotation.start, annotation.end)]
            if annotation.end > annotation.start
            else [(annotation.start, len(molecule)), (0, annotation.end)]
        )
        for lane, others in enumerate(occupied):
            free = all(a >= d or c >= b for a, b in pieces for c, d in others)
            if free or lane == LANES - 1:
                others += pieces
                lanes.append(lane)
                crowded += not free
                break
    return lanes, crowded


def _arc(molecule: Molecule, annotation: Annotation, center: tuple[float, float], lane: int) -> str:
    """Return a band, with an arrow head in the direction of its strand."""
    middle = RADIUS - LANE * lane
    inner, outer = middle - THICK / 2, middle + THICK / 2
    begin = annotation.start / len(molecule)
    turn = min(molecule.span(annotation.start, annotation.end) / len(molecule), 0.9999)
    least = 2 / (2 * pi * middle)  # the minimum visible length
    if turn < least:
        begin, turn = begin - (least - turn) / 2, least
    end = begin + turn
    head = min(6 / (2 * pi * middle), turn / 2) if annotation.strand else 0.0
    a, b = (begin + head, end) if annotation.strand < 0 else (begin, end - head)
    large = int(b - a > 0.5)
    corners = ((a, outer), (b, outer), (b, inner), (a, inner))
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = (_at(center, *corner) for corner in corners)
    path = f"M{ax:.1f} {ay:.1f}A{outer:.1f} {outer:.1f} 0 {large} 1 {bx:.1f} {by:.1f}"
    if annotation.strand > 0:
        path += "L{:.1f} {:.1f}".format(*_at(center, end, middle))
    path += f"L{cx:.1f} {cy:.1f}A{inner:.1f} {inner:.1f} 0 {large} 0 {dx:.1f} {dy:.1f}"
    if annotation.strand < 0:
        path += "L{:.1f} {:.1f}".format(*_at(center, begin, middle))
    return path_element(f"{path}Z", annotation.color, annotation.name)


def _name(molecule: Molecule, center: tuple[float, float], free: float) -> list[str]:
    """Return the name in the middle, in the largest size that fits between the numbers."""
    room = 2 * (free - 26)
    size = 14 if len(molecule.name) * 8.4 <= room else 11
    text = truncate(molecule.name, max(int(room / (0.6 * size)), 4))
    style = f' font-size="{size}" font-weight="600"'
    return [text_element(text, center[0], center[1] - 7, "middle", style)]


def _circular_ticks(molecule: Molecule, center: tuple[float, float], radius: float) -> list[str]:
    """Return the scale inside the bands: the first base, and round numbers."""
    apart = nice_step(len(molecule), 8)
    pieces: list[str] = []
    for base in sorted({1, *range(apart, len(molecule) - apart // 3 + 1, apart)}):
        turn = (base - 0.5) / len(molecule)
        pieces.append(polyline([_at(center, turn, radius), _at(center, turn, radius - 4)]))
        x, y = _at(center, turn, radius - 14)
        pieces.append(text_element(f"{base:,}", x, y, "middle", ' font-size="9"'))
    return pieces


def _heights(labels: list[_Label]) -> list[float]:
    """Return the vertical positions of one side's labels, relative to the center."""
    desired = [_at((0, 0), label.turn, RADIUS + 18)[1] for label in labels]
    limit = max(RADIUS + 45, len(labels) * _GAP / 2)
    return spread(desired, _GAP, -limit, limit)


def _side(
    labels: list[_Label], heights: list[float], center: tuple[float, float], side: int
) -> list[str]:
    """Return the labels of one side in a column, each with a line to its place on the circle."""
    column = center[0] + side * (RADIUS + _REACH)
    pieces = []
    for label, height in zip(labels, heights, strict=True):
        y = center[1] + height
        elbow = _at(center, label.turn, RADIUS + 14)
        # Horizontal until beside the circle, so that no line crosses it.
        points = [_at(center, label.turn, RADIUS + THICK / 2), elbow]
        points += [(column - side * 18, elbow[1]), (column - side * 3, y)]
        color = FAINT if label.cuts else readable_color(label.color)
        pieces.append(polyline(points, color, 0.8))
        anchor, more = "start" if side > 0 else "end", ' font-style="italic"' if label.cuts else ""
        pieces.append(text_element(label.text, column, y, anchor, more))
    return pieces
