"""Endpoints of credentials; no response has a key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import select

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.credentials import service
from labext.sandbox.nb.credentials.service import CredentialOptions
from labext.sandbox.nb.dependencies import ThreadsDep
from labext.sandbox.nb.models import service as models
from labext.sandbox.nb.models.router import DiscoveredModel
from labext.sandbox.nb.providers import provider_keys, servers
from labext.sandbox.nb.providers.registry import PROVIDERS, get_provider
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.schemas import (
    FreeText,
    Identifier,
    MessageResponse,
    ModelType,
    Name,
    Record,
    RequestBody,
    Timestamp,
)
from labext.sandbox.nb.tables import Credential

MAX_MODELS = 10_000

ApiKey = Annotated[FreeText, Field(json_schema_extra={"writeOnly": True}, examples=["sk-…"])]
"""A provider's API key."""

ProviderName = Annotated[Name, Field(examples=["openai"])]


class NewCredential(CredentialOptions):
    """The address and key of a provider."""

    provider: ProviderName
    name: Name = Field(examples=["lab"])
    api_key: ApiKey | None = None
    base_url: FreeText | None = Field(None, description="By default the provider's own address.")


class CredentialUpdate(CredentialOptions):
    """Fields to change; null removes one, except the name.

    A key belongs to the server that it was given for (scheme, host and port): with the address of
    another server, send `api_key` too, either its key or null.

    The provider can't be changed.
    """

    provider: ProviderName | None = None
    name: Name | None = None
    api_key: ApiKey | None = None
    base_url: FreeText | None = None


class CredentialRecord(Record):
    """A credential; `decryption_error` says why its key can't be read."""

    id: str = Field(examples=["credential:xqw43ktrgx2xufas0bfh"])
    name: str
    provider: str
    base_url: str | None
    modalities: list[ModelType]
    endpoint: str | None
    api_version: str | None
    endpoint_llm: str | None
    endpoint_embedding: str | None
    endpoint_stt: str | None
    endpoint_tts: str | None
    project: str | None
    location: str | None
    credentials_path: str | None
    num_ctx: int | None
    has_api_key: bool
    model_count: int
    decryption_error: str | None
    created_at: Timestamp
    updated_at: Timestamp


class CredentialStatus(Record):
    """The configured providers, the source of each, and whether keys can be stored."""

    configured: dict[str, bool]
    source: dict[str, Literal["database", "environment", "none"]]
    encryption_configured: bool


class CredentialTestResult(Record):
    """The result of contacting a credential's server."""

    provider: str
    success: bool
    message: str
    action: dict[str, str] | None = Field(None, description="The next step after a failure.")


class DiscoveredModels(Record):
    """The models listed by a credential's server."""

    credential_id: str
    provider: str
    discovered: list[DiscoveredModel]


class ModelRegistration(RequestBody):
    """A model to be added."""

    name: Name
    model_type: ModelType


class ModelRegistrations(RequestBody):
    """Models to be added."""

    models: list[ModelRegistration] = Field(max_length=MAX_MODELS)


class RegisterResult(Record):
    """The numbers of added and of existing models."""

    created: int
    existing: int


class DeletedCredential(MessageResponse):
    """The result of deleting a credential."""

    deleted_models: int


router = APIRouter()


@router.get("/credentials/status", response_model=CredentialStatus)
def get_status(site: SiteDep) -> dict[str, Any]:
    """Get the configured providers and the source of each configuration."""
    sources = dict.fromkeys(PROVIDERS, "none")
    from_environment = provider_keys.environment_status(site)
    sources |= {name: "environment" for name, is_set in from_environment.items() if is_set}
    with site.database.read() as session:
        sources |= dict.fromkeys(session.scalars(select(Credential.provider)), "database")
        configured = servers.configured_providers(site, session)
    return {
        "configured": {name: name in configured for name in PROVIDERS},
        "source": sources,
        "encryption_configured": provider_keys.is_encryption_configured(site),
    }


@router.get("/credentials/env-status", response_model=dict[str, bool])
def get_env_status(site: SiteDep) -> dict[str, bool]:
    """Get the providers that are configured by environment variables."""
    return provider_keys.environment_status(site)


