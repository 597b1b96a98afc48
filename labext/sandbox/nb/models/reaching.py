"""Which server a model is asked at, and by which key.

A model of a credential: the credential's. One without: its provider's first credential, or what the
environment says that the service was started with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults
from labext.sandbox.nb.limits import limit
from labext.sandbox.nb.models import environment, steps, variables
from labext.sandbox.nb.models.encryption import error_of, key_of
from labext.sandbox.nb.models.provider import Provider
from labext.sandbox.nb.models.providers import PROVIDERS, Known
from labext.sandbox.nb.store import Credential, Model
from labext.sandbox.service import Site

LISTING_SECONDS = 30
"""That a server may take to say which models it has."""


def provider_of(site: Site, model: Model) -> Provider:
    """The server of a model, with its key.

    Raises:
        HTTPException: 422, it has none, or a key that can't be read.
    """
    with site.database.read() as session:
        if model.credential_id is not None:
            credential = session.get(Credential, model.credential_id)
        else:
            credential = first_of(session, model.provider)
        seconds = limit(session, "model_seconds")
    if credential is not None:
        return of_credential(site, credential, seconds)
    return of_environment(site, model.provider, seconds)


def listers(site: Site, provider: str) -> Iterator[tuple[str | None, Provider]]:
    """Every server of a provider that may be asked for its models, and its credential's identifier.

    Raises:
        HTTPException: 422, there is none, or one that can't be asked.
    """
    with site.database.read() as session:
        credentials = list(session.scalars(_credentials(provider)))
    for credential in credentials:
        yield credential.id, lister(site, credential)
    if not credentials:
        yield None, of_environment(site, provider, listing_seconds(site))


def lister(site: Site, credential: Credential) -> Provider:
    """The server of a credential, to be asked for its models.

    Raises:
        HTTPException: 422, its address isn't known, or its key can't be read.
    """
    return of_credential(site, credential, listing_seconds(site))


def listing_seconds(site: Site) -> float:
    """That a server may take to say which models it has."""
    with site.database.read() as session:
        return min(limit(session, "model_seconds"), LISTING_SECONDS)


def of_credential(site: Site, credential: Credential, seconds: float) -> Provider:
    """The server of a credential, with its key.

    Raises:
        HTTPException: 422, its address isn't known, or its key can't be read.
    """
    known = PROVIDERS.get(credential.provider)
    base_url = credential.base_url or (known and known.base_url)
    if not base_url:
        raise faults.unconfigured(
            f"The credential {credential.name} has no server.",
            f"Give it an address: {steps.new_address(credential.name)}.",
        )
    return Provider(
        credential.name,
        base_url.rstrip("/"),
        key_of(site, credential),
        seconds,
        f"Check its key; {steps.new_key(credential.name)} gives it another.",
    )


def of_environment(site: Site, provider: str, seconds: float) -> Provider:
    """The server of a provider as the environment says.

    Raises:
        HTTPException: 422, it says nothing.
    """
    known = PROVIDERS.get(provider)
    given = None if known is None else environment.given(site, known)
    if known is None or given is None or given.base_url is None:
        raise faults.unconfigured(
            f"Nothing opens the provider {provider} here: no credential is given, and nothing of "
            "it is in the environment that the service was started with.",
            f"Add a credential: {steps.new_credential(provider)}.",
        )
    return Provider(
        provider,
        given.base_url,
        given.key,
        seconds,
        f"Check {variables.key(provider)} in the environment that the sandbox is started from, or "
        f"add a credential: {steps.new_credential(provider)}.",
    )


def first_of(session: Session, provider: str) -> Credential | None:
    """The credential that a provider's models have if they name none."""
    found: Credential | None = session.scalars(_credentials(provider).limit(1)).first()
    return found


def configured(site: Site, session: Session) -> set[str]:
    """The providers of which as much is known as asking them takes; nobody is asked.

    Of several credentials one will do. Where there are credentials the environment doesn't count.
    """
    given = environment.status(site)
    stored: dict[str, list[Credential]] = {}
    for each in session.scalars(select(Credential)):
        stored.setdefault(each.provider, []).append(each)
    return {
        name
        for name, known in PROVIDERS.items()
        if (
            any(_is_enough(site, known, each) for each in stored[name])
            if name in stored
            else given[name]
        )
    }


def _is_enough(site: Site, known: Known, credential: Credential) -> bool:
    return (
        (credential.base_url or known.base_url) is not None
        and (credential.key is not None or credential.base_url is not None or not known.needs_key)
        and error_of(site, credential) is None
    )


def _credentials(provider: str) -> Select[Any]:
    wanted = select(Credential).where(Credential.provider == provider)
    return wanted.order_by(Credential.created, Credential.id)
