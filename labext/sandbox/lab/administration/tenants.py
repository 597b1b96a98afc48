"""The tenant that is administered, and lookups of what its operator names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext import wording
from labext.errors import ConflictError, InputError, SetupError
from labext.sandbox.administration import Administration
from labext.sandbox.lab.doors import CAMPUS
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
class PlaceKind:
    """A kind of place: its table, the prefix of its identifiers, and its column in a grant."""

    table: Any
    prefix: str
    granted: InstrumentedAttribute[str | None]


PLACE_KINDS = {
    "organization": PlaceKind(Organization, "org", Grant.organization_id),
    "team": PlaceKind(Team, "team", Grant.team_id),
    "project": PlaceKind(Project, "src", Grant.project_id),
    "folder": PlaceKind(Folder, "lib", Grant.folder_id),
}


@dataclass(frozen=True)
class TenantAdministration(Administration):
    """A tenant of the platform.

    Attributes:
        tenant: the tenant's name.
    """

    tenant: str = CAMPUS

    def of(self, tenant: str) -> Self:
        """Return the administration of another tenant."""
        return replace(self, tenant=tenant)

    @contextmanager
    def read(self) -> Iterator[tuple[Session, Tenant]]:
        """Open a reading transaction with the tenant."""
        with self.database.read() as session:
            yield session, tenant_of(session, self.tenant)

    @contextmanager
    def write(self) -> Iterator[tuple[Session, Tenant]]:
        """Open a writing transaction with the tenant."""
        with self.database.write() as session:
            yield session, tenant_of(session, self.tenant)


def tenant_of(session: Session, name: str) -> Tenant:
    """Return the tenant of a name; SetupError if the platform was never started."""
    tenants = {tenant.name: tenant for tenant in session.scalars(select(Tenant))}
    if not tenants:
        raise SetupError(
            "This sandbox has no laboratory platform yet: it was never started with one.",
            "Start it once with `labext sandbox start`.",
        )
    if name not in tenants:
        raise absent("tenant", name, tenants)
    return tenants[name]


def check_enterprise(session: Session, tenant: Tenant) -> None:
    """Raise InputError for a tenant that is no enterprise account."""
    if not tenant.enterprise:
        others = session.scalars(select(Tenant.name).where(Tenant.enterprise)).all()
        raise InputError(
            f"{tenant.name} is no enterprise account: it has no identity provider and no IP "
            "ranges.",
            f"Name one that is: `--tenant {others[0]}`." if others else "There is none that is.",
        )


def user_of(session: Session, tenant: Tenant, email: str) -> User:
    """Return the user of an address, in either case."""
    users = User.tenant_id == tenant.id
    found = session.scalars(select(User).where(users, User.email == email.lower())).one_or_none()
    if found is None:
        emails = session.scalars(select(User.email).where(users))
        raise absent(f"user of {tenant.name}", email, emails)
    return found


def app_of(session: Session, tenant: Tenant, name: str) -> App:
    """Return the app of a name, an identifier or a client id; the name goes first."""
    apps = App.tenant_id == tenant.id
    for match in (App.name == name, (App.id == name) | (App.client_id == name)):
        found = session.scalars(select(App).where(apps, match)).first()
        if found is not None:
            return found
    raise absent(f"app of {tenant.name}", name, session.scalars(select(App.name).where(apps)))


OWNERS: dict[str, Callable[[Session, Tenant, str], Owner]] = {"user": user_of, "app": app_of}


def name_of(owner: Owner) -> str:
    """Return the name that an owner goes by."""
    return owner.email if isinstance(owner, User) else owner.name


def place_of(session: Session, tenant: Tenant, kind: str, name: str) -> Any:
    """Return the place of a name or identifier; ConflictError if several have the name."""
    places = places_of(session, tenant, kind)
    found = [place for place in places if name in (place.id, place.name)]
    if not found:
        raise absent(f"{kind} of {tenant.name}", name, (place.name for place in places))
    return only(found, f"{kind}s are called {wording.shown(name)}", (each.id for each in found))


def organization_of(session: Session, tenant: Tenant, name: str | None) -> Organization:
    """Return the organization of a name; without a name the only one."""
    if name is not None:
        named: Organization = place_of(session, tenant, "organization", name)
        return named
    found: Any = places_of(session, tenant, "organization")
    if not found:
        raise absent(f"organization of {tenant.name}", "", ())
    organization: Organization = only(
        found, f"organizations are in {tenant.name}", (each.name for each in found)
    )
    return organization


def only(found: Iterable[Row], are: str, names: Iterable[str]) -> Row:
    """Return the only element; ConflictError with the names to choose from if there are more."""
    first, *more = found
    if more:
        raise ConflictError(
            f"{len(more) + 1} {are}.", f"Name one of them: {wording.listed(names, 10)}."
        )
    return first


def places_of(session: Session, tenant: Tenant, kind: str) -> Sequence[Place]:
    """Return all places of a kind, by name."""
    table = PLACE_KINDS[kind].table
    found: Any = select(table)
    if table is Folder:
        found = found.join(Project, Project.id == Folder.project_id)
    if table in (Folder, Project):
        found = found.join(Organization, Organization.id == Project.organization_id)
    elif table is Team:
        found = found.join(Organization, Organization.id == Team.organization_id)
    found = found.where(Organization.tenant_id == tenant.id)
    places: Sequence[Place] = session.scalars(found.order_by(table.name, table.id)).all()
    return places
