"""Client methods for models and their default slots; detection of a model's type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import ConflictError, InputError
from labext.nb.records import MODEL, SLOTS, Record, build_record
from labext.nb.resource import Resource, unique_names

if TYPE_CHECKING:
    import pandas as pd


class Models(Resource):
    """`nb.models`: what chats, embeds, hears and speaks (contract, Endpoints: Models).

    A model goes by its name, and by its provider and its name: `openai/gpt-4o`.
    """

    def list(self, type: str | None = None) -> pd.DataFrame:
        """Return the models, a row each; columns as `records.MODEL`.

        Args:
            type: those of a type alone: `llm`, `embedding`, `stt` (speech to text) or `tts`.
        """
        from labext.nb.views import model_frame

        return model_frame(self.iter(type))

    def iter(self, type: str | None = None) -> Iterator[Record]:
        """Yield the records of models, of a type or all."""
        yield from self._executor.run(self._backend.models(type))

    def names(self, type: str | None = None) -> Sequence[str]:
        """Return the names of models, each once."""
        return unique_names(self.iter(type))

    def find(self, model: str, type: str | None = None) -> str:
        """Return a model's identifier; those of a type come first."""
        return self._titles.find("model", model, type)

    def create(self, name: str, type: str, provider: str, credential: str | None = None) -> Record:
        """Add a model; return its record.

        Args:
            name: what its provider calls it.
            type: `llm`, `embedding`, `stt` or `tts`.
            provider: who runs it: `openai`, `ollama`, …
            credential: what opens it, by name or identifier; else the provider's own.

        Raises:
            InputError: there is the same one already, or no such type or provider.
            OutcomeUnknownError: the answer was lost, and it is not there.
        """
        opened = credential and self._titles.find("credential", credential, provider)
        return self._executor.run(self._backend.new_model(name, type, provider, opened or None))

    def delete(self, model: str) -> None:
        """Delete a model.

        Raises:
            InputError: it is in a default slot.
        """
        self._executor.run(self._backend.delete_model(self.find(model)))

    def test(self, model: str) -> Record:
        """Have a model do a little of what it is for; return `success`, `message`, `details`."""
        return self._executor.run(self._backend.test_model(self.find(model)))

    def defaults(self) -> dict[str, Record | None]:
        """Return the record of the model in each default slot that the service has.

        The slots are among `records.SLOTS`. None is an empty slot. Of a model that is not there any
        more the identifier alone is known.
        """
        return self._with_records(self._executor.run(self._backend.defaults()))

    def set_defaults(self, slots: Mapping[str, str | None]) -> dict[str, Record | None]:
        """Put models into slots, by name or identifier; None empties one. Return all.

        Slots that are not named stay.

        Raises:
            InputError: there is no such slot, or the model is of another type.
            NotFoundError: there is no such model.
        """
        if not slots:
            raise InputError("No slot is named.", "Give one, such as `chat`, and a model.")
        named = {validate_slot(slot): model for slot, model in slots.items()}
        changes = {
            slot: None if model is None else self.find(model, SLOTS[slot])
            for slot, model in named.items()
        }
        return self._with_records(self._executor.run(self._backend.set_defaults(changes)))

    def providers(self) -> pd.DataFrame:
        """Return the providers, a row each; columns as `records.PROVIDER`.

        `available` is whether the service has what it takes to use one; `types` are those of its
        models.
        """
        from labext.nb.views import provider_frame

        return provider_frame(self._executor.run(self._backend.providers()))

    def discover(self, provider: str) -> pd.DataFrame:
        """Return what a provider offers, a row each; columns as `records.DISCOVERED`.

        Raises:
            ServiceError: the provider does not answer.
        """
        from labext.nb.views import discovered_model_frame

        return discovered_model_frame(self._executor.run(self._backend.discover(provider)))

    def sync(self, provider: str | None = None) -> pd.DataFrame:
        """Add what a provider, or every one, offers; return a row a provider.

        Columns as `records.SYNCED`: how many models it offers, how many of them are new, and why
        it could not be asked.
        """
        from labext.nb.views import sync_frame

        return sync_frame(self._executor.run(self._backend.sync(provider)))

    def auto_assign(self) -> Record:
        """Fill the default slots that are empty, by the service's ranking of providers.

        Returns: `assigned`, the identifier of the model in each slot that was filled; `skipped`,
            the slots that had one; `missing`, those for which there is no model.
        """
        return self._executor.run(self._backend.auto_assign())

    def count(self, provider: str) -> Record:
        """Return how many models a provider has: `provider`, `counts` by type, `total`."""
        return self._executor.run(self._backend.count_models(provider))

    def by_provider(self, provider: str) -> pd.DataFrame:
        """Return a provider's models, a row each; columns as `records.MODEL`."""
        from labext.nb.views import model_frame

        return model_frame(self._executor.run(self._backend.models_of(provider)))

    def _with_records(self, slots: Mapping[str, str | None]) -> dict[str, Record | None]:
        by_id = {record["id"]: record for record in self.iter()} if any(slots.values()) else {}
        return {
            slot: by_id.get(model, build_record(MODEL, {"id": model})) if model else None
            for slot, model in slots.items()
        }


def validate_slot(slot: str) -> str:
    """Return a default slot's name; `text-to-speech` is one too.

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
"""Types of models, and patterns of the names that such models usually have."""


@dataclass(frozen=True)
class TypeProbe:
    """The result of trying a model.

    Attributes:
        name: the model.
        type: the type as which it works and was added; None if it works as none.
        reason: why the test of its likeliest type failed, in the service's words.
    """

    name: str
    type: str | None
    reason: str = ""


def likely_types(name: str) -> list[str]:
    """Return all types of models, the likeliest for a name first."""
    words = name.casefold().replace("_", "-")
    first = next(type for type, pattern in _TYPE_PATTERNS if re.search(pattern, words))
    return [first, *(type for type in ("llm", "embedding", "tts", "stt") if type != first)]


def probe_type(models: Models, name: str, provider: str, credential: str) -> TypeProbe:
    """Add a model as the first type as which the service's test succeeds.

    The test endpoint takes only a model that has been added: one that fails is deleted again.

    Args:
        models: the client's methods for models.
        name: what its provider calls it.
        provider: whose it is.
        credential: the identifier of the credential by which it is reached.
    """
    reason = ""
    for type in likely_types(name):
        try:
            added = models.create(name, type, provider, credential)
        except (ConflictError, InputError) as error:
            if error.status not in (400, 409):
                raise
            return TypeProbe(name, type)  # it was there already
        works = False
        try:
            result = models.test(added["id"])
            works = bool(result["success"])
        finally:
            if not works:
                models.delete(added["id"])
        if works:
            return TypeProbe(name, type)
        reason = reason or str(result["message"] or "")
    return TypeProbe(name, None, reason)
