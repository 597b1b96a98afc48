"""Requests to Open Notebook for models and provider credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import InputError, OutcomeUnknownError
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import models as contract
from labext.nb.backends.open_notebook import mappers as mappers
from labext.nb.records import (
    CREDENTIAL,
    DISCOVERED_MODEL,
    MODEL,
    MODEL_COUNT,
    MODEL_REGISTRATION,
    PROVIDER,
    SLOTS,
    Record,
    build_record,
)

SERVER_SLOT_NAMES = {
    "chat": "default_chat_model",
    "transformation": "default_transformation_model",
    "embedding": "default_embedding_model",
    "speech_to_text": "default_speech_to_text_model",
    "text_to_speech": "default_text_to_speech_model",
}
"""Open Notebook's slot names; it has two more slots, for long texts and for tools."""

_MISSING_SLOTS = {
    "podcast": (
        "there the profile of an episode names its models",
        "Give them to it: `%nb profiles edit PROFILE`.",
    ),
    "summary": (
        "there the model of the slot transformation writes titles",
        "Set that: `%nb models defaults --set transformation=NAME`.",
    ),
}


class ModelRequests(contract.ModelRequests):
    """The operations on models, where Open Notebook differs from the contract."""

    def models(self, type: str | None = None) -> Steps[list[Record]]:
        """List the models of a type, or all models."""
        params = {"type": None if type is None else mappers.to_server_type(type)}
        return _model_records((yield Request(contract.LIST_MODELS, params=params)))

    def new_model(
        self, name: str, type: str, provider: str, credential: str | None
    ) -> Steps[Record]:
        """Add a model; a lost response is resolved by a lookup."""
        body = {"name": name, "type": mappers.to_server_type(type), "provider": provider}
        if credential is not None:
            body["credential"] = credential
        try:
            answer = yield Request(contract.CREATE_MODEL, json=body)
        except OutcomeUnknownError as unknown:
            for item in records.require_list((yield Request(contract.LIST_MODELS)), "models"):
                if body.items() <= item.items():
                    return _model_record(item)
            raise unknown from None
        return _model_record(answer)

    def defaults(self) -> Steps[dict[str, str | None]]:
        """Return the model of each slot that the server has."""
        return _parse_slots((yield Request(contract.GET_DEFAULTS)))

    def set_defaults(self, changes: Mapping[str, str | None]) -> Steps[dict[str, str | None]]:
        """Set the models of slots; the server would ignore a slot that it does not have."""
        for slot in changes:
            if slot not in SERVER_SLOT_NAMES:
                why, step = _MISSING_SLOTS[slot]
                raise InputError(f"Open Notebook has no slot {slot}: {why}.", step)
        body = {SERVER_SLOT_NAMES[slot]: model for slot, model in changes.items()}
        return _parse_slots((yield Request(contract.UPDATE_DEFAULTS, json=body)))

    def providers(self) -> Steps[list[Record]]:
        """List the providers, available ones first."""
        providers = yield from contract.ModelRequests.providers(self)
        return [
            build_record(
                PROVIDER,
                {
                    **provider,
                    "types": [mappers.from_server_type(t) for t in provider["types"] or ()],
                },
            )
            for provider in providers
        ]

    def discover(self, provider: str) -> Steps[list[Record]]:
        """List the models that a provider offers."""
        answer = yield Request(contract.DISCOVER_MODELS, {"provider": provider}, patient=True)
        return parse_discovered(answer)

    def auto_assign(self) -> Steps[Record]:
        """Fill the empty default slots by the service's ranking of providers."""
        result = yield from contract.ModelRequests.auto_assign(self)
        names = {theirs: ours for ours, theirs in SERVER_SLOT_NAMES.items()}
        return {
            "assigned": {
                names.get(slot, slot): model for slot, model in result["assigned"].items()
            },
            "skipped": [names.get(slot, slot) for slot in result["skipped"]],
            "missing": [names.get(slot, slot) for slot in result["missing"]],
        }

    def count_models(self, provider: str) -> Steps[Record]:
        """Count a provider's models by type."""
        answer = yield Request(contract.COUNT_MODELS, {"provider": provider})
        counted = records.require_mapping(answer, "the provider's models")
        counts = records.require_mapping(counted.get("counts") or {}, "the provider's models")
        here = {mappers.from_server_type(type): count for type, count in counts.items()}
        return build_record(MODEL_COUNT, {**counted, "counts": here})

    def models_of(self, provider: str) -> Steps[list[Record]]:
        """List a provider's models."""
        return _model_records(
            (yield Request(contract.LIST_PROVIDER_MODELS, {"provider": provider}))
        )


