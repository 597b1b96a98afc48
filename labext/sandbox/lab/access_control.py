"""Authenticate callers and determine what their permissions and grants allow."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

from sqlalchemy import Executable, bindparam, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab.errors import forbidden, unauthorized
from labext.sandbox.lab.oidc.verifier import VerificationError, Verifier
from labext.sandbox.lab.tables import (
    READ_SEQUENCES,
    ApiKey,
    App,
    Folder,
    Grant,
    IpRange,
    Organization,
    Project,
    Secret,
    Team,
    Tenant,
    Token,
    User,
    normalize_email,
)


def _granted_places_query(holder: InstrumentedAttribute[str | None]) -> Executable:
    """Select the projects and folders of a tenant to which a holder's grants give access."""
    covers = or_(
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
            exists().where(holder == bindparam("holder"), covers),
        )
    )


# Built once, because building a statement takes longer than executing it.
_PLACES_OF_USER = _granted_places_query(Grant.user_id)
_PLACES_OF_APP = _granted_places_query(Grant.app_id)
_IP_RANGES = select(IpRange.network).where(IpRange.tenant_id == bindparam("tenant_id"))


@dataclass(frozen=True)
class Caller:
    """An authenticated caller.

    Attributes:
        user: the owner of a key or ID token, or the user on whose behalf an app acts.
        credential: as in `tables.AuditEntry`.
        ended: reason why the credential is no longer valid; None if it is valid.
    """

    tenant_id: int
    user: User | None
    app: App | None
    credential: str
    ended: str | None = None

    @property
    def rate_limit_key(self) -> str:
        """The identity whose rate limit applies: the app, even if it acts for a user (LAB-92)."""
        if self.app is not None:
            return f"app {self.app.id}"
        assert self.user is not None
        return f"user {self.user.id}"


@dataclass(frozen=True)
class VisiblePlaces:
    """Ids of the visible folders and of the projects with any visible content."""

    folders: frozenset[str]
    projects: frozenset[str]

    def __and__(self, other: VisiblePlaces) -> VisiblePlaces:
        return VisiblePlaces(self.folders & other.folders, self.projects & other.projects)


def check_state(caller: Caller) -> None:
    """Check that the caller is not suspended or archived (403; LAB-68, LAB-69)."""
    if caller.app is not None and caller.app.archived:
        raise forbidden("The app is archived.")
    if caller.app is None and caller.user is not None and caller.user.suspended:
        raise forbidden("The user is suspended.")


def check_address(session: Session, tenant_id: int, address: str | None) -> None:
    """Check that an address is inside the tenant's ranges (403), if it has ranges."""
    ranges = session.connection().execute(_IP_RANGES, {"tenant_id": tenant_id}).scalars().all()
    if ranges and not any(_is_within(address, network) for network in ranges):
        raise forbidden("The account does not allow API access from this IP address.")


def resolve_acting_user(session: Session, caller: Caller, emails: Sequence[str]) -> Caller:
    """Add the user on whose behalf an app acts; `emails` are the values of `On-Behalf-Of`.

    Raises no error for an invalid header, so that the log has the user of a refused call, too.
    """
    if caller.app is None or len(emails) != 1:
        return caller
    return replace(caller, user=find_user_by_email(session, caller.tenant_id, emails[0]))


def check_on_behalf_of(caller: Caller, emails: Sequence[str]) -> None:
    """Check that an app acts for exactly one active user of its tenant (403)."""
    if not emails:
        return
    if caller.app is None:
        raise forbidden("On-Behalf-Of: only an app can act for a user.")
    if len(emails) > 1:
        raise forbidden("On-Behalf-Of: an app can act for one user at a time.")
    if caller.user is None or caller.user.suspended:
        raise forbidden("On-Behalf-Of: no active user of this tenant has this e-mail address.")


def find_user_by_email(session: Session, tenant_id: int, email: str) -> User | None:
    """Return the tenant's user with this e-mail address, ignoring case."""
    is_user = User.tenant_id == tenant_id, User.email == normalize_email(email)
    return session.scalars(select(User).where(*is_user)).one_or_none()


def readable_places(session: Session, caller: Caller) -> VisiblePlaces:
    """Return the places visible to the caller; if an app acts for a user, those visible to both.

    Raises:
        HTTPException: 403, an app lacks the permission or has no grants. A user without grants is
            not refused and sees no places.
    """
    if caller.app is not None and READ_SEQUENCES not in caller.app.permissions:
        raise forbidden(f"The app lacks the permission {READ_SEQUENCES}.")
    visible = []
    if caller.app is not None:
        granted = _granted_places(session, caller.tenant_id, _PLACES_OF_APP, caller.app.id)
        if not granted.projects and not _has_any_grant(session, caller.app):
            raise forbidden("The app was not granted access to any organization, team or project.")
        visible.append(granted)
    if caller.user is not None:
        visible.append(_granted_places(session, caller.tenant_id, _PLACES_OF_USER, caller.user.id))
    return visible[0] if len(visible) == 1 else visible[0] & visible[1]


def check_places(
    places: VisiblePlaces, folder_id: str, project_id: str, *, parameter: str = "folderId"
) -> None:
    """Check that a requested folder and project are visible; blank ids are ignored.

    Hidden and missing places cause the same error, so that their existence is not revealed.
    """
    if folder_id.strip() and folder_id not in places.folders:
        raise forbidden(f"{parameter}: there is no such folder, or you have no access to it.")
    if project_id.strip() and project_id not in places.projects:
        raise forbidden("projectId: there is no such project, or you have no access to it.")


