"""Models, credentials and transformations."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

from open_notebook.answering import Call, route
from open_notebook.answers import known, now, refuse
from open_notebook.chats import FAILING
from open_notebook.facts import like, recordings
from open_notebook.state import Fields

TYPES = ("language", "embedding", "text_to_speech", "speech_to_text")
REQUIRED = ("default_chat_model", "default_transformation_model", "default_embedding_model")
NEAR = ("openai_compatible", "ollama")
"""Providers that run on this machine."""


@route("GET", "/api/models")
def models(call: Call) -> Any:
    """Return the models, optionally of one type."""
    model_type = call.query.get("type")
    return [model for model in call.state.models.values() if model_type in (None, model["type"])]


@route("POST", "/api/models")
def new_model(call: Call) -> Any:
    body = call.body
    if body["type"] not in TYPES:
        refuse("models.create_bad_type_llm")
    key = ("name", "provider", "type")
    if any(all(model[k] == body[k] for k in key) for model in call.state.models.values()):
        refuse("models.create_dup")
    model = like(
        "models.create.fake-tts",
        **{name: body.get(name) for name in (*key, "credential")},
        id=call.state.new("model"),
        created=now(),
        updated=now(),
    )
    call.state.models[model["id"]] = model
    return model


@route("DELETE", "/api/models/{model_id}")
def delete_model(call: Call, identifier: str) -> Any:
    """Delete a model, even if it is in use."""
    known(call.state.models, identifier, "models.delete_missing")
    del call.state.models[identifier]
    return like("models.delete")


@route("POST", "/api/models/{model_id}/test")
def test_model(call: Call, identifier: str) -> Any:
    """Test a model; a model of another type than its own fails."""
    model = known(call.state.models, identifier, "models.test_missing")
    works = _kind(model["name"]) in (model["type"], None)
    works &= model["name"] not in ("badkey-chat", "fail-chat")
    return like("models.test.fake-chat" if works else "models.test.fail-chat")


def _kind(name: str) -> str | None:
    """Return the type of a model by the end of its name."""
    ends = {"chat": "language", "embed": "embedding", "tts": TYPES[2], "stt": TYPES[3]}
    return ends.get(name.rpartition("-")[2])


@route("GET", "/api/models/defaults")
def defaults(call: Call) -> Any:
    return call.state.defaults


@route("PUT", "/api/models/defaults")
def put_defaults(call: Call) -> Any:
    """Set slots; those for chats, transformations and embeddings can't be cleared."""
    if any(call.body.get(field, "") is None for field in REQUIRED):
        refuse("models.defaults_put_clear_required")
    call.state.defaults.update({k: v for k, v in call.body.items() if k in call.state.defaults})
    return call.state.defaults


@route("GET", "/api/models/providers")
def providers(call: Call) -> Any:
    return like("models.providers" if call.state.credentials else "models.providers_empty")


@route("POST", "/api/models/sync")
def sync_all(_: Call) -> Any:
    """Register the models of all providers. Not recorded: fields as in the server's schema."""
    sync_result = like("models.sync_one")
    return {
        "results": {sync_result["provider"]: sync_result},
        "total_discovered": sync_result["discovered"],
        "total_new": sync_result["new"],
    }


@route("POST", "/api/models/auto-assign")
def auto_assign(call: Call) -> Any:
    """Fill the empty slots for chats and embeddings."""
    state = call.state
    filled: Fields = {}
    skipped = []
    for slot, kind in (
        ("default_chat_model", "language"),
        ("default_embedding_model", "embedding"),
    ):
        if state.defaults.get(slot):
            skipped.append(slot)
            continue
        if fitting := [i for i, item in state.models.items() if item["type"] == kind]:
            filled[slot] = fitting[0]
    state.defaults.update(filled)
    return like("models.auto_assign", assigned=filled, skipped=skipped)


@route("GET", "/api/credentials/status")
@route("GET", "/api/credentials/env-status")
def status(call: Call) -> Any:
    """Return the configured providers, and the source of their configuration."""
    return recordings()[f"credentials.{call.path.rpartition('/')[2].replace('-', '_')}"].answer


@route("GET", "/api/credentials")
def credentials(call: Call) -> Any:
    provider = call.query.get("provider")
    return [e for e in call.state.credentials.values() if provider in (None, e["provider"])]


@route("POST", "/api/credentials")
def new_credential(call: Call) -> Any:
    """Store a credential; no response contains the key."""
    body = call.body
    if body["provider"] not in recordings()["credentials.env_status"].answer:
        refuse("credentials.create_bad_provider")
    url = body.get("base_url") or ""
    if "169.254." in url:
        refuse("credentials.create_linklocal_url")
    if url and not url.startswith(("http://", "https://")):
        refuse("credentials.create_bad_url")
    created = like(
        "credentials.create",
        id=call.state.new("credential"),
        name=body["name"],
        provider=body["provider"],
        base_url=body.get("base_url"),
        has_api_key=bool(body.get("api_key")),
        created=now(),
        updated=now(),
    )
    call.state.credentials[created["id"]] = created
    return JSONResponse(created, 201)


