"""Models, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import InputError, OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_models as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.records import COUNTED, DISCOVERED, MODEL, PROVIDER, SLOTS, Record, made

SLOT_NAMES = {
    "chat": "default_chat_model",
    "transformation": "default_transformation_model",
    "embedding": "default_embedding_model",
    "speech_to_text": "default_speech_to_text_model",
    "text_to_speech": "default_text_to_speech_model",
}
"""The slots that it has, by the contract's names. It has two more, for long texts and for tools."""

_ELSEWHERE = {
    "podcast": (
        "there the profile of an episode names its models",
        "Give them to it: `%nb profiles edit PROFILE`.",
    ),
    "summary": (
        "there the model of the slot transformation writes titles",
        "Set that: `%nb models defaults --set transformation=NAME`.",
    ),
}


class ModelCalls(contract.ModelCalls):
    """The operations on models, where that server's differ."""

    def models(self, type: str | None = None) -> Steps[list[Record]]:
        """List those of a type, by its own name of it, or all."""
        params = {"type": None if type is None else told.type_there(type)}
        return _models((yield Request(contract.LIST, params=params)))

    def new_model(
        self, name: str, type: str, provider: str, credential: str | None
    ) -> Steps[Record]:
        """Add one; a lost answer is settled by looking for it."""
        body = {"name": name, "type": told.type_there(type), "provider": provider}
        if credential is not None:
            body["credential"] = credential
        try:
            answer = yield Request(contract.NEW, json=body)
        except OutcomeUnknownError as unknown:
            for each in records.several((yield Request(contract.LIST)), "models"):
                if body.items() <= each.items():
                    return _model(each)
            raise unknown from None
        return _model(answer)

    def defaults(self) -> Steps[dict[str, str | None]]:
        """Read which model each slot has, of the slots that this server has."""
        return _slots((yield Request(contract.DEFAULTS)))

    def set_defaults(self, changes: Mapping[str, str | None]) -> Steps[dict[str, str | None]]:
        """Put models into slots by its own names; a slot that it has not would be ignored."""
        for slot in changes:
            if slot not in SLOT_NAMES:
                why, step = _ELSEWHERE[slot]
                raise InputError(f"Open Notebook has no slot {slot}: {why}.", step)
        body = {SLOT_NAMES[slot]: model for slot, model in changes.items()}
        return _slots((yield Request(contract.SET_DEFAULTS, json=body)))

    def providers(self) -> Steps[list[Record]]:
        """List providers: those that can be used, then the others."""
        found = yield from contract.ModelCalls.providers(self)
        return [
            made(PROVIDER, {**each, "types": [told.type_here(t) for t in each["types"] or ()]})
            for each in found
        ]

    def discover(self, provider: str) -> Steps[list[Record]]:
        """List what a provider offers."""
        answer = yield Request(contract.DISCOVER, {"provider": provider}, patient=True)
        return discovered(answer)

    def auto_assign(self) -> Steps[Record]:
        """Fill the slots that are empty, by the service's ranking of providers."""
        found = yield from contract.ModelCalls.auto_assign(self)
        names = {theirs: ours for ours, theirs in SLOT_NAMES.items()}
        return {
            "assigned": {names.get(slot, slot): model for slot, model in found["assigned"].items()},
            "skipped": [names.get(slot, slot) for slot in found["skipped"]],
            "missing": [names.get(slot, slot) for slot in found["missing"]],
        }

    def count_models(self, provider: str) -> Steps[Record]:
        """Count a provider's models by type."""
        answer = yield Request(contract.COUNT, {"provider": provider})
        counted = records.mapping(answer, "the provider's models")
        counts = records.mapping(counted.get("counts") or {}, "the provider's models")
        here = {told.type_here(type): count for type, count in counts.items()}
        return made(COUNTED, {**counted, "counts": here})

    def models_of(self, provider: str) -> Steps[list[Record]]:
        """List a provider's models."""
        return _models((yield Request(contract.BY_PROVIDER, {"provider": provider})))


def discovered(answer: Any) -> list[Record]:
    """Return what a provider offers."""
    return [
        made(DISCOVERED, {**each, "model_type": told.type_here(each.get("model_type"))})
        for each in records.several(answer, "models on offer")
    ]


def _models(answer: Any) -> list[Record]:
    return [_model(each) for each in records.several(answer, "models")]


def _model(answer: Any) -> Record:
    record = told.thing(MODEL, answer, "the model")
    return {**record, "type": told.type_here(record["type"])}


def _slots(answer: Any) -> dict[str, str | None]:
    there = records.mapping(answer, "the default models")
    return {slot: there.get(SLOT_NAMES[slot]) or None for slot in SLOTS if slot in SLOT_NAMES}
