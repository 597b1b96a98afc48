"""An episode as it is drawn: read from a record, whatever of it is missing or odd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labext_widgets.markup import plain, tidy

MOST = 10_000
"""Turns at most; a conversation of a day has fewer."""

LONG = 20_000
"""Characters at most of what is said in one turn."""


FAR = 1e7
"""Seconds, four months of sound: what lies beyond is no time."""


@dataclass(frozen=True)
class Turn:
    """What one speaker says at once; `start` and `end` in seconds, None where not told."""

    speaker: str
    dialogue: str
    start: float | None
    end: float | None


@dataclass(frozen=True)
class Episode:
    """What is known of an episode.

    Attributes:
        title: its name.
        duration: seconds, None where not told.
        turns: what is said, in its order.
        left_out: how many turns were too many.
    """

    title: str
    duration: float | None
    turns: tuple[Turn, ...]
    left_out: int = 0

    @property
    def speakers(self) -> list[str]:
        """Who speaks, in the order of their first words."""
        return list(dict.fromkeys(each.speaker for each in self.turns if each.speaker))


def episode(record: Mapping[str, Any]) -> Episode:
    """Return what a record says of its episode.

    Args:
        record: with `name`, `duration` in seconds, and `transcript`: a list of `{speaker, dialogue,
            start, end}`, or a mapping that has the list under the same name.

    Source: notebook service contract, Podcasts.
    """
    told = record.get("transcript")
    if isinstance(told, Mapping):
        told = told.get("transcript")
    listed = told if isinstance(told, (list, tuple)) else ()
    rows = [each for each in listed if isinstance(each, Mapping) and each.get("dialogue")]
    turns = tuple(map(_turn, rows[:MOST]))
    ends = [each.end for each in turns if each.end is not None]
    duration = _seconds(record.get("duration"))
    title = plain(record.get("name") or "") or "Untitled episode"
    return Episode(title, duration or max(ends, default=None), turns, len(rows[MOST:]))


def _turn(row: Mapping[str, Any]) -> Turn:
    start, end = _seconds(row.get("start")), _seconds(row.get("end"))
    if start is not None and end is not None and end < start:
        end = start
    speaker = plain(row.get("speaker") or "", 80)
    return Turn(speaker, tidy(row["dialogue"], LONG), start, end)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < FAR else None
