"""A secondary structure as SVG, each base shaded by how likely it is as drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_STEP = 15.0
"""ViennaRNA's distance of neighbours in a layout."""


def pairs(structure: str) -> Iterator[tuple[int, int]]:
    """The base pairs `(i, j)`, from 1, of a structure in dot-bracket form."""
    opened: list[int] = []
    for place, mark in enumerate(structure, 1):
        if mark == "(":
            opened.append(place)
        elif mark == ")":
            yield opened.pop(), place


def drawing(
    sequence: str,
    structure: str,
    points: Sequence[tuple[float, float]],
    probabilities: Mapping[tuple[int, int], float],
) -> str:
    """Draw `structure`.

    Args:
        sequence: the bases.
        structure: dot-bracket.
        points: a place for each base.
        probabilities: of the pairs `(i, j)`, i < j, from 1; a pair that is absent has none.
    """
    drawn = list(pairs(structure))
    paired = [0.0] * (len(sequence) + 1)
    for (i, j), probability in probabilities.items():
        paired[i] += probability
        paired[j] += probability
    sure = [1 - p for p in paired]
    for i, j in drawn:
        sure[i] = sure[j] = probabilities.get((i, j), 0.0)
    left = min(x for x, _ in points) - _STEP
    top = min(y for _, y in points) - _STEP
    at = [(x - left, y - top) for x, y in points]
    width, height = (max(axis) + _STEP for axis in zip(*at, strict=True))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    body = [f'<polyline points="{path}" fill="none" stroke="#999999" stroke-width="1.5"/>']
    for i, j in drawn:
        (x1, y1), (x2, y2) = at[i - 1], at[j - 1]
        body.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#555555" stroke-width="2"/>'
        )
    for base, (x, y), probability in zip(sequence, at, sure[1:], strict=True):
        body.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{_shade(probability)}" '
            f'stroke="#555555" stroke-width="0.5"/>'
            f'<text x="{x:.1f}" y="{y + 3:.1f}" font-family="sans-serif" font-size="8" '
            f'text-anchor="middle" fill="#222222">{base}</text>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * 1.5:.0f}" '
            f'height="{height * 1.5:.0f}" viewBox="0 0 {width:.1f} {height:.1f}">',
            f'<rect width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _shade(probability: float) -> str:
    """From white, not likely as drawn, to orange, certain."""
    share = min(max(probability, 0.0), 1.0)
    channels = (round(255 + (end - 255) * share) for end in (244, 165, 96))
    return "#" + "".join(f"{channel:02x}" for channel in channels)
