"""Apps, the platform's service accounts (contract, Resources): its developer console."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import ConflictError, InputError
from labext.sandbox.database import counted
from labext.sandbox.keys import key_hash
from labext.sandbox.lab import identifiers
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import app_of, tenant_of
from labext.sandbox.lab.store import READ_SEQUENCES, App, Grant, Secret, now
from labext.sandbox.naming import absent, check_yes, checked_name, taken

PERMISSIONS = (READ_SEQUENCES,)
"""What an app may be permitted."""

LOCAL = ("localhost", "127.0.0.1", "::1")


def apps(admin: Administration, tenant: str) -> list[Record]:
    """Every app of a tenant, with the number of secrets that are good, and of grants."""
    with admin.database.read() as session:
        found = tenant_of(session, tenant)
        mine = select(App).where(App.tenant_id == found.id).order_by(App.name)
        return [_record(session, app) for app in session.scalars(mine)]


def app(admin: Administration, tenant: str, name: str) -> Record:
    """One app by its name, identifier or client id; NotFoundError without one."""
    with admin.database.read() as session:
        return _record(session, app_of(session, tenant_of(session, tenant), name))


def add_app(
    admin: Administration,
    tenant: str,
    name: str,
    client_id: str,
    secret: str,
    permissions: Sequence[str] = PERMISSIONS,
) -> Record:
    """Make an app with a first secret, without grants: it sees nothing yet.

    Raises:
        InputError: it can't be called so.
        NotFoundError: there is no such tenant or permission.
        ConflictError: there is such an app.
    """
    checked_name("an app", name)
    for permission in permissions:
        _check_permission(permission)
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        mine = select(App.id).where(App.tenant_id == found.id, App.name == name)
        if session.scalars(mine).first():
            raise taken(f"an app of {tenant}", name)
        app = App(
            id=identifiers.new("app"),
            tenant_id=found.id,
            name=name,
            client_id=client_id,
            redirect_uris=[],
            permissions=sorted(set(permissions)),
            archived=False,
        )
        session.add(app)
        session.flush()
        session.add(Secret(app_id=app.id, name="secret1", hash=key_hash(secret), created=now()))
        session.flush()
        return _record(session, app)


def set_archived(admin: Administration, tenant: str, name: str, archived: bool) -> Record:
    """Take an app's access, or give it back (contract, States); NotFoundError without one."""
    with admin.database.write() as session:
        app = app_of(session, tenant_of(session, tenant), name)
        app.archived = archived
        return _record(session, app)


def set_item(
    admin: Administration, tenant: str, name: str, noun: str, value: str, has: bool
) -> Record:
    """Give an app a permission or a redirect URI, or take it away.

    Args:
        admin: whose.
        tenant: the tenant's name.
        name: the app's name, identifier or client id.
        noun: as in `ITEMS`.
        value: the permission, or the address.
        has: whether it has it from now on.

    Raises:
        NotFoundError: there is no such app or permission, or it has not what is taken.
        ConflictError: it has it already.
        InputError: it is no address that may be.
    """
    column, check = ITEMS[noun]
    with admin.database.write() as session:
        app = app_of(session, tenant_of(session, tenant), name)
        there = getattr(app, column)
        if has:
            check(value)
        if has and value in there:
            raise ConflictError(
                f"{app.name} has the {noun} {wording.shown(value)} already.", "Nothing was changed."
            )
        if not has and value not in there:
            raise absent(f"{noun} of {app.name}", value, there)
        others = [each for each in there if each != value]
        setattr(app, column, [*others, value] if has else others)
        return _record(session, app)


def remove_app(admin: Administration, tenant: str, name: str, *, yes: bool) -> Record:
    """Remove an app with its secrets, tokens and grants.

    Raises:
        NotFoundError: there is none.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        app = app_of(session, tenant_of(session, tenant), name)
        lost = _record(session, app)
        check_yes(
            yes,
            f"This would remove the app {app.name} of {tenant} with "
            f"{wording.count(lost['secrets'], 'secret')}, its tokens and "
            f"{wording.count(lost['grants'], 'grant')}; `apps archive` can be undone.",
        )
        session.delete(app)
    return {"removed": lost["name"], "tenant": tenant} | {n: lost[n] for n in ("secrets", "grants")}


def _check_permission(permission: str) -> None:
    if permission not in PERMISSIONS:
        raise absent("permission", permission, PERMISSIONS)


def _check_uri(uri: str) -> None:
    """An address over HTTPS, or on this machine, without a fragment (RFC 6749, 3.1.2)."""
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
"""What an app has several of: what one is called, its column, and what checks one."""


def _record(session: Session, app: App) -> Record:
    good = Secret.deleted.is_(None)
    return {
        "id": app.id,
        "name": app.name,
        "client_id": app.client_id,
        "archived": app.archived,
        "permissions": app.permissions,
        "redirect_uris": app.redirect_uris,
        "secrets": counted(session, Secret, Secret.app_id == app.id, good),
        "grants": counted(session, Grant, Grant.app_id == app.id),
    }
