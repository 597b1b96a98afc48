"""Endpoints of models."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.dependencies import CancelTokenDep, ThreadsDep
from labext.sandbox.nb.models import service, trial
from labext.sandbox.nb.providers import registry, servers
from labext.sandbox.nb.providers.registry import check_provider
from labext.sandbox.nb.schemas import (
    Identifier,
    MessageResponse,
    ModelType,
    Name,
    Record,
    RequestBody,
    Timestamp,
)
from labext.sandbox.nb.tables import Model


class NewModel(RequestBody):
    """A model of a provider, by the provider's own name for it."""

    name: Name = Field(examples=["gpt-4o-mini"])
    provider: Name = Field(examples=["openai"])
    type: ModelType
    credential: Identifier | None = Field(
        None, description="By default the provider's oldest credential, or the environment."
    )


class ModelRecord(Record):
    """A model; `credential` is null for built-in models and those without one."""

    id: str = Field(examples=["model:xqw43ktrgx2xufas0bfh"])
    name: str
    provider: str
    type: ModelType = Field(validation_alias="kind")
    credential: str | None = Field(validation_alias="credential_id")
    created_at: Timestamp
    updated_at: Timestamp


class DefaultsRecord(Record):
    """The identifier of every default slot's model."""

    chat: str | None
    transformation: str | None
    embedding: str | None
    speech_to_text: str | None
    text_to_speech: str | None
    podcast: str | None
    summary: str | None


class DefaultsUpdate(RequestBody):
    """The slots to change; null clears a slot."""

    chat: Identifier | None = None
    transformation: Identifier | None = None
    embedding: Identifier | None = None
    speech_to_text: Identifier | None = None
    text_to_speech: Identifier | None = None
    podcast: Identifier | None = None
    summary: Identifier | None = None


class ProvidersRecord(Record):
    """The configured and unconfigured providers, with the model types of each."""

    available: list[str]
    unavailable: list[str]
    supported_types: dict[str, list[ModelType]]


class DiscoveredModel(Record):
    """A model listed by a provider; the type is guessed from its name, null if unused."""

    name: str
    provider: str
    model_type: ModelType | None
    description: str | None


class SyncResult(Record):
    """The numbers of a provider's models, in total and new."""

    provider: str
    discovered: int
    new: int
    existing: int


class SyncAllResult(Record):
    """The result of each provider, or its error: `{"error": …}`."""

    results: dict[str, Any]
    total_discovered: int
    total_new: int


class AssignResult(Record):
    """The models assigned to empty slots, the slots that had one, and those without a candidate."""

    assigned: dict[str, str]
    skipped: list[str]
    missing: list[str]


class ModelCount(Record):
    """The numbers of a provider's models by type."""

    provider: str
    counts: dict[str, int]
    total: int


class ModelTestResult(Record):
    """The result of a test call."""

    success: bool
    message: str
    details: dict[str, Any] | None
    action: dict[str, str] | None = Field(None, description="The next step after a failure.")


router = APIRouter()


@router.get("/models", response_model=list[ModelRecord])
def get_models(
    site: SiteDep,
    model_type: Annotated[
        ModelType | None, Query(description="Only models of this type; by default all.")
    ] = None,
) -> list[Model]:
    """List the models, the last added first."""
    with site.database.read() as session:
        return service.list_models(session, model_type)


@router.post("/models", response_model=ModelRecord)
def post_model(site: SiteDep, body: NewModel) -> Model:
    """Add a model of a provider."""
    with site.database.write() as session:
        return service.create_model(session, body.name, body.type, body.provider, body.credential)


@router.get("/models/defaults", response_model=DefaultsRecord)
def get_defaults(site: SiteDep) -> dict[str, str | None]:
    """Get the model of each default slot."""
    with site.database.read() as session:
        return service.get_defaults(session)


@router.put("/models/defaults", response_model=DefaultsRecord)
def put_defaults(site: SiteDep, body: DefaultsUpdate) -> dict[str, str | None]:
    """Set or clear the models of default slots. If one is invalid, nothing changes."""
    with site.database.write() as session:
        service.set_defaults(session, site, body.model_dump(exclude_unset=True))
        return service.get_defaults(session)


@router.get("/models/providers", response_model=ProvidersRecord)
def get_providers(site: SiteDep) -> dict[str, Any]:
    """List the configured and the unconfigured providers."""
    with site.database.read() as session:
        configured = servers.configured_providers(site, session) | {registry.BUILT_IN}
    built_in = {kind for _, kind in registry.built_in_models().values()}
    types = {name: list(provider.kinds) for name, provider in registry.PROVIDERS.items()}
    types[registry.BUILT_IN] = [kind for kind in registry.MODEL_TYPES if kind in built_in]
    return {
        "available": [name for name in registry.PROVIDER_NAMES if name in configured],
        "unavailable": [name for name in registry.PROVIDER_NAMES if name not in configured],
        "supported_types": types,
    }


@router.get("/models/discover/{provider}", response_model=list[DiscoveredModel])
async def get_discovered(
    site: SiteDep, provider: Identifier, threads: ThreadsDep
) -> list[dict[str, Any]]:
    """List the models that a provider offers. Nothing is added."""
    return await threads.run(lambda: service.discover_models(site, provider))


@router.post("/models/sync/{provider}", response_model=SyncResult)
async def post_sync(site: SiteDep, provider: Identifier, threads: ThreadsDep) -> dict[str, Any]:
    """Add the missing models of a provider."""
    return await threads.run(lambda: service.sync_provider(site, provider))


@router.post("/models/sync", response_model=SyncAllResult)
async def post_sync_all(site: SiteDep, threads: ThreadsDep) -> dict[str, Any]:
    """Add the missing models of all providers."""
    return await threads.run(lambda: service.sync_all_providers(site))


@router.post("/models/auto-assign", response_model=AssignResult)
def post_auto_assign(site: SiteDep) -> dict[str, Any]:
    """Set the best available model for every empty default slot."""
    with site.database.write() as session:
        return service.assign_defaults(session, site)


@router.get("/models/count/{provider}", response_model=ModelCount)
def get_count(site: SiteDep, provider: Identifier) -> dict[str, Any]:
    """Count the models of a provider by type."""
    with site.database.read() as session:
        models = service.list_models(session, provider=check_provider(provider))
    by_kind = Counter(model.kind for model in models)
    counts = {kind: by_kind[kind] for kind in registry.MODEL_TYPES}
    return {"provider": provider, "counts": counts, "total": len(models)}


@router.get("/models/by-provider/{provider}", response_model=list[ModelRecord])
def get_by_provider(site: SiteDep, provider: Identifier) -> list[Model]:
    """List the models of a provider."""
    with site.database.read() as session:
        return service.list_models(session, provider=check_provider(provider))


@router.delete("/models/{model_id}", response_model=MessageResponse)
def delete_model(site: SiteDep, model_id: Identifier) -> dict[str, str]:
    """Delete a model that no default slot uses."""
    with site.database.write() as session:
        model = service.delete_model(session, model_id)
    return {"message": f"The model {model.name} is deleted."}


@router.post("/models/{model_id}/test", response_model=ModelTestResult)
async def post_test(
    request: Request,
    site: SiteDep,
    model_id: Identifier,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
) -> dict[str, Any]:
    """Test a model with a real call. A failure is reported in the response."""

    def run_trial() -> dict[str, Any]:
        with site.database.read() as session:
            model = registry.get_model(session, model_id)
        return trial.try_model(site, model, cancel_token)

    return await cancel_on_disconnect(request, cancel_token, threads.run(run_trial))
