"""Assign a voice to each speaker."""

from __future__ import annotations

from collections.abc import Mapping

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import engine, espeak
from labext.sandbox.nb.speech.engine import REMOTE_VOICES
from labext.sandbox.nb.tables import Model

ENGLISH = "en"


def base_language(language: str | None) -> str:
    """A language without its country, in small letters: `de`, `german`; None is English, `en`."""
    named = (language or ENGLISH).lower().replace("_", "-")
    found = named.partition("-")[0].partition("(")[0].strip()
    return ENGLISH if found == "english" else found


def is_english(language: str | None) -> bool:
    """Whether a language is English; None is."""
    return base_language(language) == ENGLISH


VoiceRequests = Mapping[str, tuple[Model, str | None]]
"""For each speaker's name the model, and a voice of it if he is to have a certain one."""

VoiceAssignments = dict[str, tuple[Model, str]]


def assign_voices(
    site: Site, wanted: VoiceRequests, language: str | None = None
) -> VoiceAssignments:
    """Give each speaker who has none a voice that nobody else has.

    Args:
        site: where the service lives.
        wanted: who speaks, in the order in which voices are given.
        language: of what is said: `de`, `de-DE` or `German`; None is English. A model that has no
            voices of its own for it takes those it has.

    Raises:
        HTTPException: 422, a model has fewer voices than speakers, or not the one that is wanted;
            or what it needs is not installed.
    """
    found: VoiceAssignments = {
        name: (model, voice) for name, (model, voice) in wanted.items() if voice
    }
    for model, certain in found.values():
        _check_voice(site, model, certain)
    taken = {(model.id, voice) for model, voice in found.values()}
    for name, (model, voice) in wanted.items():
        if voice:
            continue
        free = [
            each
            for each in _voices_for_language(site, model, language)
            if (model.id, each) not in taken
        ]
        if not free:
            raise errors.not_configured(
                f"The model {model.name} has no voice left for {name}. Take fewer speakers, or "
                "give some of them another voice or voice model."
            )
        found[name] = (model, free[0])
        taken.add((model.id, free[0]))
    return {name: found[name] for name in wanted}


def _check_voice(site: Site, model: Model, voice: str) -> None:
    there = engine.list_voices(site, model)
    if there and voice not in there:
        raise errors.not_configured(
            f"The model {model.name} has no voice {voice[:60]}. It has {', '.join(there[:8])}"
            f"{' and others' if there[8:] else ''}: choose one of them for the speaker, or none."
        )


def _voices_for_language(site: Site, model: Model, language: str | None) -> list[str]:
    """A model's voices, those of a language if it has any."""
    there = engine.list_voices(site, model)
    if not registry.is_built_in(model):
        return list(REMOTE_VOICES)
    code = base_language(language)
    if model.name == "espeak-ng" and len(code) > 3:
        code = espeak.language_code(code).partition("-")[0]
    of_it = [each for each in there if each.partition("+")[0].partition("-")[0] == code]
    return of_it or [each for each in there if each.startswith("en")] or there
