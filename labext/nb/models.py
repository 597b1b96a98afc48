"""Client methods for models and their default slots; detection of a model's type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import ConflictError, InputError
from labext.nb import views
from labext.nb.records import MODEL, SLOTS, Record, build_record
from labext.nb.resource import Names, Resource, unique_names

if TYPE_CHECKING:
    import pandas as pd


class Models(Resource):
    """`nb.models`: language, embedding and speech models.

    Methods accept a model's name, also with its provider: `openai/gpt-4o`.
    """

    def list(self, type: str | None = None) -> pd.DataFrame:
        """Return the models; columns as `labext.nb.records.MODEL`.

        Args:
            type: only models of this type: `llm`, `embedding`, `stt` (speech to text) or `tts`.
        """
        return views.model_frame(self.iter(type))

    def iter(self, type: str | None = None) -> Iterator[Record]:
        """Yield the records of models, of a type or all."""
        yield from self._run(self._backend.models(type))

    def names(self, type: str | None = None) -> Names:
        """Return the distinct names of models, of a type or all."""
        return unique_names(self.iter(type))

    def find(self, model: str, type: str | None = None) -> str:
        """Return a model's identifier; models of the given type take precedence."""
        return self._titles.find("model", model, type)

    def create(self, name: str, type: str, provider: str, credential: str | None = None) -> Record:
        """Add a model; return its record.

        Args:
            name: the name that the provider uses.
            type: `llm`, `embedding`, `stt` or `tts`.
            provider: the provider: `openai`, `ollama`, …
            credential: the credential to use, by name or identifier; the provider's own if omitted.

        Raises:
            InputError: the model exists already, or the type or provider is unknown.
            OutcomeUnknownError: the response was lost, and the record does not exist.
        """
        credential_id = credential and self._titles.find("credential", credential, provider)
        return self._run(self._backend.new_model(name, type, provider, credential_id or None))

    def delete(self, model: str) -> None:
        """Delete a model; raise InputError if it is set in a default slot."""
        self._run(self._backend.delete_model(self.find(model)))

    def test(self, model: str) -> Record:
        """Test a model with a small request; return `success`, `message` and `details`."""
        return self._run(self._backend.test_model(self.find(model)))

    def defaults(self) -> dict[str, Record | None]:
        """Return the model's record for each default slot, as in `labext.nb.records.SLOTS`.

        An empty slot is None. The record of a deleted model contains only its identifier.
        """
        return self._with_records(self._run(self._backend.defaults()))

    def set_defaults(self, slots: Mapping[str, str | None]) -> dict[str, Record | None]:
        """Set the models of slots, by name or identifier; None clears a slot. Return all slots.

        Slots that are not named stay unchanged.

        Raises:
            InputError: a slot does not exist, or the model is of another type.
            NotFoundError: a model does not exist.
        """
        if not slots:
            raise InputError("No slots were given.", "Give a slot, such as `chat`, and a model.")
        requested = {validate_slot(slot): model for slot, model in slots.items()}
        changes = {
            slot: None if model is None else self.find(model, SLOTS[slot])
            for slot, model in requested.items()
        }
        return self._with_records(self._run(self._backend.set_defaults(changes)))

    def providers(self) -> pd.DataFrame:
        """Return the providers; columns as `labext.nb.records.PROVIDER`.

        `available` is True if the service can use the provider; `types` are its model types.
        """
        return views.provider_frame(self._run(self._backend.providers()))

    def discover(self, provider: str) -> pd.DataFrame:
        """Return the models of a provider; columns as `labext.nb.records.DISCOVERED_MODEL`.

        Raises:
            ServiceError: the provider does not answer.
        """
        return views.discovered_model_frame(self._run(self._backend.discover(provider)))

    def sync(self, provider: str | None = None) -> pd.DataFrame:
        """Add all models that a provider, or every provider, offers; return a row per provider.

        Columns as `labext.nb.records.SYNC_RESULT`: the number of models offered, the number of new
        models, and the error of a provider that failed.
        """
        return views.sync_frame(self._run(self._backend.sync(provider)))

    def auto_assign(self) -> Record:
        """Fill the empty default slots by the service's ranking of providers.

        Returns: `assigned`, the model identifier for each slot that was filled; `skipped`, the
            slots that had a model; `missing`, the slots without a suitable model.
        """
        return self._run(self._backend.auto_assign())

    def count(self, provider: str) -> Record:
        """Count a provider's models; return `provider`, `counts` by type and `total`."""
        return self._run(self._backend.count_models(provider))

    def by_provider(self, provider: str) -> pd.DataFrame:
        """Return a provider's models; columns as `labext.nb.records.MODEL`."""
        return views.model_frame(self._run(self._backend.models_of(provider)))

    def _with_records(self, slots: Mapping[str, str | None]) -> dict[str, Record | None]:
        by_id = {record["id"]: record for record in self.iter()} if any(slots.values()) else {}
        return {
            slot: by_id.get(model, build_record(MODEL, {"id": model})) if model else None
            for slot, model in slots.items()
        }


