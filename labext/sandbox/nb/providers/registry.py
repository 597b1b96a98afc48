"""Known providers, model types, built-in models and default slots."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy.orm import Session

from labext import messages
from labext.actions import Action
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.nb import errors
from labext.sandbox.nb.providers import minilm
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.tables import DefaultModel, Model, SeedMarker
from labext.sandbox.nb.text import extractive

LLM, EMBEDDING, STT, TTS = MODEL_TYPES = ("llm", "embedding", "stt", "tts")
"""The types of models (NB-274)."""

SLOTS: Mapping[str, str] = {
    "chat": LLM,
    "transformation": LLM,
    "embedding": EMBEDDING,
    "speech_to_text": STT,
    "text_to_speech": TTS,
    "podcast": LLM,
    "summary": LLM,
}
"""The default slots (NB-281) with their model types."""

BUILT_IN = "built-in"
"""The provider of the models included in the service."""

EXTRACTIVE, MINILM = "model:extractive", "model:all-minilm-l6-v2"
ESPEAK, FLITE, POCKETSPHINX = "model:espeak-ng", "model:flite", "model:pocketsphinx"

FALLBACK_TTS = ESPEAK
"""The model that holds its slot until another one of its type is installed."""


def get_default_model(session: Session, slot: str) -> Model | None:
    """Return the model of a default slot, or None."""
    default = session.get(DefaultModel, slot)
    return None if default is None else session.get(Model, default.model_id)


def get_model(session: Session, identifier: str, kind: str | None = None) -> Model:
    """Return a model by its identifier."""
    model = load(session, Model, identifier)
    if kind is not None and model.kind != kind:
        raise errors.not_configured(
            f"The model {model.name} is of type {model.kind}, and this needs one of type {kind}.",
            "Choose one of those.",
            Action.list_models(kind),
        )
    return model


def select_model(session: Session, slot: str, requested: str | None = None) -> Model:
    """Return the requested model, or else the slot's."""
    if requested is not None:
        return get_model(session, requested, SLOTS[slot])
    model = get_default_model(session, slot)
    if model is None:
        raise errors.not_configured(
            f"No model is set for {slot}.",
            f"Set the default slot {slot} to a model of type {SLOTS[slot]}.",
            Action.set_model(slot),
        )
    return model


def is_built_in(model: Model) -> bool:
    """Return whether a model is included in the service and needs no server."""
    return model.provider == BUILT_IN


def seed_models(session: Session) -> None:
    """Create the built-in models and put them into empty slots; removed ones stay removed.

    A newly installed model replaces a fallback.
    """
    for identifier, (name, kind) in built_in_models().items():
        if not mark_seeded(session, SeedMarker, identifier):
            continue
        session.add(Model(id=identifier, name=name, kind=kind, provider=BUILT_IN))
        session.flush()
        for slot in (name for name, slot_kind in SLOTS.items() if slot_kind == kind):
            default = session.get(DefaultModel, slot)
            if default is None or default.model_id == FALLBACK_TTS:
                session.merge(DefaultModel(slot=slot, model_id=identifier))


def built_in_models() -> dict[str, tuple[str, str]]:
    """Return the names and types of the models usable here, by identifier, fallbacks first."""
    models = {EXTRACTIVE: (extractive.MODEL_NAME, LLM)}
    if minilm.is_installed():
        models[MINILM] = ("all-MiniLM-L6-v2", EMBEDDING)
    if find_spec("espeakng_loader") is not None:
        models[ESPEAK] = ("espeak-ng", TTS)
    if shutil.which("flite") is not None:
        models[FLITE] = ("flite", TTS)
    if find_spec("pocketsphinx") is not None:
        models[POCKETSPHINX] = ("pocketsphinx", STT)
    return models


@dataclass(frozen=True)
class ProviderInfo:
    """A provider of models.

    Attributes:
        base_url: its address; None if only a credential or the environment states it.
        needs_key: whether it requires a key.
        form: its wire form, by the name in `calls`.
        key_header: the header with its key.
        default_path: the path of its interface, for addresses without one.
    """

    name: str
    base_url: str | None
    needs_key: bool
    kinds: tuple[str, ...]
    form: str = "openai"
    key_header: str = "Authorization"
    default_path: str = "/v1"


