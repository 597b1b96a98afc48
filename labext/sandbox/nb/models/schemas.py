"""Request and response schemas of models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from labext.sandbox.nb.schemas import Identifier, Name, Record, RequestBody, Timestamp

ModelType = Literal["llm", "embedding", "stt", "tts"]
"""A model's type (NB-274)."""


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
