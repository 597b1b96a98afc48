"""A protein's residues as SVG: how much of each is bare, and the secondary structure, by chain."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

COLOURS = {"helix": "#c0504d", "strand": "#4f81bd", "coil": "#b8b8b8", "": "#e6e6e6"}
_WIDTH, _LEFT, _RIGHT = 1000.0, 60.0, 20.0
_TALL, _BAND, _ROOM = 90.0, 10.0, 44.0
_STYLE = 'font-family="sans-serif" font-size="11" fill="#333333"'


def profile(chains: Sequence[tuple[str, Sequence[tuple[str, str, float | None]]]]) -> str:
    """Draw a panel for each chain.

    Args:
        chains: its name and its residues as `(number, structure, area)`: `structure` is one of
            helix, strand, coil, area in Å² or None where it is not known.
    """
    most = max((area or 0.0 for _, rows in chains for _, _, area in rows), default=0.0) or 1.0
    body = [_legend()]
    for place, (chain, rows) in enumerate(chains):
        body += _panel(chain, rows, 30.0 + place * (_TALL + _BAND + _ROOM), most)
    height = 30.0 + len(chains) * (_TALL + _BAND + _ROOM)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}">',
            f'<rect width="{_WIDTH:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _legend() -> str:
    parts = []
    for place, kind in enumerate(("helix", "strand", "coil")):
        x = _LEFT + place * 70
        parts.append(f'<rect x="{x:.0f}" y="8" width="10" height="10" fill="{COLOURS[kind]}"/>')
        parts.append(_text(x + 14, 17, kind))
    return "".join(parts)


def _panel(
    chain: str, rows: Sequence[tuple[str, str, float | None]], top: float, most: float
) -> list[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / len(rows)
    base = top + _TALL
    body = [
        _text(_LEFT - 6, top + 10, f"{most:.0f} Å²", "end"),
        _text(_LEFT - 6, base + _BAND, f"chain {chain}", "end"),
        f'<path d="M{_LEFT:.1f} {top:.1f}V{base:.1f}" stroke="#999999"/>',
    ]
    for place, (_, structure, area) in enumerate(rows):
        x, colour = _LEFT + place * step, COLOURS[structure]
        tall = _TALL * (area or 0.0) / most
        body.append(
            f'<path d="M{x:.2f} {base + 2:.1f}h{step:.2f}v{_BAND:.1f}h-{step:.2f}z'
            f'M{x:.2f} {base:.1f}v-{tall:.1f}h{0.85 * step:.2f}v{tall:.1f}z" fill="{colour}"/>'
        )
    every = max(len(rows) // 10, 1)
    for place in range(0, len(rows), every):
        at = _LEFT + (place + 0.5) * step
        body.append(_text(at, base + _BAND + 15, rows[place][0], "middle"))
    return body


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_STYLE}>{escape(text)}</text>'
