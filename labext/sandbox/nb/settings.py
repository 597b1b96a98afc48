"""What whoever runs the service has set, by its name in the database."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.nb.store import Setting

PASSWORD = "password"  # noqa: S105 - the setting's name
"""The password's hash (`passwords.hashed`); nobody is asked for one where there is none."""

PRIVATE_FETCHES = "private_fetches"
"""There where pages of this machine and of its own network may be fetched."""


def value(session: Session, name: str) -> str | None:
    """A setting's value; None where it is not set."""
    found = session.get(Setting, name)
    return None if found is None else found.value


def change(session: Session, name: str, value: str | None) -> None:
    """Set a setting; None unsets it."""
    if value is not None:
        session.merge(Setting(name=name, value=value))
    elif (found := session.get(Setting, name)) is not None:
        session.delete(found)


def private_fetches(session: Session) -> bool:
    """Whether pages of this machine and of its own network may be fetched."""
    return value(session, PRIVATE_FETCHES) is not None
