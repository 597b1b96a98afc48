"""What the service has from the start: a password, models, transformations, profiles."""

from __future__ import annotations

from pathlib import Path

from labext.sandbox.folder import secret
from labext.sandbox.nb import settings
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.passwords import hashed
from labext.sandbox.nb.podcasts import seed as podcasts
from labext.sandbox.nb.store import Seeded
from labext.sandbox.nb.transformations import seed as transformations
from labext.sandbox.seeding import once
from labext.sandbox.service import Site


def seed(site: Site) -> None:
    """Make what was never made."""
    with site.database.write() as session:
        if once(session, Seeded, settings.PASSWORD):
            settings.change(session, settings.PASSWORD, hashed(secret(password_file(site))))
        registry.seed(session)
        transformations.seed(session)
        podcasts.seed(session)


def password(site: Site) -> str | None:
    """The password of the connection that the sandbox hands out; None where none is configured."""
    with site.database.read() as session:
        configured = settings.value(session, settings.PASSWORD) is not None
    return secret(password_file(site)) if configured else None


def password_file(site: Site) -> Path:
    """Where the password is kept for whoever runs the sandbox, who alone may read it."""
    return site.secrets / "nb_password"
