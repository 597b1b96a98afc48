"""Organizations and accounts."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.jobs import limits, usage
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.finding import account_of, organization_of
from labext.sandbox.jobs.store import Account, Job, Key, Organization
from labext.sandbox.naming import checked_email, checked_name, taken


def organizations(admin: Administration) -> list[Record]:
    """Every organization, with its number of accounts, its budget and what is used of it."""
    with admin.database.read() as session:
        counts = _counted(session, Account.organization_id)
        return [
            {
                "name": organization.name,
                "accounts": counts.get(organization.id, 0),
                "budget": organization.budget,
                "used": usage.hours(session, Account.organization_id == organization.id),
            }
            for organization in session.scalars(select(Organization).order_by(Organization.name))
        ]


def add_organization(admin: Administration, name: str) -> Record:
    """Make an organization without accounts.

    Raises:
        InputError: it can't be called so.
        ConflictError: there is one.
    """
    checked_name("an organization", name)
    with admin.database.write() as session:
        if session.scalars(select(Organization.id).where(Organization.name == name)).first():
            raise taken("an organization", name)
        session.add(Organization(name=name))
    return {"name": name}


def accounts(admin: Administration) -> list[Record]:
    """Every account, with what it may and how much it has."""
    with admin.database.read() as session:
        keys = _counted(session, Key.account_id)
        jobs = _counted(session, Job.account_id)
        rows = session.execute(
            select(Account, Organization.name)
            .join(Organization)
            .order_by(Organization.name, Account.email)
        )
        return [
            {
                "email": account.email,
                "organization": organization,
                "owner": account.owner,
                "keys": keys.get(account.id, 0),
                "jobs": jobs.get(account.id, 0),
                "gates": account.gates,
                "budget": account.budget,
                "storage_quota": account.storage_quota,
            }
            for account, organization in rows
        ]


def add_account(
    admin: Administration, email: str, organization: str, *, owner: bool = False
) -> Record:
    """Make an account, without a key.

    Args:
        admin: whose.
        email: tells it from all others.
        organization: the one it belongs to.
        owner: whether it may see its organization's jobs and usage.

    Raises:
        InputError: `email` is no address.
        NotFoundError: there is no such organization.
        ConflictError: there is such an account.
    """
    checked_email(email)
    with admin.database.write() as session:
        if session.scalars(select(Account.id).where(Account.email == email)).first():
            raise taken("an account", email)
        account = Account(
            organization_id=organization_of(session, organization).id,
            email=email,
            owner=owner,
            gates=[],
            storage_quota=limits.limit(session, "storage_quota"),
        )
        session.add(account)
    return {"email": email, "organization": organization, "owner": owner}


def set_owner(admin: Administration, email: str, owner: bool) -> Record:
    """Say whether an account owns its organization: sees all its jobs and usage.

    Raises:
        NotFoundError: there is no such account.
    """
    with admin.database.write() as session:
        account_of(session, email).owner = owner
    return {"email": email, "owner": owner}


def _counted(session: Session, column: InstrumentedAttribute[int]) -> dict[int, int]:
    rows = session.execute(select(column, func.count()).group_by(column))
    return {row[0]: row[1] for row in rows}
