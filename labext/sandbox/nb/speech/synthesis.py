"""Synthesize speech with a built-in engine or a server."""

from __future__ import annotations

import io

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.servers import quote_reply
from labext.sandbox.nb.speech.audio import Sound
from labext.sandbox.nb.speech.engines import ENGINES, Espeak, Flite, require_packages
from labext.sandbox.nb.tables import Model

_MIN_RATE, _MAX_RATE = 4000, 384_000
"""Sample rates of speech in hertz; another one would change its length beyond all memory."""


def list_voices(site: Site, model: Model) -> dict[str, str]:
    """Return the names of a model's voices by identifier; empty if it accepts any identifier.

    The most distinct ones come first.
    """
    require_packages("soundfile")
    if registry.is_built_in(model):
        return {voice: voice for voice in _engine(model).voices()}
    from labext.sandbox.nb.providers import calls

    return calls.list_voices(site, model)


def default_voices(site: Site, model: Model) -> list[str]:
    """Return the identifiers of voices for speakers without one."""
    if registry.is_built_in(model):
        return list(list_voices(site, model))
    from labext.sandbox.nb.providers import calls

    return list(calls.default_voices(site, model))


def synthesize(
    site: Site, model: Model, voice: str, text: str, cancel_token: CancelToken | None = None
) -> Sound:
    """Return the speech of a normalized text by a voice; empty if a built-in one says nothing.

    To be called in a task process only: an engine may be limited to one voice at a time.
    """
    if registry.is_built_in(model):
        return _engine(model).say(voice, text)
    require_packages("soundfile")
    import numpy as np
    import soundfile

    from labext.sandbox.nb.providers import calls

    content = calls.synthesize(site, model, text, voice, cancel_token)
    try:
        samples, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
        if not np.isfinite(samples).all() or not _MIN_RATE <= rate <= _MAX_RATE:
            raise ValueError
    except (soundfile.SoundFileError, RuntimeError, ValueError):
        raise errors.bad_gateway(
            f"The server of the model {model.name} did not return a readable audio file. "
            "Check that it is a model of type tts, or choose another."
        ) from None
    if not samples.any():
        raise errors.bad_gateway(
            f"The server of the model {model.name} returned no sound for “{quote_reply(text)}”. "
            "Try again, or choose another voice or model."
        )
    return Sound(samples.mean(axis=1), int(rate))


def max_parallel(model: Model) -> int:
    """Return the best number of texts to synthesize in parallel."""
    return _engine(model).parallel if registry.is_built_in(model) else 2


def _engine(model: Model) -> Espeak | Flite:
    engine = ENGINES.get(model.name)
    if engine is None:
        raise errors.not_configured(
            f"The model {model.name} does not synthesize speech. Set the default slot "
            "text_to_speech to one that does: "
            f"{admin_command('nb models default text_to_speech NAME')}."
        )
    return engine
