"""Settings of the notebook service, stored in its database."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.nb.tables import Setting

PASSWORD = "password"  # noqa: S105 - the setting's name
"""The password's hash (`middleware.hash_password`); without it, no password is required."""

PRIVATE_FETCHES = "private_fetches"
"""Set if pages of this machine and its network may be fetched."""

EMBEDDING_FAILURE = "embedding_failure"
"""The reason why the last embedding in the background failed; unset after a success."""


def get_setting(session: Session, name: str) -> str | None:
    """Return a setting's value; None if it is not set."""
    setting = session.get(Setting, name)
    return None if setting is None else setting.value


def set_setting(session: Session, name: str, value: str | None) -> None:
    """Set a setting; None unsets it."""
    if value is not None:
        session.merge(Setting(name=name, value=value))
    elif (setting := session.get(Setting, name)) is not None:
        session.delete(setting)


def allows_private_fetches(session: Session) -> bool:
    """Return whether pages of this machine and its network may be fetched."""
    return get_setting(session, PRIVATE_FETCHES) is not None
