"""Synthesize speech with a built-in engine or a server."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from labext.extras import install_line
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech.audio import Sound
from labext.sandbox.nb.tables import Model

ENGINES = {"espeak-ng": "espeak", "flite": "flite"}
"""The built-in models by name, and the module of each: it has `voices()` and `say(voice, text)`."""

_PACKAGES = ("soundfile",)


def list_voices(site: Site, model: Model) -> list[str]:  # noqa: ARG001 - a server's list may come of it
    """The voices of a model, those first that differ most; none where any name goes.

    Raises:
        HTTPException: 422, what it needs is not installed.
    """
    require_packages(*_PACKAGES)
    return _engine(model).voices() if registry.is_built_in(model) else []


def synthesize(
    site: Site, model: Model, voice: str, text: str, line: CancelToken | None = None
) -> Sound:
    """A text as a voice says it.

    Only in the process of a task: an engine may have but one voice at a time.

    Args:
        site: has the key of the model's server.
        model: of type `tts`.
        voice: one of `voices`, or what the model's server calls one.
        text: as it is to be read out (`wording`); it is no markup.
        line: to the model's server; may be hung up while it waits.

    Returns:
        what is heard, perhaps nothing.

    Raises:
        HTTPException: 422, what it needs is not installed, or it has no such voice; 502, its server
            failed.
        HungUp: nobody waits any more.
    """
    if registry.is_built_in(model):
        sound: Sound = _engine(model).say(voice, text)
        return sound

    return synthesize_remote(site, model, voice, text, line)


def max_parallel(model: Model) -> int:
    """How many texts it says best at a time."""
    return int(_engine(model).AT_ONCE) if registry.is_built_in(model) else 2


def require_packages(*packages: str) -> None:
    """See that packages of the extra are installed.

    Raises:
        HTTPException: 422, one is not.
    """
    if any(find_spec(each) is None for each in packages):
        raise errors.not_configured(
            "Speech needs packages that are not installed here: "
            f"run `{install_line('speech')}`, then try again."
        )


def _engine(model: Model) -> ModuleType:
    module = ENGINES.get(model.name)
    if module is None:
        raise errors.not_configured(
            f"The model {model.name} does not speak. Set the default slot text_to_speech to one "
            "that does: `labext sandbox nb models default text_to_speech NAME`."
        )
    return import_module(f"labext.sandbox.nb.speech.{module}")


REMOTE_VOICES = ("nova", "onyx", "shimmer", "echo", "alloy", "fable")
"""OpenAI's, which most servers know: who has been given none gets one of these."""


def synthesize_remote(
    site: Site, model: Model, voice: str, text: str, line: CancelToken | None = None
) -> Sound:
    """A text as a voice of the model's server says it.

    Raises:
        HTTPException: 502, the server failed, or what it answered is no sound; 422, it can't be
            asked.
        HungUp: nobody waits any more.
    """
    import soundfile  # type: ignore[import-untyped]

    from labext.sandbox.nb.providers import openai

    answered = openai.synthesize(site, model, text, voice, line)
    try:
        samples, rate = soundfile.read(io.BytesIO(answered), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, RuntimeError, ValueError):
        raise errors.bad_gateway(
            f"The sound that the server of the model {model.name} answered can't be read. "
            "Check that it is a model of type tts, or choose another."
        ) from None
    return Sound(samples.mean(axis=1), int(rate))
