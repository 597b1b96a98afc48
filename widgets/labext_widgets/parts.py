"""What is watched together, one row a part: its state, its stage, and why it failed."""

from __future__ import annotations

from collections.abc import Sequence

from labext.progress import Part
from labext_widgets.markup import MUTED, clock, colour, div, edge, escape, plain, span
from labext_widgets.tints import BAD, NEUTRAL, STATES

MOST = 50
"""Rows at most; of more those are drawn that failed, then those that go on."""

STILL = 5.0
"""Seconds without a change after which a row says for how long."""

_MARKS = {"Complete": "✓", "Failed": "✕", "Stopped": "■", "Deleted": "■", "In Queue": "○"}
_FIRST = ("Failed", "Stopped", "Deleted", "Running")
_LAST = ("In Queue", "Complete")
_OVER = ("Complete", "Failed", "Stopped", "Deleted")


def html(parts: Sequence[Part]) -> str:
    """Return the rows; nothing where nothing is told part by part."""
    if not parts:
        return ""
    shown = list(parts) if len(parts) <= MOST else sorted(parts, key=_rank)[:MOST]
    rows = [_row(each) for each in shown]
    if rest := len(parts) - len(shown):
        rows.append(div(f"… and {rest:,} more", MUTED))
    return div("".join(rows), "margin-top:6px")


def failures(parts: Sequence[Part]) -> list[str]:
    """Return a line for every part that ended, but not well."""
    bad = [each for each in parts if each.state in _OVER and each.state != "Complete"]
    return [f"  {plain(each.name)}: {plain(each.reason or each.state)}" for each in bad]


def _row(part: Part) -> str:
    tint = STATES.get(part.state, NEUTRAL)
    mark = span(_MARKS.get(part.state, "●"), f"flex:0 0 14px;{colour('color', *tint)}")
    name = span(escape(part.name), "overflow-wrap:break-word;min-width:0")
    told = span(escape(_told(part)), f"margin-left:auto;{MUTED}")
    wide = "flex:1 1 0;min-width:0;display:flex;flex-wrap:wrap;gap:0 8px"
    row = div(f"{mark} {div(f'{name} {told}', wide)}", "display:flex;gap:0 6px")
    return row + _reason(part) if part.reason else row


def _told(part: Part) -> str:
    if part.state in _OVER:
        return part.state
    told = part.stage or part.state
    return f"{told}, unchanged for {clock(part.unchanged)}" if part.unchanged >= STILL else told


def _reason(part: Part) -> str:
    tint = BAD if part.state in _OVER else NEUTRAL
    return div(
        escape(part.reason),
        f"margin:0 0 4px 20px;padding:0 8px;{edge(*tint)};overflow-wrap:break-word",
    )


def _rank(part: Part) -> int:
    """The order of rows that are too many: what went wrong, what goes on, what did well."""
    if part.state in _FIRST:
        return _FIRST.index(part.state)
    return len(_FIRST) + 1 + _LAST.index(part.state) if part.state in _LAST else len(_FIRST)
