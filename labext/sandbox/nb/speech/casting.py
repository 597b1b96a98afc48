"""Who speaks with which voice: no two speakers of an episode with the same one."""

from __future__ import annotations

from collections.abc import Mapping

from labext.sandbox.nb import faults
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.speech import engine, espeak, languages, remote
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

Wanted = Mapping[str, tuple[Model, str | None]]
"""For each speaker's name the model, and a voice of it if he is to have a certain one."""

Cast = dict[str, tuple[Model, str]]


def cast(site: Site, wanted: Wanted, language: str | None = None) -> Cast:
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
    found: Cast = {name: (model, voice) for name, (model, voice) in wanted.items() if voice}
    for model, certain in found.values():
        _check(site, model, certain)
    taken = {(model.id, voice) for model, voice in found.values()}
    for name, (model, voice) in wanted.items():
        if voice:
            continue
        free = [each for each in _voices(site, model, language) if (model.id, each) not in taken]
        if not free:
            raise faults.unconfigured(
                f"The model {model.name} has no voice left for {name}. Take fewer speakers, or "
                "give some of them another voice or voice model."
            )
        found[name] = (model, free[0])
        taken.add((model.id, free[0]))
    return {name: found[name] for name in wanted}


def _check(site: Site, model: Model, voice: str) -> None:
    there = engine.voices(site, model)
    if there and voice not in there:
        raise faults.unconfigured(
            f"The model {model.name} has no voice {voice[:60]}. It has {', '.join(there[:8])}"
            f"{' and others' if there[8:] else ''}: choose one of them for the speaker, or none."
        )


def _voices(site: Site, model: Model, language: str | None) -> list[str]:
    """A model's voices, those of a language if it has any."""
    there = engine.voices(site, model)
    if not registry.is_built_in(model):
        return list(remote.VOICES)
    code = languages.base(language)
    if model.name == "espeak-ng" and len(code) > 3:
        code = espeak.code(code).partition("-")[0]
    of_it = [each for each in there if each.partition("+")[0].partition("-")[0] == code]
    return of_it or [each for each in there if each.startswith("en")] or there
