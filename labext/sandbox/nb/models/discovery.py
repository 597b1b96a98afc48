"""Which models a provider has, by its own word; and those that are new of them, added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import keeping, reaching, registry
from labext.sandbox.nb.models.guessing import kind_of
from labext.sandbox.nb.models.providers import PROVIDERS, checked
from labext.sandbox.nb.store import Credential, Model
from labext.sandbox.service import Site

Found = dict[str, str | None]
"""The names of models, and the type of each; None is none that the service uses."""


def discovered(site: Site, provider: str) -> list[dict[str, Any]]:
    """The models that a provider says it has, by all of its credentials.

    Raises:
        HTTPException: 400, there is no such provider; 422, it can't be asked; 502, it failed.
    """
    every: Found = {}
    for _, found in _asked(site, checked(provider)):
        every |= found
    return _rows(provider, every)


def of_credential(site: Site, credential: Credential) -> list[dict[str, Any]]:
    """The models that a credential's server says it has.

    Raises:
        HTTPException: 422, it can't be asked; 502, it failed.
    """
    from labext.sandbox.nb.models import openai

    found = openai.listed(reaching.lister(site, credential))
    return _rows(credential.provider, {name: kind_of(name) for name in found})


def synced(site: Site, provider: str) -> dict[str, Any]:
    """Add the models of a provider that aren't there yet, but for those of no type.

    One that is there has the type that it was given, whatever its name looks like.

    Raises:
        HTTPException: as `discovered`.
    """
    asked = list(_asked(site, checked(provider)))
    with site.database.write() as session:
        before = len(keeping.listed(session, provider=provider))
        if provider == registry.BUILT_IN:
            registry.seed(session)
        else:
            for credential_id, found in asked:
                if credential_id is None or session.get(Credential, credential_id) is not None:
                    there = set(session.scalars(_names(provider, credential_id)))
                    new = [(n, kind) for n, kind in found.items() if kind and n not in there]
                    keeping.register(session, provider, credential_id, new)
        made = len(keeping.listed(session, provider=provider)) - before
    usable = sum(kind is not None for _, found in asked for kind in found.values())
    return {
        "provider": provider,
        "discovered": sum(len(found) for _, found in asked),
        "new": made,
        "existing": usable - made,
    }


def all_synced(site: Site) -> dict[str, Any]:
    """Add the models of every provider that can be asked; one that fails keeps no other back."""
    with site.database.read() as session:
        ready = reaching.configured(site, session)
    known = [name for name in PROVIDERS if name in ready]
    results: dict[str, Any] = {}
    for provider in (*known, registry.BUILT_IN):
        try:
            results[provider] = synced(site, provider)
        except HTTPException as error:
            results[provider] = {"error": str(error.detail)}
    well = [each for each in results.values() if "error" not in each]
    return {
        "results": results,
        "total_discovered": sum(each["discovered"] for each in well),
        "total_new": sum(each["new"] for each in well),
    }


def _asked(site: Site, provider: str) -> Iterator[tuple[str | None, Found]]:
    """What each server of a provider says it has, and its credential's identifier."""
    if provider == registry.BUILT_IN:
        yield None, dict(registry.built_in().values())
        return
    from labext.sandbox.nb.models import openai

    for credential_id, server in reaching.listers(site, provider):
        yield credential_id, {name: kind_of(name) for name in openai.listed(server)}


def _names(provider: str, credential_id: str | None) -> Any:
    wanted = select(Model.name).where(Model.provider == provider)
    return wanted.where(Model.credential_id == credential_id)


def _rows(provider: str, found: Found) -> list[dict[str, Any]]:
    return [
        {"name": name, "provider": provider, "model_type": kind, "description": None}
        for name, kind in found.items()
    ]
