"""Assign a voice to each speaker."""

from __future__ import annotations

from collections.abc import Mapping

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import engines, synthesis
from labext.sandbox.nb.tables import Model

ENGLISH = "en"


def base_language(language: str | None) -> str:
    """Return a language in lower case without its country; `en` for None."""
    name = (language or ENGLISH).lower().replace("_", "-")
    base = name.partition("-")[0].partition("(")[0].strip()
    return ENGLISH if base == "english" else base


def is_english(language: str | None) -> bool:
    """Return whether a language is English; None is."""
    return base_language(language) == ENGLISH


VoiceRequests = Mapping[str, tuple[Model, str | None]]
"""The model and requested voice (or None) of each speaker, by name."""

VoiceAssignments = dict[str, tuple[Model, str]]


def assign_voices(
    site: Site, requests: VoiceRequests, language: str | None = None
) -> VoiceAssignments:
    """Assign an unused voice to each speaker without one, in their order.

    The language is such as `de`, `de-DE` or `German`; None is English. A model without voices for
    it uses its other voices.
    """
    assigned: VoiceAssignments = {
        name: (model, _voice_identifier(site, model, voice))
        for name, (model, voice) in requests.items()
        if voice
    }
    used = {(model.id, voice) for model, voice in assigned.values()}
    for name, (model, voice) in requests.items():
        if voice:
            continue
        free = [
            free_voice
            for free_voice in _voices_for_language(site, model, language)
            if (model.id, free_voice) not in used
        ]
        if not free:
            raise errors.not_configured(
                f"The model {model.name} has no voice left for {name}. Take fewer speakers, or "
                "give some of them another voice or voice model."
            )
        assigned[name] = (model, free[0])
        used.add((model.id, free[0]))
    return {name: assigned[name] for name in requests}


def _voice_identifier(site: Site, model: Model, voice: str) -> str:
    """Return the identifier of a voice that is given by its identifier or its name."""
    voices = synthesis.list_voices(site, model)
    if not voices or voice in voices:
        return voice
    for identifier, name in voices.items():
        if name == voice:
            return identifier
    names = list(dict.fromkeys(voices.values()))
    raise errors.not_configured(
        f"The model {model.name} has no voice {voice[:60]}. It has {', '.join(names[:8])}"
        f"{' and others' if names[8:] else ''}: choose one of them for the speaker, or none."
    )


def _voices_for_language(site: Site, model: Model, language: str | None) -> list[str]:
    """Return a model's voices, only those of a language if it has any."""
    voices = synthesis.default_voices(site, model)
    if not registry.is_built_in(model):
        return voices
    code = base_language(language)
    if model.name == "espeak-ng" and len(code) > 3:
        code = engines.language_code(code).partition("-")[0]
    matching = [voice for voice in voices if voice.partition("+")[0].partition("-")[0] == code]
    return matching or [voice for voice in voices if voice.startswith("en")] or voices
