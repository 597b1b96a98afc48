"""An RNA secondary structure, with base pairs colored by their probability."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from labext.errors import InputError
from labext.messages import pluralize
from labext_widgets.core.markup import plain
from labext_widgets.drawings import canvas
from labext_widgets.drawings.canvas import (
    Drawing,
    Point,
    Table,
    circle,
    line,
    polyline,
    rectangle,
    shade,
    text,
)
from labext_widgets.drawings.rna_layout import lay_out, overlaps

MAX_DRAWN = 600
"""Number of bases up to which a structure is laid out here."""

MAX_LENGTH = 20_000
_MAX_LETTERED_WIDTH = 1150.0
_MAX_TOOL_PICTURE = 2_000_000
_MARGIN = 42.0
_LEGEND_HEIGHT = 58.0
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_LINE = 60
_PLAIN_PAIR = "#8fc1e3"
"""Color of paired bases if their probabilities are not known."""


@dataclass(frozen=True)
class _Style:
    step: float
    radius: float
    letters: bool
    numbered: int


_LETTERED = _Style(step=19.0, radius=8.0, letters=True, numbered=10)
_COMPACT = _Style(step=9.0, radius=3.8, letters=False, numbered=20)


@dataclass(frozen=True)
class Structure:
    """A secondary structure.

    Attributes:
        sequence: the bases.
        brackets: the structure in dot-bracket notation.
        pairs: the pairs as indices from 0, sorted; i < j.
        mfe: the minimum free energy in kcal/mol if the file has it.
    """

    sequence: str
    brackets: str
    pairs: Sequence[tuple[int, int]]
    mfe: float | None


class RnaView(Drawing):
    """A secondary structure.

    Attributes:
        structure: the first structure of the file.
        probabilities: the probability of each likely pair (i, j), counted from 1, or None.
    """

    def __init__(
        self,
        name: str,
        structure: Structure,
        probabilities: Mapping[tuple[int, int], float] | None,
        tool_svg: str | None,
    ) -> None:
        self.structure = structure
        self.probabilities = probabilities
        length = len(structure.sequence)
        self._layout = layout = _lay_out(structure) if length <= MAX_DRAWN else []
        if tool_svg and _is_picture(tool_svg) and (not layout or overlaps(layout)):
            svg = tool_svg
        elif layout:
            svg = _draw(structure, layout, probabilities)
        else:
            raise InputError(
                f"{plain(name)} has {length:,} bases; up to {MAX_DRAWN} are drawn.", "Download it."
            )
        energy = "" if structure.mfe is None else f", {_energy(structure.mfe)}"
        bases, pairs = pluralize(length, "base"), pluralize(len(structure.pairs), "base pair")
        summary = f"RNA secondary structure of {bases}, {pairs}{energy}"
        super().__init__(name, svg, summary, [], [])

    def thumbnail(self, width: int, height: int) -> str:
        """Return a small picture as SVG, without letters; all structures of 600 bases fit."""
        if not self._layout:
            return self.svg
        return _draw_thumbnail(self.structure, self._layout, self.probabilities, width, height)

    def __str__(self) -> str:
        """Return the sequence above the structure in dot-bracket notation."""
        lines = [f"{plain(self.name)}: {self.summary}"]
        for start in range(0, len(self.structure.sequence), _LINE):
            number = f"{start + 1:>6}  "
            lines.append(number + self.structure.sequence[start : start + _LINE])
            lines.append(" " * len(number) + self.structure.brackets[start : start + _LINE])
        return "\n".join(lines)


def rna_view(dbn: str, pairs: str | None, svg: str | None, *, name: str) -> RnaView:
    """Return the drawing of an RNA secondary structure.

    Args:
        dbn: a file in dot-bracket notation; its first structure is drawn.
        pairs: the table of the probabilities of the base pairs.
        svg: a drawing of the tool, which is used for structures that are too long.
        name: the job's name.

    Raises:
        InputError: a file is not valid, or the structure is too long.
    """
    structure = parse_dot_bracket(dbn)
    probabilities = None
    if pairs is not None:
        table = Table(pairs, ("i", "j", "probability"), "base-pair probabilities")
        probabilities = {}
        for row in table.rows:
            i, j = table.whole(row, "i"), table.whole(row, "j")
            probability = table.number(row, "probability")
            if not 0 <= probability <= 1 or max(i, j) > len(structure.sequence):
                raise table.invalid(f"the pair {i}, {j} is not one of this structure")
            probabilities[min(i, j), max(i, j)] = probability
    return RnaView(name, structure, probabilities, svg)


def parse_dot_bracket(content: str) -> Structure:
    """Return the first structure of a file in dot-bracket notation.

    Raises:
        InputError: the file has no structure, or it is not valid.
    """
    header = ""
    lines = [line.strip() for line in content.lstrip("\ufeff").splitlines() if line.strip()]
    if lines and lines[0].startswith(">"):
        header = lines.pop(0)
    if len(lines) < 2 or lines[1].startswith(">"):
        raise _invalid("it has no structure below a sequence")
    sequence = lines[0].upper()
    brackets, _, energy = lines[1].partition(" ")
    if not re.fullmatch("[A-Z]+", sequence):
        raise _invalid("its sequence has characters other than letters")
    if len(sequence) > MAX_LENGTH:
        raise _invalid(f"its sequence is longer than {MAX_LENGTH:,} bases")
    if len(sequence) != len(brackets):
        raise _invalid(f"{len(sequence)} bases have {len(brackets)} symbols")
    match = re.search(r"\bmfe\s*=?\s*(-?\d+(?:\.\d+)?)", header, re.IGNORECASE) or re.search(
        r"\(\s*(-?\d+(?:\.\d+)?)\s*\)", energy
    )
    mfe = float(match[1]) if match else None
    return Structure(sequence, brackets, _find_pairs(brackets), mfe)


def _find_pairs(brackets: str) -> list[tuple[int, int]]:
    opened: dict[str, list[int]] = {symbol: [] for symbol in _BRACKETS.values()}
    pairs = []
    for index, symbol in enumerate(brackets):
        if symbol in opened:
            opened[symbol].append(index)
        elif symbol in _BRACKETS:
            if not opened[_BRACKETS[symbol]]:
                raise _invalid(f'"{symbol}" at {index + 1} closes no pair')
            pairs.append((opened[_BRACKETS[symbol]].pop(), index))
        elif symbol not in ".,:_-":
            raise _invalid(f'"{plain(symbol)}" is not a symbol of dot-bracket notation')
    unclosed = [index for indices in opened.values() for index in indices]
    if unclosed:
        raise _invalid(f"the pair that opens at {min(unclosed) + 1} is not closed")
    return sorted(pairs)


def _invalid(reason: str) -> InputError:
    return InputError(f"This is not a valid dot-bracket file: {reason}.", "Download it.")


def _is_picture(svg: str) -> bool:
    return "<svg" in svg[:2000] and len(svg) <= _MAX_TOOL_PICTURE


def _energy(mfe: float) -> str:
    return f"MFE {mfe:z.2f} kcal/mol".replace("-", "\u2212")


def _lay_out(structure: Structure) -> list[Point]:
    partners: list[int | None] = [None] * len(structure.sequence)
    for i, j in structure.pairs:
        if structure.brackets[i] == "(":  # other brackets denote crossing pairs
            partners[i], partners[j] = j, i
    return _rotate_tall(lay_out(partners))


def _draw(
    structure: Structure,
    layout: Sequence[Point],
    probabilities: Mapping[tuple[int, int], float] | None,
) -> str:
    style = _LETTERED
    if _extent(layout)[0] * style.step + 2 * _MARGIN > _MAX_LETTERED_WIDTH:
        style = _COMPACT
    left, top = min(x for x, _ in layout), max(y for _, y in layout)
    points = [
        (_MARGIN + (x - left) * style.step, _MARGIN + (top - y) * style.step) for x, y in layout
    ]
    width = max(max(x for x, _ in points) + _MARGIN, 330.0)
    height = max(y for _, y in points) + _MARGIN
    elements = [polyline(points, canvas.RULE, 1.2 if style.letters else 1, kind="strand")]
    fills = ["#ffffff"] * len(points)
    for i, j in structure.pairs:
        color = _PLAIN_PAIR
        if probabilities is not None:
            color = shade(probabilities.get((i + 1, j + 1), 0.0))
        fills[i] = fills[j] = color
        dash = "" if structure.brackets[i] == "(" else "4 3"
        elements.append(
            line(points[i], points[j], canvas.MUTED_INK, style.radius / 3, kind="pair", dash=dash)
        )
    for base, point, fill in zip(structure.sequence, points, fills, strict=True):
        elements.append(circle(point, style.radius, fill, stroke=canvas.MUTED_INK, width=0.8))
        if style.letters:
            ink = canvas.ink_on(fill)
            elements.append(text(*point, base, "middle", size=canvas.SMALL, fill=ink))
    elements += _number_bases(points, style)
    elements += _legend(structure, height, known=probabilities is not None)
    return canvas.svg_document(width, height + _LEGEND_HEIGHT, elements)


_FINENESS = 3
"""Units of a thumbnail per pixel, so that coordinates are short whole numbers."""


_UNPAIRED = "#b9c0c8"
_MIN_STEP = 2.5
"""Distance of neighbours in pixels, below which pairs are lines, and other bases have no dots."""


def _draw_thumbnail(
    structure: Structure,
    layout: Sequence[Point],
    probabilities: Mapping[tuple[int, int], float] | None,
    width: int,
    height: int,
) -> str:
    """Return a picture with a path per color, which takes a few bytes per base."""
    left, top = min(x for x, _ in layout), max(y for _, y in layout)
    extent = _extent(layout)
    margin, legend = 12.0, 20.0
    step = min(
        (width - 2 * margin) / (extent[0] or 1),
        (height - legend - 2 * margin) / (extent[1] or 1),
        16.0,
    )
    inset = ((width - extent[0] * step) / 2, (height - legend - extent[1] * step) / 2)
    points = [
        (
            round((inset[0] + (x - left) * step) * _FINENESS),
            round((inset[1] + (top - y) * step) * _FINENESS),
        )
        for x, y in layout
    ]
    pairs: dict[str, list[tuple[int, int]]] = {}
    for i, j in structure.pairs:
        color = _PLAIN_PAIR
        if probabilities is not None:
            color = shade(round(probabilities.get((i + 1, j + 1), 0.0) * 10) / 10)
        pairs.setdefault(color, []).extend((points[i], points[j]))
    dot = 2 * min(max(0.42 * step, 1.0), 6.0) * _FINENESS
    elements = [_path(points, "l", canvas.RULE, _FINENESS)]
    if step < _MIN_STEP:
        elements += [_path(ends, "ml", color, dot) for color, ends in pairs.items()]
    else:
        paired = [end for ends in pairs.values() for end in ends]
        elements.append(_path(paired, "ml", canvas.MUTED_INK, 1.3 * _FINENESS))
        unpaired = [point for point in points if point not in {*paired}]
        dots = {_UNPAIRED: unpaired, **pairs}
        elements += [_path(ends, "m", color, dot) for color, ends in dots.items()]
    if probabilities is not None:
        elements += _thumbnail_legend(width, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width * _FINENESS} {height * _FINENESS}" '
        'font-family="Helvetica,Arial,sans-serif">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g fill="none" stroke-linecap="round">{"".join(elements)}</g></svg>'
    )


def _path(points: Sequence[tuple[int, int]], commands: str, color: str, width: float) -> str:
    """Return a path that goes through points by relative commands in turn.

    `l` draws one line, `ml` a line for each two points, and `m` a dot at each point.
    """
    parts = []
    x = y = 0
    for number, (next_x, next_y) in enumerate(points):
        command = commands[number % len(commands)] if number else "m"
        dx, dy = next_x - x, next_y - y
        parts.append(f"{command}{dx}{dy}" if dy < 0 else f"{command}{dx} {dy}")
        if commands == "m":
            parts.append("h0")
        x, y = next_x, next_y
    return f'<path d="{"".join(parts)}" stroke="{color}" stroke-width="{width:.4g}"/>'


def _thumbnail_legend(width: int, height: int) -> list[str]:
    """Return the scale of the pair probabilities, centered at the bottom."""
    size, x, y = 11 * _FINENESS, (width / 2 - 20) * _FINENESS, (height - 10) * _FINENESS
    steps, step = 10, 8 * _FINENESS
    style = f'font-size="{size}" fill="{canvas.INK}"'
    baseline = f'y="{y + 0.35 * size:.0f}"'
    elements = [
        f'<text x="{x - 18 * _FINENESS:.0f}" {baseline} text-anchor="end" {style}>'
        "Pair probability</text>",
        f'<text x="{x - 6 * _FINENESS:.0f}" {baseline} text-anchor="end" {style}>0</text>',
        f'<text x="{x + steps * step + 6 * _FINENESS:.0f}" {baseline} {style}>1</text>',
    ]
    for number in range(steps):
        color = shade((number + 0.5) / steps)
        elements.append(
            f'<path d="M{x + number * step:.0f} {y:.0f}h{step}" stroke="{color}" '
            f'stroke-width="{8 * _FINENESS}" stroke-linecap="butt"/>'
        )
    return elements


def _extent(points: Sequence[Point]) -> Point:
    horizontal, vertical = zip(*points, strict=True)
    return max(horizontal) - min(horizontal), max(vertical) - min(vertical)


def _rotate_tall(points: list[Point]) -> list[Point]:
    """Turn a tall structure so that its 5' end is at the left."""
    width, height = _extent(points)
    if height < 22 or height < 1.3 * width:
        return points
    return [(y, -x) for x, y in points]