@route("GET", "/api/credentials/{credential_id}")
def credential(call: Call, identifier: str) -> Any:
    return known(call.state.credentials, identifier, "credentials.get_missing")


@route("PUT", "/api/credentials/{credential_id}")
def put_credential(call: Call, identifier: str) -> Any:
    """Update a credential; null leaves a value unchanged."""
    record: Fields = known(call.state.credentials, identifier, "credentials.get_missing")
    changes = {k: v for k, v in call.body.items() if v is not None}
    if changes.pop("api_key", None):
        record["has_api_key"] = True
    record.update(changes, updated=now())
    return record


@route("DELETE", "/api/credentials/{credential_id}")
def delete_credential(call: Call, identifier: str) -> Any:
    """Delete a credential and its models."""
    state = call.state
    known(state.credentials, identifier, "credentials.delete_missing")
    del state.credentials[identifier]
    model_ids = [i for i, model in state.models.items() if model["credential"] == identifier]
    for model_id in model_ids:
        del state.models[model_id]
    return like("credentials.delete", deleted_models=len(model_ids))


@route("POST", "/api/credentials/{credential_id}/test")
def test_credential(call: Call, identifier: str) -> Any:
    """Test a credential; OpenAI's server is unreachable."""
    result = known(call.state.credentials, identifier, "credentials.get_missing")
    near = result["provider"] in NEAR
    return like("credentials.test" if near else "credentials.test_openai_offline")


@route("POST", "/api/credentials/{credential_id}/discover")
def discover_by(call: Call, identifier: str) -> Any:
    """Return a provider's models; those of OpenAI are built in."""
    result = known(call.state.credentials, identifier, "credentials.get_missing")
    name = "discover" if result["provider"] in NEAR else "discover_openai_offline"
    return like(f"credentials.{name}", credential_id=identifier, provider=result["provider"])


@route("POST", "/api/credentials/{credential_id}/register-models")
def register(call: Call, identifier: str) -> Any:
    """Register models by name, provider and type."""
    result = known(call.state.credentials, identifier, "credentials.get_missing")
    existing = {(e["name"], e["type"]) for e in call.state.models.values()}
    created_count = 0
    for requested_model in call.body["models"]:
        if (
            not isinstance(requested_model, dict)
            or not {"name", "provider"} <= requested_model.keys()
        ):
            refuse("credentials.register_models_seed_style_422")
        if (requested_model["name"], requested_model["model_type"]) in existing:
            continue
        created_count += 1
        model = like(
            "models.create.fake-tts",
            id=call.state.new("model"),
            name=requested_model["name"],
            provider=result["provider"],
            type=requested_model["model_type"],
            credential=identifier,
        )
        call.state.models[model["id"]] = model
    return {"created": created_count, "existing": len(call.body["models"]) - created_count}


@route("GET", "/api/transformations")
def transformations(call: Call) -> Any:
    return list(call.state.transformations.values())


@route("POST", "/api/transformations")
def new_transformation(call: Call) -> Any:
    """Create a transformation; four texts are required."""
    fields = ("name", "title", "description", "prompt")
    created = like(
        "transformations.create",
        **{name: call.body[name] for name in fields},
        id=call.state.new("transformation"),
        apply_default=call.body.get("apply_default", False),
        model_id=call.body.get("model_id"),
        created=now(),
        updated=now(),
    )
    call.state.transformations[created["id"]] = created
    return created


@route("GET", "/api/transformations/{transformation_id}")
def transformation(call: Call, identifier: str) -> Any:
    return known(call.state.transformations, identifier, "transformations.get_missing")


@route("PUT", "/api/transformations/{transformation_id}")
def put_transformation(call: Call, identifier: str) -> Any:
    """Update a transformation; null leaves a value unchanged."""
    record: Fields = known(call.state.transformations, identifier, "transformations.get_missing")
    record.update({k: v for k, v in call.body.items() if v is not None}, updated=now())
    return record


@route("DELETE", "/api/transformations/{transformation_id}")
def delete_transformation(call: Call, identifier: str) -> Any:
    known(call.state.transformations, identifier, "transformations.get_missing")
    del call.state.transformations[identifier]
    return like("transformations.delete")


@route("POST", "/api/transformations/execute")
def execute(call: Call) -> Any:
    """Run a transformation with the changes or the default model."""
    state, body = call.state, call.body
    known(state.transformations, body["transformation_id"], "transformations.execute_missing")
    model_id = body.get("model_id")
    if model_id is not None:
        model = known(state.models, model_id, "transformations.execute_bad_model")
        if model["name"] in FAILING:
            refuse(f"transformations.execute.{model['name']}")
    output = f"Fake answer (fake-chat) to: '{body['input_text'][-80:]}'. "
    execution = {"transformation_id": body["transformation_id"], "model_id": model_id}
    return like("transformations.execute", output=output, **execution)


@route("GET", "/api/transformations/default-prompt")
def default_prompt(call: Call) -> Any:
    """Return the prompt that precedes every other one."""
    return {"transformation_instructions": call.state.instructions}


@route("PUT", "/api/transformations/default-prompt")
def put_default_prompt(call: Call) -> Any:
    call.state.instructions = call.body["transformation_instructions"]
    return {"transformation_instructions": call.state.instructions}
