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

CHUNK_SIZE = 64_000_000
"""Maximum size of the audio in bytes that is sent to a page or embedded: hours of speech."""

Sound = Callable[[], bytes]
_log = get_logger("labext.widgets")


def show_player(record: Mapping[str, Any], sound: Sound, *, embed: bool = False) -> None:
    """Show the player of an episode; in a saved notebook its transcript stays.

    Args:
        record: the record of an episode: `name`, `duration`, `transcript`.
        sound: returns the episode's MP3; called in a thread when it is first played on a page, and
            at once with `embed`.
        embed: embed the audio in the notebook, which grows by four thirds of its size; it can then
            be played without a kernel, and on an exported page.

    Raises:
        InputError: with `embed`, the audio is too large.
        LabextError: with `embed`, the error raised by `sound`.
    """
    of = parse_episode(record)
    front = front_end()
    if front is FrontEnd.TERMINAL:
        print(static_view.render_text(of))
        return
    embedded = sound() if embed else None
    if embedded is not None and len(embedded) > CHUNK_SIZE:
        raise InputError(
            f"The sound of {of.title} has {format_bytes(len(embedded), None)}, too much for a "
            "notebook.",
            "Play it without --embed, or download it.",
        )
    html, text = (
        static_view.render_html(of, embedded, "" if embed else static_view.SILENT),
        static_view.render_text(of),
    )
    if front is FrontEnd.EXECUTED:
        display_html(f'<div class="labext {UNTYPESET}">{html}</div>', text)
        return
    from labext_widgets.core.placeholder import Placeholder

    Player(of, sound).into(Placeholder(html, text))


class Player:
    """The live view of an episode, which sends the audio on request."""

    def __init__(self, of: Episode, sound: Sound) -> None:
        self._of = of
        self._sound = sound
        self._context = copy_context()  # a magic's, in which messages suggest magics
        self._placeholder: Placeholder

    def into(self, placeholder: Placeholder) -> None:
        """Mount the view into a placeholder that has the static view of the episode."""
        self._placeholder = placeholder
        placeholder.live("player", self.state(), self._receive)

    def take_over(self, placeholder: Placeholder) -> None:
        """Show the episode in a placeholder that had another content; callable from any thread."""
        placeholder.update(
            static_view.render_html(self._of, None, static_view.SILENT),
            static_view.render_text(self._of),
        )
        self.into(placeholder)

    def state(self) -> dict[str, Any]:
        """Return the state of the view, as described in `js/player/view.js`."""
        of = self._of
        voices = static_view.voice_colours(of)
        return {
            "title": of.title,
            "facts": static_view.facts_text(of, speakers=False),
            "duration": of.duration,
            "speakers": of.speakers[: static_view.MAX_OPEN_TURNS],
            "turns": [
                [turn.speaker, voices.get(turn.speaker, 0), turn.dialogue, turn.start, turn.end]
                for turn in of.turns
            ],
            "left_out": of.left_out,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Handle a request for the audio in a thread, to keep the kernel's main thread free."""
        if isinstance(content, dict) and content.get("do") == "sound":
            by = str(content.get("by"))
            self._placeholder.send({"fetching": by})
            name = f"labext-sound-{self._of.title}"
            run = self._context.copy().run
            threading.Thread(target=run, args=(self._send, by), name=name, daemon=True).start()

    def _send(self, by: str) -> None:
        try:
            sound = self._sound()
        except LabextError as error:
            self._refuse(by, str(error))
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("The sound of %s can't be fetched", self._of.title)
            self._refuse(by, f"{type(error).__name__}: {error}")
        else:
            if len(sound) > CHUNK_SIZE:
                return self._refuse(by, "It is too large to be played here; download it.")
            self._placeholder.send({"sound": by}, [sound])

    def _refuse(self, by: str, why: str) -> None:
        self._placeholder.send({"refused": by, "why": why})
