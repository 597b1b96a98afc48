"""Users and apps of a tenant, and what they sign in with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import ConflictError, InputError
from labext.sandbox.administration import Record
from labext.sandbox.database import counted
from labext.sandbox.keys import key_hash
from labext.sandbox.lab import identifiers
from labext.sandbox.lab.administration.tenants import (
    OWNERS,
    TenantAdministration,
    app_of,
    check_enterprise,
    name_of,
    user_of,
)
from labext.sandbox.lab.oidc.sign_in import forget_user_secret, renew_user_secret, user_secret
from labext.sandbox.lab.store import READ_SEQUENCES, ApiKey, App, Grant, Secret, User, now
from labext.sandbox.naming import (
    absent,
    check_yes,
    checked_email,
    checked_name,
    free_name,
    taken,
)

PERMISSIONS = (READ_SEQUENCES,)
"""What an app may be permitted."""

LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class CredentialKind:
    """A kind of credentials.

    Attributes:
        owner: `user` or `app`.
        table: has them, with a column `user_id` or `app_id`.
        owners: the table of the owners.
        consequence: what follows from the removal of one.
    """

    owner: str
    table: Any
    owners: Any
    consequence: str


CREDENTIAL_KINDS = {
    "key": CredentialKind("user", ApiKey, User, "whoever uses it is refused"),
    "secret": CredentialKind(
        "app",
        Secret,
        App,
        "tokens that were issued for it are no longer valid, and no more are issued",
    ),
}


class People(TenantAdministration):
    """Calls on users, apps and credentials."""

    def users(self) -> list[Record]:
        """List the users with the number of their valid keys and of their grants."""
        with self.read() as (session, tenant):
            users = select(User).where(User.tenant_id == tenant.id).order_by(User.email)
            return [_user_record(session, user) for user in session.scalars(users)]

    def add_user(self, email: str, name: str | None = None) -> Record:
        """Create a user without keys and grants; the default name comes from the address."""
        email = checked_email(email).lower()
        handle = email.partition("@")[0]
        name = checked_name("a user", name or handle.replace(".", " ").title())
        with self.write() as (session, tenant):
            users = User.tenant_id == tenant.id
            if session.scalars(select(User.id).where(users, User.email == email)).first():
                raise taken(f"a user of {self.tenant}", email)
            handles = set(session.scalars(select(User.handle).where(users)))
            user = User(
                id=identifiers.new("ent"),
                tenant_id=tenant.id,
                handle=free_name(None, handle, handles) if handle in handles else handle,
                name=name,
                email=email,
                suspended=False,
            )
            session.add(user)
            session.flush()
            return _user_record(session, user)

    def set_suspended(self, email: str, suspended: bool) -> Record:
        """Suspend a user's access, or restore it."""
        with self.write() as (session, tenant):
            user = user_of(session, tenant, email)
            user.suspended = suspended
            return _user_record(session, user)

    def remove_user(self, email: str, *, yes: bool) -> Record:
        """Remove a user with its keys, grants and sign-in secret; its sequences stay."""
        with self.write() as (session, tenant):
            user = user_of(session, tenant, email)
            record = _user_record(session, user)
            check_yes(
                yes,
                f"This would remove the user {user.email} of {self.tenant} with "
                f"{wording.count(record['keys'], 'key')} and "
                f"{wording.count(record['grants'], 'grant')}; a key that the sandbox hands out "
                "would be no longer valid.",
            )
            session.delete(user)
        forget_user_secret(self.site.secrets, user.id)
        return _removal(self.tenant, record, "email", "keys", "grants")

    def sign_in_secret(self, email: str, *, renew: bool = False) -> Record:
        """Return a user's secret of the sandbox's identity provider; `renew` replaces it."""
        with self.read() as (session, tenant):
            check_enterprise(session, tenant)
            user = user_of(session, tenant, email)
        secret = (renew_user_secret if renew else user_secret)(self.site.secrets, user.id)
        return {"email": user.email, "tenant": self.tenant, "secret": secret}

    def apps(self) -> list[Record]:
        """List the apps with the number of their valid secrets and of their grants."""
        with self.read() as (session, tenant):
            apps = select(App).where(App.tenant_id == tenant.id).order_by(App.name)
            return [_app_record(session, app) for app in session.scalars(apps)]

    def app(self, name: str) -> Record:
        """Return an app by its name, identifier or client id."""
        with self.read() as (session, tenant):
            return _app_record(session, app_of(session, tenant, name))

    def add_app(self, name: str, client_id: str, secret: str) -> Record:
        """Create an app with a first secret, without grants: it sees nothing yet."""
        checked_name("an app", name)
        with self.write() as (session, tenant):
            same = select(App.id).where(App.tenant_id == tenant.id, App.name == name)
            if session.scalars(same).first():
                raise taken(f"an app of {self.tenant}", name)
            app = App(
                id=identifiers.new("app"),
                tenant_id=tenant.id,
                name=name,
                client_id=client_id,
                redirect_uris=[],
                permissions=list(PERMISSIONS),
                archived=False,
            )
            session.add(app)
            session.flush()
            session.add(Secret(app_id=app.id, name="secret1", hash=key_hash(secret), created=now()))
            session.flush()
            return _app_record(session, app)

    def set_archived(self, name: str, archived: bool) -> Record:
        """Suspend an app's access, or restore it."""
        with self.write() as (session, tenant):
            app = app_of(session, tenant, name)
            app.archived = archived
            return _app_record(session, app)

    def set_item(self, name: str, noun: str, value: str, present: bool) -> Record:
        """Add a permission or a redirect URI to an app, or remove it; `noun` is as in `ITEMS`."""
        column, check = ITEMS[noun]
        with self.write() as (session, tenant):
            app = app_of(session, tenant, name)
            items = getattr(app, column)
            if present:
                check(value)
            if present and value in items:
                raise ConflictError(
                    f"{app.name} has the {noun} {wording.shown(value)} already.",
                    "Nothing was changed.",
                )
            if not present and value not in items:
                raise absent(f"{noun} of {app.name}", value, items)
            others = [item for item in items if item != value]
            setattr(app, column, [*others, value] if present else others)
            return _app_record(session, app)

    def remove_app(self, name: str, *, yes: bool) -> Record:
        """Remove an app with its secrets, tokens and grants."""
        with self.write() as (session, tenant):
            app = app_of(session, tenant, name)
            record = _app_record(session, app)
            check_yes(
                yes,
                f"This would remove the app {app.name} of {self.tenant} with "
                f"{wording.count(record['secrets'], 'secret')}, its tokens and "
                f"{wording.count(record['grants'], 'grant')}; `apps archive` can be undone.",
            )
            session.delete(app)
        return _removal(self.tenant, record, "name", "secrets", "grants")

    def credentials(self, kind: str, owner: str | None = None) -> list[Record]:
        """List the names of keys or secrets of one owner, or of all; removed ones too."""
        of = CREDENTIAL_KINDS[kind]
        with self.read() as (session, tenant):
            rows = select(of.table, of.owners).join(of.owners, of.owners.id == _owner_id(of))
            rows = rows.where(of.owners.tenant_id == tenant.id)
            if owner is not None:
                rows = rows.where(of.owners.id == OWNERS[of.owner](session, tenant, owner).id)
            found = sorted(session.execute(rows), key=lambda row: (name_of(row[1]), row[0].id))
            return [
                {
                    of.owner: name_of(whose),
                    "name": credential.name,
                    "created": credential.created,
                    "deleted": credential.deleted,
                }
                for credential, whose in found
            ]

    def add_credential(self, kind: str, owner: str, value: str, name: str | None = None) -> Record:
        """Give a user one more key, or an app one more secret; the former ones stay valid.

        A name stays taken after the removal, so that the log is not ambiguous; the default name is
        the next free one.
        """
        of = CREDENTIAL_KINDS[kind]
        with self.write() as (session, tenant):
            whose = OWNERS[of.owner](session, tenant, owner)
            names = session.scalars(select(of.table.name).where(_owner_id(of) == whose.id))
            name = free_name(name, kind, names)
            row = {_owner_id(of).key: whose.id, "name": name, "hash": key_hash(value)}
            session.add(of.table(**row, created=now()))
            return {of.owner: name_of(whose), "name": name}

    def remove_credential(self, kind: str, owner: str, name: str, *, yes: bool) -> Record:
        """Remove a key or a secret: 401 from the next request on."""
        of = CREDENTIAL_KINDS[kind]
        with self.write() as (session, tenant):
            whose = OWNERS[of.owner](session, tenant, owner)
            rows = select(of.table).where(_owner_id(of) == whose.id, of.table.deleted.is_(None))
            valid = {credential.name: credential for credential in session.scalars(rows)}
            if name not in valid:
                raise absent(f"{kind} of {name_of(whose)} called", name, valid)
            check_yes(
                yes,
                f"This would remove the {kind} {wording.shown(name)} of {name_of(whose)}: "
                f"{of.consequence}; it may be the one that the sandbox hands out.",
            )
            valid[name].deleted = now()
            return {"removed": name, of.owner: name_of(whose)}


