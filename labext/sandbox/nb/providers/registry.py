"""Known providers, model types, built-in models and default slots."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy.orm import Session

from labext import messages
from labext.messages import quote_token
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.nb import errors
from labext.sandbox.nb.tables import DefaultModel, Model, SeedMarker
from labext.sandbox.nb.text import extractive


def set_slot_line(slot: str, name: str = "NAME") -> str:
    """The line that gives a slot a model."""
    return f"`%nb models defaults --set {slot}={quote_token(name)}`"


def new_credential_line(provider: str) -> str:
    """The line that says how a provider is reached."""
    return f"`%nb credentials new {provider} --name NAME`"


def new_key_line(credential: str) -> str:
    """The line that gives a credential another key."""
    return f"`%nb credentials edit {quote_token(credential)} --new-key`"


def new_address_line(credential: str) -> str:
    """The line that gives a credential the address of another server, and the key for it."""
    return f"`%nb credentials edit {quote_token(credential)} --base-url URL --new-key`"


LLM, EMBEDDING, STT, TTS = MODEL_TYPES = ("llm", "embedding", "stt", "tts")
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

FALLBACK_TTS = ESPEAK
"""The model that has its slot until another one of its type is installed."""


def get_default_model(session: Session, slot: str) -> Model | None:
    """The model of a default slot, or None where none is set."""
    found = session.get(DefaultModel, slot)
    return None if found is None else session.get(Model, found.model_id)


def get_model(session: Session, identifier: str, kind: str | None = None) -> Model:
    """A model by its identifier.

    Raises:
        HTTPException: 404, there is none; 422, it is not of the type `kind`.
    """
    found = session.get(Model, identifier)
    if found is None:
        raise errors.not_found("model", identifier)
    if kind is not None and found.kind != kind:
        raise errors.not_configured(
            f"The model {found.name} is of type {found.kind}, and this needs one of type {kind}.",
            f"Choose one of those: `%nb models --type {kind}`.",
        )
    return found


def select_model(session: Session, slot: str, wanted: str | None = None) -> Model:
    """The model that was asked for, or else the slot's.

    Raises:
        HTTPException: 404 or 422 as `model`; 422, none was asked for and the slot has none.
    """
    if wanted is not None:
        return get_model(session, wanted, SLOTS[slot])
    found = get_default_model(session, slot)
    if found is None:
        raise errors.not_configured(
            f"No model is set for {slot}.",
            f"Set the default slot {slot} to a model of type {SLOTS[slot]}: {set_slot_line(slot)}.",
        )
    return found


def is_built_in(model: Model) -> bool:
    """Whether a model comes with the service, and needs no server."""
    return model.provider == BUILT_IN


def seed_models(session: Session) -> None:
    """Make the built-in models, and give them the slots that are free; what was removed stays away.

    What was installed since takes the place of a fallback.
    """
    for identifier, (name, kind) in built_in_models().items():
        if not mark_seeded(session, SeedMarker, identifier):
            continue
        session.add(Model(id=identifier, name=name, kind=kind, provider=BUILT_IN))
        session.flush()
        for slot in (each for each, takes in SLOTS.items() if takes == kind):
            there = session.get(DefaultModel, slot)
            if there is None or there.model_id == FALLBACK_TTS:
                session.merge(DefaultModel(slot=slot, model_id=identifier))


def built_in_models() -> dict[str, tuple[str, str]]:
    """The name and the type of what can be used here, fallbacks first."""
    found = {EXTRACTIVE: (extractive.MODEL_NAME, LLM)}
    if find_spec("wordllama") is not None:
        found[WORDLLAMA] = ("wordllama", EMBEDDING)
    if find_spec("espeakng_loader") is not None:
        found[ESPEAK] = ("espeak-ng", TTS)
    if shutil.which("flite") is not None:
        found[FLITE] = ("flite", TTS)
    if find_spec("pocketsphinx") is not None:
        found[POCKETSPHINX] = ("pocketsphinx", STT)
    return found


@dataclass(frozen=True)
class ProviderInfo:
    """A provider of models.

    Attributes:
        name: what the service calls it.
        base_url: where it is; None: only a credential, or the environment, says it.
        needs_key: whether it answers nobody without a key.
        kinds: the types of models that it has.
    """

    name: str
    base_url: str | None
    needs_key: bool
    kinds: tuple[str, ...]


OPENAI_COMPATIBLE = "openai_compatible"

PROVIDERS: Mapping[str, ProviderInfo] = {
    known.name: known
    for known in (
        ProviderInfo("openai", "https://api.openai.com/v1", True, MODEL_TYPES),
        ProviderInfo("mistral", "https://api.mistral.ai/v1", True, (LLM, EMBEDDING, STT)),
        ProviderInfo("xai", "https://api.x.ai/v1", True, (LLM,)),
        ProviderInfo("deepseek", "https://api.deepseek.com/v1", True, (LLM,)),
        ProviderInfo("groq", "https://api.groq.com/openai/v1", True, (LLM, STT, TTS)),
        ProviderInfo("openrouter", "https://openrouter.ai/api/v1", True, (LLM, EMBEDDING)),
        ProviderInfo(OPENAI_COMPATIBLE, None, False, MODEL_TYPES),
        ProviderInfo("ollama", "http://localhost:11434/v1", False, (LLM, EMBEDDING)),
    )
}
"""Those that a credential can be for, the first choice of `ranking` first."""

PROVIDER_NAMES = (*PROVIDERS, BUILT_IN)
"""All, the built-in one last."""


def get_provider(name: str) -> ProviderInfo:
    """A provider that a credential can be for.

    Raises:
        HTTPException: 400, there is none of the name, or it needs no credential.
    """
    if name == BUILT_IN:
        raise errors.bad_request("The built-in models need no credential.", "See `%nb models`.")
    check_provider(name)
    return PROVIDERS[name]


def check_provider(name: str) -> str:
    """The name of any provider.

    Raises:
        HTTPException: 400, there is none of the name.
    """
    if name not in PROVIDER_NAMES:
        raise errors.bad_request(
            f"There is no provider {messages.quote_value(name)}.",
            f"Choose one of {messages.join_words(PROVIDER_NAMES, len(PROVIDER_NAMES))}.",
        )
    return name


NAME_RULES: Sequence[tuple[str | None, tuple[str, ...]]] = (
    (STT, ("whisper", "transcri", "stt", "asr", "parakeet")),
    (TTS, ("tts", "speech", "kokoro", "piper", "orpheus")),
    (EMBEDDING, ("embed", "bge", "gte", "e5", "minilm")),
    (
        None,
        (
            *("moderation", "rerank", "ocr", "guard", "dall", "image", "flux", "sora", "video"),
            *("diffusion", "realtime", "babbage", "davinci"),
        ),
    ),
)
"""Types, and the marks of each; None is what the service has no use for. All else is an `llm`."""

_WORD = re.compile(r"[^\W_]+")


def guess_model_type(name: str) -> str | None:
    """The type that a model probably is of; None: none that the service uses."""
    words = _WORD.findall(name.lower())
    for kind, marks in NAME_RULES:
        if any(word.startswith(marks) for word in words):
            return kind
    return LLM
