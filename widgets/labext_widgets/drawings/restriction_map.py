"""Draw the restriction map of circular or linear DNA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, cos, pi, sin
from typing import NamedTuple

from labext.messages import pluralize
from labext_widgets.core.layout import nice_step, spread
from labext_widgets.core.markup import plain
from labext_widgets.drawings import canvas
from labext_widgets.drawings.canvas import Point, line, text, text_width

_LABEL_HEIGHT = 15.0
_MAX_LABELS = 44
"""Enzymes that cut more often than there is room for labels are identified by color."""

_MAX_TICKS = 1000
"""Maximum number of marks of an enzyme."""

_RADIUS = 135.0
_LINE_LENGTH = 440.0
_MAX_TIERS = 22

Picture = tuple[float, float, list[str]]
"""Width, height and elements."""


class Cut(NamedTuple):
    """A cut before the base at `position`, counted from 1."""

    position: int
    enzyme: str


def draw_circle(length: int, cuts: Sequence[Cut]) -> Picture:
    """Draw a circle, clockwise from the top, with the cuts labelled at both sides."""
    labelled, colors = _choose_labels(cuts, _MAX_LABELS)
    sides: list[list[tuple[float, Cut]]] = [[], []]
    for cut in labelled:
        angle = 2 * pi * (cut.position - 1) / length
        sides[angle > pi].append((angle, cut))
    sides[1].reverse()  # both from top to bottom
    rows = max(map(len, sides))
    height = max(2 * _RADIUS + 90, rows * _LABEL_HEIGHT + 30)
    names = [_label(cut) for cut in labelled]
    margin = max([60.0, *(text_width(name) * 1.06 for name in names)]) + 36
    middle = (margin + _RADIUS, height / 2)
    width = 2 * middle[0]

    def at(angle: float, radius: float) -> Point:
        return middle[0] + radius * sin(angle), middle[1] - radius * cos(angle)

    elements = [canvas.circle(middle, _RADIUS, "none", stroke=canvas.PALE, width=10)]
    step = nice_step(length, 10)
    for position in dict.fromkeys([1, *range(step, length - step // 3 + 1, step)]):
        angle = 2 * pi * (position - 1) / length
        elements.append(line(at(angle, _RADIUS - 5), at(angle, _RADIUS - 10)))
        elements.append(_scale_number(at(angle, _RADIUS - 14), angle, position))
    elements.append(text(*middle, f"{length:,} bp", "middle", size=15, bold=True))
    elements.append(text(middle[0], middle[1] + 20, "circular", "middle", fill=canvas.MUTED_INK))
    counts = Counter(cut.enzyme for cut in cuts)
    for cut in _distinct(cuts, length):
        angle = 2 * pi * (cut.position - 1) / length
        color = colors.get(cut.enzyme, canvas.INK)
        elements.append(line(at(angle, _RADIUS - 7), at(angle, _RADIUS + 8), color, 2, kind="cut"))
    for side, entries in enumerate(sides):
        sign, anchor = (1, "start") if side == 0 else (-1, "end")
        positions = [at(angle, _RADIUS + 24)[1] for angle, _ in entries]
        placed = spread(positions, _LABEL_HEIGHT, 12, height - 12)
        for (angle, cut), y in zip(entries, placed, strict=True):
            offset = abs(y - middle[1])
            reach = _RADIUS + 22
            x = (reach**2 - offset**2) ** 0.5 if offset < reach else 0.0
            x = max(x, abs(at(angle, reach)[0] - middle[0]), 18)
            x = middle[0] + sign * x
            elements.append(
                canvas.polyline([at(angle, _RADIUS + 8), at(angle, _RADIUS + 14), (x, y)])
            )
            label, bold = _label(cut), counts[cut.enzyme] == 1
            elements.append(text(x + sign * 4, y, label, anchor, bold=bold, kind="cut-label"))
    return _with_legend(width, height, elements, counts, colors)


def draw_line(length: int, cuts: Sequence[Cut]) -> Picture:
    """Draw a line with the cuts labelled above it."""
    for limit in range(_MAX_LABELS, -1, -4):
        labelled, colors = _choose_labels(cuts, limit)
        placed = _place_tiers(length, labelled)
        if max((tier for _, tier, _ in placed), default=0) < _MAX_TIERS:
            break
    left = 30.0
    tiers = 1 + max((tier for _, tier, _ in placed), default=0)
    base = 24 + tiers * _LABEL_HEIGHT
    right = max([_LINE_LENGTH, *(x + text_width(_label(cut)) * 1.06 for x, _, cut in placed)])
    width, height = left + right + 34, base + 52
    elements = [canvas.rectangle(left, base, _LINE_LENGTH, 10, canvas.PALE)]
    step = nice_step(length, 6)
    marks = [1, *range(step, length - step // 2, step), length]
    for position in dict.fromkeys(marks):
        x = left + (position - 0.5) / length * _LINE_LENGTH
        elements.append(line((x, base + 10), (x, base + 15)))
        elements.append(
            text(x, base + 23, f"{position:,}", "middle", size=canvas.SMALL, fill=canvas.MUTED_INK)
        )
    elements.append(
        text(left + _LINE_LENGTH / 2, base + 42, f"{length:,} bp, linear", "middle", bold=True)
    )
    counts = Counter(cut.enzyme for cut in cuts)
    for x, tier, cut in placed:
        y = base - 12 - tier * _LABEL_HEIGHT
        elements.append(line((left + x, base - 4), (left + x, y)))
        elements.append(
            text(left + x + 3, y - 3, _label(cut), bold=counts[cut.enzyme] == 1, kind="cut-label")
        )
    for cut in _distinct(cuts, length):
        x = left + (cut.position - 1) / length * _LINE_LENGTH
        color = colors.get(cut.enzyme, canvas.INK)
        elements.append(line((x, base - 4), (x, base + 12), color, 2, kind="cut"))
    return _with_legend(width, height, elements, counts, colors)


def _distinct(cuts: Sequence[Cut], length: int) -> Sequence[Cut]:
    """Return the cuts except those that would overlap others in the drawing."""
    if len(cuts) <= _MAX_TICKS:
        return cuts
    places = {(cut.position * _MAX_TICKS // length, cut.enzyme): cut for cut in cuts}
    return list(places.values())


def _label(cut: Cut) -> str:
    return f"{plain(cut.enzyme, 24)} {cut.position:,}"


def _scale_number(point: Point, angle: float, position: int) -> str:
    """Return a number inside the circle, on the inner side of its mark."""
    across, down = sin(angle), -cos(angle)
    anchor = "end" if across > 0.35 else "start" if across < -0.35 else "middle"
    y = point[1] - 6 * down
    number = f"{position:,}"
    return text(point[0], y, number, anchor, size=canvas.SMALL, fill=canvas.MUTED_INK)


def _choose_labels(cuts: Sequence[Cut], limit: int) -> tuple[list[Cut], dict[str, str]]:
    """Return the cuts to label, and the colors of the enzymes without labels.

    The enzymes that cut least often are labelled first.
    """
    counts = Counter(cut.enzyme for cut in cuts)
    labels: set[str] = set()
    room = limit
    for enzyme, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        room -= count
        if room < 0:
            break
        labels.add(enzyme)
    others = [enzyme for enzyme, _ in counts.most_common() if enzyme not in labels]
    colors = dict.fromkeys(others, canvas.RULE)
    colors |= dict(zip(others, canvas.ENZYME_COLORS, strict=False))
    return [cut for cut in cuts if cut.enzyme in labels], colors


def _place_tiers(length: int, cuts: Sequence[Cut]) -> list[tuple[float, int, Cut]]:
    """Return the place of each label along the line, and its tier above it.

    A label is above the labels that begin below it, so that it crosses none of their lines.
    """
    placed: list[tuple[float, int, Cut]] = []
    for cut in reversed(cuts):
        x = (cut.position - 1) / length * _LINE_LENGTH
        end = x + text_width(_label(cut)) * 1.06 + 8
        covered = [tier for other, tier, _ in placed if other < end]
        placed.append((x, max(covered, default=-1) + 1, cut))
    return placed


def _with_legend(
    width: float, height: float, elements: list[str], counts: Counter[str], colors: dict[str, str]
) -> Picture:
    """Add the enzymes that are identified by color, and what bold labels mean."""
    if any(count == 1 and enzyme not in colors for enzyme, count in counts.items()):
        elements.append(text(8, height + 6, "Bold: cuts once", size=canvas.SMALL))
        height += 16
    if not colors:
        return width, height, elements
    entries = [
        (color, f"{plain(enzyme, 16)}: {pluralize(counts[enzyme], 'cut')}")
        for enzyme, color in colors.items()
        if color != canvas.RULE
    ]
    rest = [enzyme for enzyme, color in colors.items() if color == canvas.RULE]
    if rest:
        cuts = pluralize(sum(counts[name] for name in rest), "cut")
        entries.append((canvas.RULE, f"{pluralize(len(rest), 'other')}: {cuts}"))
    columns = max(1, int(width // 170))
    for index, (color, label) in enumerate(entries):
        x = 8 + index % columns * 170
        y = height + 8 + index // columns * 16
        elements.append(line((x, y), (x + 14, y), color, 3))
        elements.append(text(x + 19, y, label, size=canvas.SMALL))
    return width, height + 8 + 16 * ceil(len(entries) / columns), elements
