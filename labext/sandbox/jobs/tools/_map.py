"""A restriction map as SVG, linear or circular: a tick and a label for each cut."""

from __future__ import annotations

from html import escape
from math import cos, pi, sin

_STYLE = 'font-family="sans-serif" font-size="11" fill="#333333"'
_ROW = 12.0
"""Pixels from one label to the next."""


def linear(length: int, cuts: list[tuple[int, str]]) -> str:
    """A line of `length` base pairs; `cuts` are `(place, enzyme)` in order."""
    left, right, base = 40.0, 960.0, 200.0
    body = [
        f'<rect x="{left}" y="{base}" width="{right - left}" height="8" fill="#8fa8c8"/>',
        _text(left, base + 24, "1"),
        _text(right, base + 24, str(length), "end"),
    ]
    places = [left + (place - 1) * (right - left) / length for place, _ in cuts]
    body += [_line(x, base - 6, x, base + 14) for x in dict.fromkeys(map(round, places))]
    spread = _spread(places, _ROW, left, right)
    if spread is None:
        body.append(_text(left, base - 24, f"{len(cuts)} cuts"))
    else:
        for x, at, (place, enzyme) in zip(places, spread, cuts, strict=True):
            body.append(_line(x, base - 6, at, base - 22))
            body.append(_turned(at, base - 26, -90, f"{enzyme} {place}"))
    return _svg(1000, 240, body)


def circular(length: int, cuts: list[tuple[int, str]]) -> str:
    """A circle of `length` base pairs from twelve o'clock on, clockwise."""
    middle, radius = 300.0, 150.0
    body = [
        f'<circle cx="{middle}" cy="{middle}" r="{radius}" fill="none" stroke="#8fa8c8" '
        'stroke-width="8"/>',
        _text(middle, middle + 4, f"{length} bp", "middle"),
    ]

    def at(angle: float, distance: float) -> tuple[float, float]:
        return middle + distance * sin(angle), middle - distance * cos(angle)

    angles = [2 * pi * (place - 1) / length for place, _ in cuts]
    ticks = dict.fromkeys(round(angle, 2) for angle in angles)
    body += [_line(*at(angle, radius - 7), *at(angle, radius + 7)) for angle in ticks]
    step = _ROW / (radius + 26)
    spread = _spread(angles, step, 0, 2 * pi - step)
    if spread is None:
        body.append(_text(middle, middle + 22, f"{len(cuts)} cuts", "middle"))
    else:
        for angle, free, (place, enzyme) in zip(angles, spread, cuts, strict=True):
            body.append(_line(*at(angle, radius + 7), *at(free, radius + 22)))
            left = free > pi
            body.append(
                _turned(
                    *at(free, radius + 26),
                    free * 180 / pi + (90 if left else -90),
                    f"{enzyme} {place}",
                    "end" if left else "start",
                )
            )
    return _svg(600, 600, body)


def _spread(wanted: list[float], gap: float, low: float, high: float) -> list[float] | None:
    """Move ordered places apart so that each has `gap` to the next; None where there's no room."""
    if len(wanted) * gap > high - low + gap:
        return None
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap if places else low))
    for index in range(len(places) - 1, -1, -1):
        after = places[index + 1] - gap if index + 1 < len(places) else high
        places[index] = min(places[index], after)
    return places


def _svg(width: int, height: int, body: list[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#333333" fill="none"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_STYLE}>{escape(text)}</text>'


def _turned(x: float, y: float, degrees: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text transform="translate({x:.1f} {y:.1f}) rotate({degrees:.1f}) translate(0 4)" '
        f'text-anchor="{anchor}" {_STYLE}>{escape(text)}</text>'
    )
