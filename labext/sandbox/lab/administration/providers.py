"""The identity provider of an enterprise account (contract, OpenID Connect 1 and 2)."""

from __future__ import annotations

from labext import wording
from labext.errors import InputError, SetupError
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import enterprise, tenant_of
from labext.sandbox.lab.doors import CAMPUS, PROVIDER
from labext.sandbox.lab.oidc import issuing, keys
from labext.sandbox.lab.oidc.sign_in import sign_in, user_secret
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.store import Tenant
from labext.sandbox.naming import LONGEST, checked_email, checked_name


def provider(admin: Administration, tenant: str) -> Record:
    """What a tenant is configured with; nothing without a provider."""
    with admin.database.read() as session:
        return _record(tenant_of(session, tenant))


def set_provider(
    admin: Administration, tenant: str, url: str | None, audience: str | None
) -> Record:
    """Configure a provider; None for both to take its ID tokens no more.

    Args:
        admin: whose.
        tenant: the tenant's name.
        url: of the provider's OpenID configuration.
        audience: whom its tokens are to be for; the sandbox's own provider has one by default.

    Raises:
        InputError: the tenant is no enterprise account, the address won't do, or the audience is
            missing.
    """
    if url is not None:
        _check_url(url)
        if audience is None and not issuing.is_own(url):
            raise InputError(
                "Whom the provider's tokens are for is not said.", "Add `--audience NAME`."
            )
        audience = checked_name("an audience", audience or issuing.AUDIENCE)
    with admin.database.write() as session:
        found = enterprise(session, tenant)
        found.configuration_url, found.audience = url, audience
        return _record(found)


def own(admin: Administration) -> str:
    """The address of the configuration of the sandbox's own provider.

    Raises:
        SetupError: it was never started.
    """
    if not admin.site.origins.get(PROVIDER):
        raise SetupError(
            "The sandbox's identity provider was never started.",
            "Start it once with `labext sandbox start`.",
        )
    return issuing.configuration_url(admin.site)


def set_user_secrets(admin: Administration, required: bool) -> Record:
    """Have the sandbox's provider ask for users' secrets, or not; for `campus` alone."""
    with admin.database.write() as session:
        found = tenant_of(session, CAMPUS)
        found.requires_user_secret = required
        return _record(found)


def rotate_keys(admin: Administration) -> list[Record]:
    """Let the sandbox's provider sign with a new key; tokens that are out hold until they expire.

    Returns:
        The keys that are published, the one in use first.
    """
    return _published(keys.rotate(admin.site.secrets))


def published_keys(admin: Administration) -> list[Record]:
    """The keys that the sandbox's provider publishes, the one in use first."""
    return _published(keys.signing_keys(admin.site.secrets))


def id_token(
    admin: Administration, email: str, *, seconds: int | None = None, audience: str | None = None
) -> Record:
    """Return an ID token of the sandbox's provider, also for an address that nobody has.

    A user of `campus` is signed in with her secret, which this process has to be able to read.

    Args:
        admin: whose.
        email: the address that it claims.
        seconds: how long it is good; below zero for one that has expired; None for an hour.
        audience: whom it is for; None for what `campus` expects.

    Raises:
        InputError: it is no address, or the time is beyond all bounds.
        SetupError: the provider was never started.
    """
    own(admin)
    checked_email(email)
    wanted = issuing.SECONDS if seconds is None else seconds
    if abs(wanted) > 366 * 24 * 3600:
        raise InputError(
            f"An ID token can't be good for {wanted:,} seconds.", "Give at most a year."
        )
    user = issuing.user_of(admin.site, email)
    if user is not None:
        sign_in(admin.site, email, user_secret(admin.site.secrets, user.id))
    token = issuing.issue(admin.site, email, seconds=wanted, audience=audience)
    return {
        "id_token": token,
        "email": email,
        "seconds": wanted,
        "user": user is not None,
        "tenant": CAMPUS,
    }


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


def _record(tenant: Tenant) -> Record:
    return {
        "tenant": tenant.name,
        "enterprise": tenant.enterprise,
        "configuration_url": tenant.configuration_url,
        "audience": tenant.audience,
        "user_secrets": tenant.requires_user_secret,
    }