def validate_slot(slot: str) -> str:
    """Return the canonical name of a default slot: `text_to_speech` for `text-to-speech`.

    Raises:
        InputError: there is no such slot.
    """
    name = str(slot).strip().lower().replace("-", "_")
    if name in SLOTS:
        return name
    near = messages.did_you_mean(name, SLOTS)
    raise InputError(
        f"There is no default slot {messages.quote_value(slot)}{near}.",
        f"The slots are {', '.join(SLOTS)}.",
    )


_TYPE_PATTERNS = (
    ("embedding", r"embed|minilm|\bbge\b|\be5\b|\bgte\b"),
    ("stt", r"whisper|transcri|speech-to-text|parakeet|stt\b"),
    ("tts", r"tts\b|speech|voice|kokoro|piper"),
    ("llm", ""),
)
"""Model types, with a pattern of the usual model names."""


def likely_types(name: str) -> list[str]:
    """Return all types of models, the likeliest for a name first."""
    normalized = name.casefold().replace("_", "-")
    first = next(type for type, pattern in _TYPE_PATTERNS if re.search(pattern, normalized))
    return [first, *(type for type in ("llm", "embedding", "tts", "stt") if type != first)]


def probe_type(models: Models, name: str, provider: str, credential: str) -> tuple[str | None, str]:
    """Add a model of a credential with the first type for which the service's test succeeds.

    The test endpoint accepts only stored models: a model whose test fails is deleted again.

    Returns:
        The type, or None; and the service's message about the failed test of the likeliest type.
    """
    reason = ""
    for type in likely_types(name):
        try:
            added = models.create(name, type, provider, credential)
        except (ConflictError, InputError) as error:
            if error.status not in (400, 409):
                raise
            return type, ""  # it existed already
        works = False
        try:
            result = models.test(added["id"])
            works = bool(result["success"])
        finally:
            if not works:
                models.delete(added["id"])
        if works:
            return type, ""
        reason = reason or str(result["message"] or "")
    return None, reason


_PREFERRED = {
    "llm": (
        *(r"sonnet", r"gpt-\d[\w.]*-mini", r"flash(?!.*lite)", r"gpt-\d", r"mistral-medium"),
        *(r"gemini", r"haiku", r"mistral-(small|large)", r"deepseek-chat", r"llama.*70b", ""),
    ),
    "embedding": (r"embedding-3-small", r"gemini-embedding", r"mistral-embed", r"nomic", ""),
    "stt": (r"whisper-large", r"transcribe", ""),
    "tts": (r"mini-tts", r"tts-1(?!-hd)", ""),
}
"""Patterns of model names for a default slot, by type, the best first."""

_SPECIAL = re.compile(
    r"preview|exp\b|beta|vision|audio|search|realtime|image|code|guard|live|diarize|thinking"
)


def preferred_model(names: Iterable[str], type: str) -> str:
    """Return the name of the model to use by default: a general one, of the latest version."""

    def rank(name: str) -> tuple[bool, int, list[int], list[int]]:
        patterns = _PREFERRED[type]
        place = next(i for i, pattern in enumerate(patterns) if re.search(pattern, name.lower()))
        numbers = re.findall(r"\d+", re.sub(r"\d{4}-\d\d-\d\d", "", name))
        versions = [-int(number) for number in numbers if len(number) < 4]
        dates = [-int(number) for number in numbers if len(number) >= 4]
        return _SPECIAL.search(name.lower()) is not None, place, [*versions, 0], [*dates, 0]

    return min(names, key=lambda name: (*rank(name), len(name)))
