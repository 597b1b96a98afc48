"""Manage organizations, teams, projects, folders, sequences and grants."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from labext import messages
from labext.actions import parameter
from labext.errors import InputError, NotFoundError
from labext.sandbox.core.administration import Record
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.validation import already_exists_error, require_confirmation, validate_name
from labext.sandbox.lab import tables
from labext.sandbox.lab.administration.tenants import (
    OWNERS,
    PLACE_KINDS,
    Owner,
    Place,
    TenantAdministration,
    find_organization,
    find_place,
    find_user,
    list_places,
    owner_name,
)
from labext.sandbox.lab.seed import student_email
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.tables import (
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


class ProjectAdministration(TenantAdministration):
    """Manage places, sequences and grants.

    The kind of a place is `organization`, `team`, `project` or `folder`. Places are named by name
    or identifier. A grant gives access to a place with its contents; membership in an organization
    or team is a grant.
    """

    def places(self, kind: str) -> list[Record]:
        """List the places of a kind with their parents and the numbers of their contents."""
        with self.read() as (session, tenant):
            places = list_places(session, tenant, kind)
            return [
                _place_record(session, place) | _count_contents(session, place) for place in places
            ]

    def add_organization(self, name: str) -> Record:
        """Create an organization."""
        with self.write() as (session, tenant):
            siblings = Organization.tenant_id == tenant.id
            organization = Organization(name=name, tenant_id=tenant.id)
            return _add_place(session, organization, "organization", siblings)

    def add_team(self, name: str, organization: str | None = None) -> Record:
        """Create a team of an organization, which is optional if there is only one."""
        with self.write() as (session, tenant):
            owner = find_organization(session, tenant, organization)
            siblings = Team.organization_id == owner.id
            return _add_place(session, Team(name=name, organization_id=owner.id), "team", siblings)

    def add_project(
        self, name: str, organization: str | None = None, team: str | None = None
    ) -> Record:
        """Create a project of an organization, or of one of its teams."""
        with self.write() as (session, tenant):
            team_id = None
            if team is not None:
                row = find_place(session, tenant, "team", team)
                team_id, organization = row.id, row.organization_id
            owner = find_organization(session, tenant, organization)
            project = Project(name=name, organization_id=owner.id, team_id=team_id)
            return _add_place(session, project, "project", Project.organization_id == owner.id)

    def add_folder(self, name: str, project: str) -> Record:
        """Create a folder of a project."""
        with self.write() as (session, tenant):
            owner = find_place(session, tenant, "project", project)
            folder = Folder(name=name, project_id=owner.id)
            return _add_place(session, folder, "folder", Folder.project_id == owner.id)

    def remove_place(self, kind: str, name: str, *, yes: bool) -> Record:
        """Remove a place with its contents; the projects of a team stay in the organization."""
        with self.write() as (session, tenant):
            place = find_place(session, tenant, kind, name)
            counts = _count_contents(session, place)
            contents = [
                messages.pluralize(n, noun.removesuffix("s")) for noun, n in counts.items() if n
            ]
            if contents:
                where = f"the {kind} {place.name} of {self.tenant}"
                require_confirmation(
                    yes, f"This would remove {where}, and with it {', '.join(contents)}."
                )
            session.delete(place)
            return {"removed": place.name, "id": place.id} | counts

    def import_sequences(self, file: Path, folder: str, creator: str | None) -> list[Record]:
        """Import all sequences of a FASTA or GenBank file, which may be gzipped, or none.

        Returns:
            `{id, name, length, isCircular}` for each sequence, and `omittedFeatures`, the number of
            its features without a valid location, if there are any.
        """
        # Read before the transaction, which blocks other writers.
        entries = importing.read_sequences(file)
        with self.write() as (session, tenant):
            target = find_place(session, tenant, "folder", folder)
            try:
                user = find_user(session, tenant, creator or student_email())
            except NotFoundError:
                if creator:
                    raise
                raise InputError(
                    f"{tenant.name} has no sample user as the creator.",
                    f"Give the address of a user: {parameter('creator', 'EMAIL')}.",
                ) from None
            created = importing.add_sequences(session, target, entries, user)
        for row, entry in zip(created, entries, strict=True):
            if entry.features.omitted:
                row["omittedFeatures"] = entry.features.omitted
        return created

    def grants(self, holder: tuple[str, str] | None = None) -> list[Record]:
        """List the grants of a holder, `("user", EMAIL)` or `("app", NAME)`, or of all holders."""
        with self.read() as (session, tenant):
            if holder is not None:
                owners: list[Owner] = [OWNERS[holder[0]](session, tenant, holder[1])]
            else:
                users = select(User).where(User.tenant_id == tenant.id).order_by(User.email)
                apps = select(App).where(App.tenant_id == tenant.id).order_by(App.name)
                owners = [*session.scalars(users), *session.scalars(apps)]
            return [
                _grant_record(owner, kind, session.get_one(place_kind.table, id))
                for owner in owners
                for grant in session.scalars(
                    select(Grant).where(_grants_of(owner)).order_by(Grant.id)
                )
                for kind, place_kind in PLACE_KINDS.items()
                if (id := getattr(grant, place_kind.granted.key)) is not None
            ]

    def add_grant(self, holder: tuple[str, str], kind: str, name: str) -> Record:
        """Grant a holder access to a place; see `grants`."""
        with self.write() as (session, tenant):
            owner, place, existing = _find_grant(session, tenant, holder, kind, name)
            if existing:
                raise already_exists_error(
                    f"a grant to {owner_name(owner)} of the {kind}", place.name
                )
            row = {f"{holder[0]}_id": owner.id, PLACE_KINDS[kind].granted.key: place.id}
            session.add(Grant(**row))
            return _grant_record(owner, kind, place)

    def remove_grant(self, holder: tuple[str, str], kind: str, name: str) -> Record:
        """Remove a grant; another grant may still give access to the place."""
        with self.write() as (session, tenant):
            owner, place, existing = _find_grant(session, tenant, holder, kind, name)
            if not existing:
                raise NotFoundError(
                    f"{owner_name(owner)} has no grant of the {kind} {place.name}.",
                    "See `grants list`.",
                )
            for grant in existing:
                session.delete(grant)
            return {"removed": True} | _grant_record(owner, kind, place)


def _add_place(session: Session, place: Place, kind: str, siblings: Any) -> Record:
    """Add a place; its name must be unique among its siblings."""
    noun = messages.with_article(kind)
    validate_name(noun, place.name)
    table = type(place)
    if session.scalars(select(table.id).where(siblings, table.name == place.name)).first():
        raise already_exists_error(noun, place.name)
    place.id = tables.new_identifier(PLACE_KINDS[kind].prefix)
    session.add(place)
    session.flush()
    return _place_record(session, place)


def _place_record(session: Session, place: Place) -> Record:
    """Return a place with the names of its parents."""
    record: Record = {"id": place.id, "name": place.name}
    parent: Any = place
    if isinstance(place, Folder):
        parent = session.get_one(Project, place.project_id)
        record["project"] = parent.name
    if isinstance(parent, Team | Project):
        record["organization"] = session.get_one(Organization, parent.organization_id).name
    if isinstance(place, Project):
        team = None if place.team_id is None else session.get_one(Team, place.team_id)
        record["team"] = team and team.name
    return record


def _count_contents(session: Session, place: Place) -> dict[str, int]:
    """Return the numbers of contents and grants of a place."""
    if isinstance(place, Team):
        return {"grants": count_rows(session, Grant, Grant.team_id == place.id)}
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
        "teams": count_rows(session, Team, Team.id.in_(teams)),
        "projects": count_rows(session, Project, Project.id.in_(projects)),
        "folders": count_rows(session, Folder, Folder.id.in_(folders)),
        "sequences": count_rows(session, Sequence, Sequence.folder_id.in_(folders)),
        "grants": count_rows(session, Grant, granted),
    }
    first_column = 0 if organization else 2 if isinstance(place, Project) else 3
    return dict(list(counts.items())[first_column:])


def _find_grant(
    session: Session, tenant: Tenant, holder: tuple[str, str], kind: str, name: str
) -> tuple[Owner, Place, SequenceOf[Grant]]:
    """Return the holder, the place, and the holder's grants of this place."""
    owner = OWNERS[holder[0]](session, tenant, holder[1])
    place = find_place(session, tenant, kind, name)
    existing = select(Grant).where(_grants_of(owner), PLACE_KINDS[kind].granted == place.id)
    return owner, place, session.scalars(existing).all()


def _grants_of(owner: Owner) -> ColumnElement[bool]:
    return Grant.user_id == owner.id if isinstance(owner, User) else Grant.app_id == owner.id


def _grant_record(owner: Owner, kind: str, place: Place) -> Record:
    user = isinstance(owner, User)
    return {
        "user": owner_name(owner) if user else None,
        "app": None if user else owner_name(owner),
        "kind": kind,
        "name": place.name,
        "id": place.id,
    }
