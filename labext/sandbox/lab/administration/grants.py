"""What users and apps may see: access to organizations, teams, projects and folders.

That a user belongs to an organization or a team is such a grant.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from labext.errors import InputError, NotFoundError
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import (
    KINDS,
    Place,
    app_of,
    place_of,
    tenant_of,
    user_of,
)
from labext.sandbox.lab.store import App, Grant, Tenant, User
from labext.sandbox.naming import taken


def grants(
    admin: Administration, tenant: str, *, user: str | None = None, app: str | None = None
) -> list[Record]:
    """The grants of a user, of an app, or of all.

    Raises:
        NotFoundError: there is no such tenant, user or app.
    """
    with admin.database.read() as session:
        found = tenant_of(session, tenant)
        mine = [
            *session.scalars(select(User).where(User.tenant_id == found.id).order_by(User.email)),
            *session.scalars(select(App).where(App.tenant_id == found.id).order_by(App.name)),
        ]
        if user is not None or app is not None:
            mine = [_who(session, found, user, app)]
        return [
            record
            for who in mine
            for grant in session.scalars(select(Grant).where(_of(who)).order_by(Grant.id))
            for record in _records(session, who, grant)
        ]


def add_grant(
    admin: Administration,
    tenant: str,
    noun: str,
    name: str,
    *,
    user: str | None = None,
    app: str | None = None,
) -> Record:
    """Let a user or an app see a place and all that is in it.

    Args:
        admin: whose.
        tenant: the tenant's name.
        noun: `organization`, `team`, `project` or `folder`.
        name: the place's name or identifier.
        user: the e-mail address of who is granted it; or
        app: the name of the app that is.

    Raises:
        NotFoundError: there is no such tenant, place, user or app.
        ConflictError: it may already, or several places have the name.
    """
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        who, place = _who(session, found, user, app), place_of(session, found, noun, name)
        column = KINDS[noun].granted
        if session.scalars(select(Grant.id).where(_of(who), column == place.id)).first():
            raise taken(f"a grant to {_name(who)} of the {noun}", place.name)
        whose = {"user_id": who.id} if isinstance(who, User) else {"app_id": who.id}
        session.add(Grant(**whose, **{column.key: place.id}))
        return _record(who, noun, place)


def remove_grant(
    admin: Administration,
    tenant: str,
    noun: str,
    name: str,
    *,
    user: str | None = None,
    app: str | None = None,
) -> Record:
    """Let a user or an app see a place no more, unless another grant does.

    Arguments and errors are those of `add_grant`.
    """
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        who, place = _who(session, found, user, app), place_of(session, found, noun, name)
        theirs = select(Grant).where(_of(who), KINDS[noun].granted == place.id)
        rows = session.scalars(theirs).all()
        if not rows:
            raise NotFoundError(
                f"{_name(who)} has no grant of the {noun} {place.name}.", "See `grants list`."
            )
        for row in rows:
            session.delete(row)
        return {"removed": True} | _record(who, noun, place)


def _who(session: Session, tenant: Tenant, user: str | None, app: str | None) -> User | App:
    if (user is None) == (app is None):
        raise InputError(
            "A grant is a user's or an app's.", "Give either `--user EMAIL` or `--app NAME`."
        )
    return app_of(session, tenant, app) if app is not None else user_of(session, tenant, user or "")


def _of(who: User | App) -> ColumnElement[bool]:
    return Grant.user_id == who.id if isinstance(who, User) else Grant.app_id == who.id


def _name(who: User | App) -> str:
    return who.email if isinstance(who, User) else who.name


def _records(session: Session, who: User | App, grant: Grant) -> list[Record]:
    """A grant as a record: the one place that it names."""
    named = {kind: getattr(grant, kind.granted.key) for kind in KINDS.values()}
    return [
        _record(who, kind.noun, session.get_one(kind.table, id))
        for kind, id in named.items()
        if id is not None
    ]


def _record(who: User | App, noun: str, place: Place) -> Record:
    user = isinstance(who, User)
    return {
        "user": _name(who) if user else None,
        "app": None if user else _name(who),
        "kind": noun,
        "name": place.name,
        "id": place.id,
    }
