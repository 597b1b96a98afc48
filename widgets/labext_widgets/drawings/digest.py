"""A restriction map with a simulated gel of the fragments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, log10

from labext.messages import pluralize
from labext_widgets.core.layout import spread
from labext_widgets.core.markup import plain
from labext_widgets.drawings import canvas, restriction_map
from labext_widgets.drawings.canvas import Drawing, Table, line, rectangle, svg_document, text
from labext_widgets.drawings.restriction_map import Cut, Picture

LADDERS: Mapping[str, Sequence[int]] = {
    "100 bp": (1517, 1200, 1000, 900, 800, 700, 600, 500, 400, 300, 200, 100),
    "1 kb": (10000, 8000, 6000, 5000, 4000, 3000, 2000, 1500, 1000, 500),
    "1 kb plus": (10000, 8000, 6000, 5000, 4000, 3000, 2000, 1500, 1000, 700, 500, 300, 200, 100),
}
_RANGES = {"100 bp": (1900, 70), "1 kb": (12500, 330), "1 kb plus": (12500, 70)}
"""The sizes at the top and at the bottom of the gel."""

_BRIGHT = {500, 1000, 3000}
"""The reference bands of the ladders."""

_TOP, _LANE, _GAP = 54.0, 56.0, 22.0
_MIN_HEIGHT, _MAX_HEIGHT = 400.0, 560.0
_LEFT, _LABELS = 62.0, 130.0
_GEL, _BAND, _WELL = "#1f2a3a", "#f4f7fb", "#0b111b"
_LABEL_GAP = 13.0
_MAX_LOST = 4


def choose_ladder(sizes: Sequence[int]) -> str:
    """Return the ladder that covers most of the sizes."""
    if max(sizes) <= 1500:
        return "100 bp"
    return "1 kb plus" if min(sizes) < 400 else "1 kb"


def migration(size: float, ladder: str) -> float:
    """Return the migration of a fragment, from 0 at the top of the gel to 1 at its bottom.

    The distance falls with the logarithm of the size; fragments beyond the range are at an end.
    """
    top, bottom = _RANGES[ladder]
    share = (log10(top) - log10(size)) / (log10(top) - log10(bottom))
    return min(max(share, 0.0), 1.0)


def draw_gel(sizes: Mapping[int, int]) -> Picture:
    """Draw the gel, given the number of fragments of each size."""
    ladder = choose_ladder(list(sizes))
    _, smallest = _RANGES[ladder]
    width = 2 * _LANE + 3 * _GAP
    visible = sorted((size for size in sizes if size >= smallest), reverse=True)
    height = min(max(_MIN_HEIGHT, len(visible) * _LABEL_GAP), _MAX_HEIGHT)
    bottom = _TOP + height
    elements = [rectangle(_LEFT, _TOP - 22, width, height + 30, _GEL, radius=3)]
    lanes = (_LEFT + _GAP, _LEFT + 2 * _GAP + _LANE)
    for x, title in zip(lanes, (f"{ladder} ladder", "digest"), strict=True):
        elements.append(rectangle(x, _TOP - 15, _LANE, 6, _WELL, stroke="#5d6b7f"))
        for row, word in enumerate(reversed(title.rsplit(" ", 1))):
            elements.append(text(x + _LANE / 2, _TOP - 34 - 13 * row, word, "middle", size=11))
    marks = LADDERS[ladder]
    for mark in marks:
        y = _TOP + migration(mark, ladder) * height
        elements.append(_band(lanes[0], y, 0.95 if mark in _BRIGHT else 0.62, 3, "ladder"))
    labels = [(_TOP + migration(mark, ladder) * height, f"{mark:,}") for mark in marks]
    elements += _labels(labels, _LEFT, -1, bottom)
    heaviest = max((size * sizes[size] for size in visible), default=1)
    entries = []
    for size in visible:
        y = _TOP + migration(size, ladder) * height
        brightness = 0.45 + 0.55 * (size * sizes[size] / heaviest) ** 0.5
        thickness = min(3 + 1.2 * (sizes[size] - 1), 7)
        elements.append(_band(lanes[1], y, brightness, thickness, "band"))
        entries.append((y, size))
    capacity = int(height / _LABEL_GAP) + 1
    elements += _labels(_group(entries, sizes, capacity), _LEFT + width, 1, bottom)
    lost = sorted((size for size in sizes if size < smallest), reverse=True)
    elements.append(text(_LEFT - 8, _TOP - 34, "bp", "end", size=11, fill=canvas.MUTED_INK))
    bottom += 16
    if lost:
        elements.append(text(_LEFT, bottom + 8, f"Run off the gel, < {smallest} bp:", size=11))
        note = ", ".join(_size_label(size, sizes[size]) for size in lost[:_MAX_LOST])
        if len(lost) > _MAX_LOST:
            note = f"{sum(sizes[size] for size in lost)} fragments: {note}, …"
        elements.append(text(_LEFT, bottom + 23, note, size=11))
        bottom += 32
    return _LEFT + width + _LABELS, bottom, elements


def _size_label(size: int, count: int) -> str:
    return f"{size:,}" if count == 1 else f"{size:,} ×{count}"


def _band(x: float, y: float, brightness: float, thickness: float, kind: str) -> str:
    return rectangle(
        x, y - thickness / 2, _LANE, thickness, _BAND, radius=1, opacity=brightness, kind=kind
    )


def _group(
    entries: Sequence[tuple[float, int]], sizes: Mapping[int, int], capacity: int
) -> list[tuple[float, str]]:
    """Return the labels of the bands, one for several neighbours if there is no room for all."""
    per_label = max(1, ceil(len(entries) / capacity))
    labels = []
    for start in range(0, len(entries), per_label):
        group = entries[start : start + per_label]
        middle = sum(y for y, _ in group) / len(group)
        first, last = group[0][1], group[-1][1]
        if first == last:
            labels.append((middle, _size_label(first, sizes[first])))
        else:
            count = sum(sizes[size] for _, size in group)
            labels.append((middle, f"{first:,}–{last:,} ({count})"))
    return labels


def _labels(
    entries: Sequence[tuple[float, str]], x: float, direction: int, bottom: float
) -> list[str]:
    """Return labels beside the gel with lines to their bands."""
    anchor, kind = ("start", "band-label") if direction > 0 else ("end", "ladder-label")
    end = x + direction * (22 if direction > 0 else 12)
    places = spread([y for y, _ in entries], _LABEL_GAP, _TOP - 14, bottom)
    elements = []
    for (y, label), place in zip(entries, places, strict=True):
        elements.append(line((x, y), (end, place)))
        label_x = end + 3 * direction
        elements.append(text(label_x, place, label, anchor, size=canvas.SMALL, kind=kind))
    return elements


_ROWS_SHOWN = 40
_SPACE = 24


@dataclass(frozen=True)
class Fragment:
    """A fragment of a digest; positions are counted from 1.

    Attributes:
        start: its first base.
        end: its last base; less than `start` if it spans the origin of a circle.
        length: in base pairs.
        left: the enzyme that cut before `start`, or empty at the end of linear DNA.
        right: the enzyme that cut after `end`, or empty.
    """

    start: int
    end: int
    length: int
    left: str
    right: str


class DigestView(Drawing):
    """A restriction map and a gel.

    Attributes:
        length: the length of the DNA.
        circular: True for a circle.
        fragments: the fragments, in the order of the file.
        cuts: the cuts in order of position.
    """

    def __init__(self, name: str, length: int, circular: bool, fragments: list[Fragment]) -> None:
        self.length = length
        self.circular = circular
        self.fragments = fragments
        self.cuts = sorted(
            Cut(fragment.start, fragment.left) for fragment in fragments if fragment.left
        )
        shape = "circular" if circular else "linear"
        summary = (
            f"restriction digest of {length:,} bp of {shape} DNA, "
            f"{pluralize(len(self.cuts), 'cut')}, {pluralize(len(fragments), 'fragment')}"
        )
        largest = sorted(fragments, key=lambda fragment: -fragment.length)
        notes = []
        if len(largest) > _ROWS_SHOWN:
            notes.append(f"Showing the {_ROWS_SHOWN} largest of {len(largest)} fragments.")
        draw = restriction_map.draw_circle if circular else restriction_map.draw_line
        cuts_map = draw(length, self.cuts)
        gel = draw_gel(Counter(fragment.length for fragment in fragments))
        rows = [
            [
                fragment.length,
                fragment.start,
                fragment.end,
                f"{fragment.left or 'end'} – {fragment.right or 'end'}" if self.cuts else "",
            ]
            for fragment in largest[:_ROWS_SHOWN]
        ]
        columns = ["bp", "start", "end", "cut by"]
        parts = {"restriction map": svg_document(*cuts_map), "gel": svg_document(*gel)}
        picture = _side_by_side(cuts_map, gel)
        super().__init__(name, picture, summary, columns, rows, notes, parts)


def _side_by_side(left: Picture, right: Picture) -> str:
    left_width, left_height, left_elements = left
    right_width, right_height, right_elements = right
    height = max(left_height, right_height)
    x = left_width + _SPACE
    elements = [
        f'<g transform="translate(0 {(height - left_height) / 2:.1f})">',
        *left_elements,
        f'</g><g transform="translate({x:.1f} {(height - right_height) / 2:.1f})">',
        *right_elements,
        "</g>",
    ]
    return svg_document(x + right_width, height, elements)


def digest_view(csv: str, *, name: str, length: int | None, circular: bool) -> DigestView:
    """Return the restriction map and the gel of a digest.

    Args:
        csv: the table of the fragments.
        name: the job's name.
        length: the length of the DNA; by default the sum of the fragments.
        circular: whether the DNA is a circle; if it was cut, the table shows this, too.

    Raises:
        InputError: the table is not valid.
    """
    columns = ("start", "end", "length", "left_enzyme", "right_enzyme")
    table = Table(csv, columns, "restriction digest")
    clean = cache(lambda enzyme: plain(enzyme or "", 60))
    fragments = [
        Fragment(
            table.whole(row, "start"),
            table.whole(row, "end"),
            table.whole(row, "length"),
            clean(row["left_enzyme"]),
            clean(row["right_enzyme"]),
        )
        for row in table.rows
    ]
    _check(table, fragments, length)
    total = sum(fragment.length for fragment in fragments)
    is_circle = all(fragment.left and fragment.right for fragment in fragments)
    is_cut = any(fragment.left or fragment.right for fragment in fragments)
    return DigestView(name, total, is_circle if is_cut else circular, fragments)


def _check(table: Table, fragments: Sequence[Fragment], length: int | None) -> None:
    if not fragments:
        raise table.invalid("it has no fragments")
    total = sum(fragment.length for fragment in fragments)
    if length is not None and length != total:
        raise table.invalid(f"the fragments add up to {total:,} bp, not {length:,}")
    if any(max(fragment.start, fragment.end) > total for fragment in fragments):
        raise table.invalid(f"a fragment ends after the last base, {total:,}")
