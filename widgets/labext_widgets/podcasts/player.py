"""Audio player whose transcript follows playback."""

from __future__ import annotations

import html as escaping
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.messages import pluralize
from labext.redaction import get_logger
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import (
    MUTED,
    clock,
    color,
    data_uri,
    div,
    escape,
    plain,
    span,
    text_div,
    tidy,
    view_html,
)
from labext_widgets.progress.static_view import format_bytes

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder


MAX_TURNS = 10_000
"""Maximum number of turns; even a conversation of a whole day has fewer."""

MAX_TEXT = 20_000
"""Maximum length of the text of one turn, in characters."""


MAX_SOURCES, MAX_TITLE = 5, 120
"""Maximum number of sources shown for a turn, and characters of their titles."""

MAX_SECONDS = 1e7
"""Maximum plausible time in seconds, four months; larger values are ignored."""


@dataclass(frozen=True)
class Turn:
    """The words of one speaker.

    Attributes:
        start, end: in seconds, or None if unknown.
        sources: the titles of the sources of its facts.
    """

    speaker: str
    dialogue: str
    start: float | None
    end: float | None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Episode:
    """An episode with its transcript.

    Attributes:
        title: its name.
        duration: in seconds, or None if unknown.
        turns: the transcript.
        omitted: the number of turns beyond the maximum.
    """

    title: str
    duration: float | None
    turns: tuple[Turn, ...]
    omitted: int = 0

    @property
    def speakers(self) -> list[str]:
        """The speakers, in the order of their first turns."""
        return list(dict.fromkeys(turn.speaker for turn in self.turns if turn.speaker))


def parse_episode(record: Mapping[str, Any]) -> Episode:
    """Parse the record of an episode.

    Args:
        record: a record with `name`, `duration` in seconds, and `transcript`: a list of `{speaker,
            dialogue, start, end, sources}`, or a mapping that contains this list under the same
            name.
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
    titles = row.get("sources")
    sources = (
        tuple(plain(title, MAX_TITLE) for title in titles[:MAX_SOURCES] if isinstance(title, str))
        if isinstance(titles, (list, tuple))
        else ()
    )
    return Turn(speaker, tidy(row["dialogue"], MAX_TEXT), start, end, sources)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < MAX_SECONDS else None


MAX_UNFOLDED_TURNS = 12
"""Number of turns up to which the transcript is unfolded."""

MAX_SAVED_TURNS = 2000
"""Maximum number of turns in the static view, and in its plain text."""

MAX_SPEAKERS = 8
"""Maximum number of speakers named together."""

VOICES = (
    ("brand-color1", "#1976d2"),
    ("warn-color1", "#ef6c00"),
    ("success-color1", "#388e3c"),
    ("info-color1", "#00838f"),
)
"""Colors of the speakers, for the line beside a turn, which also has the speaker's name."""

NEEDS_KERNEL = (
    "The audio needs the kernel: run this cell again, or play it with --embed, "
    "which stores the audio in the notebook."
)
_BOX = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"


def render_html(episode: Episode, audio: bytes | None = None, note: str = "") -> str:
    """Return the static view, whose embedded MP3 can be played without a kernel."""
    rows = [
        div(escape(episode.title), "font-weight:600;font-size:15px"),
        div(" · ".join(map(_isolated, _facts(episode, speakers=True))), MUTED),
    ]
    if audio is not None:
        rows.append(_audio(audio))
    if note:
        rows.append(div(escape(note), MUTED))
    rows.append(_transcript(episode))
    return div("".join(rows), _BOX)


def render_text(episode: Episode) -> str:
    """Return title and facts on the first line, followed by the transcript."""
    rows = [f"{episode.title}: {facts_text(episode)}", *map(_line, episode.turns[:MAX_SAVED_TURNS])]
    if rest := _omitted_text(episode):
        rows.append(rest)
    return "\n".join(rows)


def facts_text(episode: Episode, *, speakers: bool = True) -> str:
    """Return `2:05 · Host · Guest · 14 turns`, or the same without the speakers."""
    return " · ".join(_facts(episode, speakers=speakers))


def _facts(episode: Episode, *, speakers: bool) -> list[str]:
    facts = [] if episode.duration is None else [clock(episode.duration)]
    if speakers:
        facts += episode.speakers[:MAX_SPEAKERS]
        facts += ["…"] if len(episode.speakers) > MAX_SPEAKERS else []
    facts.append(
        pluralize(len(episode.turns) + episode.omitted, "turn")
        if episode.turns
        else "no transcript"
    )
    return facts


def _isolated(name: str) -> str:
    """Return a name as HTML; one from right to left leaves the numbers beside it in place."""
    return f'<span dir="auto">{escape(name)}</span>'


def voice_colors(episode: Episode) -> dict[str, int]:
    """Return the index in `VOICES` of each speaker."""
    return {speaker: i % len(VOICES) for i, speaker in enumerate(episode.speakers)}


def _audio(audio: bytes) -> str:
    return (
        f'<audio controls src="{data_uri(audio, "audio/mpeg")}" '
        'style="display:block;width:100%;max-width:480px;margin:6px 0"></audio>'
    )


def _transcript(episode: Episode) -> str:
    if not episode.turns:
        return ""
    voices = voice_colors(episode)
    rows = "".join(
        _row(turn, voices.get(turn.speaker, 0)) for turn in episode.turns[:MAX_SAVED_TURNS]
    )
    rows += div(_omitted_text(episode), MUTED) if _omitted_text(episode) else ""
    if len(episode.turns) <= MAX_UNFOLDED_TURNS:
        return div(rows, "margin-top:6px")
    return (
        '<details style="margin-top:6px"><summary style="cursor:pointer">Transcript</summary>'
        f"{rows}</details>"
    )


