"""Credentials made, changed and deleted: for the routes and for whoever runs the service.

Every function works in the transaction of its caller.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.profiles import same_server
from labext.sandbox.database import counted
from labext.sandbox.nb import faults, identifiers
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models import encryption, keeping, locating, steps
from labext.sandbox.nb.models.providers import Known, known
from labext.sandbox.nb.store import Credential, Model
from labext.sandbox.service import Site


def listed(session: Session, provider: str | None = None) -> list[Credential]:
    """The credentials, perhaps of a provider alone, by their age."""
    wanted = select(Credential).order_by(Credential.created, Credential.id)
    if provider is not None:
        wanted = wanted.where(Credential.provider == provider)
    return list(session.scalars(wanted))


def found(session: Session, identifier: str) -> Credential:
    """A credential.

    Raises:
        HTTPException: 404.
    """
    credential = session.get(Credential, identifier)
    if credential is None:
        raise faults.absent("credential", identifier)
    return credential


def make(
    session: Session, site: Site, provider: str, name: str, key: str | None, base_url: str | None
) -> Credential:
    """Add a credential.

    Raises:
        HTTPException: 400, there is no such provider, or the key or the address can't be one; 422,
            keys can't be encrypted.
    """
    of = known(provider)
    now = time.time()
    made = Credential(
        id=identifiers.new("credential"),
        provider=provider,
        name=name,
        base_url=_address(of, base_url),
        key=_stored(site, key),
        created=now,
        updated=now,
    )
    session.add(made)
    session.flush()
    return made


def change(session: Session, site: Site, identifier: str, given: dict[str, Any]) -> Credential:
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
    credential = found(session, identifier)
    provider = given.get("provider")
    if provider not in (None, credential.provider):
        raise faults.invalid(
            f"The credential {credential.name} is for {credential.provider}, and so are its "
            "models.",
            f"Add another one: {steps.new_credential(known(str(provider)).name)}.",
        )
    if "base_url" in given:
        of = known(credential.provider)
        base_url = _address(of, given["base_url"])
        if "api_key" not in given:
            _check_server(credential, of, base_url)
        credential.base_url = base_url
    if "api_key" in given:
        credential.key = _stored(site, given["api_key"])
    if given.get("name") is not None:
        credential.name = given["name"]
    if session.is_modified(credential):
        credential.updated = time.time()
    session.flush()
    return credential


def delete(session: Session, identifier: str) -> tuple[Credential, int]:
    """Delete a credential with its models; also how many these were.

    Raises:
        HTTPException: 404; 400, a default slot has one of them.
    """
    credential = found(session, identifier)
    models = _models(session, credential)
    keeping.check_unused(session, models)
    for model in models:
        session.delete(model)
    session.flush()
    session.delete(credential)
    return credential, len(models)


def record(session: Session, site: Site, credential: Credential) -> dict[str, Any]:
    """A credential as it is answered: never with its key."""
    return {
        "id": credential.id,
        "name": credential.name,
        "provider": credential.provider,
        "base_url": credential.base_url,
        "has_api_key": credential.key is not None,
        "model_count": counted(session, Model, Model.credential_id == credential.id),
        "decryption_error": encryption.error_of(site, credential),
        "created_at": moment(credential.created),
        "updated_at": moment(credential.updated),
    }


def _models(session: Session, credential: Credential) -> Sequence[Model]:
    return session.scalars(select(Model).where(Model.credential_id == credential.id)).all()


def _stored(site: Site, key: str | None) -> bytes | None:
    return None if key is None else encryption.encrypted(site, encryption.checked(key))


def _check_server(credential: Credential, of: Known, base_url: str | None) -> None:
    """See that a key that nobody gave again stays with the server that it was given for.

    Else whoever may change an address could have the key sent to a server of his own.
    """
    before, after = credential.base_url or of.base_url or "", base_url or of.base_url or ""
    if credential.key is None or same_server(before, after):
        return
    raise faults.invalid(
        f"The key of {credential.name} was given for another server, and {after} does not get it.",
        f"Give it along with the address: {steps.new_address(credential.name)}; `--no-key` in its "
        "place takes it away.",
    )


def _address(of: Known, base_url: str | None) -> str | None:
    """An address as it is kept; None is the provider's own."""
    if base_url is not None:
        return locating.checked(base_url)
    if of.base_url is None:
        raise faults.invalid(
            f"A credential for {of.name} needs an address.",
            "Give its `base_url`, such as http://localhost:8000/v1.",
        )
    return None
