"""Requests to Open Notebook for models, provider credentials and transformations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.actions import Action
from labext.errors import InputError, OutcomeUnknownError
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import models as contract
from labext.nb.backends.open_notebook import mappers
from labext.nb.records import MODEL, MODEL_REGISTRATION, Record, build_record, drop_none


class TransformationRequests(contract.TransformationRequests):
    """The operations on transformations, where Open Notebook differs from the contract."""

    def new_transformation(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a transformation; the server requires a title and a description too."""
        return super().new_transformation({"title": fields["name"], "description": "", **fields})

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; fields can't be cleared."""
        mappers.forbid_clearing(changes, "the transformation", "Choose another model.")
        return super().change_transformation(transformation, changes)


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
        "there, an episode profile has its own models",
        "Set them in the profile: {action}.",
        Action.edit_episode_profile(),
    ),
    "summary": (
        "there, the model of the slot transformation writes titles",
        "Set that slot: {action}.",
        Action.set_model("transformation"),
    ),
}


class ModelRequests(contract.ModelRequests):
    """The operations on models, where Open Notebook differs from the contract."""

    SLOT_NAMES = SERVER_SLOT_NAMES

    def models(self, type: str | None = None) -> Steps[list[Record]]:
        """List the models of a type, or all models."""
        params = {"type": None if type is None else mappers.to_server_type(type)}
        response = yield Request(contract.LIST_MODELS, params=params)
        return self.parse_records(MODEL, response, "models")

    def new_model(
        self, name: str, type: str, provider: str, credential: str | None
    ) -> Steps[Record]:
        """Add a model; a lost response is resolved by a lookup."""
        server_type = mappers.to_server_type(type)
        body = {"name": name, "type": server_type, "provider": provider, "credential": credential}
        body = drop_none(body)
        try:
            response = yield Request(contract.CREATE_MODEL, json=body)
        except OutcomeUnknownError as unknown:
            for item in records.require_list((yield Request(contract.LIST_MODELS)), "models"):
                if body.items() <= item.items():
                    return self.parse_record(MODEL, item, "the model")
            raise unknown from None
        return self.parse_record(MODEL, response, "the model")

    def set_defaults(self, changes: Mapping[str, str | None]) -> Steps[dict[str, str | None]]:
        """Set the models of slots; the server would ignore a slot that it does not have."""
        for slot in changes:
            if slot not in SERVER_SLOT_NAMES:
                why, step, action = _MISSING_SLOTS[slot]
                raise InputError(f"Open Notebook has no slot {slot}: {why}.", step, action=action)
        return (yield from super().set_defaults(changes))


class CredentialRequests(contract.CredentialRequests):
    """The operations on credentials, where Open Notebook differs from the contract."""

    def change_credential(self, credential: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update fields; a key or an address can be replaced, but not cleared."""
        mappers.forbid_clearing(changes, "the credential", "Delete it and store another.")
        return super().change_credential(credential, changes)

    def register_models(self, credential: str, models: Sequence[tuple[str, str]]) -> Steps[Record]:
        """Add models of a credential, each with the provider of the credential."""
        provider = (yield from self.credential(credential))["provider"]
        body = {
            "models": [
                {"name": name, "provider": provider, "model_type": mappers.to_server_type(type)}
                for name, type in models
            ]
        }
        response = yield Request(contract.REGISTER_MODELS, {"credential": credential}, json=body)
        return build_record(MODEL_REGISTRATION, records.require_mapping(response, "the models"))
