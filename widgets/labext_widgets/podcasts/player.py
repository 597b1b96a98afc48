"""Audio player whose transcript follows playback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.redaction import get_logger
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import UNTYPESET
from labext_widgets.podcasts import static_view
from labext_widgets.podcasts.static_view import Episode, parse_episode
from labext_widgets.progress.static_view import format_bytes

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

MAX_AUDIO_SIZE = 64_000_000
"""Maximum size in bytes of audio that is sent to a page or embedded: hours of speech."""

LoadAudio = Callable[[], bytes]
_log = get_logger("labext.widgets")


def show_player(record: Mapping[str, Any], load_audio: LoadAudio, *, embed: bool = False) -> None:
    """Show the player of an episode; a saved notebook keeps its transcript.

    Args:
        record: the record of an episode: `name`, `duration`, `transcript`.
        load_audio: returns the episode's MP3; called in a thread when it is first played on a page,
            and at once with `embed`.
        embed: embed the audio in the notebook, which grows by four thirds of its size; it can then
            be played without a kernel, and on an exported page.

    Raises:
        InputError: with `embed`, the audio is too large.
        LabextError: with `embed`, the error raised by `load_audio`.
    """
    episode = parse_episode(record)
    front = front_end()
    text = static_view.render_text(episode)
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
    html = static_view.render_html(episode, audio, "" if embed else static_view.NEEDS_KERNEL)
    if front is FrontEnd.EXECUTED:
        display_html(f'<div class="labext {UNTYPESET}">{html}</div>', text)
        return
    from labext_widgets.core.placeholder import Placeholder

    Player(episode, load_audio).mount(Placeholder(html, text))


class Player:
    """The live view of an episode, which sends the audio on request."""

    def __init__(self, episode: Episode, load_audio: LoadAudio) -> None:
        self._episode = episode
        self._load_audio = load_audio
        self._context = copy_context()  # a magic's, in which messages suggest magics
        self._placeholder: Placeholder

    def mount(self, placeholder: Placeholder) -> None:
        """Mount the live view into a placeholder with the static view of the episode."""
        self._placeholder = placeholder
        placeholder.live("player", self.state(), self._receive)

    def replace(self, placeholder: Placeholder) -> None:
        """Replace the content of a placeholder by the episode; callable from any thread."""
        placeholder.update(
            static_view.render_html(self._episode, None, static_view.NEEDS_KERNEL),
            static_view.render_text(self._episode),
        )
        self.mount(placeholder)

    def state(self) -> dict[str, Any]:
        """Return the state of the view, as described in `js/player/view.js`."""
        episode = self._episode
        voices = static_view.voice_colours(episode)
        return {
            "title": episode.title,
            "facts": static_view.facts_text(episode, speakers=False),
            "duration": episode.duration,
            "speakers": episode.speakers[: static_view.MAX_SPEAKERS],
            "turns": [
                [
                    turn.speaker,
                    voices.get(turn.speaker, 0),
                    turn.dialogue,
                    turn.start,
                    turn.end,
                    " · ".join(turn.sources),
                ]
                for turn in episode.turns
            ],
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
