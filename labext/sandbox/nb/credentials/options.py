"""The fields of a credential besides its name, key and address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from labext.sandbox.nb import addresses
from labext.sandbox.nb.models.schemas import ModelType
from labext.sandbox.nb.schemas import FreeText, RequestBody, SingleLine

_KIND_ADDRESS = "The address for models of this type, if it differs from `base_url`."

ContextLength = Annotated[int, Field(ge=1, le=100_000_000)]


class CredentialOptions(RequestBody):
    """The further fields of a credential; null removes one."""

    modalities: list[ModelType] | None = Field(None, description="The types of its models.")
    endpoint: FreeText | None = Field(None, description="The address, if there is no `base_url`.")
    api_version: SingleLine | None = Field(None, description="Azure's.", examples=["2024-10-21"])
    endpoint_llm: FreeText | None = Field(None, description=_KIND_ADDRESS)
    endpoint_embedding: FreeText | None = Field(None, description=_KIND_ADDRESS)
    endpoint_stt: FreeText | None = Field(None, description=_KIND_ADDRESS)
    endpoint_tts: FreeText | None = Field(None, description=_KIND_ADDRESS)
    project: SingleLine | None = Field(None, description="Stored, and not used.")
    location: SingleLine | None = Field(None, description="Stored, and not used.")
    credentials_path: SingleLine | None = Field(None, description="Stored, and never read.")
    num_ctx: ContextLength | None = Field(
        None, description="The length of the context of Ollama's models, in tokens."
    )


NAMES = tuple(CredentialOptions.model_fields)
ADDRESSES = tuple(name for name in NAMES if name.startswith("endpoint"))
"""Those that are addresses, to which the key is sent."""


def merge_options(
    stored: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the options after a change, or None; values other than options are ignored.

    Raises:
        HTTPException: 400 if an address is invalid.
    """
    changes = {
        name: addresses.check_base_url(value) if value and name in ADDRESSES else value
        for name, value in values.items()
        if name in NAMES
    }
    merged = {**(stored or {}), **changes}
    return {name: value for name, value in merged.items() if value not in (None, "", [])} or None
