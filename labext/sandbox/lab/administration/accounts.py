"""Manage the users and apps of a tenant and their credentials."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import messages
from labext.errors import ConflictError, InputError
from labext.sandbox.core.account_files import check_new, read_people, write_new_keys
from labext.sandbox.core.administration import Record
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.validation import (
    already_exists_error,
    next_free_name,
    not_found_error,
    require_confirmation,
    validate_email,
    validate_name,
)
from labext.sandbox.lab import tables
from labext.sandbox.lab.administration.tenants import (
    OWNERS,
    PLACE_KINDS,
    TenantAdministration,
    check_enterprise,
    find_app,
    find_place,
    find_user,
    owner_name,
)
from labext.sandbox.lab.oidc.service import (
    delete_user_secret,
    ensure_user_secret,
    replace_user_secret,
)
from labext.sandbox.lab.seed import NOTEBOOK_APP, student_email
from labext.sandbox.lab.tables import (
    READ_SEQUENCES,
    ApiKey,
    App,
    Grant,
    Secret,
    Tenant,
    User,
    current_timestamp,
    new_credential,
)

PERMISSIONS = (READ_SEQUENCES,)
"""Permissions that an app can have."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class CredentialKind:
    """A kind of credentials.

    Attributes:
        table: the table of the credentials, with a column `user_id` or `app_id`.
    """

    owner: str
    table: Any
    owners: Any
    consequence: str


CREDENTIAL_KINDS = {
    "key": CredentialKind("user", ApiKey, User, "requests that use it are refused"),
    "secret": CredentialKind(
        "app",
        Secret,
        App,
        "tokens that were issued for it are no longer valid, and no more are issued",
    ),
}


