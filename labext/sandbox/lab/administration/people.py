"""Users: made, suspended, removed."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.sandbox.database import counted
from labext.sandbox.lab import identifiers
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import enterprise, tenant_of, user_of
from labext.sandbox.lab.oidc.sign_in import forget_user_secret, renew_user_secret, user_secret
from labext.sandbox.lab.store import ApiKey, Grant, User
from labext.sandbox.naming import check_yes, checked_email, checked_name, free_name, taken


def users(admin: Administration, tenant: str) -> list[Record]:
    """Every user of a tenant, with the number of keys that are good, and of grants."""
    with admin.database.read() as session:
        found = tenant_of(session, tenant)
        mine = select(User).where(User.tenant_id == found.id).order_by(User.email)
        return [_record(session, user) for user in session.scalars(mine)]


def add_user(admin: Administration, tenant: str, email: str, name: str | None = None) -> Record:
    """Make a user without keys and grants.

    Args:
        admin: whose.
        tenant: the tenant's name.
        email: tells it from the tenant's others; kept in lower case.
        name: as it is shown; by default what the address says.

    Raises:
        InputError: the address or the name won't do.
        NotFoundError: there is no such tenant.
        ConflictError: there is such a user.
    """
    address = checked_email(email).lower()
    head = address.partition("@")[0]
    shown = checked_name("a user", name or head.replace(".", " ").title())
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        mine = User.tenant_id == found.id
        if session.scalars(select(User.id).where(mine, User.email == address)).first():
            raise taken(f"a user of {tenant}", address)
        handles = set(session.scalars(select(User.handle).where(mine)))
        user = User(
            id=identifiers.new("ent"),
            tenant_id=found.id,
            handle=head if head not in handles else free_name(None, head, handles),
            name=shown,
            email=address,
            suspended=False,
        )
        session.add(user)
        session.flush()
        return _record(session, user)


def set_suspended(admin: Administration, tenant: str, email: str, suspended: bool) -> Record:
    """Take a user's access, or give it back (contract, States); NotFoundError without one."""
    with admin.database.write() as session:
        user = user_of(session, tenant_of(session, tenant), email)
        user.suspended = suspended
        return _record(session, user)


def remove_user(admin: Administration, tenant: str, email: str, *, yes: bool) -> Record:
    """Remove a user with its keys, grants and sign-in secret; its sequences stay.

    Raises:
        NotFoundError: there is none.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        user = user_of(session, tenant_of(session, tenant), email)
        lost = _record(session, user)
        check_yes(
            yes,
            f"This would remove the user {user.email} of {tenant} with "
            f"{wording.count(lost['keys'], 'key')} and {wording.count(lost['grants'], 'grant')}; "
            "a key that the sandbox hands out would be no longer valid.",
        )
        session.delete(user)
    forget_user_secret(admin.site.secrets, user.id)
    return {"removed": lost["email"], "tenant": tenant} | {n: lost[n] for n in ("keys", "grants")}


def sign_in_secret(
    admin: Administration, tenant: str, email: str, *, renew: bool = False
) -> Record:
    """Return the secret with which a user signs in at the sandbox's identity provider.

    Args:
        admin: whose.
        tenant: the tenant's name.
        email: the user's address.
        renew: replace it: the old one is not valid any more.

    Raises:
        NotFoundError: there is no such user.
        InputError: the tenant is no enterprise account.
    """
    with admin.database.read() as session:
        user = user_of(session, enterprise(session, tenant), email)
    found = renew_user_secret if renew else user_secret
    return {"email": user.email, "tenant": tenant, "secret": found(admin.site.secrets, user.id)}


def _record(session: Session, user: User) -> Record:
    good = ApiKey.deleted.is_(None)
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "handle": user.handle,
        "suspended": user.suspended,
        "keys": counted(session, ApiKey, ApiKey.user_id == user.id, good),
        "grants": counted(session, Grant, Grant.user_id == user.id),
    }
