"""Request and response schemas of credentials; no response has a key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labext.sandbox.nb.models.schemas import DiscoveredModel, ModelType
from labext.sandbox.nb.schemas import FreeText, Name, Record, RequestBody

MAX_MODELS = 10_000

ApiKey = Annotated[FreeText, Field(json_schema_extra={"writeOnly": True}, examples=["sk-…"])]
"""A provider's key."""


ProviderName = Annotated[Name, Field(examples=["openai"])]


class NewCredential(RequestBody):
    """How a provider is reached."""

    provider: ProviderName
    name: Name = Field(examples=["lab"])
    api_key: ApiKey | None = None
    base_url: FreeText | None = Field(None, description="If left out, the provider's own address.")


class CredentialUpdate(RequestBody):
    """What is to change; null takes the key away, or the address.

    A key is for the server that it was given for (scheme, host and port): with the address of
    another one `api_key` has to be sent too, the key of that server or null.

    The provider stays as it is: its models are of it.
    """

    provider: ProviderName | None = None
    name: Name | None = None
    api_key: ApiKey | None = None
    base_url: FreeText | None = None


class CredentialRecord(Record):
    """A credential; `decryption_error` says why its key can't be read, and what to do."""

    id: str = Field(examples=["credential:xqw43ktrgx2xufas0bfh"])
    name: str
    provider: str
    base_url: str | None
    has_api_key: bool
    model_count: int
    decryption_error: str | None
    created_at: str
    updated_at: str


class CredentialStatus(Record):
    """Which providers can be asked, whence that is known, and whether keys can be stored."""

    configured: dict[str, bool]
    source: dict[str, Literal["database", "environment", "none"]]
    encryption_configured: bool


class CredentialTestResult(Record):
    """What came of asking a credential's server."""

    provider: str
    success: bool
    message: str


class DiscoveredModels(Record):
    """The models that a credential's server says it has."""

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
    """How many models were added, and how many there were."""

    created: int
    existing: int


class DeletedCredential(Record):
    """What went."""

    message: str
    deleted_models: int