class AccountAdministration(TenantAdministration):
    """Manage users, apps and credentials."""

    def users(self) -> list[Record]:
        """List the users with their numbers of valid keys and grants."""
        with self.read() as (session, tenant):
            users = select(User).where(User.tenant_id == tenant.id).order_by(User.email)
            return [_user_record(session, user) for user in session.scalars(users)]

    def add_user(self, email: str, name: str | None = None) -> Record:
        """Create a user without keys and grants; the default name is derived from the address."""
        with self.write() as (session, tenant):
            return _user_record(session, _add_user(session, tenant, email, name))

    def import_users(
        self, file: Path, place: tuple[str, str] | None = None, key_file: Path | None = None
    ) -> list[Record]:
        """Create the users of a CSV file with the column `email` and optionally `name`, or none.

        They may see the `place`, given by kind and name; `key_file`, a new CSV file, gets a key for
        each.
        """
        people = read_people(file)
        with self.write() as (session, tenant):
            existing = set(session.scalars(select(User.email).where(User.tenant_id == tenant.id)))
            check_new(file, [email for email, _ in people], existing)
            users = [_add_user(session, tenant, *person) for person in people]
            if place is not None:
                place_id = find_place(session, tenant, *place).id
                column = PLACE_KINDS[place[0]].granted.key
                session.add_all(Grant(user_id=user.id, **{column: place_id}) for user in users)
            if key_file is not None:
                keys = write_new_keys(key_file, (user.email for user in users), "sk_")
                session.add_all(
                    new_credential(ApiKey, user, "key1", key)
                    for user, key in zip(users, keys, strict=True)
                )
            session.flush()
            return [_user_record(session, user) for user in users]

    def set_suspended(self, email: str, suspended: bool) -> Record:
        """Suspend a user, or end the suspension."""
        with self.write() as (session, tenant):
            user = find_user(session, tenant, email)
            user.suspended = suspended
            return _user_record(session, user)

    def remove_user(self, email: str, *, yes: bool) -> Record:
        """Remove a user with its keys, grants and sign-in secret, but not its sequences."""
        with self.write() as (session, tenant):
            user = find_user(session, tenant, email)
            record = _user_record(session, user)
            require_confirmation(
                yes,
                f"This would remove the user {user.email} of {self.tenant} with "
                f"{messages.pluralize(record['keys'], 'key')} and "
                f"{messages.pluralize(record['grants'], 'grant')}.{_connection_note(user.email)}",
            )
            session.delete(user)
        delete_user_secret(self.site.secrets, user.id)
        return _removal_effect(self.tenant, record, "email", "keys", "grants")

    def sign_in_secret(self, email: str, *, renew: bool = False) -> Record:
        """Return a user's secret for the sandbox's identity provider; `renew` replaces it first."""
        with self.read() as (session, tenant):
            check_enterprise(session, tenant)
            user = find_user(session, tenant, email)
        secret = (replace_user_secret if renew else ensure_user_secret)(self.site.secrets, user.id)
        return {"email": user.email, "tenant": self.tenant, "secret": secret}

    def apps(self) -> list[Record]:
        """List the apps with their numbers of valid secrets and grants."""
        with self.read() as (session, tenant):
            apps = select(App).where(App.tenant_id == tenant.id).order_by(App.name)
            return [_app_record(session, app) for app in session.scalars(apps)]

    def app(self, name: str) -> Record:
        """Return an app by its name, identifier or client id."""
        with self.read() as (session, tenant):
            return _app_record(session, find_app(session, tenant, name))

    def add_app(self, name: str, client_id: str, secret: str) -> Record:
        """Create an app with one secret and without grants."""
        validate_name("an app", name)
        with self.write() as (session, tenant):
            same = select(App.id).where(App.tenant_id == tenant.id, App.name == name)
            if session.scalars(same).first():
                raise already_exists_error(f"an app of {self.tenant}", name)
            app = App(
                id=tables.new_identifier("app"),
                tenant_id=tenant.id,
                name=name,
                client_id=client_id,
                redirect_uris=[],
                permissions=list(PERMISSIONS),
                archived=False,
            )
            session.add(app)
            session.flush()
            session.add(new_credential(Secret, app, "secret1", secret))
            session.flush()
            return _app_record(session, app)

    def set_archived(self, name: str, archived: bool) -> Record:
        """Archive an app, or unarchive it."""
        with self.write() as (session, tenant):
            app = find_app(session, tenant, name)
            app.archived = archived
            return _app_record(session, app)

    def set_item(self, name: str, noun: str, value: str, present: bool) -> Record:
        """Add a permission or redirect URI to an app, or remove it; `noun` is a key of `ITEMS`."""
        column, check = ITEMS[noun]
        with self.write() as (session, tenant):
            app = find_app(session, tenant, name)
            items = getattr(app, column)
            if present:
                check(value)
            if present and value in items:
                raise ConflictError(
                    f"{app.name} has the {noun} {messages.quote_value(value)} already.",
                    "Nothing was changed.",
                )
            if not present and value not in items:
                raise not_found_error(f"{noun} of {app.name}", value, items)
            others = [item for item in items if item != value]
            setattr(app, column, [*others, value] if present else others)
            return _app_record(session, app)

    def remove_app(self, name: str, *, yes: bool) -> Record:
        """Remove an app with its secrets, tokens and grants."""
        with self.write() as (session, tenant):
            app = find_app(session, tenant, name)
            record = _app_record(session, app)
            require_confirmation(
                yes,
                f"This would remove the app {app.name} of {self.tenant} with "
                f"{messages.pluralize(record['secrets'], 'secret')}, its tokens and "
                f"{messages.pluralize(record['grants'], 'grant')}; `apps archive` can be undone.",
            )
            session.delete(app)
        return _removal_effect(self.tenant, record, "name", "secrets", "grants")

    def credentials(self, kind: str, owner: str | None = None) -> list[Record]:
        """List the keys or secrets of one owner or of all owners, including removed ones."""
        credential_kind = CREDENTIAL_KINDS[kind]
        with self.read() as (session, tenant):
            owners = credential_kind.owners
            rows = select(credential_kind.table, owners).where(owners.tenant_id == tenant.id)
            rows = rows.join(owners, owners.id == _owner_id(credential_kind))
            if owner is not None:
                owner_row = OWNERS[credential_kind.owner](session, tenant, owner)
                rows = rows.where(owners.id == owner_row.id)
            credentials = sorted(
                session.execute(rows), key=lambda row: (owner_name(row[1]), row[0].id)
            )
            return [
                {
                    credential_kind.owner: owner_name(owner_row),
                    "name": credential.name,
                    "created": credential.created,
                    "deleted": credential.deleted,
                }
                for credential, owner_row in credentials
            ]

    def add_credential(self, kind: str, owner: str, value: str, name: str | None = None) -> Record:
        """Add a key to a user or a secret to an app; existing ones stay valid.

        Names of removed credentials are not reused, so that the log is unambiguous. The default is
        the next free numbered name.
        """
        credential_kind = CREDENTIAL_KINDS[kind]
        with self.write() as (session, tenant):
            owner_row = OWNERS[credential_kind.owner](session, tenant, owner)
            names = session.scalars(
                select(credential_kind.table.name).where(_owner_id(credential_kind) == owner_row.id)
            )
            name = next_free_name(name, kind, names)
            session.add(new_credential(credential_kind.table, owner_row, name, value))
            return {credential_kind.owner: owner_name(owner_row), "name": name}

    def remove_credential(self, kind: str, owner: str, name: str, *, yes: bool) -> Record:
        """Remove a key or secret; requests that use it are refused at once."""
        credential_kind = CREDENTIAL_KINDS[kind]
        with self.write() as (session, tenant):
            owner_row = OWNERS[credential_kind.owner](session, tenant, owner)
            rows = select(credential_kind.table).where(
                _owner_id(credential_kind) == owner_row.id, credential_kind.table.deleted.is_(None)
            )
            valid = {credential.name: credential for credential in session.scalars(rows)}
            if name not in valid:
                raise not_found_error(f"{kind} of {owner_name(owner_row)} called", name, valid)
            owner = owner_name(owner_row)
            require_confirmation(
                yes,
                f"This would remove the {kind} {messages.quote_value(name)} of {owner}: "
                f"{credential_kind.consequence}.{_connection_note(owner)}",
            )
            valid[name].deleted = current_timestamp()
            return {"removed": name, credential_kind.owner: owner}


