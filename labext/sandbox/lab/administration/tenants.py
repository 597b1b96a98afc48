"""Look up a tenant's objects; manage IP ranges, identity provider and audit log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any, Self, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, InputError, SetupError
from labext.sandbox.core.administration import Administration, Record
from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.validation import (
    MAX_NAME_LENGTH,
    already_exists_error,
    not_found_error,
    validate_email,
    validate_name,
)
from labext.sandbox.lab.endpoints import CAMPUS, PROVIDER_ENDPOINT
from labext.sandbox.lab.oidc import service
from labext.sandbox.lab.oidc.service import ensure_user_secret, sign_in
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.tables import (
    App,
    AuditEntry,
    Folder,
    Grant,
    IpRange,
    Organization,
    Project,
    Team,
    Tenant,
    User,
)

Place = Organization | Team | Project | Folder
Owner = User | App
"""Owner of credentials and grants."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class PlaceKind:
    """Table of a kind of place, prefix of its identifiers, and its column in a grant."""

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
    """Administration of one tenant."""

    tenant: str = CAMPUS

    def of(self, tenant: str) -> Self:
        """Return the administration of another tenant."""
        return replace(self, tenant=tenant)

    @contextmanager
    def read(self) -> Iterator[tuple[Session, Tenant]]:
        """Open a read transaction; yield it with the tenant."""
        with self.database.read() as session:
            yield session, find_tenant(session, self.tenant)

    @contextmanager
    def write(self) -> Iterator[tuple[Session, Tenant]]:
        """Open a write transaction; yield it with the tenant."""
        with self.database.write() as session:
            yield session, find_tenant(session, self.tenant)


def find_tenant(session: Session, name: str) -> Tenant:
    """Return a tenant by name."""
    tenants = {tenant.name: tenant for tenant in session.scalars(select(Tenant))}
    if not tenants:
        raise SetupError(
            "There is no laboratory platform yet: it was never started.",
            f"Start it once with {admin_command('start')}.",
        )
    if name not in tenants:
        raise not_found_error("tenant", name, tenants)
    return tenants[name]


def check_enterprise(session: Session, tenant: Tenant) -> None:
    """Check that a tenant is an enterprise account."""
    if not tenant.enterprise:
        others = session.scalars(select(Tenant.name).where(Tenant.enterprise)).all()
        raise InputError(
            f"{tenant.name} is not an enterprise account: it has no identity provider and no IP "
            "ranges.",
            f"Name an enterprise account: {parameter('tenant', others[0])}."
            if others
            else "This sandbox has no enterprise account.",
        )


def find_user(session: Session, tenant: Tenant, email: str) -> User:
    """Return the user with an e-mail address, ignoring case."""
    users = User.tenant_id == tenant.id
    user = session.scalars(select(User).where(users, User.email == email.lower())).one_or_none()
    if user is None:
        emails = session.scalars(select(User.email).where(users))
        raise not_found_error(f"user of {tenant.name}", email, emails)
    return user


def find_app(session: Session, tenant: Tenant, name: str) -> App:
    """Return an app by name, identifier or client id; names take precedence."""
    apps = App.tenant_id == tenant.id
    for match in (App.name == name, (App.id == name) | (App.client_id == name)):
        app = session.scalars(select(App).where(apps, match)).first()
        if app is not None:
            return app
    raise not_found_error(
        f"app of {tenant.name}", name, session.scalars(select(App.name).where(apps))
    )


OWNERS: dict[str, Callable[[Session, Tenant, str], Owner]] = {"user": find_user, "app": find_app}


def owner_name(owner: Owner) -> str:
    """Return the display name of an owner."""
    return owner.email if isinstance(owner, User) else owner.name


def find_place(session: Session, tenant: Tenant, kind: str, name: str) -> Any:
    """Return a place by name or identifier."""
    places = list_places(session, tenant, kind)
    matches = [place for place in places if name in (place.id, place.name)]
    if not matches:
        raise not_found_error(f"{kind} of {tenant.name}", name, (place.name for place in places))
    return single_match(
        matches, f"{kind}s are called {messages.quote_value(name)}", (place.id for place in matches)
    )


