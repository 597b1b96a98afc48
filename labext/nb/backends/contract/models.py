"""Requests for models, provider credentials and transformations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.actions import Action
from labext.errors import OutcomeUnknownError, ServiceError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import OnWords, RecordParser, Request, Steps, create, delete, get, post, put
from labext.nb.error_messages import split_message
from labext.nb.records import (
    CREDENTIAL,
    CREDENTIAL_DELETION,
    CREDENTIAL_STATUS,
    DISCOVERED_MODEL,
    MODEL,
    MODEL_COUNT,
    MODEL_REGISTRATION,
    OUTPUT,
    PROVIDER,
    SLOTS,
    SYNC_RESULT,
    TEST_RESULT,
    TRANSFORMATION,
    Fields,
    Record,
    build_record,
    drop_none,
)

LIST_TRANSFORMATIONS = get("list transformations", "transformations")
CREATE_TRANSFORMATION = post(
    "create a transformation",
    "transformations",
    "See {action} before you create it again: names need not be unique.",
    Action.list_transformations(),
)
RUN_TRANSFORMATION = post(
    "run a transformation",
    "transformations/execute",  # the output is not stored, but a provider may charge for each run
    "The output is not stored: run it again.",
    relays=True,
)
GET_DEFAULT_PROMPT = get("read the default prompt", "transformations/default-prompt")
UPDATE_DEFAULT_PROMPT = put("set the default prompt", "transformations/default-prompt")
GET_TRANSFORMATION = get("get a transformation", "transformations/{transformation}")
UPDATE_TRANSFORMATION = put("update a transformation", "transformations/{transformation}")
DELETE_TRANSFORMATION = delete("delete a transformation", "transformations/{transformation}")


class TransformationRequests(RecordParser):
    """The eight operations on transformations."""

    def transformations(self) -> Steps[list[Record]]:
        """List all transformations."""
        response = yield Request(LIST_TRANSFORMATIONS)
        return self.parse_records(TRANSFORMATION, response, "transformations")

    def transformation(self, transformation: str) -> Steps[Record]:
        """Return a transformation."""
        response = yield Request(GET_TRANSFORMATION, {"transformation": transformation})
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def new_transformation(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a transformation from `name`, `prompt` and other fields of the record."""
        response = yield Request(CREATE_TRANSFORMATION, json=dict(fields))
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def change_transformation(
        self, transformation: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; other fields stay unchanged."""
        response = yield Request(
            UPDATE_TRANSFORMATION, {"transformation": transformation}, json=dict(changes)
        )
        return self.parse_record(TRANSFORMATION, response, "the transformation")

    def delete_transformation(self, transformation: str) -> Steps[None]:
        """Delete a transformation; its insights are kept."""
        yield Request(DELETE_TRANSFORMATION, {"transformation": transformation})

    def transform(
        self, transformation: str, text: str, model: str | None, on_words: OnWords | None = None
    ) -> Steps[Record]:
        """Run a transformation on a text, without a read timeout."""
        fields = {"transformation_id": transformation, "input_text": text, "model_id": model}
        body = drop_none(fields)
        response = yield Request(RUN_TRANSFORMATION, json=body, patient=True, on_words=on_words)
        data = records.require_mapping(response, "the transformation")
        if not isinstance(data.get("output"), str):
            raise ServiceError("The notebook service returned no output for the transformation.")
        return build_record(OUTPUT, {"transformation_id": transformation, **data})

    def default_prompt(self) -> Steps[str]:
        """Return the prompt that precedes every transformation's own prompt."""
        return _parse_prompt((yield Request(GET_DEFAULT_PROMPT)))

    def set_default_prompt(self, text: str) -> Steps[str]:
        """Set the default prompt; return the stored text."""
        return _parse_prompt(
            (yield Request(UPDATE_DEFAULT_PROMPT, json={"transformation_instructions": text}))
        )


def _parse_prompt(response: Any) -> str:
    data = records.require_mapping(response, "the default prompt").get(
        "transformation_instructions"
    )
    return str(data or "")


_REPEAT_HINT = "Repeat it: existing models stay unchanged."

LIST_MODELS = get("list models", "models")
CREATE_MODEL = create("add a model", "models", Action.list_models())
DELETE_MODEL = delete("delete a model", "models/{model}")
TEST_MODEL = Operation(
    "test a model", "POST", "models/{model}/test", RetryMode.ALWAYS, answer="json"
)
GET_DEFAULTS = get("read the default models", "models/defaults")
UPDATE_DEFAULTS = put("set the default models", "models/defaults")
LIST_PROVIDERS = get("list models' providers", "models/providers")
DISCOVER_MODELS = get("list a provider's models", "models/discover/{provider}", relays=True)
SYNC_PROVIDER = post(
    "sync a provider's models",
    "models/sync/{provider}",  # a repeat would report no new models
    _REPEAT_HINT,
    relays=True,
)
SYNC_ALL = post("sync all providers' models", "models/sync", _REPEAT_HINT)
ASSIGN_DEFAULTS = post(
    "fill the empty default slots",
    "models/auto-assign",
    "See {action}: some slots may still be empty.",
    Action.list_default_models(),
)
COUNT_MODELS = get("count a provider's models", "models/count/{provider}")
LIST_PROVIDER_MODELS = get("list models of a provider", "models/by-provider/{provider}")


class ModelRequests(RecordParser):
    """The thirteen operations on models."""

    SLOT_NAMES: Mapping[str, str] = {slot: slot for slot in SLOTS}
    """The server's names of the default slots that it has."""

    def models(self, type: str | None = None) -> Steps[list[Record]]:
        """List the models of a type, or all models."""
        response = yield Request(LIST_MODELS, params={"model_type": type})
        return self.parse_records(MODEL, response, "models")

    def new_model(
        self, name: str, type: str, provider: str, credential: str | None
    ) -> Steps[Record]:
        """Add a model; models are unique, so a lost response is resolved by a lookup."""
        fields = {"name": name, "type": type, "provider": provider, "credential": credential}
        try:
            response = yield Request(CREATE_MODEL, json=drop_none(fields))
        except OutcomeUnknownError as unknown:
            existing = yield from self.models(type)
            matches = [record for record in existing if fields.items() <= record.items()]
            if len(matches) != 1:
                raise unknown from None
            return matches[0]
        return self.parse_record(MODEL, response, "the model")

    def delete_model(self, model: str) -> Steps[None]:
        """Delete a model."""
        yield Request(DELETE_MODEL, {"model": model})

    def test_model(self, model: str) -> Steps[Record]:
        """Test a model with a small request; a failed test is a valid result."""
        response = yield Request(TEST_MODEL, {"model": model}, patient=True)
        return _test_result(TEST_RESULT, response, "the model's test")

    def defaults(self) -> Steps[dict[str, str | None]]:
        """Return the model identifier for each of the seven default slots."""
        return self.parse_slots((yield Request(GET_DEFAULTS)))

    def set_defaults(self, changes: Mapping[str, str | None]) -> Steps[dict[str, str | None]]:
        """Set the models of slots; None clears a slot, other slots stay unchanged."""
        body = {self.SLOT_NAMES[slot]: model for slot, model in changes.items()}
        return self.parse_slots((yield Request(UPDATE_DEFAULTS, json=body)))

    def providers(self) -> Steps[list[Record]]:
        """List the providers, available ones first."""
        data = records.require_mapping((yield Request(LIST_PROVIDERS)), "models' providers")
        supported = records.require_mapping(data.get("supported_types") or {}, "models' providers")
        return [
            self.build_record(
                PROVIDER, {"provider": name, "available": available, "types": supported.get(name)}
            )
            for available, names in (
                (True, data.get("available")),
                (False, data.get("unavailable")),
            )
            for name in records.string_items(names)
        ]

    def discover(self, provider: str) -> Steps[list[Record]]:
        """List the models that a provider offers."""
        response = yield Request(DISCOVER_MODELS, {"provider": provider}, patient=True)
        return _discovered_models(self, response)

    def sync(self, provider: str | None) -> Steps[list[Record]]:
        """Add all models that providers offer; return the counts for each provider."""
        if provider is not None:
            response = yield Request(SYNC_PROVIDER, {"provider": provider}, patient=True)
            data = records.require_mapping(response, "the provider's models")
            return [build_record(SYNC_RESULT, {"provider": provider, **data})]
        response = yield Request(SYNC_ALL, patient=True)
        data = records.require_mapping(response, "the providers' models")
        results = records.require_mapping(data.get("results"), "the providers' models")
        return [
            build_record(
                SYNC_RESULT,
                {**records.require_mapping(result, "a provider's models"), "provider": name},
            )
            for name, result in results.items()
        ]

    def auto_assign(self) -> Steps[Record]:
        """Fill the empty default slots by the service's ranking of providers."""
        data = records.require_mapping((yield Request(ASSIGN_DEFAULTS)), "the default models")
        assigned = records.require_mapping(data.get("assigned") or {}, "the default models")
        slots = {name: slot for slot, name in self.SLOT_NAMES.items()}
        return {
            "assigned": {slots.get(name, name): model for name, model in assigned.items()},
            **{
                key: [slots.get(name, name) for name in records.string_items(data.get(key))]
                for key in ("skipped", "missing")
            },
        }

    def count_models(self, provider: str) -> Steps[Record]:
        """Count a provider's models by type."""
        response = yield Request(COUNT_MODELS, {"provider": provider})
        data = records.require_mapping(response, "the provider's models")
        return self.build_record(MODEL_COUNT, data)

    def models_of(self, provider: str) -> Steps[list[Record]]:
        """List a provider's models."""
        response = yield Request(LIST_PROVIDER_MODELS, {"provider": provider})
        return self.parse_records(MODEL, response, "models")

    def parse_slots(self, response: Any) -> dict[str, str | None]:
        """Parse the model of each default slot that the server has."""
        data = records.require_mapping(response, "the default models")
        models = {slot: data.get(name) for slot, name in self.SLOT_NAMES.items()}
        return {
            slot: model if isinstance(model, str) and model else None
            for slot, model in models.items()
        }


def _discovered_models(parser: RecordParser, response: Any) -> list[Record]:
    """Parse the models that a provider offers, including models added earlier."""
    items = records.require_list(response, "models on offer")
    return [parser.build_record(DISCOVERED_MODEL, item) for item in items]


LIST_CREDENTIALS = get("list credentials", "credentials")
LIST_PROVIDER_CREDENTIALS = get(
    "list credentials of a provider", "credentials/by-provider/{provider}"
)
GET_CREDENTIAL_STATUS = get("get the status of credentials", "credentials/status")
GET_ENVIRONMENT_STATUS = get("get the keys in the service's environment", "credentials/env-status")
CREATE_CREDENTIAL = create("store a credential", "credentials", Action.list_credentials())
GET_CREDENTIAL = get("get a credential", "credentials/{credential}")
UPDATE_CREDENTIAL = put("update a credential", "credentials/{credential}")
DELETE_CREDENTIAL = delete("delete a credential", "credentials/{credential}")
TEST_CREDENTIAL = Operation(
    "test a credential", "POST", "credentials/{credential}/test", RetryMode.ALWAYS, answer="json"
)
DISCOVER_CREDENTIAL_MODELS = Operation(
    "list the models of a credential",
    "POST",
    "credentials/{credential}/discover",
    RetryMode.ALWAYS,
    answer="json",
    relays=True,
)
REGISTER_MODELS = post(
    "register a credential's models",
    "credentials/{credential}/register-models",  # a repeat would report no new models
    _REPEAT_HINT,
)


class CredentialRequests(RecordParser):
    """The eleven operations on credentials; no response contains a key."""

    def credentials(self, provider: str | None = None) -> Steps[list[Record]]:
        """List the credentials for a provider, or all credentials."""
        response = yield Request(LIST_CREDENTIALS, params={"provider": provider})
        return self.parse_records(CREDENTIAL, response, "credentials")

    def credentials_of(self, provider: str) -> Steps[list[Record]]:
        """List the credentials for a provider."""
        response = yield Request(LIST_PROVIDER_CREDENTIALS, {"provider": provider})
        return self.parse_records(CREDENTIAL, response, "credentials")

    def credential(self, credential: str) -> Steps[Record]:
        """Return a credential."""
        response = yield Request(GET_CREDENTIAL, {"credential": credential})
        return self.parse_record(CREDENTIAL, response, "the credential")

    def new_credential(self, fields: Mapping[str, Any]) -> Steps[Record]:
        """Store a credential with `provider`, `name` and optionally `api_key` and `base_url`."""
        response = yield Request(CREATE_CREDENTIAL, json=dict(fields))
        return self.parse_record(CREDENTIAL, response, "the credential")

    def change_credential(self, credential: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update fields; None clears the key or the address, other fields stay unchanged."""
        response = yield Request(UPDATE_CREDENTIAL, {"credential": credential}, json=dict(changes))
        return self.parse_record(CREDENTIAL, response, "the credential")

    def delete_credential(self, credential: str) -> Steps[Record]:
        """Delete a credential and its models."""
        response = yield Request(DELETE_CREDENTIAL, {"credential": credential})
        # A repeated deletion after a lost response finds no record, and has no count.
        data = records.require_mapping(response, "the deletion") if response is not None else {}
        return build_record(CREDENTIAL_DELETION, {**data, "id": credential})

    def test_credential(self, credential: str) -> Steps[Record]:
        """Test a credential with its provider; a failed test is a valid result."""
        response = yield Request(TEST_CREDENTIAL, {"credential": credential}, patient=True)
        fields: Fields = {"provider": "category", **TEST_RESULT}
        return _test_result(fields, response, "the credential's test")

    def discover_with(self, credential: str) -> Steps[list[Record]]:
        """List the models that a credential gives access to."""
        response = yield Request(
            DISCOVER_CREDENTIAL_MODELS, {"credential": credential}, patient=True
        )
        data = records.require_mapping(response, "models on offer")
        return _discovered_models(self, data.get("discovered"))

    def register_models(self, credential: str, models: Sequence[tuple[str, str]]) -> Steps[Record]:
        """Add models of a credential by name and type; existing models are kept."""
        body = {"models": [{"name": name, "model_type": type} for name, type in models]}
        response = yield Request(REGISTER_MODELS, {"credential": credential}, json=body)
        return build_record(MODEL_REGISTRATION, records.require_mapping(response, "the models"))

    def credential_status(self) -> Steps[Record]:
        """Return the key's location for each provider, and whether the service can encrypt keys."""
        data = records.require_mapping((yield Request(GET_CREDENTIAL_STATUS)), "credentials")
        configured = records.require_mapping(data.get("configured") or {}, "credentials")
        source = records.require_mapping(data.get("source") or {}, "credentials")
        return {
            "providers": [
                build_record(
                    CREDENTIAL_STATUS,
                    {"provider": p, "configured": is_configured, "source": source.get(p)},
                )
                for p, is_configured in configured.items()
            ],
            "encryption_configured": data.get("encryption_configured"),
        }

    def environment_status(self) -> Steps[dict[str, bool]]:
        """Return the providers, with True for those with a key in the service's environment."""
        data = records.require_mapping(
            (yield Request(GET_ENVIRONMENT_STATUS)), "the service's environment"
        )
        return {str(provider): bool(is_set) for provider, is_set in data.items()}


def _test_result(fields: Fields, response: Any, noun: str) -> Record:
    """Return the record of a test, with the action of the response in its message."""
    data = records.require_mapping(response, noun)
    action = Action.from_json(data.get("action"))
    if action is not None:
        reason, step = split_message(str(data.get("message") or ""), "")
        data = {**data, "message": f"{reason} {action.sentence(step)}".strip()}
    return build_record(fields, data)
