"""The routes of the group Models (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Identifier
from labext.sandbox.nb.calls import LineOf, SiteOf, ThreadsOf, json_answer
from labext.sandbox.nb.models import discovery, keeping, ranking, registry, trial
from labext.sandbox.nb.models.bodies import (
    AllSynced,
    Assigned,
    ChangedDefaults,
    Count,
    Defaults,
    Discovered,
    Kind,
    ModelRecord,
    NewModel,
    Providers,
    Synced,
    Tried,
)
from labext.sandbox.nb.models.leaving import while_there
from labext.sandbox.nb.models.overview import count, providers
from labext.sandbox.nb.models.providers import checked

api = APIRouter()


@api.get("/models", response_model=list[ModelRecord])
def get_models(
    site: SiteOf,
    model_type: Annotated[Kind | None, Query(description="These alone; all if left out.")] = None,
) -> Response:
    """List the models, the last added first."""
    with site.database.read() as session:
        return json_answer([keeping.record(each) for each in keeping.listed(session, model_type)])


@api.post("/models", response_model=ModelRecord)
def post_model(site: SiteOf, body: NewModel) -> Response:
    """Add a model of a provider."""
    with site.database.write() as session:
        made = keeping.make(session, body.name, body.type, body.provider, body.credential)
        return json_answer(keeping.record(made))


@api.get("/models/defaults", response_model=Defaults)
def get_defaults(site: SiteOf) -> Response:
    """Show which model each default slot has."""
    with site.database.read() as session:
        return json_answer(keeping.defaults(session))


@api.put("/models/defaults", response_model=Defaults)
def put_defaults(site: SiteOf, body: ChangedDefaults) -> Response:
    """Give default slots other models, or none; all of them or, where one won't do, none."""
    with site.database.write() as session:
        keeping.set_defaults(session, site, body.model_dump(exclude_unset=True))
        return json_answer(keeping.defaults(session))


@api.get("/models/providers", response_model=Providers)
def get_providers(site: SiteOf) -> Response:
    """List the providers that can be asked, and those that can't yet."""
    return json_answer(providers(site))


@api.get("/models/discover/{provider}", response_model=list[Discovered])
async def get_discovered(site: SiteOf, provider: Identifier, threads: ThreadsOf) -> Response:
    """Ask a provider which models it has. Nothing is added."""
    return json_answer(await threads.run(lambda: discovery.discovered(site, provider)))


@api.post("/models/sync/{provider}", response_model=Synced)
async def post_sync(site: SiteOf, provider: Identifier, threads: ThreadsOf) -> Response:
    """Add the models of a provider that aren't there yet."""
    return json_answer(await threads.run(lambda: discovery.synced(site, provider)))


@api.post("/models/sync", response_model=AllSynced)
async def post_sync_all(site: SiteOf, threads: ThreadsOf) -> Response:
    """Add the models of every provider that aren't there yet."""
    return json_answer(await threads.run(lambda: discovery.all_synced(site)))


@api.post("/models/auto-assign", response_model=Assigned)
def post_auto_assign(site: SiteOf) -> Response:
    """Give every empty default slot the best model that there is for it."""
    with site.database.write() as session:
        return json_answer(ranking.assigned(session, site))


@api.get("/models/count/{provider}", response_model=Count)
def get_count(site: SiteOf, provider: Identifier) -> Response:
    """Count the models of a provider by their types."""
    return json_answer(count(site, provider))


@api.get("/models/by-provider/{provider}", response_model=list[ModelRecord])
def get_by_provider(site: SiteOf, provider: Identifier) -> Response:
    """List the models of a provider."""
    with site.database.read() as session:
        found = keeping.listed(session, provider=checked(provider))
        return json_answer([keeping.record(each) for each in found])


@api.delete("/models/{model_id}", response_model=Done)
def delete_model(site: SiteOf, model_id: Identifier) -> Response:
    """Delete a model that no default slot has."""
    with site.database.write() as session:
        gone = keeping.delete(session, model_id)
    return json_answer({"message": f"The model {gone.name} is deleted."})


@api.post("/models/{model_id}/test", response_model=Tried)
async def post_test(
    request: Request, site: SiteOf, model_id: Identifier, line: LineOf, threads: ThreadsOf
) -> Response:
    """Try a model by a real call of its type. A failure is an answer too."""

    def tried() -> Response:
        with site.database.read() as session:
            model = registry.model(session, model_id)
        return json_answer(trial.tried(site, model, line))

    return await while_there(request, line, threads.run(tried))
