"""An episode in a saved notebook: its title, its transcript, and its sound where that was asked.

Plain HTML of the kind that the sanitizer of untrusted notebooks keeps. The names and what is said
come from a service: they are shown, never obeyed.
"""

from __future__ import annotations

import base64
import html as escaping

from labext.wording import count
from labext_widgets.markup import MUTED, clock, colour, div, escape, span
from labext_widgets.podcasts.episode import Episode, Turn

OPEN = 12
"""Turns up to which the transcript is shown unfolded."""

SAVED = 2000
"""Turns at most in the saved picture, and in its plain text."""

MANY = 8
"""Speakers at most that are named together."""

VOICES = (
    ("brand-color1", "#1976d2"),
    ("warn-color1", "#ef6c00"),
    ("success-color1", "#388e3c"),
    ("info-color1", "#00838f"),
)
"""A colour a speaker, for the line beside what is said; the name stands there too."""

SILENT = (
    "The sound needs the kernel: run this cell again, or play with --embed, "
    "which keeps the sound in the notebook."
)
_BOX = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"


def html(of: Episode, sound: bytes | None = None, note: str = "") -> str:
    """Return the picture.

    Args:
        of: what is drawn.
        sound: the MP3 to keep in it, which needs neither a kernel nor a network then.
        note: one more sentence.
    """
    rows = [div(escape(of.title), "font-weight:600;font-size:15px"), div(escape(facts(of)), MUTED)]
    if sound is not None:
        rows.append(_audio(sound))
    if note:
        rows.append(div(escape(note), MUTED))
    rows.append(_transcript(of))
    return div("".join(rows), _BOX)


def text(of: Episode) -> str:
    """Return title and facts on the first line, and below it the transcript."""
    rows = [f"{of.title}: {facts(of)}", *map(_line, of.turns[:SAVED])]
    if rest := _rest(of):
        rows.append(rest)
    return "\n".join(rows)


def facts(of: Episode, *, speakers: bool = True) -> str:
    """Return `2:05 · Host · Guest · 14 turns`, or the same without who speaks."""
    known = [] if of.duration is None else [clock(of.duration)]
    if speakers:
        known += of.speakers[:MANY]
        known += ["…"] if len(of.speakers) > MANY else []
    known.append(count(len(of.turns) + of.left_out, "turn") if of.turns else "no transcript")
    return " · ".join(known)


def voices(of: Episode) -> dict[str, int]:
    """Return which of `VOICES` each speaker has."""
    return {each: i % len(VOICES) for i, each in enumerate(of.speakers)}


def _audio(sound: bytes) -> str:
    data = base64.b64encode(sound).decode()
    return (
        f'<audio controls src="data:audio/mpeg;base64,{data}" '
        'style="display:block;width:100%;max-width:480px;margin:6px 0"></audio>'
    )


def _transcript(of: Episode) -> str:
    if not of.turns:
        return ""
    tints = voices(of)
    rows = "".join(_row(each, tints.get(each.speaker, 0)) for each in of.turns[:SAVED])
    rows += div(_rest(of), MUTED) if _rest(of) else ""
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
    said = div(escaping.escape(turn.dialogue), "white-space:pre-line", 'dir="auto"')
    return div(div(head) + said, f"margin:6px 0;padding:0 0 0 10px;{edge}")


def _line(turn: Turn) -> str:
    at = "" if turn.start is None else f"[{clock(turn.start)}] "
    who = f"{turn.speaker}: " if turn.speaker else ""
    return f"{at}{who}{' '.join(turn.dialogue.split())}"


def _rest(of: Episode) -> str:
    rest = len(of.turns) - SAVED + of.left_out
    return f"… and {rest:,} more" if len(of.turns) > SAVED or of.left_out else ""
