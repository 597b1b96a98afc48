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
    """Return an SVG document of the standard width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="{SIZE}" '
        f'fill="{INK}">{"".join(pieces)}</svg>'
    )


def text_element(text: str, x: float, y: float, anchor: str = "start", more: str = "") -> str:
    """Return a text element, vertically centred at `y`."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y + SIZE * 0.35:.1f}"{anchored}{more}>{escape(text)}</text>'


def polyline(points: Sequence[tuple[float, float]], color: str = FAINT, width: float = 1) -> str:
    """Return a line through the points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def path_element(path: str, color: str, title: str = "") -> str:
    """Return a filled path."""
    named = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{path}" fill="{readable_colour(color)}">{named}</path>'


def truncate(text: str, letters: int) -> str:
    """Return a name shortened to at most `letters` characters."""
    return text if len(text) <= letters else text[: letters - 1].rstrip() + "…"


def text_width(text: str) -> float:
    """Return the approximate width of a text."""
    return len(text) * _LETTER


def readable_colour(color: str) -> str:
    """Return a colour of the same hue that is readable on white and on black."""
    digits = color[1:] if len(color) == 7 else "".join(digit * 2 for digit in color[1:])
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    hue, light, strong = colorsys.rgb_to_hls(red, green, blue)
    toned = colorsys.hls_to_rgb(hue, min(max(light, 0.42), 0.66), strong)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in toned)


def spread_positions(
    positions: Sequence[float], gap: float, low: float, high: float
) -> list[float]:
    """Move sorted positions minimally so that they are `gap` apart and within `low` and `high`.

    Neighbours that would overlap are pooled, and a pool is centred on its desired positions.
    """
    pools: list[tuple[float, int]] = []  # the first position and the size of each pool
    sums: list[float] = []
    for place in positions:
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
    """Return a round tick distance for about `ticks` ticks."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * ticks >= length:
                return factor * power
        power *= 10
