"""Create, update, delete and test credentials."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.actions import Action
from labext.config import same_server
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import addresses, errors
from labext.sandbox.nb.models import service
from labext.sandbox.nb.providers import provider_keys, registry
from labext.sandbox.nb.providers.registry import ProviderInfo, get_provider
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.schemas import FreeText, ModelType, RequestBody, SingleLine
from labext.sandbox.nb.tables import Credential, Model

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
    project: SingleLine | None = Field(None, description="Vertex AI's; stored, and not used.")
    location: SingleLine | None = Field(None, description="Vertex AI's; stored, and not used.")
    credentials_path: SingleLine | None = Field(None, description="Vertex AI's; never read.")
    num_ctx: ContextLength | None = Field(
        None, description="The length of the context of Ollama's models, in tokens."
    )


NAMES = tuple(CredentialOptions.model_fields)
ADDRESSES = tuple(name for name in NAMES if name.startswith("endpoint"))
"""The options that are addresses, to which the key is sent."""


def merge_options(
    stored: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the options after a change, or None; values other than options are ignored."""
    changes = {
        name: addresses.check_base_url(value) if value and name in ADDRESSES else value
        for name, value in values.items()
        if name in NAMES
    }
    merged = {**(stored or {}), **changes}
    return {name: value for name, value in merged.items() if value not in (None, "", [])} or None


def create_credential(
    session: Session,
    site: Site,
    provider: str,
    name: str,
    key: str | None,
    base_url: str | None,
    options: Mapping[str, Any] | None = None,
) -> Credential:
    """Create a credential; `options` has values of `options.NAMES`."""
    info = get_provider(provider)
    credential = Credential(
        provider=provider,
        name=name,
        base_url=None if base_url is None else addresses.check_base_url(base_url),
        options=merge_options(None, options or {}),
        key=None if key is None else provider_keys.encrypt_key(site, key),
    )
    _check_has_address(info, credential)
    session.add(credential)
    session.flush()
    return credential


def update_credential(
    session: Session, site: Site, identifier: str, values: dict[str, Any]
) -> Credential:
    """Change the given fields of a credential.

    `values` has any of `provider`, `name`, `api_key`, `base_url` and `options.NAMES`; None removes
    a value.
    """
    credential = load(session, Credential, identifier)
    provider = values.get("provider")
    if provider not in (None, credential.provider):
        raise errors.bad_request(
            f"The credential {credential.name} is for {credential.provider}, and so are its "
            "models.",
            "Add another one.",
            Action.add_credential(get_provider(str(provider)).name),
        )
    info = get_provider(credential.provider)
    before = _servers(credential, info)
    if "base_url" in values:
        base_url = values["base_url"]
        credential.base_url = None if base_url is None else addresses.check_base_url(base_url)
    credential.options = merge_options(credential.options, values)
    _check_has_address(info, credential)
    if "api_key" in values:
        key = values["api_key"]
        credential.key = None if key is None else provider_keys.encrypt_key(site, key)
    else:
        _check_same_servers(credential, before, _servers(credential, info))
    if values.get("name") is not None:
        credential.name = values["name"]
    if session.is_modified(credential):
        credential.updated = time.time()
    session.flush()
    return credential


def delete_credential(session: Session, identifier: str) -> tuple[Credential, int]:
    """Delete a credential with its models, and return it with their number."""
    credential = load(session, Credential, identifier)
    models = session.scalars(select(Model).where(Model.credential_id == credential.id)).all()
    service.check_not_default(session, models)
    for model in models:
        session.delete(model)
    session.flush()
    session.delete(credential)
    return credential, len(models)


def credential_record(session: Session, site: Site, credential: Credential) -> dict[str, Any]:
    """Return a credential's record, which never contains its key."""
    return {
        "id": credential.id,
        "name": credential.name,
        "provider": credential.provider,
        "base_url": credential.base_url,
        **{name: credential.option(name) for name in NAMES},
        "modalities": credential.option("modalities") or [],
        "has_api_key": credential.key is not None,
        "model_count": count_rows(session, Model, Model.credential_id == credential.id),
        "decryption_error": provider_keys.key_error(site, credential),
        "created_at": credential.created,
        "updated_at": credential.updated,
    }


def _servers(credential: Credential, info: ProviderInfo) -> list[str]:
    """Return the addresses that a credential's key is sent to."""
    kinds = [credential.address(kind) or info.base_url or "" for kind in registry.MODEL_TYPES]
    return [credential.address() or info.base_url or "", *kinds]


def _check_same_servers(
    credential: Credential, before: Sequence[str], after: Sequence[str]
) -> None:
    """Check that a stored key is not reused for another server than it was given for.

    Otherwise a user who may change the address could have the key sent to their own server.
    """
    for address in after:
        if credential.key is None or any(same_server(known, address) for known in before):
            continue
        raise errors.bad_request(
            f"The key of {credential.name} belongs to another server and is not sent to {address}.",
            "Remove the key, or send it together with the address.",
            Action.set_address_and_key(credential.name),
        )


def _check_has_address(info: ProviderInfo, credential: Credential) -> None:
    if info.base_url is None and credential.address() is None:
        raise errors.bad_request(
            f"A credential for {info.name} needs an address.",
            "Give its `base_url`, such as http://localhost:8000/v1.",
        )


def check_connection(site: Site, identifier: str) -> dict[str, Any]:
    """List the models of a credential's server, and report success or failure."""
    with site.database.read() as session:
        credential = load(session, Credential, identifier)
    try:
        names = [row["name"] for row in service.discover_by_credential(site, credential)]
    except HTTPException as error:
        return {"provider": credential.provider, **errors.failed_test(error)}
    names_text = f": {messages.join_words(names, 3)}" if names else ""
    message = f"It responds, and has {messages.pluralize(len(names), 'model')}{names_text}."
    return {"provider": credential.provider, "success": True, "message": message}
