"""What a model of type `stt` hears, wherever it runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from labext.sandbox.nb.ingestion.reasons import Unreadable
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.speech import decoding, recognition
from labext.sandbox.nb.speech.decoding import Decoded
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

SLOT = "speech_to_text"

Tell = Callable[[str], None]
"""Takes a stage in a few words, such as `listening, minute 2 of 9`."""


def by_slot(site: Site, path: Path, tell: Tell) -> str:
    """As `transcript`, by the model of the slot `speech_to_text`.

    Raises:
        HTTPException: 422 also where the slot has none.
    """
    with site.database.read() as session:
        model = registry.default(session, SLOT)
    if model is None:
        # Without the extra there is nothing that the slot could be set to.
        decoding.soundfile()
        recognition.pocketsphinx()
        raise Unreadable(
            f"No model hears what is said in it. Set the default slot {SLOT}: "
            f"`labext sandbox nb models default {SLOT} NAME`, then retry it."
        )
    return transcript(site, model, path, tell)


def transcript(site: Site, model: Model, path: Path, tell: Tell) -> str:
    """What is said in a file of sound or film; empty where nobody speaks.

    Args:
        site: has the key of the model's server.
        model: of type `stt`.
        path: the file.
        tell: takes the stage.

    Raises:
        Unreadable: there is no sound in it, or what is needed to hear it is not installed.
        HTTPException: 502, the model's server failed; 422, it can't be asked.
    """
    if registry.is_built_in(model):
        return here(path, tell)
    from labext.sandbox.nb.models import openai

    with tempfile.TemporaryDirectory(prefix="labext-") as folder:
        sent = Path(folder, "sound.mp3")
        with decoding.decoded(path) as sound:
            _small(sound, sent, tell)
        tell(f"listening, by {model.name}")
        return openai.transcription(site, model, sent)


def here(path: Path, tell: Tell) -> str:
    """What the built-in model hears in a file.

    Raises:
        Unreadable: as `transcript`.
    """
    recognition.pocketsphinx()
    with decoding.decoded(path) as sound:
        return recognition.heard(sound, tell)


def _small(sound: Decoded, target: Path, tell: Tell) -> None:
    """The sound as a small MP3, since servers take but 25 MB: that is over an hour of it."""
    import numpy as np

    tell("taking the sound out")
    with decoding.soundfile().SoundFile(
        target,
        "w",
        samplerate=decoding.RATE,
        channels=1,
        format="MP3",
        subtype="MPEG_LAYER_III",
        bitrate_mode="CONSTANT",
        compression_level=0.7,
    ) as file:
        rest = b""
        for block in sound.blocks:  # of a pipe they may end within a sample
            block = rest + block
            file.write(np.frombuffer(block[: len(block) & ~1], "<i2"))
            rest = block[len(block) & ~1 :]
