"""Keep the finished parts of an episode until it is completed: the script, and servers' speech."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from threading import get_ident

import orjson

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.podcasts.script import Segment, Turn
from labext.sandbox.nb.speech import synthesis
from labext.sandbox.nb.speech.audio import Sound
from labext.sandbox.nb.tables import Model
from labext.storage import make_folder, write_atomic


class Draft:
    """The finished parts of an episode, in a folder that outlives its task (`files.draft_folder`).

    A retry continues with them, since servers charge for speech. Without any finished speech, it
    writes another script. So does another `request`, what the script is written from.
    """

    def __init__(self, folder: Path, request: object) -> None:
        self._folder = folder
        self._script = folder / f"{_digest(request)}.json"

    def load_script(self) -> tuple[list[Segment], list[Turn]] | None:
        """Return the script of which some speech is finished, else None."""
        if not any(self._folder.glob("*.flac")):
            return None
        try:
            script = orjson.loads(self._script.read_bytes())
        except (OSError, ValueError):  # that of another request, or lost with the machine's power
            return None
        turns = [Turn(**turn | {"sources": tuple(turn["sources"])}) for turn in script["turns"]]
        return [Segment(**segment) for segment in script["segments"]], turns

    def save_script(self, segments: Sequence[Segment], turns: Sequence[Turn]) -> None:
        """Store the script."""
        make_folder(self._folder, mode=0o700)
        script = {"segments": [*map(asdict, segments)], "turns": [*map(asdict, turns)]}
        write_atomic(self._script, orjson.dumps(script), private=True)

    def synthesize(
        self,
        turn_number: int,
        site: Site,
        model: Model,
        voice: str,
        text: str,
        cancel_token: CancelToken,
    ) -> Sound:
        """Return the stored speech of a turn's text, or that of a server, which is then stored."""
        import soundfile

        path = self._folder / f"{_digest((turn_number, model.id, voice, text))}.flac"
        with contextlib.suppress(soundfile.SoundFileError):
            return Sound(*soundfile.read(path, dtype="float32"))
        sound = synthesis.synthesize(site, model, voice, text, cancel_token)
        # Unique, since two threads synthesize the same words if a turn repeats them.
        part = path.with_suffix(f".{get_ident()}")
        # If the speech can't be stored, a retry requests it again.
        with contextlib.suppress(OSError, soundfile.SoundFileError, ValueError):
            soundfile.write(part, sound.samples, sound.rate, format="FLAC")
            part.replace(path)
        return sound


def _digest(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()
