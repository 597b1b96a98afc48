"""Create, update, delete and test credentials; report the configured providers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.actions import Action
from labext.config import same_server
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import addresses, errors
from labext.sandbox.nb.crud import load
from labext.sandbox.nb.models import service
from labext.sandbox.nb.providers import provider_keys, servers
from labext.sandbox.nb.providers.registry import PROVIDERS, ProviderInfo, get_provider
from labext.sandbox.nb.tables import Credential, Model


def list_credentials(session: Session, provider: str | None = None) -> list[Credential]:
    """Return the credentials, optionally of one provider, the oldest first."""
    query = select(Credential).order_by(Credential.created, Credential.id)
    if provider is not None:
        query = query.where(Credential.provider == provider)
    return list(session.scalars(query))


def create_credential(
    session: Session, site: Site, provider: str, name: str, key: str | None, base_url: str | None
) -> Credential:
    """Create a credential.

    Raises:
        HTTPException: 400 if the provider does not exist or the key or address is invalid; 422 if
            keys can't be encrypted.
    """
    info = get_provider(provider)
    credential = Credential(
        provider=provider,
        name=name,
        base_url=_check_address(info, base_url),
        key=_encrypt_key(site, key),
    )
    session.add(credential)
    session.flush()
    return credential


def update_credential(
    session: Session, site: Site, identifier: str, values: dict[str, Any]
) -> Credential:
    """Change the given fields of a credential.

    `values` has any of `provider`, `name`, `api_key` and `base_url`; None removes a key or address.

    Raises:
        HTTPException: 404; 400 and 422 as `create_credential`; 400 also if the provider differs or
            the key was given for another server.
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
    if "base_url" in values:
        info = get_provider(credential.provider)
        base_url = _check_address(info, values["base_url"])
        if "api_key" not in values:
            _check_same_server(credential, info, base_url)
        credential.base_url = base_url
    if "api_key" in values:
        credential.key = _encrypt_key(site, values["api_key"])
    if values.get("name") is not None:
        credential.name = values["name"]
    if session.is_modified(credential):
        credential.updated = time.time()
    session.flush()
    return credential


def delete_credential(session: Session, identifier: str) -> tuple[Credential, int]:
    """Delete a credential with its models, and return it with their number.

    Raises:
        HTTPException: 404; 400 if a default slot uses one of them.
    """
    credential = load(session, Credential, identifier)
    models = _credential_models(session, credential)
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
        "has_api_key": credential.key is not None,
        "model_count": count_rows(session, Model, Model.credential_id == credential.id),
        "decryption_error": provider_keys.key_error(site, credential),
        "created_at": credential.created,
        "updated_at": credential.updated,
    }


def _credential_models(session: Session, credential: Credential) -> Sequence[Model]:
    return session.scalars(select(Model).where(Model.credential_id == credential.id)).all()


def _encrypt_key(site: Site, key: str | None) -> bytes | None:
    return None if key is None else provider_keys.encrypt_key(site, provider_keys.check_key(key))


def _check_same_server(credential: Credential, info: ProviderInfo, base_url: str | None) -> None:
    """Check that a stored key is not reused for another server than it was given for.

    Otherwise a user who may change the address could have the key sent to their own server.
    """
    before, after = credential.base_url or info.base_url or "", base_url or info.base_url or ""
    if credential.key is None or same_server(before, after):
        return
    raise errors.bad_request(
        f"The key of {credential.name} was given for another server, and {after} does not get it.",
        "Take the key away, or give it along with the address.",
        Action.set_address_and_key(credential.name),
    )


def _check_address(info: ProviderInfo, base_url: str | None) -> str | None:
    """Return a valid address as it is stored; None for the provider's own."""
    if base_url is not None:
        return addresses.check_base_url(base_url)
    if info.base_url is None:
        raise errors.bad_request(
            f"A credential for {info.name} needs an address.",
            "Give its `base_url`, such as http://localhost:8000/v1.",
        )
    return None


def provider_status(site: Site) -> dict[str, Any]:
    """Return the configuration of every provider, without contacting one.

    `database`: it has credentials, which are used even if none of their keys can be read;
    `environment`: it has none, and is configured by environment variables.
    """
    from_environment = provider_keys.environment_status(site)
    with site.database.read() as session:
        stored = set(session.scalars(select(Credential.provider)))
        configured = servers.configured_providers(site, session)
    return {
        "configured": {name: name in configured for name in PROVIDERS},
        "source": {
            name: "database"
            if name in stored
            else "environment"
            if from_environment[name]
            else "none"
            for name in PROVIDERS
        },
        "encryption_configured": provider_keys.is_encryption_configured(site),
    }


def check_connection(site: Site, identifier: str) -> dict[str, Any]:
    """List the models of a credential's server, and report success or failure.

    Raises:
        HTTPException: 404 if the credential does not exist.
    """
    with site.database.read() as session:
        credential = load(session, Credential, identifier)
    try:
        names = [row["name"] for row in service.discover_by_credential(site, credential)]
    except HTTPException as error:
        success, message = False, str(error.detail)
    else:
        names_text = f": {messages.join_words(names, 3)}" if names else ""
        success, message = (
            True,
            f"It answers, and has {messages.pluralize(len(names), 'model')}{names_text}.",
        )
    return {"provider": credential.provider, "success": success, "message": message}


def discover_models(site: Site, identifier: str) -> dict[str, Any]:
    """Return the models listed by a credential's server.

    Raises:
        HTTPException: 404 if the credential does not exist; 422 if its server can't be used; 502 if
            it failed.
    """
    with site.database.read() as session:
        credential = load(session, Credential, identifier)
    return {
        "credential_id": credential.id,
        "provider": credential.provider,
        "discovered": service.discover_by_credential(site, credential),
    }
