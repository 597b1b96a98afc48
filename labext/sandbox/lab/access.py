"""What a caller may see: by its state, its address, its permissions and its grants.

Each check refuses with 403: the caller is known by now (contract, Access control rules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from sqlalchemy import Executable, bindparam, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.lab.faults import denied
from labext.sandbox.lab.store import (
    READ_SEQUENCES,
    App,
    Folder,
    Grant,
    IpRange,
    Organization,
    Project,
    Team,
    User,
)


def _open_to(holder: InstrumentedAttribute[str | None]) -> Executable:
    """The projects and folders that grants open; those on another tenant's places open nothing."""
    opens = or_(
        Grant.organization_id == Project.organization_id,
        Grant.team_id == Project.team_id,
        Grant.project_id == Project.id,
        Grant.folder_id == Folder.id,
    )
    return (
        select(Project.id, Folder.id)
        .join(Organization, Organization.id == Project.organization_id)
        .outerjoin(Folder, Folder.project_id == Project.id)
        .where(
            Organization.tenant_id == bindparam("tenant_id"),
            exists().where(holder == bindparam("holder"), opens),
        )
    )


# Made once: to make one takes longer than to run it.
_OPEN_TO_USER = _open_to(Grant.user_id)
_OPEN_TO_APP = _open_to(Grant.app_id)
_RANGES = select(IpRange.network).where(IpRange.tenant_id == bindparam("tenant_id"))


@dataclass(frozen=True)
class Caller:
    """Who asks.

    Attributes:
        user: the user that acts: a key's or an ID token's, or the one for whom an app acts.
        app: the app that acts; None where a user does so without one.
        credential: as `labext.sandbox.lab.store.AuditEntry` has it.
        ended: why the credential is good no more; None while it is.
    """

    tenant_id: int
    user: User | None
    app: App | None
    credential: str
    ended: str | None = None

    @property
    def counted_as(self) -> str:
        """Whose allowance it uses: the app's, also where it acts for a user (contract, Limits)."""
        if self.app is not None:
            return f"app {self.app.id}"
        assert self.user is not None
        return f"user {self.user.id}"


@dataclass(frozen=True)
class Places:
    """What of a tenant is visible: ids of folders, and of the projects that hold any of it."""

    folders: frozenset[str]
    projects: frozenset[str]

    def __and__(self, other: Places) -> Places:
        return Places(self.folders & other.folders, self.projects & other.projects)


def check_state(caller: Caller) -> None:
    """A suspended user and an archived app have lost their access (contract, States)."""
    if caller.app is not None and caller.app.archived:
        raise denied("The app is archived.")
    if caller.app is None and caller.user is not None and caller.user.suspended:
        raise denied("The user is suspended.")


def check_address(session: Session, tenant_id: int, address: str | None) -> None:
    """Only addresses within the tenant's ranges may ask, if it has any."""
    ranges = session.connection().execute(_RANGES, {"tenant_id": tenant_id}).scalars().all()
    if ranges and not any(_is_within(address, network) for network in ranges):
        raise denied("The account does not allow API access from this IP address.")


def acting(session: Session, caller: Caller, emails: Sequence[str]) -> Caller:
    """The caller with the user for whom its app acts, if the values of `On-Behalf-Of` name one.

    Nothing is refused yet: the log tells the user also where something else is refused.
    """
    if caller.app is None or len(emails) != 1:
        return caller
    return replace(caller, user=user_by_email(session, caller.tenant_id, emails[0]))


def check_acting(caller: Caller, emails: Sequence[str]) -> None:
    """Only an app acts for a user, one at a time, and that an active one of its tenant."""
    if not emails:
        return
    if caller.app is None:
        raise denied("On-Behalf-Of: only an app acts for a user.")
    if len(emails) > 1:
        raise denied("On-Behalf-Of: an app acts for one user at a time.")
    if caller.user is None or caller.user.suspended:
        raise denied("On-Behalf-Of: it names no active user of this tenant.")


def user_by_email(session: Session, tenant_id: int, email: str) -> User | None:
    """The tenant's user with this e-mail address; upper and lower case are the same."""
    lower = email.lower()
    if lower.isascii() and not email.isascii():
        return None  # the Kelvin sign becomes a k, and is another letter all the same
    return session.scalars(
        select(User).where(User.tenant_id == tenant_id, User.email == lower)
    ).one_or_none()


def check_permission(caller: Caller) -> None:
    """An app reads sequences only if its permissions say so; a user always may."""
    if caller.app is not None and READ_SEQUENCES not in caller.app.permissions:
        raise denied(f"The app lacks the permission {READ_SEQUENCES}.")


def visible_places(session: Session, caller: Caller) -> Places:
    """What the caller may see; what both may see, where an app acts for a user.

    An app that was granted nothing is refused; a user's list is empty then, as in the web
    interface.
    """
    found = []
    if caller.app is not None:
        granted = _granted(session, caller.tenant_id, _OPEN_TO_APP, caller.app.id)
        if not granted.projects and not _has_any(session, caller.app):
            raise denied("The app was not granted access to any organization, team or project.")
        found.append(granted)
    if caller.user is not None:
        found.append(_granted(session, caller.tenant_id, _OPEN_TO_USER, caller.user.id))
    return found[0] if len(found) == 1 else found[0] & found[1]


def check_places(
    places: Places, folder_id: str, project_id: str, *, parameter: str = "folderId"
) -> None:
    """Check that a requested folder and project are visible; a blank id requests none.

    Hidden and missing ones are refused alike, so that nobody learns what exists.

    Args:
        places: what the caller may see.
        folder_id: the folder.
        project_id: the project.
        parameter: the query parameter that names the folder.

    Raises:
        HTTPException: 403, one of them is not visible.
    """
    if folder_id.strip() and folder_id not in places.folders:
        raise denied(f"{parameter}: there is no such folder, or you have no access to it.")
    if project_id.strip() and project_id not in places.projects:
        raise denied("projectId: there is no such project, or you have no access to it.")


def _granted(session: Session, tenant_id: int, grants: Executable, holder: str) -> Places:
    rows = session.connection().execute(grants, {"tenant_id": tenant_id, "holder": holder}).all()
    return Places(
        frozenset(folder for _, folder in rows if folder is not None),
        frozenset(project for project, _ in rows),
    )


def _has_any(session: Session, app: App) -> bool:
    """Whether it was granted anything of its tenant, be it an organization without a project."""
    teams = select(Team.id).where(Team.organization_id == Organization.id)
    reaches = or_(Grant.organization_id == Organization.id, Grant.team_id.in_(teams))
    found = select(Organization.id).where(
        Organization.tenant_id == app.tenant_id, exists().where(Grant.app_id == app.id, reaches)
    )
    return session.scalars(found.limit(1)).first() is not None


def _is_within(address: str | None, network: str) -> bool:
    if address is None:
        return False
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found in _network(network)


@lru_cache(maxsize=1000)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)
