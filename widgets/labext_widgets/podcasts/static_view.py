"""Render an episode and its transcript as HTML."""

from __future__ import annotations

import base64
import html as escaping
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labext.messages import pluralize
from labext_widgets.core.markup import MUTED, clock, colour, div, escape, plain, span, tidy

MAX_TURNS = 10_000
"""Maximum number of turns; even a conversation of a whole day has fewer."""

MAX_TEXT = 20_000
"""Maximum length of the text of one turn, in characters."""


MAX_SECONDS = 1e7
"""Maximum plausible time in seconds, four months; larger values are ignored."""


@dataclass(frozen=True)
class Turn:
    """The words of one speaker; `start` and `end` in seconds, or None if unknown."""

    speaker: str
    dialogue: str
    start: float | None
    end: float | None


@dataclass(frozen=True)
class Episode:
    """An episode with its transcript.

    Attributes:
        title: its name.
        duration: in seconds, or None if unknown.
        turns: the transcript.
        left_out: the number of turns beyond the maximum.
    """

    title: str
    duration: float | None
    turns: tuple[Turn, ...]
    left_out: int = 0

    @property
    def speakers(self) -> list[str]:
        """The speakers, in the order of their first turns."""
        return list(dict.fromkeys(turn.speaker for turn in self.turns if turn.speaker))


def parse_episode(record: Mapping[str, Any]) -> Episode:
    """Parse the record of an episode.

    Args:
        record: a record with `name`, `duration` in seconds, and `transcript`: a list of `{speaker,
            dialogue, start, end}`, or a mapping that contains this list under the same name.
    """
    transcript = record.get("transcript")
    if isinstance(transcript, Mapping):
        transcript = transcript.get("transcript")
    entries = transcript if isinstance(transcript, (list, tuple)) else ()
    rows = [entry for entry in entries if isinstance(entry, Mapping) and entry.get("dialogue")]
    turns = tuple(map(_parse_turn, rows[:MAX_TURNS]))
    ends = [turn.end for turn in turns if turn.end is not None]
    duration = _seconds(record.get("duration"))
    title = plain(record.get("name") or "") or "Untitled episode"
    return Episode(title, duration or max(ends, default=None), turns, len(rows[MAX_TURNS:]))


def _parse_turn(row: Mapping[str, Any]) -> Turn:
    start, end = _seconds(row.get("start")), _seconds(row.get("end"))
    if start is not None and end is not None and end < start:
        end = start
    speaker = plain(row.get("speaker") or "", 80)
    return Turn(speaker, tidy(row["dialogue"], MAX_TEXT), start, end)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < MAX_SECONDS else None


OPEN = 12
"""Number of turns up to which the transcript is unfolded."""

SAVED = 2000
"""Maximum number of turns in the saved picture, and in its plain text."""

MAX_OPEN_TURNS = 8
"""Maximum number of speakers named together."""

VOICES = (
    ("brand-color1", "#1976d2"),
    ("warn-color1", "#ef6c00"),
    ("success-color1", "#388e3c"),
    ("info-color1", "#00838f"),
)
"""Colours of the speakers, for the line beside a turn, which also has the speaker's name."""

SILENT = (
    "The sound needs the kernel: run this cell again, or play with --embed, "
    "which keeps the sound in the notebook."
)
_BOX = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"


def render_html(of: Episode, sound: bytes | None = None, note: str = "") -> str:
    """Return the static view.

    Args:
        of: the episode.
        sound: the MP3 to embed, which then needs neither a kernel nor a network.
        note: an additional sentence.
    """
    rows = [
        div(escape(of.title), "font-weight:600;font-size:15px"),
        div(escape(facts_text(of)), MUTED),
    ]
    if sound is not None:
        rows.append(_audio(sound))
    if note:
        rows.append(div(escape(note), MUTED))
    rows.append(_transcript(of))
    return div("".join(rows), _BOX)


def render_text(of: Episode) -> str:
    """Return title and facts on the first line, followed by the transcript."""
    rows = [f"{of.title}: {facts_text(of)}", *map(_line, of.turns[:SAVED])]
    if rest := _omitted_html(of):
        rows.append(rest)
    return "\n".join(rows)


def facts_text(of: Episode, *, speakers: bool = True) -> str:
    """Return `2:05 · Host · Guest · 14 turns`, or the same without the speakers."""
    facts = [] if of.duration is None else [clock(of.duration)]
    if speakers:
        facts += of.speakers[:MAX_OPEN_TURNS]
        facts += ["…"] if len(of.speakers) > MAX_OPEN_TURNS else []
    facts.append(pluralize(len(of.turns) + of.left_out, "turn") if of.turns else "no transcript")
    return " · ".join(facts)


def voice_colours(of: Episode) -> dict[str, int]:
    """Return the index in `VOICES` of each speaker."""
    return {speaker: i % len(VOICES) for i, speaker in enumerate(of.speakers)}


def _audio(sound: bytes) -> str:
    data = base64.b64encode(sound).decode()
    return (
        f'<audio controls src="data:audio/mpeg;base64,{data}" '
        'style="display:block;width:100%;max-width:480px;margin:6px 0"></audio>'
    )


def _transcript(of: Episode) -> str:
    if not of.turns:
        return ""
    tints = voice_colours(of)
    rows = "".join(_row(turn, tints.get(turn.speaker, 0)) for turn in of.turns[:SAVED])
    rows += div(_omitted_html(of), MUTED) if _omitted_html(of) else ""
    if len(of.turns) <= OPEN:
        return div(rows, "margin-top:6px")
    return (
        '<details style="margin-top:6px"><summary style="cursor:pointer">Transcript</summary>'
        f"{rows}</details>"
    )


def _row(turn: Turn, tint: int) -> str:
    edge = f"border-left:3px solid;{colour('border-left-color', *VOICES[tint])}"
    head = span(escape(turn.speaker), "font-weight:600") if turn.speaker else ""
    if turn.start is not None:
        head += f" {span(clock(turn.start), MUTED + ';font-variant-numeric:tabular-nums')}"
    dialogue = div(escaping.escape(turn.dialogue), "white-space:pre-line", 'dir="auto"')
    return div(div(head) + dialogue, f"margin:6px 0;padding:0 0 0 10px;{edge}")


def _line(turn: Turn) -> str:
    at = "" if turn.start is None else f"[{clock(turn.start)}] "
    who = f"{turn.speaker}: " if turn.speaker else ""
    return f"{at}{who}{' '.join(turn.dialogue.split())}"


def _omitted_html(of: Episode) -> str:
    rest = len(of.turns) - SAVED + of.left_out
    return f"… and {rest:,} more" if len(of.turns) > SAVED or of.left_out else ""
