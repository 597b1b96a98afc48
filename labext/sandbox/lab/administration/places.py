"""Organizations, teams, projects, folders, sequences, and who may see them."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import NotFoundError
from labext.sandbox.administration import Record
from labext.sandbox.database import counted
from labext.sandbox.lab import identifiers, importing, reading
from labext.sandbox.lab.administration.tenants import (
    OWNERS,
    PLACE_KINDS,
    Owner,
    Place,
    TenantAdministration,
    name_of,
    organization_of,
    place_of,
    places_of,
    user_of,
)
from labext.sandbox.lab.store import (
    App,
    Folder,
    Grant,
    Organization,
    Project,
    Sequence,
    Team,
    Tenant,
    User,
)
from labext.sandbox.naming import check_yes, checked_name, taken

_CONTENTS = ("teams", "projects", "folders", "sequences", "grants")


class Places(TenantAdministration):
    """Calls on places, sequences and grants.

    The kind of a place is `organization`, `team`, `project` or `folder`; its name may also be its
    identifier. A grant opens a place with all that is in it; that a user belongs to an
    organization or a team is a grant.
    """

    def places(self, kind: str) -> list[Record]:
        """List the places of a kind: where they are, and how much they contain."""
        with self.read() as (session, tenant):
            found = places_of(session, tenant, kind)
            return [_record(session, place) | _contents(session, place) for place in found]

    def add_organization(self, name: str) -> Record:
        """Create an organization."""
        with self.write() as (session, tenant):
            siblings = Organization.tenant_id == tenant.id
            organization = Organization(name=name, tenant_id=tenant.id)
            return _added(session, organization, "organization", siblings)

    def add_team(self, name: str, organization: str | None = None) -> Record:
        """Create a team of an organization, which may be left out if there is only one."""
        with self.write() as (session, tenant):
            owner = organization_of(session, tenant, organization)
            siblings = Team.organization_id == owner.id
            return _added(session, Team(name=name, organization_id=owner.id), "team", siblings)

    def add_project(
        self, name: str, organization: str | None = None, team: str | None = None
    ) -> Record:
        """Create a project of an organization, or of one of its teams."""
        with self.write() as (session, tenant):
            team_id = None
            if team is not None:
                row = place_of(session, tenant, "team", team)
                team_id, organization = row.id, row.organization_id
            owner = organization_of(session, tenant, organization)
            project = Project(name=name, organization_id=owner.id, team_id=team_id)
            return _added(session, project, "project", Project.organization_id == owner.id)

    def add_folder(self, name: str, project: str) -> Record:
        """Create a folder of a project."""
        with self.write() as (session, tenant):
            owner = place_of(session, tenant, "project", project)
            folder = Folder(name=name, project_id=owner.id)
            return _added(session, folder, "folder", Folder.project_id == owner.id)

    def remove_place(self, kind: str, name: str, *, yes: bool) -> Record:
        """Remove a place with all that is in it; a team's projects stay with the organization.

        Returns:
            How many teams, projects, folders, sequences and grants were removed.
        """
        with self.write() as (session, tenant):
            place = place_of(session, tenant, kind, name)
            lost = _contents(session, place)
            what = [wording.count(lost[n], n.removesuffix("s")) for n in _CONTENTS if lost.get(n)]
            if what:
                where = f"the {kind} {place.name} of {self.tenant}"
                check_yes(yes, f"This would remove {where}, and with it {', '.join(what)}.")
            session.delete(place)
            return {"removed": place.name, "id": place.id} | lost

    def import_sequences(self, file: Path, folder: str, creator: str) -> list[Record]:
        """Import the sequences of a FASTA or GenBank file, gzipped or not: all of them or none.

        Returns:
            `{id, name, length, isCircular}` of each.
        """
        # Read first: it may take long, and nobody else can write within the transaction.
        entries = reading.entries(file)
        with self.write() as (session, tenant):
            target = place_of(session, tenant, "folder", folder)
            return importing.add(session, target, entries, user_of(session, tenant, creator))

    def grants(self, holder: tuple[str, str] | None = None) -> list[Record]:
        """List the grants of a holder, `("user", EMAIL)` or `("app", NAME)`, or of all."""
        with self.read() as (session, tenant):
            if holder is not None:
                owners: list[Owner] = [OWNERS[holder[0]](session, tenant, holder[1])]
            else:
                users = select(User).where(User.tenant_id == tenant.id).order_by(User.email)
                apps = select(App).where(App.tenant_id == tenant.id).order_by(App.name)
                owners = [*session.scalars(users), *session.scalars(apps)]
            return [
                _grant_record(owner, kind, session.get_one(of.table, id))
                for owner in owners
                for grant in session.scalars(select(Grant).where(_of(owner)).order_by(Grant.id))
                for kind, of in PLACE_KINDS.items()
                if (id := getattr(grant, of.granted.key)) is not None
            ]

    def add_grant(self, holder: tuple[str, str], kind: str, name: str) -> Record:
        """Grant a holder a place; see `grants`."""
        with self.write() as (session, tenant):
            owner, place, existing = _find(session, tenant, holder, kind, name)
            if existing:
                raise taken(f"a grant to {name_of(owner)} of the {kind}", place.name)
            row = {f"{holder[0]}_id": owner.id, PLACE_KINDS[kind].granted.key: place.id}
            session.add(Grant(**row))
            return _grant_record(owner, kind, place)

    def remove_grant(self, holder: tuple[str, str], kind: str, name: str) -> Record:
        """Withdraw a grant; another grant may still open the place."""
        with self.write() as (session, tenant):
            owner, place, existing = _find(session, tenant, holder, kind, name)
            if not existing:
                raise NotFoundError(
                    f"{name_of(owner)} has no grant of the {kind} {place.name}.",
                    "See `grants list`.",
                )
            for grant in existing:
                session.delete(grant)
            return {"removed": True} | _grant_record(owner, kind, place)


def _added(session: Session, place: Place, kind: str, siblings: Any) -> Record:
    """Add a place whose name none of its siblings has."""
    checked_name(f"a {kind}", place.name)
    table = type(place)
    if session.scalars(select(table.id).where(siblings, table.name == place.name)).first():
        raise taken(f"a {kind}", place.name)
    place.id = identifiers.new(PLACE_KINDS[kind].prefix)
    session.add(place)
    session.flush()
    return _record(session, place)


def _record(session: Session, place: Place) -> Record:
    """Return a place and what it is in."""
    record: Record = {"id": place.id, "name": place.name}
    inside: Any = place
    if isinstance(place, Folder):
        inside = session.get_one(Project, place.project_id)
        record["project"] = inside.name
    if isinstance(inside, Team | Project):
        record["organization"] = session.get_one(Organization, inside.organization_id).name
    if isinstance(place, Project):
        team = None if place.team_id is None else session.get_one(Team, place.team_id)
        record["team"] = team and team.name
    return record


def _contents(session: Session, place: Place) -> dict[str, int]:
    """Count what is in a place, and its grants."""
    if isinstance(place, Team):
        return {"grants": counted(session, Grant, Grant.team_id == place.id)}
    organization = isinstance(place, Organization)
    teams = select(Team.id).where(Team.organization_id == place.id)
    projects = select(Project.id).where(
        (Project.organization_id if organization else Project.id) == place.id
    )
    folders = select(Folder.id).where(
        Folder.id == place.id if isinstance(place, Folder) else Folder.project_id.in_(projects)
    )
    granted = or_(
        Grant.organization_id == place.id,
        Grant.team_id.in_(teams),
        Grant.project_id.in_(projects),
        Grant.folder_id.in_(folders),
    )
    counts = {
        "teams": counted(session, Team, Team.id.in_(teams)),
        "projects": counted(session, Project, Project.id.in_(projects)),
        "folders": counted(session, Folder, Folder.id.in_(folders)),
        "sequences": counted(session, Sequence, Sequence.folder_id.in_(folders)),
        "grants": counted(session, Grant, granted),
    }
    shown = 0 if organization else 2 if isinstance(place, Project) else 3
    return dict(list(counts.items())[shown:])


def _find(
    session: Session, tenant: Tenant, holder: tuple[str, str], kind: str, name: str
) -> tuple[Owner, Place, SequenceOf[Grant]]:
    """Return the holder, the place, and the existing grants of it."""
    owner = OWNERS[holder[0]](session, tenant, holder[1])
    place = place_of(session, tenant, kind, name)
    existing = select(Grant).where(_of(owner), PLACE_KINDS[kind].granted == place.id)
    return owner, place, session.scalars(existing).all()


def _of(owner: Owner) -> ColumnElement[bool]:
    return Grant.user_id == owner.id if isinstance(owner, User) else Grant.app_id == owner.id


def _grant_record(owner: Owner, kind: str, place: Place) -> Record:
    user = isinstance(owner, User)
    return {
        "user": name_of(owner) if user else None,
        "app": None if user else name_of(owner),
        "kind": kind,
        "name": place.name,
        "id": place.id,
    }
