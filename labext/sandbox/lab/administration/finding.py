"""Finds what an administrator names, and says what is near where it is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext import wording
from labext.errors import ConflictError, InputError, SetupError
from labext.sandbox.lab.store import (
    App,
    Folder,
    Grant,
    Organization,
    Project,
    Team,
    Tenant,
    User,
)
from labext.sandbox.naming import absent

Place = Organization | Team | Project | Folder
Owner = User | App
"""Who has credentials and grants."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Kind:
    """A kind of place, which users and apps may be granted.

    Attributes:
        noun: what it is called.
        table: has them.
        prefix: what their identifiers begin with.
        granted: where a grant names one.
    """

    noun: str
    table: Any
    prefix: str
    granted: InstrumentedAttribute[str | None]


KINDS = {
    kind.noun: kind
    for kind in (
        Kind("organization", Organization, "org", Grant.organization_id),
        Kind("team", Team, "team", Grant.team_id),
        Kind("project", Project, "src", Grant.project_id),
        Kind("folder", Folder, "lib", Grant.folder_id),
    )
}


def tenant_of(session: Session, name: str) -> Tenant:
    """The tenant of that name.

    Raises:
        NotFoundError: there is none.
        SetupError: there is none at all yet.
    """
    there = {tenant.name: tenant for tenant in session.scalars(select(Tenant))}
    if not there:
        raise SetupError(
            "This sandbox has no laboratory platform yet: it was never started with one.",
            "Start it once with `labext sandbox start`.",
        )
    if name not in there:
        raise absent("tenant", name, there)
    return there[name]


def enterprise(session: Session, name: str) -> Tenant:
    """The tenant of that name, which may have a provider and ranges of addresses.

    Raises:
        InputError: it is no enterprise account (contract, OpenID Connect 1; Access control rules).
    """
    tenant = tenant_of(session, name)
    if not tenant.enterprise:
        others = session.scalars(select(Tenant.name).where(Tenant.enterprise)).all()
        raise InputError(
            f"{name} is no enterprise account: it has no identity provider and no IP ranges.",
            f"Name one that is: `--tenant {others[0]}`." if others else "There is none that is.",
        )
    return tenant


def user_of(session: Session, tenant: Tenant, email: str) -> User:
    """The tenant's user of that address, in either case; NotFoundError without one."""
    mine = User.tenant_id == tenant.id
    found = session.scalars(select(User).where(mine, User.email == email.lower())).one_or_none()
    if found is None:
        raise absent(
            f"user of {tenant.name}", email, session.scalars(select(User.email).where(mine))
        )
    return found


def app_of(session: Session, tenant: Tenant, name: str) -> App:
    """The tenant's app of that name, identifier or client id; NotFoundError without one."""
    mine = App.tenant_id == tenant.id
    found = session.scalars(select(App).where(mine, App.name == name)).one_or_none()
    if found is None:
        either = (App.id == name) | (App.client_id == name)
        found = session.scalars(select(App).where(mine, either)).first()
    if found is None:
        raise absent(f"app of {tenant.name}", name, session.scalars(select(App.name).where(mine)))
    return found


def name_of(owner: Owner) -> str:
    """What an owner is called by."""
    return owner.email if isinstance(owner, User) else owner.name


def place_of(session: Session, tenant: Tenant, noun: str, name: str) -> Place:
    """The tenant's place of that name or identifier.

    Raises:
        NotFoundError: there is none.
        ConflictError: there are several of that name; their identifiers tell them apart.
    """
    rows = places(session, tenant, noun)
    found = [row for row in rows if name in (row.id, row.name)]
    if not found:
        raise absent(f"{noun} of {tenant.name}", name, (row.name for row in rows))
    return one_of(found, f"{noun}s are called {wording.shown(name)}", (row.id for row in found))


def only_organization(session: Session, tenant: Tenant, name: str | None) -> Organization:
    """The organization of that name, or without one the only one that there is."""
    if name is not None:
        found = place_of(session, tenant, "organization", name)
        assert isinstance(found, Organization)
        return found
    there = session.scalars(
        select(Organization).where(Organization.tenant_id == tenant.id).order_by(Organization.name)
    ).all()
    if not there:
        raise absent(f"organization of {tenant.name}", "", ())
    return one_of(there, f"organizations are in {tenant.name}", (each.name for each in there))


def one_of(found: Iterable[Row], are: str, names: Iterable[str]) -> Row:
    """The only one; else an error with the names to choose from."""
    first, *more = found
    if more:
        raise ConflictError(
            f"{len(more) + 1} {are}.", f"Name one of them: {wording.listed(names, 10)}."
        )
    return first


def places(session: Session, tenant: Tenant, noun: str) -> Sequence[Place]:
    """All places of a kind that a tenant has, by name."""
    table = KINDS[noun].table
    found: Any = select(table)
    if table is Folder:
        found = found.join(Project, Project.id == Folder.project_id)
    if table is Folder or table is Project:
        found = found.join(Organization, Organization.id == Project.organization_id)
    elif table is Team:
        found = found.join(Organization, Organization.id == Team.organization_id)
    mine = found.where(Organization.tenant_id == tenant.id)
    rows: Sequence[Place] = session.scalars(mine.order_by(table.name, table.id)).all()
    return rows