def _number_bases(points: Sequence[Point], style: _Style) -> list[str]:
    """Return the marks of the two ends and the number of every tenth or twentieth base."""
    last = len(points) - 1
    labels = {index: str(index + 1) for index in range(style.numbered - 1, last, style.numbered)}
    labels |= {last: "3′", 0: "5′"}
    elements = []
    for index, label in labels.items():
        size = canvas.SMALL if label.isdigit() else 14
        reach = style.radius + 11
        x, y = points[index]
        others = [*points[:index], *points[index + 1 :]]
        spot = max(
            _around(points, index, reach),
            key=lambda place: min(
                (hypot(place[0] - other_x, place[1] - other_y) for other_x, other_y in others),
                default=reach,
            ),
        )
        if label.isdigit():
            inner = style.radius / reach
            start = (x + (spot[0] - x) * inner, y + (spot[1] - y) * inner)
            end = (x + (spot[0] - x) * 0.72, y + (spot[1] - y) * 0.72)
            elements.append(line(start, end, canvas.MUTED_INK))
        across = (spot[0] - x) / reach
        anchor = "end" if across < -0.5 else "start" if across > 0.5 else "middle"
        shift = 4 if anchor == "end" else -4 if anchor == "start" else 0
        bold = not label.isdigit()
        elements.append(text(spot[0] + shift, spot[1], label, anchor, size=size, bold=bold))
    return elements


