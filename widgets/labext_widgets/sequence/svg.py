"""SVG primitives for sequence maps, readable on light and dark backgrounds."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from html import escape

WIDTH = 640
INK, FAINT = "#7c7c7c", "#9a9a9a"
SIZE = 11
_LETTER = 0.6 * SIZE


def svg_document(height: float, pieces: Sequence[str]) -> str:
    """Return a whole picture of the standard width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="{SIZE}" '
        f'fill="{INK}">{"".join(pieces)}</svg>'
    )


def text_element(text: str, x: float, y: float, anchor: str = "start", more: str = "") -> str:
    """Return words with their middle line at `y`."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y + SIZE * 0.35:.1f}"{anchored}{more}>{escape(text)}</text>'


def polyline(points: Sequence[tuple[float, float]], color: str = FAINT, width: float = 1) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def path_element(path: str, color: str, title: str = "") -> str:
    """Return a filled path."""
    named = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{path}" fill="{readable_colour(color)}">{named}</path>'


def truncate(text: str, letters: int) -> str:
    """Return at most so many letters of a name."""
    return text if len(text) <= letters else text[: letters - 1].rstrip() + "…"


def text_width(text: str) -> float:
    """How wide words are, or a little less."""
    return len(text) * _LETTER


def readable_colour(color: str) -> str:
    """Return a colour of the same hue, not too light for white nor too dark for black."""
    digits = color[1:] if len(color) == 7 else "".join(each * 2 for each in color[1:])
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    hue, light, strong = colorsys.rgb_to_hls(red, green, blue)
    toned = colorsys.hls_to_rgb(hue, min(max(light, 0.42), 0.66), strong)
    return "#" + "".join(f"{round(each * 255):02x}" for each in toned)


def spread_positions(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move places, given in order, as little as keeps them `gap` apart, from `low` to `high`.

    Neighbours that would touch are pooled, and a pool stands around the middle of what it wants.
    """
    pools: list[tuple[float, int]] = []  # the first place of a pool, and how many are in it
    sums: list[float] = []
    for place in wanted:
        pools.append((place, 1))
        sums.append(place)
        while len(pools) > 1 and pools[-2][0] + pools[-2][1] * gap > pools[-1][0]:
            count = pools[-2][1] + pools[-1][1]
            sums[-2] += sums[-1] - pools[-2][1] * pools[-1][1] * gap
            pools[-2] = (sums[-2] / count, count)
            pools.pop()
            sums.pop()
    placed: list[float] = []
    for first, count in pools:
        first = min(first, high - (count - 1) * gap)
        first = max(first, low, placed[-1] + gap if placed else low)
        placed += [first + i * gap for i in range(count)]
    over = placed[-1] - high if placed else 0
    if over > 0:
        for i in range(len(placed) - 1, -1, -1):
            bound = high - (len(placed) - 1 - i) * gap
            placed[i] = min(placed[i], bound)
    return placed


def tick_step(length: int, ticks: int) -> int:
    """Return a round distance between about so many ticks."""
    power = 1
    while True:
        for each in (1, 2, 5):
            if each * power * ticks >= length:
                return each * power
        power *= 10
