"""What the service has from the start: a password, and the built-in models."""

from __future__ import annotations

from labext.sandbox.folder import secret
from labext.sandbox.keys import key_hash
from labext.sandbox.nb.calls import PASSWORD
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.store import Seeded, Setting
from labext.sandbox.seeding import once
from labext.sandbox.service import Site


def seed(site: Site) -> None:
    """Make what was never made."""
    with site.database.write() as session:
        if once(session, Seeded, PASSWORD):
            session.merge(Setting(name=PASSWORD, value=key_hash(password(site))))
        registry.seed(session)


def password(site: Site) -> str:
    """The password of the connection that the sandbox hands out."""
    return secret(site.secrets / "nb_password")
