"""Organizations with their teams and projects, and projects with their folders."""

from __future__ import annotations

from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from labext import wording
from labext.sandbox.database import counted
from labext.sandbox.lab import identifiers
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import (
    KINDS,
    Place,
    only_organization,
    place_of,
    places,
    tenant_of,
)
from labext.sandbox.lab.store import Folder, Grant, Organization, Project, Sequence, Team
from labext.sandbox.naming import check_yes, checked_name, taken

_LOST = ("teams", "projects", "folders", "sequences", "grants")


def listed(admin: Administration, tenant: str, noun: str) -> list[Record]:
    """Every place of a kind that a tenant has: where it is, and what is in it.

    Args:
        admin: whose.
        tenant: the tenant's name.
        noun: `organization`, `team`, `project` or `folder`.
    """
    with admin.database.read() as session:
        found = places(session, tenant_of(session, tenant), noun)
        return [_record(session, place) | _counts(session, place) for place in found]


def add_organization(admin: Administration, tenant: str, name: str) -> Record:
    """Make an organization; ConflictError where there is one."""
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        mine = Organization.tenant_id == found.id
        return _added(session, Organization(name=name, tenant_id=found.id), "organization", mine)


def add_team(
    admin: Administration, tenant: str, name: str, organization: str | None = None
) -> Record:
    """Make a team of an organization; of the only one, where none is named.

    Raises:
        NotFoundError: there is no such organization.
        ConflictError: it has such a team, or the organization has to be named.
        InputError: it can't be called so.
    """
    with admin.database.write() as session:
        inside = only_organization(session, tenant_of(session, tenant), organization)
        mine = Team.organization_id == inside.id
        return _added(session, Team(name=name, organization_id=inside.id), "team", mine)


def add_project(
    admin: Administration,
    tenant: str,
    name: str,
    organization: str | None = None,
    team: str | None = None,
) -> Record:
    """Make a project of an organization, or of one of its teams; raises as `add_team`."""
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        team_id = None
        if team is not None:
            owner = place_of(session, found, "team", team)
            assert isinstance(owner, Team)
            team_id, organization = owner.id, owner.organization_id
        inside = only_organization(session, found, organization)
        made = Project(name=name, organization_id=inside.id, team_id=team_id)
        return _added(session, made, "project", Project.organization_id == inside.id)


def add_folder(admin: Administration, tenant: str, name: str, project: str) -> Record:
    """Make a folder of a project; raises as `add_team`."""
    with admin.database.write() as session:
        inside = place_of(session, tenant_of(session, tenant), "project", project)
        made = Folder(name=name, project_id=inside.id)
        return _added(session, made, "folder", Folder.project_id == inside.id)


def remove(admin: Administration, tenant: str, noun: str, name: str, *, yes: bool) -> Record:
    """Remove a place with all that is in it; a team's projects stay with the organization.

    Returns:
        How many teams, projects, folders, sequences and grants are gone.

    Raises:
        NotFoundError: there is none.
        InputError: there is anything in it, and `yes` is not given; says what would go.
    """
    with admin.database.write() as session:
        place = place_of(session, tenant_of(session, tenant), noun, name)
        lost = _counts(session, place)
        what = [wording.count(lost[n], n.removesuffix("s")) for n in _LOST if lost.get(n)]
        if what:
            where = f"the {noun} {place.name} of {tenant}"
            check_yes(yes, f"This would remove {where}, and with it {', '.join(what)}.")
        session.delete(place)
        return {"removed": place.name, "id": place.id} | lost


def _added(session: Session, made: Place, noun: str, among: Any) -> Record:
    """File a new place among those that it may not be called like."""
    checked_name(f"a {noun}", made.name)
    table = type(made)
    if session.scalars(select(table.id).where(among, table.name == made.name)).first():
        raise taken(f"a {noun}", made.name)
    made.id = identifiers.new(KINDS[noun].prefix)
    session.add(made)
    session.flush()
    return _record(session, made)


def _record(session: Session, place: Place) -> Record:
    """A place, and what it is in."""
    found: Record = {"id": place.id, "name": place.name}
    project = session.get(Project, place.project_id) if isinstance(place, Folder) else None
    if project is not None:
        found["project"] = project.name
    inside = project or place
    if isinstance(inside, Team | Project):
        found["organization"] = _name(session, Organization, inside.organization_id)
    if isinstance(place, Project):
        found["team"] = _name(session, Team, place.team_id)
    return found


def _name(session: Session, table: type[Organization] | type[Team], id: str | None) -> str | None:
    return None if id is None else session.scalars(select(table.name).where(table.id == id)).one()


def _counts(session: Session, place: Place) -> dict[str, int]:
    """What goes with a place."""
    if isinstance(place, Team):
        return {"grants": counted(session, Grant, Grant.team_id == place.id)}
    projects = select(Project.id).where(
        Project.organization_id == place.id
        if isinstance(place, Organization)
        else Project.id == place.id
    )
    folders = select(Folder.id).where(
        Folder.id == place.id if isinstance(place, Folder) else Folder.project_id.in_(projects)
    )
    teams = select(Team.id).where(Team.organization_id == place.id)
    gone = or_(
        Grant.organization_id == place.id,
        Grant.team_id.in_(teams),
        Grant.project_id.in_(projects),
        Grant.folder_id.in_(folders),
    )
    found = {
        "sequences": counted(session, Sequence, Sequence.folder_id.in_(folders)),
        "grants": counted(session, Grant, gone),
    }
    if isinstance(place, Folder):
        return found
    found = {"folders": counted(session, Folder, Folder.id.in_(folders))} | found
    if isinstance(place, Project):
        return found
    return {
        "teams": counted(session, Team, Team.id.in_(teams)),
        "projects": counted(session, Project, Project.id.in_(projects)),
    } | found
