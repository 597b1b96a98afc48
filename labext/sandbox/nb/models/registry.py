"""The models there are, and which one is used for what."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec

from sqlalchemy.orm import Session

from labext.sandbox.nb import faults
from labext.sandbox.nb.models import extractive, steps
from labext.sandbox.nb.store import Default, Model, Seeded
from labext.sandbox.seeding import once

LLM, EMBEDDING, STT, TTS = KINDS = ("llm", "embedding", "stt", "tts")
"""The types of models (contract, Resources and their fields)."""

SLOTS: Mapping[str, str] = {
    "chat": LLM,
    "transformation": LLM,
    "embedding": EMBEDDING,
    "speech_to_text": STT,
    "text_to_speech": TTS,
    "podcast": LLM,
    "summary": LLM,
}
"""The default slots (contract, Resources and their fields), and the type that each takes."""

BUILT_IN = "built-in"
"""The provider of the models that come with the service."""

EXTRACTIVE, WORDLLAMA = "model:extractive", "model:wordllama"
ESPEAK, FLITE, POCKETSPHINX = "model:espeak-ng", "model:flite", "model:pocketsphinx"

FALLBACK = ESPEAK
"""The model that has its slot until another one of its type is installed."""


def default(session: Session, slot: str) -> Model | None:
    """The model of a default slot, or None where none is set."""
    found = session.get(Default, slot)
    return None if found is None else session.get(Model, found.model_id)


def model(session: Session, identifier: str, kind: str | None = None) -> Model:
    """A model by its identifier.

    Raises:
        HTTPException: 404, there is none; 422, it is not of the type `kind`.
    """
    found = session.get(Model, identifier)
    if found is None:
        raise faults.absent("model", identifier)
    if kind is not None and found.kind != kind:
        raise faults.unconfigured(
            f"The model {found.name} is of type {found.kind}, and this needs one of type {kind}.",
            f"Choose one of those: `%nb models --type {kind}`.",
        )
    return found


def chosen(session: Session, slot: str, wanted: str | None = None) -> Model:
    """The model that was asked for, or else the slot's.

    Raises:
        HTTPException: 404 or 422 as `model`; 422, none was asked for and the slot has none.
    """
    if wanted is not None:
        return model(session, wanted, SLOTS[slot])
    found = default(session, slot)
    if found is None:
        raise faults.unconfigured(
            f"No model is set for {slot}.",
            f"Set the default slot {slot} to a model of type {SLOTS[slot]}: "
            f"{steps.set_slot(slot)}.",
        )
    return found


def is_built_in(model: Model) -> bool:
    """Whether a model comes with the service, and needs no server."""
    return model.provider == BUILT_IN


def seed(session: Session) -> None:
    """Make the built-in models, and give them the slots that are free; what was removed stays away.

    What was installed since takes the place of a fallback.
    """
    for identifier, (name, kind) in built_in().items():
        if not once(session, Seeded, identifier):
            continue
        session.add(Model(id=identifier, name=name, kind=kind, provider=BUILT_IN))
        session.flush()
        for slot in (each for each, takes in SLOTS.items() if takes == kind):
            there = session.get(Default, slot)
            if there is None or there.model_id == FALLBACK:
                session.merge(Default(slot=slot, model_id=identifier))


def built_in() -> dict[str, tuple[str, str]]:
    """The name and the type of what can be used here, fallbacks first."""
    found = {EXTRACTIVE: (extractive.NAME, LLM)}
    if find_spec("wordllama") is not None:
        found[WORDLLAMA] = ("wordllama", EMBEDDING)
    if find_spec("espeakng_loader") is not None:
        found[ESPEAK] = ("espeak-ng", TTS)
    if shutil.which("flite") is not None:
        found[FLITE] = ("flite", TTS)
    if find_spec("pocketsphinx") is not None:
        found[POCKETSPHINX] = ("pocketsphinx", STT)
    return found
