"""The keys of accounts: shown once, when they are made."""

from __future__ import annotations

from sqlalchemy import select

from labext import wording
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.finding import account_of
from labext.sandbox.jobs.seed import STUDENT
from labext.sandbox.jobs.store import Account, Key, now
from labext.sandbox.keys import key_hash
from labext.sandbox.naming import absent, check_yes, free_name


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
    with admin.database.write() as session:
        account = account_of(session, email)
        there = session.scalars(select(Key.name).where(Key.account_id == account.id))
        called = free_name(name, "key", there)
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
        handed = " It may be the key that the sandbox hands out." if email == STUDENT else ""
        check_yes(
            yes,
            f"This would end the key {wording.shown(name)} of {email}: whoever uses it is "
            f"refused from then on, and it can't be had back.{handed}",
        )
        session.delete(key)
    return {"removed": name, "account": email}
