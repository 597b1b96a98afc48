"""Test a model with a real call; built-in speech models run in their own process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.launcher import clean_environment
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.background_tasks import open_site
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.embedding.embedder import create_embedder
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.chat import shorten_title
from labext.sandbox.nb.speech import synthesis, transcription
from labext.sandbox.nb.tables import Model

TRIAL_TEXT = "Hello. Are you there?"

_PROCESS_TIMEOUT = 60
_SAMPLE_RATE = 16_000
_PERIOD = b"\x40\x1f" * 18 + b"\xc0\xe0" * 18
"""A period of the test tone, a square wave of 444 hertz."""

Outcome = tuple[str, dict[str, Any]]
"""A message, and the measured details."""


def try_model(site: Site, model: Model, cancel_token: CancelToken | None = None) -> dict[str, Any]:
    """Call a model and return `success`, `message` and `details`, also for a failure."""
    started = time.monotonic()
    try:
        message, details = _TRIALS[model.kind](site, model, cancel_token)
    except HTTPException as error:
        return {**errors.failed_test(error), "details": None}
    seconds = round(time.monotonic() - started, 3)
    return {"success": True, "message": message, "details": {"seconds": seconds, **details}}


def _try_chat(site: Site, model: Model, cancel_token: CancelToken | None) -> Outcome:
    reply = chat.generate_reply(
        site, model, [{"role": "user", "content": TRIAL_TEXT}], cancel_token
    )
    return f"It answered: {shorten_title(reply)}", {"characters": len(reply)}


def _try_embedding(site: Site, model: Model, cancel_token: CancelToken | None) -> Outcome:
    if registry.is_built_in(model):
        embedder = create_embedder(site, model)
        if embedder is None:
            raise errors.not_configured(
                f"The package for {model.name} is not installed.",
                "Install it by `pip install 'labext-jupyter[semantic]'` and restart the sandbox.",
            )
        dimensions = embedder.embed([TRIAL_TEXT]).shape[1]
    else:
        from labext.sandbox.nb.providers import calls

        dimensions = len(calls.embed(site, model, [TRIAL_TEXT], cancel_token)[0])
    return f"It returned a vector of {dimensions:,} dimensions.", {"dimensions": dimensions}


def _try_speech(site: Site, model: Model, cancel_token: CancelToken | None) -> Outcome:
    if registry.is_built_in(model):
        result = _run_in_process(site, model)
        return f"It returned audio of {result['spoken']:.1f} seconds.", result
    voice = next(iter(synthesis.default_voices(site, model)), "")
    seconds = synthesis.synthesize(site, model, voice, TRIAL_TEXT, cancel_token).seconds
    return f"It returned audio of {seconds:.1f} seconds.", {"spoken": round(seconds, 2)}


def _try_transcription(site: Site, model: Model, cancel_token: CancelToken | None) -> Outcome:
    if registry.is_built_in(model):
        text = str(_run_in_process(site, model)["heard"])
    else:
        from labext.sandbox.nb.providers import calls

        with tempfile.TemporaryDirectory() as folder:
            text, _ = calls.transcribe(site, model, write_tone(Path(folder)), cancel_token)
    message = (
        f"It recognized: {shorten_title(text)}"
        if text
        else "It recognized no speech in a test tone."
    )
    return message, {"characters": len(text)}


_TRIALS: Mapping[str, Callable[[Site, Model, CancelToken | None], Outcome]] = {
    registry.LLM: _try_chat,
    registry.EMBEDDING: _try_embedding,
    registry.TTS: _try_speech,
    registry.STT: _try_transcription,
}


def write_tone(folder: Path) -> Path:
    """Write a WAV file with one second of a tone."""
    path = folder / "tone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_SAMPLE_RATE)
        file.writeframes(_PERIOD * (2 * _SAMPLE_RATE // len(_PERIOD)))
    return path


def _run_in_process(site: Site, model: Model) -> dict[str, Any]:
    """Run a built-in speech model in its own process, keeping its library out of the service."""
    command = [sys.executable, "-P", "-m", "labext.sandbox.nb.models.trial"]
    try:
        process = subprocess.run(
            [*command, str(site.folder), model.id],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROCESS_TIMEOUT,
            check=False,
        )
        result: dict[str, Any] = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        raise errors.bad_gateway(
            f"{model.name} did not finish within {_PROCESS_TIMEOUT} seconds."
        ) from None
    except ValueError:
        raise errors.bad_gateway(f"{model.name} failed.") from None
    if "error" in result:
        raise errors.bad_gateway(result["error"])
    return result


def main(folder: Path, identifier: str) -> dict[str, Any]:
    """Try a model of the service in a folder."""
    with open_site(folder / "work" / "trial") as site, tempfile.TemporaryDirectory() as work:
        with site.database.read() as session:
            model = registry.get_model(session, identifier)
        try:
            if model.kind == registry.TTS:
                voice = synthesis.default_voices(site, model)[0]
                sound = synthesis.synthesize(site, model, voice, TRIAL_TEXT)
                return {"spoken": round(sound.seconds, 2)}
            tone = write_tone(Path(work))
            return {"heard": transcription.transcribe(site, model, tone, lambda _stage: None).text}
        except HTTPException as error:
            return {"error": str(error.detail)}
        except UnreadableError as error:
            return {"error": str(error)}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
