"""IP ranges, the identity provider of an enterprise account, and the audit log."""

from __future__ import annotations

from ipaddress import ip_network

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import InputError, SetupError
from labext.sandbox.administration import Record
from labext.sandbox.lab.administration.tenants import (
    TenantAdministration,
    check_enterprise,
    tenant_of,
)
from labext.sandbox.lab.doors import CAMPUS, PROVIDER
from labext.sandbox.lab.oidc import issuing, keys
from labext.sandbox.lab.oidc.sign_in import sign_in, user_secret
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.store import AuditEntry, IpRange, Tenant
from labext.sandbox.naming import LONGEST, absent, checked_email, checked_name, taken

LONGEST_TOKEN = 366 * 24 * 3600
"""Seconds that an ID token may be valid for."""

_AUDIT_COLUMNS = (
    "time", "status", "method", "path", "user", "app", "credential", "address", "reason",
)  # fmt: skip


class Access(TenantAdministration):
    """Calls on IP ranges, the identity provider and the log."""

    def ranges(self) -> list[Record]:
        """List the IP ranges; without any, requests are allowed from everywhere."""
        with self.read() as (session, tenant):
            return [{"network": network} for network in _ranges(session, tenant)]

    def add_range(self, network: str) -> Record:
        """Allow a range of an enterprise account; requests from no range are refused."""
        network = _parsed(network)
        with self.write() as (session, tenant):
            check_enterprise(session, tenant)
            if network in _ranges(session, tenant):
                raise taken(f"a range of {self.tenant}", network)
            session.add(IpRange(tenant_id=tenant.id, network=network))
        return {"network": network}

    def remove_range(self, network: str) -> Record:
        """Remove a range; without the last one, requests are allowed from everywhere."""
        network = _parsed(network)
        with self.write() as (session, tenant):
            ranges = _ranges(session, tenant)
            if network not in ranges:
                raise absent(f"range of {self.tenant}", network, ranges)
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
            if audience is None and not issuing.is_own(url):
                raise InputError(
                    "The audience of the provider's tokens is missing.", "Add `--audience NAME`."
                )
            audience = checked_name("an audience", audience or issuing.AUDIENCE)
        with self.write() as (session, tenant):
            check_enterprise(session, tenant)
            tenant.configuration_url, tenant.audience = url, audience
            return _provider_record(tenant)

    def own_provider(self) -> str:
        """Return the address of the configuration of the sandbox's own provider."""
        if not self.site.origins.get(PROVIDER):
            raise SetupError(
                "The sandbox's identity provider was never started.",
                "Start it once with `labext sandbox start`.",
            )
        return issuing.configuration_url(self.site)

    def set_user_secrets(self, required: bool) -> Record:
        """Require users' secrets at the sandbox's provider, or not; for `campus` alone."""
        with self.database.write() as session:
            tenant = tenant_of(session, CAMPUS)
            tenant.requires_user_secret = required
            return _provider_record(tenant)

    def rotate_keys(self) -> list[Record]:
        """Sign with a new key at the sandbox's provider; issued tokens stay valid.

        Returns:
            The published keys, the one in use first.
        """
        return _published(keys.rotate(self.site.secrets))

    def published_keys(self) -> list[Record]:
        """List the keys that the sandbox's provider publishes, the one in use first."""
        return _published(keys.signing_keys(self.site.secrets))

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
        checked_email(email)
        seconds = issuing.SECONDS if seconds is None else seconds
        if abs(seconds) > LONGEST_TOKEN:
            raise InputError(
                f"An ID token can't be valid for {seconds:,} seconds.", "Give at most a year."
            )
        user = issuing.user_of(self.site, email)
        if user is not None:
            sign_in(self.site, email, user_secret(self.site.secrets, user.id))
        return {
            "id_token": issuing.issue(self.site, email, seconds=seconds, audience=audience),
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
        """List calls of the tenant's API, the newest first, refused and removed users' ones too.

        Args:
            limit: at most so many; None for all.
            user: only calls of this address.
            app: only calls of the app of this name.
            status: only calls with this status.
        """
        if limit is not None and limit < 1:
            raise InputError(f"{limit} entries can't be shown.", "Give a whole number from 1.")
        filters = {"user": user and user.lower(), "app": app, "status": status}
        given = {name: value for name, value in filters.items() if value is not None}
        with self.read() as (session, tenant):
            found = select(AuditEntry).filter_by(tenant_id=tenant.id, **given)
            rows = session.scalars(found.order_by(AuditEntry.id.desc()).limit(limit))
            return [{name: getattr(row, name) for name in _AUDIT_COLUMNS} for row in rows]


def _ranges(session: Session, tenant: Tenant) -> dict[str, IpRange]:
    rows = select(IpRange).where(IpRange.tenant_id == tenant.id).order_by(IpRange.id)
    return {row.network: row for row in session.scalars(rows)}


def _parsed(text: str) -> str:
    """Return a range in its canonical form; a single address is a range of one."""
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise InputError(
            f"{wording.shown(text)} is no range of IP addresses.",
            "Give one such as 192.0.2.0/24, 2001:db8::/32 or 127.0.0.1.",
        ) from None


def _check_url(url: str) -> None:
    from labext.profiles import clean_url

    clean_url(url, secure=True)
    if not url.endswith(WELL_KNOWN) or len(url) > 10 * LONGEST:
        raise InputError(
            f"{wording.shown(url)} is no address of an OpenID configuration.",
            f"It ends in {WELL_KNOWN}.",
        )


def _published(found: list[keys.SigningKey]) -> list[Record]:
    return [
        {"kid": key.kid, "algorithm": keys.ALGORITHM, "in_use": key is found[0]} for key in found
    ]


def _provider_record(tenant: Tenant) -> Record:
    return {
        "tenant": tenant.name,
        "enterprise": tenant.enterprise,
        "configuration_url": tenant.configuration_url,
        "audience": tenant.audience,
        "user_secrets": tenant.requires_user_secret,
    }