def _granted_places(
    session: Session, tenant_id: int, grants: Executable, holder: str
) -> VisiblePlaces:
    rows = session.connection().execute(grants, {"tenant_id": tenant_id, "holder": holder}).all()
    return VisiblePlaces(
        frozenset(folder for _, folder in rows if folder is not None),
        frozenset(project for project, _ in rows),
    )


def _has_any_grant(session: Session, app: App) -> bool:
    """Return whether the app has any grant in its tenant, including grants of empty places."""
    teams = select(Team.id).where(Team.organization_id == Organization.id)
    covers = or_(Grant.organization_id == Organization.id, Grant.team_id.in_(teams))
    statement = select(Organization.id).where(
        Organization.tenant_id == app.tenant_id, exists().where(Grant.app_id == app.id, covers)
    )
    return session.scalars(statement.limit(1)).first() is not None


def _is_within(address: str | None, network: str) -> bool:
    if address is None:
        return False
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip in _parse_network(network)


@lru_cache(maxsize=1000)
def _parse_network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


_SELECT_BY_KEY = (
    select(ApiKey, User)
    .join(User, User.id == ApiKey.user_id)
    .where(ApiKey.hash == bindparam("hash"), User.tenant_id == bindparam("tenant_id"))
)
_SELECT_BY_TOKEN = (
    select(Token, Secret, App)
    .join(Secret, Secret.id == Token.secret_id)
    .join(App, App.id == Secret.app_id)
    .where(Token.hash == bindparam("hash"), App.tenant_id == bindparam("tenant_id"))
)

EmailVerifier = Callable[[Session, str], str]
"""Return the email claim of an ID token; raise 401 if the token is invalid."""


def authenticate(
    session: Session, tenant_id: int, authorizations: Sequence[str], email_of: EmailVerifier
) -> Caller:
    """Return the owner of the credentials, also of expired or deleted ones (`Caller.ended`).

    `authorizations` are the values of the Authorization header.
    """
    if not authorizations:
        raise unauthorized("The Authorization header is missing.")
    scheme, _, value = authorizations[0].strip().partition(" ")
    if len(authorizations) > 1 or scheme.lower() not in ("basic", "bearer") or not value.strip():
        raise unauthorized(
            "The Authorization header is malformed: Basic with an API key and an empty password, "
            "or Bearer with a token."
        )
    if scheme.lower() == "basic":
        return _caller_by_key(session, tenant_id, _parse_key(value.strip()))
    if value.count(".") == 2:  # a JSON Web Token; access tokens contain no dots
        return _caller_by_email(session, tenant_id, email_of(session, value.strip()))
    return _caller_by_token(session, tenant_id, value.strip())


def parse_basic(value: str) -> tuple[str, str]:
    """Decode the username and password of HTTP Basic; ValueError if they are malformed."""
    try:
        pair = base64.b64decode(value.encode("ascii"), validate=True).decode()
    except (UnicodeError, binascii.Error):
        raise ValueError("It is not text in base64.") from None
    name, colon, password = pair.partition(":")
    if not colon:
        raise ValueError("It has no colon.")
    return name, password


def _parse_key(value: str) -> str:
    try:
        key, password = parse_basic(value)
    except ValueError:
        key, password = "", ""
    if not key or password:
        raise unauthorized(
            "The API key is malformed: it is the username of HTTP Basic, with an empty password."
        )
    return key


def _caller_by_key(session: Session, tenant_id: int, key: str) -> Caller:
    values = {"hash": hash_key(key), "tenant_id": tenant_id}
    row = session.execute(_SELECT_BY_KEY, values).one_or_none()
    if row is None:
        raise unauthorized("The API key is not valid.")
    api_key, user = row
    end_reason = None if api_key.deleted is None else "The API key was deleted."
    return Caller(tenant_id, user, None, f"key {api_key.name}", end_reason)


def _caller_by_token(session: Session, tenant_id: int, token: str) -> Caller:
    values = {"hash": hash_key(token), "tenant_id": tenant_id}
    row = session.execute(_SELECT_BY_TOKEN, values).one_or_none()
    if row is None:
        raise unauthorized("The access token is not valid.")
    access_token, secret, app = row
    end_reason = None
    if secret.deleted is not None:
        end_reason = "The client secret of this access token was deleted."
    elif access_token.expires <= time.time():
        end_reason = "The access token has expired."
    return Caller(tenant_id, None, app, f"secret {secret.name}", end_reason)


def _caller_by_email(session: Session, tenant_id: int, email: str) -> Caller:
    user = find_user_by_email(session, tenant_id, email)
    if user is None:
        raise unauthorized("No user has the email address of this ID token.")
    return Caller(tenant_id, user, None, "ID token")


class IdTokenVerifier:
    """Verify the ID tokens of a tenant. Thread-safe.

    The tenant's configuration is read for every token; the provider's keys are cached.
    """

    def __init__(self, tenant_id: int, ca: Path) -> None:
        self._tenant_id = tenant_id
        self._verifier = lru_cache(maxsize=1)(lambda url, audience: Verifier(url, audience, ca))

    def email(self, session: Session, token: str) -> str:
        """Return the email claim of a valid token."""
        url, audience = session.execute(
            select(Tenant.configuration_url, Tenant.audience).where(Tenant.id == self._tenant_id)
        ).one()
        if url is None or audience is None:
            raise unauthorized(
                "This account does not accept ID tokens: it has no identity provider."
            )
        try:
            return self._verifier(url, audience).email(token)
        except VerificationError as error:
            raise unauthorized(str(error)) from None
