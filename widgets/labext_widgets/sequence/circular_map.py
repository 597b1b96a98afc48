"""Draw the map of a circular sequence."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import NamedTuple

from labext_widgets.sequence import svg
from labext_widgets.sequence.enzymes import Site
from labext_widgets.sequence.molecule import Annotation, Molecule

RADIUS, THICK, LANE, LANES = 130.0, 12.0, 16.0, 4
_LETTERS, _GAP, _REACH = 23, 14.0, 36.0


class _Label(NamedTuple):
    turn: float  # fraction of the circle, clockwise from the top
    text: str
    color: str
    cuts: bool


def draw(
    molecule: Molecule, annotations: Sequence[Annotation], labelled: set[int], cuts: Sequence[Site]
) -> str:
    """Return the map; `labelled` contains the indices of the annotations with a label."""
    labels = [
        _Label(
            (annotation.start + molecule.span(annotation.start, annotation.end) / 2)
            / len(molecule)
            % 1,
            svg.truncate(annotation.name, _LETTERS),
            annotation.color,
            False,
        )
        for i, annotation in enumerate(annotations)
        if i in labelled
    ]
    labels += [_Label(site.cut / len(molecule), site.enzyme, svg.INK, True) for site in cuts]
    left = sorted((label for label in labels if label.turn >= 0.5), key=lambda label: -label.turn)
    right = sorted((label for label in labels if label.turn < 0.5), key=lambda label: label.turn)
    columns = [_heights(left), _heights(right)]
    top = min([-RADIUS - 20, *(height - 10 for column in columns for height in column)])
    bottom = max([RADIUS + 20, *(height + 10 for column in columns for height in column)])
    center = (svg.WIDTH / 2, -top)
    lanes = _lanes(molecule, annotations)
    free = RADIUS - LANE * max(lanes, default=0) - THICK / 2 - 3
    pieces = [
        f'<circle cx="{center[0]:.0f}" cy="{center[1]:.0f}" r="{RADIUS:.0f}" fill="none" '
        f'stroke="{svg.FAINT}" stroke-width="1.5"/>',
        *_ticks(molecule, center, free),
        *(
            _arc(molecule, annotation, center, lane)
            for annotation, lane in zip(annotations, lanes, strict=True)
        ),
        *_side(left, columns[0], center, -1),
        *_side(right, columns[1], center, 1),
        *_name(molecule, center, free),
        svg.text_element(f"{len(molecule):,} bp", center[0], center[1] + 10, "middle"),
    ]
    return svg.svg_document(bottom - top, pieces)


def _at(center: tuple[float, float], turn: float, radius: float) -> tuple[float, float]:
    angle = 2 * pi * turn
    return center[0] + radius * sin(angle), center[1] - radius * cos(angle)


def _lanes(molecule: Molecule, annotations: Sequence[Annotation]) -> list[int]:
    """Return the outermost free lane of each annotation; the innermost lane may overlap."""
    occupied: list[list[tuple[int, int]]] = [[] for _ in range(LANES)]
    lanes = []
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
                break
    return lanes


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
    points = [
        _at(center, a, outer),
        _at(center, b, outer),
        _at(center, b, inner),
        _at(center, a, inner),
    ]
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = points
    path = f"M{ax:.1f} {ay:.1f}A{outer:.1f} {outer:.1f} 0 {large} 1 {bx:.1f} {by:.1f}"
    if annotation.strand > 0:
        path += "L{:.1f} {:.1f}".format(*_at(center, end, middle))
    path += f"L{cx:.1f} {cy:.1f}A{inner:.1f} {inner:.1f} 0 {large} 0 {dx:.1f} {dy:.1f}"
    if annotation.strand < 0:
        path += "L{:.1f} {:.1f}".format(*_at(center, begin, middle))
    return svg.path_element(f"{path}Z", annotation.color, annotation.name)


def _name(molecule: Molecule, center: tuple[float, float], free: float) -> list[str]:
    """Return the name in the middle, in the largest size that fits between the numbers."""
    room = 2 * (free - 26)
    size = 14 if len(molecule.name) * 8.4 <= room else 11
    text = svg.truncate(molecule.name, max(int(room / (0.6 * size)), 4))
    style = f' font-size="{size}" font-weight="600"'
    return [svg.text_element(text, center[0], center[1] - 7, "middle", style)]


def _ticks(molecule: Molecule, center: tuple[float, float], radius: float) -> list[str]:
    """Return the scale inside the bands: the first base, and round numbers."""
    apart = svg.tick_step(len(molecule), 8)
    pieces: list[str] = []
    for base in sorted({1, *range(apart, len(molecule) - apart // 3 + 1, apart)}):
        turn = (base - 0.5) / len(molecule)
        pieces.append(svg.polyline([_at(center, turn, radius), _at(center, turn, radius - 4)]))
        x, y = _at(center, turn, radius - 14)
        pieces.append(svg.text_element(f"{base:,}", x, y, "middle", ' font-size="9"'))
    return pieces


def _heights(labels: list[_Label]) -> list[float]:
    """Return the vertical positions of one side's labels, relative to the centre."""
    desired = [_at((0, 0), label.turn, RADIUS + 18)[1] for label in labels]
    limit = max(RADIUS + 45, len(labels) * _GAP / 2)
    return svg.spread_positions(desired, _GAP, -limit, limit)


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
        points = [
            _at(center, label.turn, RADIUS + THICK / 2),
            elbow,
            (column - side * 18, elbow[1]),
        ]
        color = svg.FAINT if label.cuts else svg.readable_colour(label.color)
        pieces.append(svg.polyline([*points, (column - side * 3, y)], color, 0.8))
        anchor, more = (
            ("start" if side > 0 else "end"),
            (' font-style="italic"' if label.cuts else ""),
        )
        pieces.append(svg.text_element(label.text, column, y, anchor, more))
    return pieces
