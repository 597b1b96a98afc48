"""A model tried by a real call of its type, as short as it can be."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import tempfile
import time
import wave
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.launcher import clean_environment
from labext.sandbox.nb import faults
from labext.sandbox.nb.models import chatting, registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.models.titles import shortened
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

SAID = "Hello. Are you there?"
VOICE = "alloy"
"""What OpenAI, and most that follow it, call a voice."""

_SECONDS = 60
_RATE = 16_000

Outcome = tuple[str, dict[str, Any]]
"""A sentence, and what was measured."""


def tried(site: Site, model: Model, line: Line | None = None) -> dict[str, Any]:
    """What came of asking a model: `success`, `message` and `details`; a failure is told so too.

    Raises:
        HungUp: nobody waits any more.
    """
    began = time.monotonic()
    try:
        message, details = _TRIALS[model.kind](site, model, line)
    except HTTPException as error:
        return {"success": False, "message": str(error.detail), "details": None}
    seconds = round(time.monotonic() - began, 3)
    return {"success": True, "message": message, "details": {"seconds": seconds, **details}}


def _chat(site: Site, model: Model, line: Line | None) -> Outcome:
    reply = chatting.reply(site, model, [{"role": "user", "content": SAID}], line)
    return f"It answered: {shortened(reply)}", {"characters": len(reply)}


def _embed(site: Site, model: Model, line: Line | None) -> Outcome:
    if registry.is_built_in(model):
        from labext.sandbox.nb.search.embedding import embedder_for

        embedder = embedder_for(site, model)
        if embedder is None:
            raise faults.unconfigured(f"What {model.name} needs is not installed.")
        dimensions = embedder.embed([SAID]).shape[1]
    else:
        from labext.sandbox.nb.models import openai

        dimensions = len(openai.embed(site, model, [SAID], line)[0])
    return f"It made a vector of {dimensions:,} dimensions.", {"dimensions": dimensions}


def _speak(site: Site, model: Model, line: Line | None) -> Outcome:
    if registry.is_built_in(model):
        found = _in_a_process(site, model)
        return f"It spoke for {found['spoken']:.1f} seconds.", found
    from labext.sandbox.nb.models import openai

    size = len(openai.speech(site, model, SAID, VOICE, line))
    return f"It spoke, in {size:,} bytes.", {"bytes": size}


def _hear(site: Site, model: Model, line: Line | None) -> Outcome:
    if registry.is_built_in(model):
        text = str(_in_a_process(site, model)["heard"])
    else:
        from labext.sandbox.nb.models import openai

        with tempfile.TemporaryDirectory() as folder:
            text = openai.transcription(site, model, tone(Path(folder)), line)
    heard = f"It heard: {shortened(text)}" if text else "It heard a tone, in which nobody speaks."
    return heard, {"characters": len(text)}


_TRIALS: Mapping[str, Callable[[Site, Model, Line | None], Outcome]] = {
    registry.LLM: _chat,
    registry.EMBEDDING: _embed,
    registry.TTS: _speak,
    registry.STT: _hear,
}


def tone(folder: Path) -> Path:
    """A WAV file with a second of a tone."""
    steps = (int(8000 * math.sin(2 * math.pi * 440 * n / _RATE)) for n in range(_RATE))
    samples = array("h", steps)
    if sys.byteorder == "big":
        samples.byteswap()
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(samples.tobytes())
    path = folder / "tone.wav"
    path.write_bytes(content.getvalue())
    return path


def _in_a_process(site: Site, model: Model) -> dict[str, Any]:
    """Let a built-in model of sound work in a process of its own: its library is not the host's."""
    command = [sys.executable, "-P", "-m", "labext.sandbox.nb.models.trial_process"]
    try:
        done = subprocess.run(
            [*command, str(site.folder), model.id],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise faults.external(f"{model.name} was not done within {_SECONDS} seconds.") from None
    except ValueError:
        raise faults.external(f"{model.name} failed.") from None
    if "error" in found:
        raise faults.external(found["error"])
    return found