def _around(points: Sequence[Point], index: int, reach: float) -> list[Point]:
    """Return places for a label around a base, those at right angles to the strand first."""
    x, y = points[index]
    before, after = points[max(index - 1, 0)], points[min(index + 1, len(points) - 1)]
    along = (after[0] - before[0], after[1] - before[1])
    length = hypot(*along) or 1.0
    across = (-along[1] / length, along[0] / length)
    diagonals = [(dx * 0.7, dy * 0.7) for dx in (-1, 1) for dy in (-1, 1)]
    straight = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)]
    directions = [across, (-across[0], -across[1]), *straight, *diagonals]
    return [(x + reach * dx, y + reach * dy) for dx, dy in directions]


def _legend(structure: Structure, top: float, *, known: bool) -> list[str]:
    x, y = 16.0, top + 12
    elements = []
    if structure.mfe is not None:
        elements.append(text(x, y, _energy(structure.mfe), bold=True))
        x += 170
    elements.append(circle((x + 6, y), 6, "#ffffff", stroke=canvas.MUTED_INK, width=0.8))
    elements.append(text(x + 17, y, "not paired"))
    x, y = 16.0, y + 22
    if not known:
        elements.append(circle((x + 6, y), 6, _PLAIN_PAIR, stroke=canvas.MUTED_INK, width=0.8))
        elements.append(text(x + 17, y, "paired"))
        return elements
    elements.append(text(x, y, "Pair probability"))
    x += 112
    steps, width = 40, 3.6
    for step in range(steps):
        elements.append(
            rectangle(x + step * width, y - 6, width + 0.4, 12, shade((step + 0.5) / steps))
        )
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        place = x + share * steps * width
        elements.append(text(place, y + 14, f"{share:g}", anchor, size=canvas.SMALL))
    return elements
