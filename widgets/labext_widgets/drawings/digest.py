"""A restriction map beside the gel that the fragments would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from labext.messages import pluralize
from labext_widgets.core.markup import plain
from labext_widgets.drawings import gel, restriction_map
from labext_widgets.drawings.canvas import svg_document
from labext_widgets.drawings.drawing import Drawing, Table
from labext_widgets.drawings.restriction_map import Cut

_ROWS_SHOWN = 40
_SPACE = 24

Part = tuple[float, float, list[str]]
"""The width, the height and the SVG elements of a part of the picture."""


@dataclass(frozen=True)
class Fragment:
    """A fragment of a digest; positions are counted from 1.

    Attributes:
        start: its first base.
        end: its last base; less than `start` if it spans the origin of a circle.
        length: in base pairs.
        left: the enzyme that cut before `start`, or empty at the end of linear DNA.
        right: the enzyme that cut behind `end`, or empty.
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
        super().__init__(
            name,
            self._draw(),
            summary,
            ["bp", "start", "end", "cut by"],
            [
                [
                    fragment.length,
                    fragment.start,
                    fragment.end,
                    f"{fragment.left or 'end'} – {fragment.right or 'end'}" if self.cuts else "",
                ]
                for fragment in largest[:_ROWS_SHOWN]
            ],
            notes,
            {"restriction map": svg_document(*self._map()), "gel": svg_document(*self._gel())},
        )

    def _map(self) -> Part:
        draw = restriction_map.draw_circle if self.circular else restriction_map.draw_line
        return draw(self.length, self.cuts)

    def _gel(self) -> Part:
        return gel.draw_gel(Counter(fragment.length for fragment in self.fragments))

    def _draw(self) -> str:
        map_width, map_height, map_elements = self._map()
        gel_width, gel_height, gel_elements = self._gel()
        height = max(map_height, gel_height)
        x = map_width + _SPACE
        return svg_document(
            x + gel_width,
            height,
            [
                f'<g transform="translate(0 {(height - map_height) / 2:.1f})">',
                *map_elements,
                f'</g><g transform="translate({x:.1f} {(height - gel_height) / 2:.1f})">',
                *gel_elements,
                "</g>",
            ],
        )


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