def _owner_id(kind: CredentialKind) -> Any:
    return getattr(kind.table, f"{kind.owner}_id")


def _check_permission(permission: str) -> None:
    if permission not in PERMISSIONS:
        raise absent("permission", permission, PERMISSIONS)


def _check_uri(uri: str) -> None:
    """Check for an address over HTTPS, or on this machine, without a fragment (RFC 6749, 3.1.2)."""
    try:
        parts = urlsplit(uri)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)
        usable = safe and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable or not uri.isprintable() or " " in uri or len(uri) > 2000:
        raise InputError(
            f"{wording.shown(uri)} can't be a redirect URI.",
            "Give one such as https://app.example/callback, or http://localhost:8000/callback.",
        )


ITEMS = {
    "permission": ("permissions", _check_permission),
    "redirect URI": ("redirect_uris", _check_uri),
}
"""The lists of an app: the noun of an element, its column, and its check."""


def _removal(tenant: str, record: Record, name: str, *counts: str) -> Record:
    return {"removed": record[name], "tenant": tenant} | {key: record[key] for key in counts}


def _user_record(session: Session, user: User) -> Record:
    columns = ("id", "email", "name", "handle", "suspended")
    return {column: getattr(user, column) for column in columns} | {
        "keys": counted(session, ApiKey, ApiKey.user_id == user.id, ApiKey.deleted.is_(None)),
        "grants": counted(session, Grant, Grant.user_id == user.id),
    }


def _app_record(session: Session, app: App) -> Record:
    columns = ("id", "name", "client_id", "archived", "permissions", "redirect_uris")
    return {column: getattr(app, column) for column in columns} | {
        "secrets": counted(session, Secret, Secret.app_id == app.id, Secret.deleted.is_(None)),
        "grants": counted(session, Grant, Grant.app_id == app.id),
    }
