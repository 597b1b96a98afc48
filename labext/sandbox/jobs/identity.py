"""Who asks: the account of an `x-api-key`, and whose jobs it may see."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.jobs.faults import absent, denied, unknown_key
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import Account, Key
from labext.sandbox.keys import key_hash


def account_of(session: Session, key: str | None) -> Account:
    """The account of a key (job service contract, Authentication); else 401."""
    if not key:
        raise unknown_key("The header x-api-key is missing.")
    found = session.scalars(
        select(Account).join(Key).where(Key.hash == key_hash(key))
    ).one_or_none()
    if found is None:
        raise unknown_key("The x-api-key is not valid.")
    return found


def current(session: Session, caller: Account) -> Account:
    """The caller's account as it is in this transaction; 401 where it was removed meanwhile."""
    found = session.get(Account, caller.id)
    if found is None:
        raise unknown_key("The account of this x-api-key was removed.")
    return found


def teammate(session: Session, caller: Account, email: str | None) -> Account:
    """The account whose jobs are asked for by `jobEmail`: the caller's own without it.

    An owner sees the accounts of its organization; anybody else is refused, so that nobody learns
    who has an account (403).
    """
    if email is None or email == caller.email:
        return caller
    if not caller.owner:
        raise denied("jobEmail: only an owner of the organization sees a teammate's jobs.")
    found = session.scalars(
        select(Account).where(
            Account.email == email, Account.organization_id == caller.organization_id
        )
    ).one_or_none()
    if found is None:
        raise absent(f"jobEmail: nobody in your organization has the address {shown(email)}.")
    return found


def check_organization(caller: Account) -> None:
    """Refuse whoever may not see its organization's jobs (403)."""
    if not caller.owner:
        raise denied("organization: only an owner of the organization sees all its jobs.")
