"""Finds what an administrator names, and says what is near where it is not there."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.sandbox.jobs.store import Account, Organization

LONGEST = 200


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


def absent(noun: str, name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name that is not there, with the near one or all."""
    names = sorted(known)
    near = wording.near(name, names)
    if near is not None:
        hint = f"Did you mean {near}?"
    else:
        hint = f"There are: {wording.listed(names, 10)}." if names else "There is none yet."
    return NotFoundError(f"There is no {noun} {wording.shown(name)}.", hint)


def taken(noun: str, name: str) -> ConflictError:
    """The error for a name that is there already."""
    return ConflictError(f"There is {noun} {wording.shown(name)} already.", "Choose another name.")


def checked_name(noun: str, name: str, longest: int = LONGEST) -> str:
    """A name that can be shown and typed again.

    Raises:
        InputError: it is empty or too long, holds a control character, or ends in a blank.
    """
    if not name or name != name.strip() or not name.isprintable() or len(name) > longest:
        raise InputError(
            f"{wording.shown(name)} can't be the name of {noun}.",
            f"Use 1 to {longest} characters that can be printed, without blanks around them.",
        )
    return name


def checked_email(email: str) -> str:
    """An address that tells an account from the others.

    Raises:
        InputError: it has not the form of one.
    """
    head, at, tail = email.partition("@")
    plain = email.isprintable() and " " not in email and len(email) <= LONGEST
    if not (head and at and tail and "@" not in tail and plain):
        raise InputError(
            f"{wording.shown(email)} is no e-mail address.",
            f"Give one such as student2@course.example, of at most {LONGEST} characters.",
        )
    return email
