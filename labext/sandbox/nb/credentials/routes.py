"""The routes of the group Credentials (contract, Endpoints)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Identifier
from labext.sandbox.nb.calls import SiteOf, ThreadsOf, json_answer
from labext.sandbox.nb.credentials import asking, keeping
from labext.sandbox.nb.credentials.bodies import (
    ChangedCredential,
    CredentialRecord,
    Deleted,
    DiscoveredBy,
    FoundModels,
    NewCredential,
    Registered,
    Status,
    Tested,
)
from labext.sandbox.nb.credentials.status import status
from labext.sandbox.nb.models import environment
from labext.sandbox.nb.models import keeping as models
from labext.sandbox.nb.models.providers import known
from labext.sandbox.service import Site

api = APIRouter()


@api.get("/credentials/status", response_model=Status)
def get_status(site: SiteOf) -> Response:
    """Tell which providers can be asked, and whence that is known."""
    return json_answer(status(site))


@api.get("/credentials/env-status", response_model=dict[str, bool])
def get_env_status(site: SiteOf) -> Response:
    """Tell for which providers the environment of the service has what asking them takes."""
    return json_answer(environment.status(site))


@api.get("/credentials", response_model=list[CredentialRecord])
def get_credentials(
    site: SiteOf,
    provider: Annotated[
        str | None, Query(description="These alone; all if left out.", max_length=100)
    ] = None,
) -> Response:
    """List the credentials, the oldest first, which is used where a model names none."""
    return _all(site, provider)


@api.get("/credentials/by-provider/{provider}", response_model=list[CredentialRecord])
def get_by_provider(site: SiteOf, provider: Identifier) -> Response:
    """List the credentials of a provider."""
    return _all(site, provider)


@api.post("/credentials", response_model=CredentialRecord)
def post_credential(site: SiteOf, body: NewCredential) -> Response:
    """Store how a provider is reached. Its key is encrypted, and never shown again."""
    with site.database.write() as session:
        made = keeping.make(session, site, body.provider, body.name, body.api_key, body.base_url)
        return json_answer(keeping.record(session, site, made))


@api.get("/credentials/{credential_id}", response_model=CredentialRecord)
def get_credential(site: SiteOf, credential_id: Identifier) -> Response:
    """Show a credential, without its key."""
    with site.database.read() as session:
        found = keeping.found(session, credential_id)
        return json_answer(keeping.record(session, site, found))


@api.put("/credentials/{credential_id}", response_model=CredentialRecord)
def put_credential(site: SiteOf, credential_id: Identifier, body: ChangedCredential) -> Response:
    """Change a credential's name, key or address. Another server needs the key again."""
    with site.database.write() as session:
        given = body.model_dump(exclude_unset=True)
        changed = keeping.change(session, site, credential_id, given)
        return json_answer(keeping.record(session, site, changed))


@api.delete("/credentials/{credential_id}", response_model=Deleted)
def delete_credential(site: SiteOf, credential_id: Identifier) -> Response:
    """Delete a credential with its models, of which no default slot may have one."""
    with site.database.write() as session:
        gone, models = keeping.delete(session, credential_id)
    said = f"The credential {gone.name} is deleted."
    return json_answer({"message": said, "deleted_models": models})


@api.post("/credentials/{credential_id}/test", response_model=Tested)
async def post_test(site: SiteOf, credential_id: Identifier, threads: ThreadsOf) -> Response:
    """Ask a credential's server for its models. A failure is an answer too."""
    return json_answer(await threads.run(lambda: asking.tested(site, credential_id)))


@api.post("/credentials/{credential_id}/discover", response_model=DiscoveredBy)
async def post_discover(site: SiteOf, credential_id: Identifier, threads: ThreadsOf) -> Response:
    """Ask a credential's server which models it has. Nothing is added."""
    return json_answer(await threads.run(lambda: asking.discovered(site, credential_id)))


@api.post("/credentials/{credential_id}/register-models", response_model=Registered)
def post_register(site: SiteOf, credential_id: Identifier, body: FoundModels) -> Response:
    """Add models of a credential; those that are there already stay."""
    wanted = [(each.name, each.model_type) for each in body.models]
    with site.database.write() as session:
        credential = keeping.found(session, credential_id)
        created, existing = models.register(session, credential.provider, credential.id, wanted)
    return json_answer({"created": created, "existing": existing})


def _all(site: Site, provider: str | None) -> Response:
    if provider is not None:
        known(provider)
    with site.database.read() as session:
        found = keeping.listed(session, provider)
        return json_answer([keeping.record(session, site, each) for each in found])
