"""A text-to-speech model of an OpenAI-compatible server."""

from __future__ import annotations

import io

from labext.sandbox.nb import faults
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.speech.samples import Sound
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

VOICES = ("nova", "onyx", "shimmer", "echo", "alloy", "fable")
"""OpenAI's, which most servers know: who has been given none gets one of these."""


def say(site: Site, model: Model, voice: str, text: str, line: Line | None = None) -> Sound:
    """A text as a voice of the model's server says it.

    Raises:
        HTTPException: 502, the server failed, or what it answered is no sound; 422, it can't be
            asked.
        HungUp: nobody waits any more.
    """
    import soundfile  # type: ignore[import-untyped]

    from labext.sandbox.nb.models import openai

    answered = openai.speech(site, model, text, voice, line)
    try:
        samples, rate = soundfile.read(io.BytesIO(answered), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, RuntimeError, ValueError):
        raise faults.external(
            f"The sound that the server of the model {model.name} answered can't be read. "
            "Check that it is a model of type tts, or choose another."
        ) from None
    return Sound(samples.mean(axis=1), int(rate))