def find_organization(session: Session, tenant: Tenant, name: str | None) -> Organization:
    """Return an organization by name; None returns the only one."""
    organization: Organization
    if name is not None:
        organization = find_place(session, tenant, "organization", name)
        return organization
    organizations: Any = list_places(session, tenant, "organization")
    if not organizations:
        raise not_found_error(f"organization of {tenant.name}", "", ())
    organization = single_match(
        organizations, f"organizations are in {tenant.name}", (row.name for row in organizations)
    )
    return organization


def single_match(matches: Iterable[Row], description: str, names: Iterable[str]) -> Row:
    """Return the only element of `matches`, which is not empty.

    Raises:
        ConflictError: there are several; `description` ends the sentence "2 …" of the error, which
            lists their names.
    """
    first, *others = matches
    if others:
        raise ConflictError(
            f"{len(others) + 1} {description}.",
            f"Name one of them: {messages.join_words(names, 10)}.",
        )
    return first


def list_places(session: Session, tenant: Tenant, kind: str) -> Sequence[Place]:
    """Return all places of a kind, sorted by name."""
    table = PLACE_KINDS[kind].table
    statement: Any = select(table)
    if table is Folder:
        statement = statement.join(Project, Project.id == Folder.project_id)
    if table in (Folder, Project):
        statement = statement.join(Organization, Organization.id == Project.organization_id)
    elif table is Team:
        statement = statement.join(Organization, Organization.id == Team.organization_id)
    statement = statement.where(Organization.tenant_id == tenant.id)
    places: Sequence[Place] = session.scalars(statement.order_by(table.name, table.id)).all()
    return places


MAX_TOKEN_SECONDS = 366 * 24 * 3600
"""Maximum lifetime of an ID token."""

MAX_ENTRIES = 1_000_000_000
"""Maximum number of entries of the audit log that are listed at once."""

_AUDIT_COLUMNS = (
    "time", "status", "method", "path", "user", "app", "credential", "address", "reason",
)  # fmt: skip


