"""The keys of accounts: made long and random, shown once, kept as a hash."""

from __future__ import annotations

import secrets

from sqlalchemy import select

from labext import wording
from labext.errors import InputError
from labext.redaction import keep_secret
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.finding import absent, account_of, checked_name, taken
from labext.sandbox.jobs.identity import key_hash
from labext.sandbox.jobs.seed import STUDENT
from labext.sandbox.jobs.store import Account, Key, now

LONGEST = 100


def new_key() -> str:
    """A key nobody can guess (256 bits); masked in every message from now on."""
    key = secrets.token_urlsafe(32)
    keep_secret(key)
    return key


def keys(admin: Administration, email: str | None = None) -> list[Record]:
    """The keys of an account, or of all: whose, called how, made when. Never a key itself.

    Raises:
        NotFoundError: there is no such account.
    """
    with admin.database.read() as session:
        selected = select(Key, Account.email).join(Account, Account.id == Key.account_id)
        if email is not None:
            selected = selected.where(Account.id == account_of(session, email).id)
        rows = session.execute(selected.order_by(Account.email, Key.id))
        return [{"account": owner, "name": key.name, "created": key.created} for key, owner in rows]


def add_key(admin: Administration, email: str, key: str, name: str | None = None) -> Record:
    """Give an account one more key; without a name it gets the next free `key<n>`.

    Raises:
        NotFoundError: there is no such account.
        ConflictError: it has a key of that name.
        InputError: it can't be called so.
    """
    if name is not None:
        checked_name("a key", name, LONGEST)
    with admin.database.write() as session:
        account = account_of(session, email)
        there = set(session.scalars(select(Key.name).where(Key.account_id == account.id)))
        if name in there:
            raise taken("a key", f"{name} of {email}")
        called = name or next(n for i in range(1, len(there) + 2) if (n := f"key{i}") not in there)
        session.add(Key(account_id=account.id, name=called, hash=key_hash(key), created=now()))
    return {"account": email, "name": called}


def remove_key(admin: Administration, email: str, name: str, *, yes: bool) -> Record:
    """Remove a key: whoever uses it gets 401 from the next request on.

    Raises:
        NotFoundError: there is no such account, or it has no such key.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        account = account_of(session, email)
        key = session.scalars(
            select(Key).where(Key.account_id == account.id, Key.name == name)
        ).one_or_none()
        if key is None:
            there = session.scalars(select(Key.name).where(Key.account_id == account.id))
            raise absent(f"key of {email} called", name, there)
        if not yes:
            handed = " It may be the key that the sandbox hands out." if email == STUDENT else ""
            raise InputError(
                f"This would end the key {wording.shown(name)} of {email}: whoever uses it is "
                f"refused from then on, and it can't be had back.{handed}",
                "Add `--yes` to do it.",
            )
        session.delete(key)
    return {"removed": name, "account": email}
