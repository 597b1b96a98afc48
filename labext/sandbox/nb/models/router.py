"""Endpoints of models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.dependencies import CancelTokenDep, SiteDep, ThreadsDep, json_response
from labext.sandbox.nb.models import service, trial
from labext.sandbox.nb.models.schemas import (
    AssignResult,
    DefaultsRecord,
    DefaultsUpdate,
    DiscoveredModel,
    ModelCount,
    ModelRecord,
    ModelTestResult,
    ModelType,
    NewModel,
    ProvidersRecord,
    SyncAllResult,
    SyncResult,
)
from labext.sandbox.nb.models.service import count_models, list_providers
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.registry import check_provider
from labext.sandbox.nb.schemas import Identifier, MessageResponse

router = APIRouter()


@router.get("/models", response_model=list[ModelRecord])
def get_models(
    site: SiteDep,
    model_type: Annotated[
        ModelType | None, Query(description="These alone; all if left out.")
    ] = None,
) -> Response:
    """List the models, the last added first."""
    with site.database.read() as session:
        return json_response(
            [service.model_record(model) for model in service.list_models(session, model_type)]
        )


@router.post("/models", response_model=ModelRecord)
def post_model(site: SiteDep, body: NewModel) -> Response:
    """Add a model of a provider."""
    with site.database.write() as session:
        model = service.create_model(session, body.name, body.type, body.provider, body.credential)
        return json_response(service.model_record(model))


@router.get("/models/defaults", response_model=DefaultsRecord)
def get_defaults(site: SiteDep) -> Response:
    """Show which model each default slot has."""
    with site.database.read() as session:
        return json_response(service.get_defaults(session))


@router.put("/models/defaults", response_model=DefaultsRecord)
def put_defaults(site: SiteDep, body: DefaultsUpdate) -> Response:
    """Give default slots other models, or none; all of them or, where one won't do, none."""
    with site.database.write() as session:
        service.set_defaults(session, site, body.model_dump(exclude_unset=True))
        return json_response(service.get_defaults(session))


@router.get("/models/providers", response_model=ProvidersRecord)
def get_providers(site: SiteDep) -> Response:
    """List the providers that can be asked, and those that can't yet."""
    return json_response(list_providers(site))


@router.get("/models/discover/{provider}", response_model=list[DiscoveredModel])
async def get_discovered(site: SiteDep, provider: Identifier, threads: ThreadsDep) -> Response:
    """Ask a provider which models it has. Nothing is added."""
    return json_response(await threads.run(lambda: service.discover_models(site, provider)))


@router.post("/models/sync/{provider}", response_model=SyncResult)
async def post_sync(site: SiteDep, provider: Identifier, threads: ThreadsDep) -> Response:
    """Add the models of a provider that aren't there yet."""
    return json_response(await threads.run(lambda: service.sync_provider(site, provider)))


@router.post("/models/sync", response_model=SyncAllResult)
async def post_sync_all(site: SiteDep, threads: ThreadsDep) -> Response:
    """Add the models of every provider that aren't there yet."""
    return json_response(await threads.run(lambda: service.sync_all_providers(site)))


@router.post("/models/auto-assign", response_model=AssignResult)
def post_auto_assign(site: SiteDep) -> Response:
    """Give every empty default slot the best model that there is for it."""
    with site.database.write() as session:
        return json_response(service.assign_defaults(session, site))


@router.get("/models/count/{provider}", response_model=ModelCount)
def get_count(site: SiteDep, provider: Identifier) -> Response:
    """Count the models of a provider by their types."""
    return json_response(count_models(site, provider))


@router.get("/models/by-provider/{provider}", response_model=list[ModelRecord])
def get_by_provider(site: SiteDep, provider: Identifier) -> Response:
    """List the models of a provider."""
    with site.database.read() as session:
        models = service.list_models(session, provider=check_provider(provider))
        return json_response([service.model_record(model) for model in models])


@router.delete("/models/{model_id}", response_model=MessageResponse)
def delete_model(site: SiteDep, model_id: Identifier) -> Response:
    """Delete a model that no default slot has."""
    with site.database.write() as session:
        model = service.delete_model(session, model_id)
    return json_response({"message": f"The model {model.name} is deleted."})


@router.post("/models/{model_id}/test", response_model=ModelTestResult)
async def post_test(
    request: Request,
    site: SiteDep,
    model_id: Identifier,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
) -> Response:
    """Try a model by a real call of its type. A failure is an answer too."""

    def run_trial() -> Response:
        with site.database.read() as session:
            model = registry.get_model(session, model_id)
        return json_response(trial.try_model(site, model, cancel_token))

    return await cancel_on_disconnect(request, cancel_token, threads.run(run_trial))
