"""Finds what an administrator names, and says what is near where it is not there."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.store import Account, Organization
from labext.sandbox.naming import absent


def organization_of(session: Session, name: str) -> Organization:
    """The organization of that name.

    Raises:
        NotFoundError: there is none.
    """
    found = session.scalars(select(Organization).where(Organization.name == name)).one_or_none()
    if found is None:
        raise absent("organization", name, session.scalars(select(Organization.name)))
    return found


def account_of(session: Session, email: str) -> Account:
    """The account of that address.

    Raises:
        NotFoundError: there is none.
    """
    found = session.scalars(select(Account).where(Account.email == email)).one_or_none()
    if found is None:
        raise absent("account", email, session.scalars(select(Account.email)))
    return found
