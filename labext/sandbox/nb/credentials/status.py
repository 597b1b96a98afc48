"""Which providers can be asked, and whence that is known."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from labext.sandbox.nb.models import encryption, environment, reaching
from labext.sandbox.nb.models.providers import PROVIDERS
from labext.sandbox.nb.store import Credential
from labext.sandbox.service import Site


def status(site: Site) -> dict[str, Any]:
    """The truth of every provider, without asking one.

    `database`: it has credentials, and these are used, also where none of their keys can be read;
    `environment`: it has none, and the service was started with what it takes.
    """
    given = environment.status(site)
    with site.database.read() as session:
        stored = set(session.scalars(select(Credential.provider)))
        configured = reaching.configured(site, session)
    return {
        "configured": {name: name in configured for name in PROVIDERS},
        "source": {
            name: "database" if name in stored else "environment" if given[name] else "none"
            for name in PROVIDERS
        },
        "encryption_configured": encryption.is_configured(site),
    }