OPENAI_COMPATIBLE = "openai_compatible"

_ELEVENLABS = "https://api.elevenlabs.io/v1"
_GOOGLE = "https://generativelanguage.googleapis.com/v1beta"

PROVIDERS: Mapping[str, ProviderInfo] = {
    provider.name: provider
    for provider in (
        ProviderInfo("openai", "https://api.openai.com/v1", True, MODEL_TYPES),
        ProviderInfo(
            "anthropic", "https://api.anthropic.com/v1", True, (LLM,), "anthropic", "x-api-key"
        ),
        ProviderInfo("google", _GOOGLE, True, MODEL_TYPES, "google", "x-goog-api-key", "/v1beta"),
        ProviderInfo("mistral", "https://api.mistral.ai/v1", True, (LLM, EMBEDDING, STT)),
        ProviderInfo("xai", "https://api.x.ai/v1", True, (LLM,)),
        ProviderInfo("deepseek", "https://api.deepseek.com/v1", True, (LLM,)),
        ProviderInfo("groq", "https://api.groq.com/openai/v1", True, (LLM, STT, TTS)),
        ProviderInfo("openrouter", "https://openrouter.ai/api/v1", True, (LLM, EMBEDDING)),
        ProviderInfo("elevenlabs", _ELEVENLABS, True, (STT, TTS), "elevenlabs", "xi-api-key"),
        ProviderInfo("azure", None, True, MODEL_TYPES, "openai", "api-key", ""),
        ProviderInfo(OPENAI_COMPATIBLE, None, False, MODEL_TYPES),
        ProviderInfo(
            "ollama", "http://localhost:11434", False, (LLM, EMBEDDING), "ollama", default_path=""
        ),
        ProviderInfo("lmstudio", "http://localhost:1234/v1", False, (LLM, EMBEDDING)),
        ProviderInfo("vllm", "http://localhost:8000/v1", False, (LLM, EMBEDDING)),
        ProviderInfo("piper", "http://localhost:5000", False, (TTS,), "piper", default_path=""),
    )
}
"""Providers that credentials can be created for, in order of preference."""

PROVIDER_NAMES = (*PROVIDERS, BUILT_IN)
"""All providers, the built-in one last."""


def get_provider(name: str) -> ProviderInfo:
    """Return a provider that credentials can be created for."""
    if name == BUILT_IN:
        raise errors.bad_request(
            "The built-in models need no credential.", "See the models.", Action.list_models()
        )
    check_provider(name)
    return PROVIDERS[name]


def check_provider(name: str) -> str:
    """Return the name if a provider has it."""
    if name not in PROVIDER_NAMES:
        raise errors.bad_request(
            f"There is no provider {messages.quote_value(name)}.",
            f"Choose one of {messages.join_words(PROVIDER_NAMES, len(PROVIDER_NAMES))}.",
        )
    return name


NAME_RULES: Sequence[tuple[str | None, tuple[str, ...]]] = (
    (STT, ("whisper", "transcri", "stt", "asr", "parakeet", "scribe")),
    (TTS, ("tts", "speech", "kokoro", "piper", "orpheus", "eleven")),
    (EMBEDDING, ("embed", "bge", "gte", "e5", "minilm")),
    (
        None,
        (
            *("moderation", "rerank", "ocr", "guard", "dall", "image", "flux", "sora", "video"),
            *("diffusion", "realtime", "babbage", "davinci"),
        ),
    ),
)
"""Model types with prefixes of words in names; None for unused types. All others are `llm`."""

_WORD = re.compile(r"[^\W_]+")


def guess_model_type(name: str) -> str | None:
    """Return the probable type of a model; None for a type that the service does not use."""
    words = _WORD.findall(name.lower())
    for kind, marks in NAME_RULES:
        if any(word.startswith(marks) for word in words):
            return kind
    return LLM
