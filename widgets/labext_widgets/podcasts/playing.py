"""The player of an episode: its sound, and the transcript that follows it.

The sound stays with the service until it is first played; then the kernel fetches it, in a thread,
and sends all of it to the page at once, where it is a Blob. A seek therefore costs no request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.redaction import logger
from labext_widgets.displays import show
from labext_widgets.drawing import amount
from labext_widgets.front import FrontEnd, front_end
from labext_widgets.markup import UNTYPESET
from labext_widgets.podcasts import picture
from labext_widgets.podcasts.episode import Episode, episode

if TYPE_CHECKING:
    from labext_widgets.placeholder import Placeholder

LARGE = 64_000_000
"""Bytes of sound at most that are sent to a page or kept in a notebook: hours of speech."""

Sound = Callable[[], bytes]
_log = logger("labext.widgets")


def player(record: Mapping[str, Any], sound: Sound, *, embed: bool = False) -> None:
    """Show the player of an episode, and in a saved notebook its transcript.

    Args:
        record: of an episode: `name`, `duration`, `transcript`.
        sound: returns the episode's MP3. It is called in a thread when somebody plays, once a page;
            with `embed` at once.
        embed: keep the sound in the notebook, which grows by four thirds of its size; it can be
            played without a kernel then, and on an exported page.

    Raises:
        InputError: with `embed`, the sound is too large.
        LabextError: with `embed`, whatever `sound` raises.
    """
    of = episode(record)
    front = front_end()
    if front is FrontEnd.TERMINAL:
        print(picture.text(of))
        return
    kept = sound() if embed else None
    if kept is not None and len(kept) > LARGE:
        raise InputError(
            f"The sound of {of.title} has {amount(len(kept), None)}, too much for a notebook.",
            "Play it without --embed, or download it.",
        )
    html, text = picture.html(of, kept, "" if embed else picture.SILENT), picture.text(of)
    if front is FrontEnd.EXECUTED:
        show(f'<div class="labext {UNTYPESET}">{html}</div>', text)
        return
    from labext_widgets.placeholder import Placeholder

    Player(of, sound).into(Placeholder(html, text))


class Player:
    """The live view of an episode, and who sends it its sound."""

    def __init__(self, of: Episode, sound: Sound) -> None:
        self._of = of
        self._sound = sound
        self._placeholder: Placeholder

    def into(self, placeholder: Placeholder) -> None:
        """Mount the view into a placeholder that has the picture of the episode."""
        self._placeholder = placeholder
        placeholder.live("player", self.state(), self._receive)

    def take_over(self, placeholder: Placeholder) -> None:
        """Show the episode in a placeholder that has shown something else; from any thread."""
        placeholder.update(picture.html(self._of, None, picture.SILENT), picture.text(self._of))
        self.into(placeholder)

    def state(self) -> dict[str, Any]:
        """Return what the view draws: `js/player/view.js` says what that is."""
        of = self._of
        voices = picture.voices(of)
        return {
            "title": of.title,
            "facts": picture.facts(of, speakers=False),
            "duration": of.duration,
            "speakers": of.speakers[: picture.MANY],
            "turns": [
                [each.speaker, voices.get(each.speaker, 0), each.dialogue, each.start, each.end]
                for each in of.turns
            ],
            "left_out": of.left_out,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """A view wants the sound. The kernel's own thread runs this, so it only sets it going."""
        if isinstance(content, dict) and content.get("do") == "sound":
            by = str(content.get("by"))
            self._placeholder.send({"fetching": by})
            name = f"labext-sound-{self._of.title}"
            threading.Thread(target=self._send, args=(by,), name=name, daemon=True).start()

    def _send(self, by: str) -> None:
        try:
            sound = self._sound()
        except LabextError as error:
            self._refuse(by, str(error))
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("The sound of %s can't be fetched", self._of.title)
            self._refuse(by, f"{type(error).__name__}: {error}")
        else:
            if len(sound) > LARGE:
                return self._refuse(by, "It is too large to be played here; download it.")
            self._placeholder.send({"sound": by}, [sound])

    def _refuse(self, by: str, why: str) -> None:
        self._placeholder.send({"refused": by, "why": why})