@router.get("/credentials", response_model=list[CredentialRecord])
def get_credentials(
    site: SiteDep,
    provider: Annotated[
        str | None,
        Query(description="Only the credentials of this provider; by default all.", max_length=100),
    ] = None,
) -> list[dict[str, Any]]:
    """List the credentials, the oldest first. Models without a credential use the oldest."""
    return _list_credentials(site, provider)


@router.get("/credentials/by-provider/{provider}", response_model=list[CredentialRecord])
def get_by_provider(site: SiteDep, provider: Identifier) -> list[dict[str, Any]]:
    """List the credentials of a provider."""
    return _list_credentials(site, provider)


@router.post("/credentials", response_model=CredentialRecord)
def post_credential(site: SiteDep, body: NewCredential) -> dict[str, Any]:
    """Create a credential. Its key is stored encrypted and never returned."""
    with site.database.write() as session:
        credential = service.create_credential(
            session, site, body.provider, body.name, body.api_key, body.base_url, body.model_dump()
        )
        return service.credential_record(session, site, credential)


@router.get("/credentials/{credential_id}", response_model=CredentialRecord)
def get_credential(site: SiteDep, credential_id: Identifier) -> dict[str, Any]:
    """Get a credential without its key."""
    with site.database.read() as session:
        credential = load(session, Credential, credential_id)
        return service.credential_record(session, site, credential)


@router.put("/credentials/{credential_id}", response_model=CredentialRecord)
def put_credential(
    site: SiteDep, credential_id: Identifier, body: CredentialUpdate
) -> dict[str, Any]:
    """Update the name, key or address of a credential. Another server needs the key again."""
    with site.database.write() as session:
        values = body.model_dump(exclude_unset=True)
        credential = service.update_credential(session, site, credential_id, values)
        return service.credential_record(session, site, credential)


@router.delete("/credentials/{credential_id}", response_model=DeletedCredential)
def delete_credential(site: SiteDep, credential_id: Identifier) -> dict[str, Any]:
    """Delete a credential with its models, unless a default slot uses one."""
    with site.database.write() as session:
        credential, models = service.delete_credential(session, credential_id)
    message = f"The credential {credential.name} is deleted."
    return {"message": message, "deleted_models": models}


@router.post("/credentials/{credential_id}/test", response_model=CredentialTestResult)
async def post_test(
    site: SiteDep, credential_id: Identifier, threads: ThreadsDep
) -> dict[str, Any]:
    """Test the connection to a credential's server. A failure is reported in the response."""
    return await threads.run(lambda: service.check_connection(site, credential_id))


@router.post("/credentials/{credential_id}/discover", response_model=DiscoveredModels)
async def post_discover(
    site: SiteDep, credential_id: Identifier, threads: ThreadsDep
) -> dict[str, Any]:
    """List the models that a credential's server offers. Nothing is added."""

    def discover() -> dict[str, Any]:
        with site.database.read() as session:
            credential = load(session, Credential, credential_id)
        discovered = models.discover_by_credential(site, credential)
        return {
            "credential_id": credential.id,
            "provider": credential.provider,
            "discovered": discovered,
        }

    return await threads.run(discover)


@router.post("/credentials/{credential_id}/register-models", response_model=RegisterResult)
def post_register(
    site: SiteDep, credential_id: Identifier, body: ModelRegistrations
) -> dict[str, int]:
    """Add models of a credential. Existing models are unchanged."""
    registrations = [(model.name, model.model_type) for model in body.models]
    with site.database.write() as session:
        credential = load(session, Credential, credential_id)
        created, existing = models.register_models(
            session, credential.provider, credential.id, registrations
        )
    return {"created": created, "existing": existing}


def _list_credentials(site: Site, provider: str | None) -> list[dict[str, Any]]:
    query = select(Credential).order_by(Credential.created, Credential.id)
    if provider is not None:
        query = query.where(Credential.provider == get_provider(provider).name)
    with site.database.read() as session:
        credentials = session.scalars(query).all()
        return [service.credential_record(session, site, credential) for credential in credentials]