def _connection_note(owner: str) -> str:
    """Return a sentence for the sample user and app of a sandbox; empty for others."""
    if owner not in (student_email(), NOTEBOOK_APP):
        return ""
    return f" The sandbox's connection.json has credentials of {owner}."


def _add_user(session: Session, tenant: Tenant, email: str, name: str | None) -> User:
    email = validate_email(email)
    handle = email.partition("@")[0]
    name = validate_name("a user", name or handle.replace(".", " ").title())
    users = User.tenant_id == tenant.id
    if session.scalars(select(User.id).where(users, User.email == email)).first():
        raise already_exists_error(f"a user of {tenant.name}", email, "address")
    handles = set(session.scalars(select(User.handle).where(users)))
    user = User(
        id=tables.new_identifier("ent"),
        tenant_id=tenant.id,
        handle=next_free_name(None, handle, handles) if handle in handles else handle,
        name=name,
        email=email,
        suspended=False,
    )
    session.add(user)
    session.flush()
    return user


def _owner_id(kind: CredentialKind) -> Any:
    return getattr(kind.table, f"{kind.owner}_id")


def _check_permission(permission: str) -> None:
    if permission not in PERMISSIONS:
        raise not_found_error("permission", permission, PERMISSIONS)


def _check_uri(uri: str) -> None:
    """Check that a URI uses HTTPS or is local, and has no fragment (RFC 6749, 3.1.2)."""
    try:
        parts = urlsplit(uri)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS)
        usable = safe and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable or not uri.isprintable() or " " in uri or len(uri) > 2000:
        raise InputError(
            f"{messages.quote_value(uri)} is not a valid redirect URI.",
            "Give one such as https://app.example/callback, or http://localhost:8000/callback.",
        )


ITEMS = {
    "permission": ("permissions", _check_permission),
    "redirect URI": ("redirect_uris", _check_uri),
}
"""List-valued properties of an app: column and check, by the noun of an element."""


def _removal_effect(tenant: str, record: Record, name: str, *counts: str) -> Record:
    return {"removed": record[name], "tenant": tenant} | {key: record[key] for key in counts}


def _user_record(session: Session, user: User) -> Record:
    columns = ("id", "email", "name", "handle", "suspended")
    return {column: getattr(user, column) for column in columns} | {
        "keys": count_rows(session, ApiKey, ApiKey.user_id == user.id, ApiKey.deleted.is_(None)),
        "grants": count_rows(session, Grant, Grant.user_id == user.id),
    }


def _app_record(session: Session, app: App) -> Record:
    columns = ("id", "name", "client_id", "archived", "permissions", "redirect_uris")
    return {column: getattr(app, column) for column in columns} | {
        "secrets": count_rows(session, Secret, Secret.app_id == app.id, Secret.deleted.is_(None)),
        "grants": count_rows(session, Grant, Grant.app_id == app.id),
    }