def parse_discovered(answer: Any) -> list[Record]:
    """Parse the models that a provider offers."""
    return [
        build_record(
            DISCOVERED_MODEL,
            {**item, "model_type": mappers.from_server_type(item.get("model_type"))},
        )
        for item in records.require_list(answer, "models on offer")
    ]


def _model_records(answer: Any) -> list[Record]:
    return [_model_record(item) for item in records.require_list(answer, "models")]


def _model_record(answer: Any) -> Record:
    record = mappers.parse_record(MODEL, answer, "the model")
    return {**record, "type": mappers.from_server_type(record["type"])}


def _parse_slots(answer: Any) -> dict[str, str | None]:
    data = records.require_mapping(answer, "the default models")
    return {
        slot: data.get(SERVER_SLOT_NAMES[slot]) or None
        for slot in SLOTS
        if slot in SERVER_SLOT_NAMES
    }


class CredentialRequests(contract.CredentialRequests):
    """The operations on credentials, where Open Notebook differs from the contract."""

    def credentials(self, provider: str | None = None) -> Steps[list[Record]]:
        """List the credentials for a provider, or all credentials."""
        answer = yield Request(contract.LIST_CREDENTIALS, params={"provider": provider})
        return mappers.parse_records(CREDENTIAL, answer, "credentials")

    def credentials_of(self, provider: str) -> Steps[list[Record]]:
        """List the credentials for a provider."""
        answer = yield Request(contract.LIST_PROVIDER_CREDENTIALS, {"provider": provider})
        return mappers.parse_records(CREDENTIAL, answer, "credentials")

    def credential(self, credential: str) -> Steps[Record]:
        """Return a credential."""
        return _credential_record(
            (yield Request(contract.GET_CREDENTIAL, {"credential": credential}))
        )

    def new_credential(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a credential."""
        return _credential_record((yield Request(contract.CREATE_CREDENTIAL, json=dict(fields))))

    def change_credential(self, credential: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update fields; a key or an address can be replaced, but not cleared."""
        mappers.forbid_clearing(changes, "the credential", "Delete it, and store another.")
        path = {"credential": credential}
        return _credential_record(
            (yield Request(contract.UPDATE_CREDENTIAL, path, json=dict(changes)))
        )

    def discover_with(self, credential: str) -> Steps[list[Record]]:
        """List the models that a credential gives access to."""
        answer = yield Request(
            contract.DISCOVER_CREDENTIAL_MODELS, {"credential": credential}, patient=True
        )
        return parse_discovered(
            records.require_mapping(answer, "models on offer").get("discovered")
        )

    def register_models(self, credential: str, models: Sequence[tuple[str, str]]) -> Steps[Record]:
        """Add models of a credential, each with the provider of the credential."""
        provider = (yield from self.credential(credential))["provider"]
        body = {
            "models": [
                {"name": name, "provider": provider, "model_type": mappers.to_server_type(type)}
                for name, type in models
            ]
        }
        answer = yield Request(contract.REGISTER_MODELS, {"credential": credential}, json=body)
        return build_record(MODEL_REGISTRATION, records.require_mapping(answer, "the models"))


def _credential_record(answer: Any) -> Record:
    return mappers.parse_record(CREDENTIAL, answer, "the credential")