def _row(turn: Turn, tint: int) -> str:
    edge = f"border-left:3px solid;{color('border-left-color', *VOICES[tint])}"
    heading = span(_isolated(turn.speaker), "font-weight:600") if turn.speaker else ""
    if turn.start is not None:
        heading += f" {span(clock(turn.start), MUTED + ';font-variant-numeric:tabular-nums')}"
    dialogue = text_div(escaping.escape(turn.dialogue), "white-space:pre-line")
    sources = div(escape(" · ".join(turn.sources)), MUTED) if turn.sources else ""
    return div(div(heading) + dialogue + sources, f"margin:6px 0;padding:0 0 0 10px;{edge}")


def _line(turn: Turn) -> str:
    time = "" if turn.start is None else f"[{clock(turn.start)}] "
    speaker = f"{turn.speaker}: " if turn.speaker else ""
    sources = f" [{'; '.join(turn.sources)}]" if turn.sources else ""
    return f"{time}{speaker}{' '.join(turn.dialogue.split())}{sources}"


def _omitted_text(episode: Episode) -> str:
    rest = len(episode.turns) - MAX_SAVED_TURNS + episode.omitted
    return f"… and {rest:,} more" if len(episode.turns) > MAX_SAVED_TURNS or episode.omitted else ""


MAX_AUDIO_SIZE = 64_000_000
"""Maximum size in bytes of audio that is sent to a page or embedded: hours of speech."""

LoadAudio = Callable[[], bytes]
_log = get_logger("labext.widgets")


def show_player(record: Mapping[str, Any], load_audio: LoadAudio, *, embed: bool = False) -> None:
    """Show the player of an episode; a saved notebook keeps its transcript.

    Args:
        record: the record of an episode: `name`, `duration`, `transcript`.
        load_audio: returns the episode's MP3; called in a thread when it is first played on a page,
            and immediately with `embed`.
        embed: embed the audio in the notebook, which grows by four thirds of its size; it can then
            be played without a kernel, and on an exported page.

    Raises:
        InputError: with `embed`, the audio is too large.
        LabextError: with `embed`, the error raised by `load_audio`.
    """
    episode = parse_episode(record)
    front = front_end()
    text = render_text(episode)
    if front is FrontEnd.TERMINAL:
        print(text)
        return
    audio = load_audio() if embed else None
    if audio is not None and len(audio) > MAX_AUDIO_SIZE:
        raise InputError(
            f"The audio of {episode.title} has {format_bytes(len(audio), None)}, too much for a "
            "notebook.",
            "Play it without --embed, or download it.",
        )
    html = render_html(episode, audio, "" if embed else NEEDS_KERNEL)
    if front is FrontEnd.EXECUTED:
        display_html(view_html(html), text)
        return
    from labext_widgets.core.placeholder import Placeholder

    Player(episode, load_audio).mount(Placeholder(html, text))


class Player:
    """The live view of an episode, which sends the audio on request."""

    def __init__(self, episode: Episode, load_audio: LoadAudio) -> None:
        self._episode = episode
        self._load_audio = load_audio
        self._context = copy_context()  # the context of a magic, in which messages suggest magics
        self._placeholder: Placeholder

    def mount(self, placeholder: Placeholder) -> None:
        """Mount the live view into a placeholder with the static view of the episode."""
        self._placeholder = placeholder
        placeholder.live("player", self.state(), self._receive)

    def replace(self, placeholder: Placeholder) -> None:
        """Replace the content of a placeholder by the episode; callable from any thread."""
        placeholder.update(
            render_html(self._episode, None, NEEDS_KERNEL), render_text(self._episode)
        )
        self.mount(placeholder)

    def state(self) -> dict[str, Any]:
        """Return the state of the view, as described in `js/player/view.js`."""
        episode = self._episode
        voices = voice_colors(episode)
        turns = [
            [t.speaker, voices.get(t.speaker, 0), t.dialogue, t.start, t.end, " · ".join(t.sources)]
            for t in episode.turns
        ]
        return {
            "title": episode.title,
            "facts": facts_text(episode, speakers=False),
            "duration": episode.duration,
            "speakers": episode.speakers[:MAX_SPEAKERS],
            "turns": turns,
            "omitted": episode.omitted,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Handle a request for the audio in a thread, to keep the kernel's main thread free."""
        if isinstance(content, dict) and content.get("do") == "audio":
            player = str(content.get("player"))
            self._placeholder.send({"loading": player})
            name = f"labext-audio-{self._episode.title}"
            run = self._context.copy().run
            threading.Thread(target=run, args=(self._send, player), name=name, daemon=True).start()

    def _send(self, player: str) -> None:
        try:
            audio = self._load_audio()
        except LabextError as error:
            self._fail(player, str(error))
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("The audio of %s could not be loaded", self._episode.title)
            self._fail(player, f"{type(error).__name__}: {error}")
        else:
            if len(audio) > MAX_AUDIO_SIZE:
                return self._fail(player, "The audio is too large to be played here; download it.")
            self._placeholder.send({"audio": player}, [audio])

    def _fail(self, player: str, reason: str) -> None:
        self._placeholder.send({"failed": player, "reason": reason})
