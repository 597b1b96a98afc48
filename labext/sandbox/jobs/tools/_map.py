"""A restriction map as SVG, linear or circular: a tick and a label for each cut."""

from __future__ import annotations

from html import escape
from math import cos, pi, sin

_STYLE = 'font-family="sans-serif" font-size="11" fill="#333333"'
_MOST_LABELS = 120


def linear(length: int, cuts: list[tuple[int, str]]) -> str:
    """A line of `length` base pairs; labels stand upright, side by side where they are close."""
    width, base = 800, 200
    scale = (width - 80) / length
    body = [f'<rect x="40" y="{base}" width="{width - 80}" height="8" fill="#8fa8c8"/>']
    body += [_text(40, base + 24, "1"), _text(width - 40, base + 24, str(length), "end")]
    free = 0.0
    for place, label in cuts:
        x = 40 + (place - 1) * scale
        body.append(_line(x, base - 6, x, base + 14))
        if len(cuts) <= _MOST_LABELS:
            at = max(x, free)
            free = at + 12
            body += [
                _line(x, base - 6, at, base - 22),
                _turned(at + 4, base - 26, -90, label, place),
            ]
    if len(cuts) > _MOST_LABELS:
        body.append(_text(40, 20, f"{len(cuts)} cuts"))
    return _svg(max(width, int(free) + 40), base + 40, body)


def circular(length: int, cuts: list[tuple[int, str]]) -> str:
    """A circle of `length` base pairs from twelve o'clock on, clockwise."""
    middle, radius = 300, 150
    body = [
        f'<circle cx="{middle}" cy="{middle}" r="{radius}" fill="none" stroke="#8fa8c8" '
        'stroke-width="8"/>',
        _text(middle, middle + 4, f"{length} bp", "middle"),
    ]
    for place, label in cuts:
        angle = 2 * pi * (place - 1) / length - pi / 2
        x, y = cos(angle), sin(angle)
        body.append(_line(*(middle + r * c for r in (radius - 8, radius + 14) for c in (x, y))))
        if len(cuts) <= _MOST_LABELS:
            turn = angle * 180 / pi
            flipped = x < 0
            at = radius + 20
            body.append(
                _turned(
                    middle + at * x,
                    middle + at * y,
                    turn + 180 if flipped else turn,
                    label,
                    place,
                    "end" if flipped else "start",
                )
            )
    if len(cuts) > _MOST_LABELS:
        body.append(_text(middle, middle + 22, f"{len(cuts)} cuts", "middle"))
    return _svg(2 * middle, 2 * middle, body)


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


def _turned(
    x: float, y: float, degrees: float, label: str, place: int, anchor: str = "start"
) -> str:
    return (
        f'<text transform="translate({x:.1f} {y:.1f}) rotate({degrees:.1f})" '
        f'text-anchor="{anchor}" {_STYLE}>{escape(label)} {place}</text>'
    )
