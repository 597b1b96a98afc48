"""Create, update, delete and test credentials; report the configured providers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.config.profiles import same_server
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import addresses, errors, tables
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.models import service
from labext.sandbox.nb.providers import provider_keys, registry, servers
from labext.sandbox.nb.providers.registry import PROVIDERS, ProviderInfo, get_provider
from labext.sandbox.nb.tables import Credential, Model


def list_credentials(session: Session, provider: str | None = None) -> list[Credential]:
    """The credentials, perhaps of a provider alone, by their age."""
    wanted = select(Credential).order_by(Credential.created, Credential.id)
    if provider is not None:
        wanted = wanted.where(Credential.provider == provider)
    return list(session.scalars(wanted))


def load_credential(session: Session, identifier: str) -> Credential:
    """A credential.

    Raises:
        HTTPException: 404.
    """
    credential = session.get(Credential, identifier)
    if credential is None:
        raise errors.not_found("credential", identifier)
    return credential


def create_credential(
    session: Session, site: Site, provider: str, name: str, key: str | None, base_url: str | None
) -> Credential:
    """Add a credential.

    Raises:
        HTTPException: 400, there is no such provider, or the key or the address can't be one; 422,
            keys can't be encrypted.
    """
    of = get_provider(provider)
    now = time.time()
    made = Credential(
        id=tables.new_identifier("credential"),
        provider=provider,
        name=name,
        base_url=_check_address(of, base_url),
        key=_encrypt_key(site, key),
        created=now,
        updated=now,
    )
    session.add(made)
    session.flush()
    return made


def update_credential(
    session: Session, site: Site, identifier: str, given: dict[str, Any]
) -> Credential:
    """Change what is given of a credential.

    Args:
        session: a writing one.
        site: has the secret that encrypts keys.
        identifier: the credential's.
        given: some of `provider`, `name`, `api_key` and `base_url`; None takes a key or an address
            away.

    Raises:
        HTTPException: 404; 400 and 422 as `make`, or it is for another provider, or its key would
            go to another server than it was given for.
    """
    credential = load_credential(session, identifier)
    provider = given.get("provider")
    if provider not in (None, credential.provider):
        raise errors.bad_request(
            f"The credential {credential.name} is for {credential.provider}, and so are its "
            "models.",
            f"Add another one: {registry.new_credential_line(get_provider(str(provider)).name)}.",
        )
    if "base_url" in given:
        of = get_provider(credential.provider)
        base_url = _check_address(of, given["base_url"])
        if "api_key" not in given:
            _check_same_server(credential, of, base_url)
        credential.base_url = base_url
    if "api_key" in given:
        credential.key = _encrypt_key(site, given["api_key"])
    if given.get("name") is not None:
        credential.name = given["name"]
    if session.is_modified(credential):
        credential.updated = time.time()
    session.flush()
    return credential


def delete_credential(session: Session, identifier: str) -> tuple[Credential, int]:
    """Delete a credential with its models; also how many these were.

    Raises:
        HTTPException: 404; 400, a default slot has one of them.
    """
    credential = load_credential(session, identifier)
    models = _credential_models(session, credential)
    service.check_not_default(session, models)
    for model in models:
        session.delete(model)
    session.flush()
    session.delete(credential)
    return credential, len(models)


def credential_record(session: Session, site: Site, credential: Credential) -> dict[str, Any]:
    """A credential as it is answered: never with its key."""
    return {
        "id": credential.id,
        "name": credential.name,
        "provider": credential.provider,
        "base_url": credential.base_url,
        "has_api_key": credential.key is not None,
        "model_count": count_rows(session, Model, Model.credential_id == credential.id),
        "decryption_error": provider_keys.key_error(site, credential),
        "created_at": format_time(credential.created),
        "updated_at": format_time(credential.updated),
    }


def _credential_models(session: Session, credential: Credential) -> Sequence[Model]:
    return session.scalars(select(Model).where(Model.credential_id == credential.id)).all()


def _encrypt_key(site: Site, key: str | None) -> bytes | None:
    return None if key is None else provider_keys.encrypt_key(site, provider_keys.check_key(key))


def _check_same_server(credential: Credential, of: ProviderInfo, base_url: str | None) -> None:
    """See that a key that nobody gave again stays with the server that it was given for.

    Else whoever may change an address could have the key sent to a server of his own.
    """
    before, after = credential.base_url or of.base_url or "", base_url or of.base_url or ""
    if credential.key is None or same_server(before, after):
        return
    raise errors.bad_request(
        f"The key of {credential.name} was given for another server, and {after} does not get it.",
        f"Give it along with the address: {registry.new_address_line(credential.name)}; "
        "`--no-key` in its "
        "place takes it away.",
    )


def _check_address(of: ProviderInfo, base_url: str | None) -> str | None:
    """An address as it is kept; None is the provider's own."""
    if base_url is not None:
        return addresses.check_base_url(base_url)
    if of.base_url is None:
        raise errors.bad_request(
            f"A credential for {of.name} needs an address.",
            "Give its `base_url`, such as http://localhost:8000/v1.",
        )
    return None


def provider_status(site: Site) -> dict[str, Any]:
    """The truth of every provider, without asking one.

    `database`: it has credentials, and these are used, also where none of their keys can be read;
    `environment`: it has none, and the service was started with what it takes.
    """
    given = provider_keys.environment_status(site)
    with site.database.read() as session:
        stored = set(session.scalars(select(Credential.provider)))
        configured = servers.configured_providers(site, session)
    return {
        "configured": {name: name in configured for name in PROVIDERS},
        "source": {
            name: "database" if name in stored else "environment" if given[name] else "none"
            for name in PROVIDERS
        },
        "encryption_configured": provider_keys.is_encryption_configured(site),
    }


def check_connection(site: Site, identifier: str) -> dict[str, Any]:
    """What came of asking a credential's server for its models; a failure is told so too.

    Raises:
        HTTPException: 404, there is no such credential.
    """
    credential = _load_credential(site, identifier)
    try:
        names = [row["name"] for row in service.discover_by_credential(site, credential)]
    except HTTPException as error:
        success, message = False, str(error.detail)
    else:
        which = f": {messages.join_words(names, 3)}" if names else ""
        success, message = (
            True,
            f"It answers, and has {messages.pluralize(len(names), 'model')}{which}.",
        )
    return {"provider": credential.provider, "success": success, "message": message}


def discover_models(site: Site, identifier: str) -> dict[str, Any]:
    """The models that a credential's server says it has.

    Raises:
        HTTPException: 404, there is no such credential; 422, its server can't be asked; 502, that
            failed.
    """
    credential = _load_credential(site, identifier)
    return {
        "credential_id": credential.id,
        "provider": credential.provider,
        "discovered": service.discover_by_credential(site, credential),
    }


def _load_credential(site: Site, identifier: str) -> Credential:
    with site.database.read() as session:
        return load_credential(session, identifier)
