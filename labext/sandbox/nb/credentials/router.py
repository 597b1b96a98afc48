"""Endpoints of credentials."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.credentials import service
from labext.sandbox.nb.credentials.schemas import (
    CredentialRecord,
    CredentialStatus,
    CredentialTestResult,
    CredentialUpdate,
    DeletedCredential,
    DiscoveredModels,
    ModelRegistrations,
    NewCredential,
    RegisterResult,
)
from labext.sandbox.nb.credentials.service import provider_status
from labext.sandbox.nb.dependencies import SiteDep, ThreadsDep, json_response
from labext.sandbox.nb.models import service as models
from labext.sandbox.nb.providers import provider_keys
from labext.sandbox.nb.providers.registry import get_provider
from labext.sandbox.nb.schemas import Identifier

router = APIRouter()


@router.get("/credentials/status", response_model=CredentialStatus)
def get_status(site: SiteDep) -> Response:
    """Show which providers are configured, and by which source."""
    return json_response(provider_status(site))


@router.get("/credentials/env-status", response_model=dict[str, bool])
def get_env_status(site: SiteDep) -> Response:
    """Show which providers are configured by environment variables."""
    return json_response(provider_keys.environment_status(site))


@router.get("/credentials", response_model=list[CredentialRecord])
def get_credentials(
    site: SiteDep,
    provider: Annotated[
        str | None, Query(description="These alone; all if left out.", max_length=100)
    ] = None,
) -> Response:
    """List the credentials, the oldest first, which is used where a model names none."""
    return _list_credentials(site, provider)


@router.get("/credentials/by-provider/{provider}", response_model=list[CredentialRecord])
def get_by_provider(site: SiteDep, provider: Identifier) -> Response:
    """List the credentials of a provider."""
    return _list_credentials(site, provider)


@router.post("/credentials", response_model=CredentialRecord)
def post_credential(site: SiteDep, body: NewCredential) -> Response:
    """Store how a provider is reached. Its key is encrypted, and never shown again."""
    with site.database.write() as session:
        credential = service.create_credential(
            session, site, body.provider, body.name, body.api_key, body.base_url
        )
        return json_response(service.credential_record(session, site, credential))


@router.get("/credentials/{credential_id}", response_model=CredentialRecord)
def get_credential(site: SiteDep, credential_id: Identifier) -> Response:
    """Show a credential, without its key."""
    with site.database.read() as session:
        credential = service.load_credential(session, credential_id)
        return json_response(service.credential_record(session, site, credential))


@router.put("/credentials/{credential_id}", response_model=CredentialRecord)
def put_credential(site: SiteDep, credential_id: Identifier, body: CredentialUpdate) -> Response:
    """Change a credential's name, key or address. Another server needs the key again."""
    with site.database.write() as session:
        values = body.model_dump(exclude_unset=True)
        credential = service.update_credential(session, site, credential_id, values)
        return json_response(service.credential_record(session, site, credential))


@router.delete("/credentials/{credential_id}", response_model=DeletedCredential)
def delete_credential(site: SiteDep, credential_id: Identifier) -> Response:
    """Delete a credential with its models, of which no default slot may have one."""
    with site.database.write() as session:
        credential, models = service.delete_credential(session, credential_id)
    message = f"The credential {credential.name} is deleted."
    return json_response({"message": message, "deleted_models": models})


@router.post("/credentials/{credential_id}/test", response_model=CredentialTestResult)
async def post_test(site: SiteDep, credential_id: Identifier, threads: ThreadsDep) -> Response:
    """Ask a credential's server for its models. A failure is an answer too."""
    return json_response(await threads.run(lambda: service.check_connection(site, credential_id)))


@router.post("/credentials/{credential_id}/discover", response_model=DiscoveredModels)
async def post_discover(site: SiteDep, credential_id: Identifier, threads: ThreadsDep) -> Response:
    """Ask a credential's server which models it has. Nothing is added."""
    return json_response(await threads.run(lambda: service.discover_models(site, credential_id)))


@router.post("/credentials/{credential_id}/register-models", response_model=RegisterResult)
def post_register(site: SiteDep, credential_id: Identifier, body: ModelRegistrations) -> Response:
    """Add models of a credential; those that are there already stay."""
    registrations = [(model.name, model.model_type) for model in body.models]
    with site.database.write() as session:
        credential = service.load_credential(session, credential_id)
        created, existing = models.register_models(
            session, credential.provider, credential.id, registrations
        )
    return json_response({"created": created, "existing": existing})


def _list_credentials(site: Site, provider: str | None) -> Response:
    if provider is not None:
        get_provider(provider)
    with site.database.read() as session:
        credentials = service.list_credentials(session, provider)
        return json_response(
            [service.credential_record(session, site, credential) for credential in credentials]
        )
