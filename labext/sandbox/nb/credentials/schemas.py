"""Request and response schemas of credentials; no response has a key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labext.sandbox.nb.models.schemas import DiscoveredModel, ModelType
from labext.sandbox.nb.schemas import FreeText, Name, Record, RequestBody, Timestamp

MAX_MODELS = 10_000

ApiKey = Annotated[FreeText, Field(json_schema_extra={"writeOnly": True}, examples=["sk-…"])]
"""A provider's API key."""


ProviderName = Annotated[Name, Field(examples=["openai"])]


class NewCredential(RequestBody):
    """The address and key of a provider."""

    provider: ProviderName
    name: Name = Field(examples=["lab"])
    api_key: ApiKey | None = None
    base_url: FreeText | None = Field(None, description="If left out, the provider's own address.")


class CredentialUpdate(RequestBody):
    """Fields to change; null removes the key or the address.

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


class DeletedCredential(Record):
    """The result of deleting a credential."""

    message: str
    deleted_models: int