class SecurityAdministration(TenantAdministration):
    """Manage IP ranges and the identity provider, and read the log."""

    def ranges(self) -> list[Record]:
        """List the allowed IP ranges; if empty, requests are allowed from everywhere."""
        with self.read() as (session, tenant):
            return [{"network": network} for network in _select_ranges(session, tenant)]

    def add_range(self, network: str) -> Record:
        """Add an allowed IP range to an enterprise account; other addresses are refused."""
        network = _parse_range(network)
        with self.write() as (session, tenant):
            check_enterprise(session, tenant)
            if network in _select_ranges(session, tenant):
                raise already_exists_error(f"a range of {self.tenant}", network, "range")
            session.add(IpRange(tenant_id=tenant.id, network=network))
        return {"network": network}

    def remove_range(self, network: str) -> Record:
        """Remove an IP range; after the last one, requests are allowed from everywhere."""
        network = _parse_range(network)
        with self.write() as (session, tenant):
            ranges = _select_ranges(session, tenant)
            if network not in ranges:
                raise not_found_error(f"range of {self.tenant}", network, ranges)
            session.delete(ranges[network])
        return {"removed": network, "left": len(ranges) - 1}

    def provider(self) -> Record:
        """Return the identity provider of the tenant; its fields are None without one."""
        with self.read() as (_, tenant):
            return _provider_record(tenant)

    def set_provider(self, url: str | None, audience: str | None) -> Record:
        """Set the identity provider by the URL of its OpenID configuration; None removes it.

        The audience of its tokens is optional for the sandbox's own provider.
        """
        if url is not None:
            _check_url(url)
            if audience is None and not service.is_own_configuration(self.site, url):
                raise InputError(
                    "The audience of the provider's tokens is missing.",
                    f"Add {parameter('audience', 'NAME')}.",
                )
            audience = validate_name("an audience", audience or service.DEFAULT_AUDIENCE)
        with self.write() as (session, tenant):
            check_enterprise(session, tenant)
            tenant.configuration_url, tenant.audience = url, audience
            return _provider_record(tenant)

    def own_provider(self) -> str:
        """Return the URL of the OpenID configuration of the sandbox's own provider."""
        if not self.site.origins.get(PROVIDER_ENDPOINT):
            raise SetupError(
                "The identity provider was never started.",
                f"Start it once with {admin_command('start')}.",
            )
        return service.own_configuration_url(self.site)

    def set_user_secrets(self, required: bool) -> Record:
        """Set whether the sandbox's provider requires secrets of the users of `campus`."""
        with self.database.write() as session:
            tenant = find_tenant(session, CAMPUS)
            tenant.requires_user_secret = required
            return _provider_record(tenant)

    def rotate_keys(self) -> list[Record]:
        """Create a new signing key of the sandbox's provider, and return all; tokens stay valid."""
        return _published_record(service.rotate_signing_keys(self.site.secrets))

    def published_keys(self) -> list[Record]:
        """List the published keys of the sandbox's provider, with the current one first."""
        return _published_record(service.load_signing_keys(self.site.secrets))

    def id_token(
        self, email: str, *, seconds: int | None = None, audience: str | None = None
    ) -> Record:
        """Issue an ID token of the sandbox's provider, also for an address without a user.

        A user of `campus` is signed in with the user's secret, so this process needs access to it.

        The lifetime is an hour by default, and negative for an expired token; the default audience
        is that of `campus`.
        """
        self.own_provider()
        validate_email(email)
        seconds = service.TOKEN_SECONDS if seconds is None else seconds
        if abs(seconds) > MAX_TOKEN_SECONDS:
            raise InputError(
                f"{seconds:,} seconds is too long for an ID token.", "Give at most a year."
            )
        user = service.find_campus_user(self.site, email)
        if user is not None:
            sign_in(self.site, email, ensure_user_secret(self.site.secrets, user.id))
        return {
            "id_token": service.issue_id_token(
                self.site, email, seconds=seconds, audience=audience
            ),
            "email": email,
            "seconds": seconds,
            "user": user is not None,
            "tenant": CAMPUS,
        }

    def audit_log(
        self,
        *,
        limit: int | None = 50,
        user: str | None = None,
        app: str | None = None,
        status: int | None = None,
    ) -> list[Record]:
        """List calls of the tenant's API, newest first, including those of removed users."""
        if limit is not None and not 1 <= limit <= MAX_ENTRIES:
            raise InputError(
                f"{limit:,} is not a valid number of entries.",
                f"Give a number from 1 to {MAX_ENTRIES:,}.",
            )
        if status is not None and not 100 <= status <= 599:
            raise InputError(f"{status:,} is not an HTTP status.", "Give one such as 403.")
        filters = {"user": user and user.lower(), "app": app, "status": status}
        conditions = {name: value for name, value in filters.items() if value is not None}
        with self.read() as (session, tenant):
            statement = select(AuditEntry).filter_by(tenant_id=tenant.id, **conditions)
            rows = session.scalars(statement.order_by(AuditEntry.id.desc()).limit(limit))
            return [{name: getattr(row, name) for name in _AUDIT_COLUMNS} for row in rows]


def _select_ranges(session: Session, tenant: Tenant) -> dict[str, IpRange]:
    rows = select(IpRange).where(IpRange.tenant_id == tenant.id).order_by(IpRange.id)
    return {row.network: row for row in session.scalars(rows)}


def _parse_range(text: str) -> str:
    """Return an IP range or a single address as a network in canonical form."""
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise InputError(
            f"{messages.quote_value(text)} is not a range of IP addresses.",
            "Give a range such as 192.0.2.0/24, 2001:db8::/32 or 127.0.0.1.",
        ) from None


def _check_url(url: str) -> None:
    from labext.config import clean_url

    clean_url(url, secure=True)
    if not url.endswith(WELL_KNOWN) or len(url) > 10 * MAX_NAME_LENGTH:
        raise InputError(
            f"{messages.quote_value(url)} is not the address of an OpenID configuration.",
            f"The address must end in {WELL_KNOWN}.",
        )


def _published_record(keys: list[service.SigningKey]) -> list[Record]:
    return [
        {"kid": key.kid, "algorithm": service.ALGORITHM, "in_use": key is keys[0]} for key in keys
    ]


def _provider_record(tenant: Tenant) -> Record:
    return {
        "tenant": tenant.name,
        "enterprise": tenant.enterprise,
        "configuration_url": tenant.configuration_url,
        "audience": tenant.audience,
        "user_secrets": tenant.requires_user_secret,
    }
