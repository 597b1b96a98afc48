"""SVG elements of drawings on a white background, and the placement of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from labext_widgets.core.markup import plain

INK, MUTED_INK, RULE, PALE = "#222222", "#555555", "#8c8c8c", "#d9dde2"
BLUE, VERMILLION = "#0072b2", "#d55e00"
ENZYME_COLOURS = ("#0072b2", "#d55e00", "#007a5e", "#a4508b", "#8a6d00", "#31739c")
"""Dark variants of the Okabe-Ito colours, which colour-blind people can tell apart."""

SHADES = ("#fff7bc", "#c7e9b4", "#7fcdbb", "#41b6c4", "#225ea8", "#253494")
"""A sequential scale from light (low) to dark (high)."""

FONT_SIZE = 12
SMALL = 11

Point = tuple[float, float]


def svg_document(width: float, height: float, elements: Iterable[str]) -> str:
    """Return an SVG document with a white background."""
    width, height = math.ceil(width), math.ceil(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica,Arial,sans-serif" '
        f'font-size="{FONT_SIZE}" fill="{INK}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(elements)}</svg>'
    )


def text(
    x: float,
    y: float,
    content: object,
    anchor: str = "start",
    *,
    size: float = FONT_SIZE,
    fill: str = "",
    bold: bool = False,
    mono: bool = False,
    kind: str = "",
) -> str:
    """Return a text, vertically centred at `y`."""
    attributes = [f'x="{x:.1f}"', f'y="{y + 0.35 * size:.1f}"']
    optional = {
        "class": kind,
        "text-anchor": "" if anchor == "start" else anchor,
        "font-size": "" if size == FONT_SIZE else f"{size:g}",
        "fill": fill,
        "font-weight": "bold" if bold else "",
        "font-family": "Menlo,Consolas,monospace" if mono else "",
    }
    attributes += [f'{name}="{value}"' for name, value in optional.items() if value]
    return f"<text {' '.join(attributes)}>{escape(plain(content))}</text>"


def line(
    start: Point, end: Point, color: str = RULE, width: float = 1, *, kind: str = "", dash: str = ""
) -> str:
    """Return a straight line."""
    return polyline([start, end], color, width, kind=kind, dash=dash)


def polyline(
    points: Sequence[Point],
    color: str = RULE,
    width: float = 1,
    *,
    kind: str = "",
    dash: str = "",
) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    more = (f' class="{kind}"' if kind else "") + (f' stroke-dasharray="{dash}"' if dash else "")
    return (
        f'<polyline{more} points="{path}" fill="none" stroke="{color}" stroke-width="{width:g}" '
        'stroke-linejoin="round"/>'
    )


def polygon(
    points: Sequence[Point],
    fill: str,
    *,
    stroke: str = "none",
    dash: str = "",
    kind: str = "",
    title: str = "",
) -> str:
    """Return a filled polygon."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    more = (f' class="{kind}"' if kind else "") + (f' stroke-dasharray="{dash}"' if dash else "")
    inner = f"<title>{escape(plain(title))}</title>" if title else ""
    return f'<polygon{more} points="{path}" fill="{fill}" stroke="{stroke}">{inner}</polygon>'


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "none",
    radius: float = 0,
    opacity: float = 1,
    kind: str = "",
) -> str:
    """Return a filled rectangle."""
    more = f' class="{kind}"' if kind else ""
    more += f' rx="{radius:g}"' if radius else ""
    more += f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return (
        f'<rect{more} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def circle(
    centre: Point, radius: float, fill: str, *, stroke: str = "none", width: float = 1
) -> str:
    """Return a circle."""
    return (
        f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{radius:.1f}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{width:g}"/>'
    )


def text_width(content: str, size: float = FONT_SIZE, *, mono: bool = False) -> float:
    """Return an upper estimate of the width of a text."""
    return len(content) * size * (0.61 if mono else 0.6)


def shorten(content: object, limit: int) -> str:
    """Return a name of at most `limit` characters."""
    name = plain(content)
    return name if len(name) <= limit else name[: limit - 1].rstrip() + "…"


def shade(share: float) -> str:
    """Return the colour of a value between 0 and 1 on the sequential scale."""
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    index = min(int(place), len(SHADES) - 2)
    low, high = _channels(SHADES[index]), _channels(SHADES[index + 1])
    mixed = (round(a + (b - a) * (place - index)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(background: str) -> str:
    """Return black or white, whichever has more contrast on a colour."""
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (value / 255 for value in _channels(background))
    ]
    luminance = sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return ordered positions moved apart to a distance of at least `gap`.

    They stay between `low` and `high` if there is room, and close to where they were.
    """
    clusters: list[list[float]] = []  # sum of the wanted first positions, count
    for position in positions:
        clusters.append([position, 1])
        while len(clusters) > 1 and _start(clusters[-2], low, high, gap) + gap * clusters[-2][
            1
        ] > _start(clusters[-1], low, high, gap):
            total, count = clusters.pop()
            before = clusters[-1]
            before[0] += total - count * gap * before[1]
            before[1] += count
    return [
        _start(cluster, low, high, gap) + gap * index
        for cluster in clusters
        for index in range(int(cluster[1]))
    ]


def _start(cluster: Sequence[float], low: float, high: float, gap: float) -> float:
    total, count = cluster
    return max(low, min(total / count, high - gap * (count - 1)))


def nice_step(length: float, steps: int) -> int:
    """Return the distance of about `steps` marks on a scale: 1, 2 or 5 times a power of ten."""
    rough = max(length / max(steps, 1), 1)
    power = 10 ** math.floor(math.log10(rough))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= rough))


def _channels(color: str) -> tuple[int, int, int]:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue
