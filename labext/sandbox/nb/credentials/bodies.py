"""What is sent and answered about credentials (contract, Resources and their fields).

No record has a field for a key.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labext.sandbox.nb.bodies import Body, Name, Prose, Record
from labext.sandbox.nb.models.bodies import Discovered, Kind

MOST_MODELS = 10_000

Key = Annotated[Prose, Field(json_schema_extra={"writeOnly": True}, examples=["sk-…"])]
"""A provider's key."""


Provider = Annotated[Name, Field(examples=["openai"])]


class NewCredential(Body):
    """How a provider is reached."""

    provider: Provider
    name: Name = Field(examples=["lab"])
    api_key: Key | None = None
    base_url: Prose | None = Field(None, description="If left out, the provider's own address.")


class ChangedCredential(Body):
    """What is to change; null takes the key away, or the address.

    A key is for the server that it was given for (scheme, host and port): with the address of
    another one `api_key` has to be sent too, the key of that server or null.

    The provider stays as it is: its models are of it.
    """

    provider: Provider | None = None
    name: Name | None = None
    api_key: Key | None = None
    base_url: Prose | None = None


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


class Status(Record):
    """Which providers can be asked, whence that is known, and whether keys can be stored."""

    configured: dict[str, bool]
    source: dict[str, Literal["database", "environment", "none"]]
    encryption_configured: bool


class Tested(Record):
    """What came of asking a credential's server."""

    provider: str
    success: bool
    message: str


class DiscoveredBy(Record):
    """The models that a credential's server says it has."""

    credential_id: str
    provider: str
    discovered: list[Discovered]


class FoundModel(Body):
    """A model to be added."""

    name: Name
    model_type: Kind


class FoundModels(Body):
    """Models to be added."""

    models: list[FoundModel] = Field(max_length=MOST_MODELS)


class Registered(Record):
    """How many models were added, and how many there were."""

    created: int
    existing: int


class Deleted(Record):
    """What went."""

    message: str
    deleted_models: int
