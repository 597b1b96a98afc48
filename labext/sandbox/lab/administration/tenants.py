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
            yield session, find_tenant(session, self.tenant)

    @contextmanager
    def write(self) -> Iterator[tuple[Session, Tenant]]:
        """Open a writing transaction with the tenant."""
        with self.database.write() as session:
            yield session, find_tenant(session, self.tenant)


def find_tenant(session: Session, name: str) -> Tenant:
    """Return the tenant of a name; SetupError if the platform was never started."""
    tenants = {tenant.name: tenant for tenant in session.scalars(select(Tenant))}
    if not tenants:
        raise SetupError(
            "This sandbox has no laboratory platform yet: it was never started with one.",
            "Start it once with `labext sandbox start`.",
        )
    if name not in tenants:
        raise not_found_error("tenant", name, tenants)
    return tenants[name]


def check_enterprise(session: Session, tenant: Tenant) -> None:
    """Raise InputError for a tenant that is not an enterprise account."""
    if not tenant.enterprise:
        others = session.scalars(select(Tenant.name).where(Tenant.enterprise)).all()
        raise InputError(
            f"{tenant.name} is not an enterprise account: it has no identity provider and no IP "
            "ranges.",
            f"Name one that is: {parameter('tenant', others[0])}."
            if others
            else "There is none that is.",
        )


def find_user(session: Session, tenant: Tenant, email: str) -> User:
    """Return the user of an address, in either case."""
    users = User.tenant_id == tenant.id
    user = session.scalars(select(User).where(users, User.email == email.lower())).one_or_none()
    if user is None:
        emails = session.scalars(select(User.email).where(users))
        raise not_found_error(f"user of {tenant.name}", email, emails)
    return user


def find_app(session: Session, tenant: Tenant, name: str) -> App:
    """Return the app with a name, an identifier or a client id; the name takes precedence."""
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
    """Return the place of a name or identifier; ConflictError if several have the name."""
    places = list_places(session, tenant, kind)
    matches = [place for place in places if name in (place.id, place.name)]
    if not matches:
        raise not_found_error(f"{kind} of {tenant.name}", name, (place.name for place in places))
    return single_match(
        matches, f"{kind}s are called {messages.quote_value(name)}", (place.id for place in matches)
    )


def find_organization(session: Session, tenant: Tenant, name: str | None) -> Organization:
    """Return the organization of a name; without a name the only one."""
    if name is not None:
        organization_by_name: Organization = find_place(session, tenant, "organization", name)
        return organization_by_name
    organizations: Any = list_places(session, tenant, "organization")
    if not organizations:
        raise not_found_error(f"organization of {tenant.name}", "", ())
    organization: Organization = single_match(
        organizations, f"organizations are in {tenant.name}", (row.name for row in organizations)
    )
    return organization


def single_match(matches: Iterable[Row], are: str, names: Iterable[str]) -> Row:
    """Return the only element; ConflictError with the names to choose from if there are more."""
    first, *others = matches
    if others:
        raise ConflictError(
            f"{len(others) + 1} {are}.", f"Name one of them: {messages.join_words(names, 10)}."
        )
    return first


def list_places(session: Session, tenant: Tenant, kind: str) -> Sequence[Place]:
    """Return all places of a kind, by name."""
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
"""Seconds that an ID token may be valid for."""

_AUDIT_COLUMNS = (
    "time", "status", "method", "path", "user", "app", "credential", "address", "reason",
)  # fmt: skip


class SecurityAdministration(TenantAdministration):
    """Calls on IP ranges, the identity provider and the log."""

    def ranges(self) -> list[Record]:
        """List the IP ranges; without any, requests are allowed from everywhere."""
        with self.read() as (session, tenant):
            return [{"network": network} for network in _select_ranges(session, tenant)]

    def add_range(self, network: str) -> Record:
        """Allow a range of an enterprise account; requests from no range are refused."""
        network = _parse_range(network)
        with self.write() as (session, tenant):
            check_enterprise(session, tenant)
            if network in _select_ranges(session, tenant):
                raise already_exists_error(f"a range of {self.tenant}", network)
            session.add(IpRange(tenant_id=tenant.id, network=network))
        return {"network": network}

    def remove_range(self, network: str) -> Record:
        """Remove a range; without the last one, requests are allowed from everywhere."""
        network = _parse_range(network)
        with self.write() as (session, tenant):
            ranges = _select_ranges(session, tenant)
            if network not in ranges:
                raise not_found_error(f"range of {self.tenant}", network, ranges)
            session.delete(ranges[network])
        return {"removed": network, "left": len(ranges) - 1}

    def provider(self) -> Record:
        """Return the tenant's provider; nulls without one."""
        with self.read() as (_, tenant):
            return _provider_record(tenant)

    def set_provider(self, url: str | None, audience: str | None) -> Record:
        """Accept the ID tokens of a provider; of none if both are None.

        Args:
            url: of the provider's OpenID configuration.
            audience: of its tokens; the sandbox's own provider has a default.
        """
        if url is not None:
            _check_url(url)
            if audience is None and not service.is_own_configuration(url):
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
        """Return the address of the configuration of the sandbox's own provider."""
        if not self.site.origins.get(PROVIDER_ENDPOINT):
            raise SetupError(
                "The sandbox's identity provider was never started.",
                "Start it once with `labext sandbox start`.",
            )
        return service.own_configuration_url(self.site)

    def set_user_secrets(self, required: bool) -> Record:
        """Require users' secrets at the sandbox's provider, or not; for `campus` alone."""
        with self.database.write() as session:
            tenant = find_tenant(session, CAMPUS)
            tenant.requires_user_secret = required
            return _provider_record(tenant)

    def rotate_keys(self) -> list[Record]:
        """Sign with a new key at the sandbox's provider; issued tokens stay valid.

        Returns:
            The published keys, the one in use first.
        """
        return _published_record(service.rotate_signing_keys(self.site.secrets))

    def published_keys(self) -> list[Record]:
        """List the keys that the sandbox's provider publishes, the one in use first."""
        return _published_record(service.load_signing_keys(self.site.secrets))

    def id_token(
        self, email: str, *, seconds: int | None = None, audience: str | None = None
    ) -> Record:
        """Return an ID token of the sandbox's provider, also for an address without a user.

        A user of `campus` is signed in with the user's secret, which this process must be able to
        read.

        Args:
            email: the address that it claims.
            seconds: its validity; below zero for an expired one; None for an hour.
            audience: None for that of `campus`.
        """
        self.own_provider()
        validate_email(email)
        seconds = service.TOKEN_SECONDS if seconds is None else seconds
        if abs(seconds) > MAX_TOKEN_SECONDS:
            raise InputError(
                f"An ID token can't be valid for {seconds:,} seconds.", "Give at most a year."
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
        """List calls of the tenant's API, the newest first, refused and removed users' ones too."""
        if limit is not None and limit < 1:
            raise InputError(f"{limit} entries can't be shown.", "Give a whole number from 1.")
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
    """Return a range in its canonical form; a single address is a range of one."""
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise InputError(
            f"{messages.quote_value(text)} is not a range of IP addresses.",
            "Give one such as 192.0.2.0/24, 2001:db8::/32 or 127.0.0.1.",
        ) from None


def _check_url(url: str) -> None:
    from labext.config import clean_url

    clean_url(url, secure=True)
    if not url.endswith(WELL_KNOWN) or len(url) > 10 * MAX_NAME_LENGTH:
        raise InputError(
            f"{messages.quote_value(url)} is not the address of an OpenID configuration.",
            f"It ends in {WELL_KNOWN}.",
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
