"""What users and apps may see: access to organizations, teams, projects and folders.

That a user belongs to an organization or a team is such a grant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from labext.errors import InputError, NotFoundError
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import (
    KINDS,
    Owner,
    Place,
    app_of,
    name_of,
    place_of,
    tenant_of,
    user_of,
)
from labext.sandbox.lab.store import App, Grant, Tenant, User
from labext.sandbox.naming import taken


class Holder(NamedTuple):
    """Who is granted something: a user by its e-mail address, or an app by its name."""

    user: str | None = None
    app: str | None = None


ANYBODY = Holder()


def grants(admin: Administration, tenant: str, holder: Holder = ANYBODY) -> list[Record]:
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
        if holder != ANYBODY:
            mine = [_who(session, found, holder)]
        return [
            record
            for who in mine
            for grant in session.scalars(select(Grant).where(_of(who)).order_by(Grant.id))
            for record in _records(session, who, grant)
        ]


def add_grant(admin: Administration, tenant: str, holder: Holder, noun: str, name: str) -> Record:
    """Let a user or an app see a place and all that is in it.

    Args:
        admin: whose.
        tenant: the tenant's name.
        holder: who is granted it.
        noun: `organization`, `team`, `project` or `folder`.
        name: the place's name or identifier.

    Raises:
        NotFoundError: there is no such tenant, place, user or app.
        ConflictError: it may already, or several places have the name.
        InputError: not exactly one of user and app is named.
    """
    with admin.database.write() as session:
        who, place, there = _found(session, tenant, holder, noun, name)
        if there:
            raise taken(f"a grant to {name_of(who)} of the {noun}", place.name)
        whose = {"user_id": who.id} if isinstance(who, User) else {"app_id": who.id}
        session.add(Grant(**whose, **{KINDS[noun].granted.key: place.id}))
        return _record(who, noun, place)


def remove_grant(
    admin: Administration, tenant: str, holder: Holder, noun: str, name: str
) -> Record:
    """Let a user or an app see a place no more, unless another grant does.

    Arguments and errors are those of `add_grant`.
    """
    with admin.database.write() as session:
        who, place, there = _found(session, tenant, holder, noun, name)
        if not there:
            raise NotFoundError(
                f"{name_of(who)} has no grant of the {noun} {place.name}.", "See `grants list`."
            )
        for grant in there:
            session.delete(grant)
        return {"removed": True} | _record(who, noun, place)


def _found(
    session: Session, tenant: str, holder: Holder, noun: str, name: str
) -> tuple[Owner, Place, Sequence[Grant]]:
    """Who, what, and the grants that there are of it."""
    found = tenant_of(session, tenant)
    who, place = _who(session, found, holder), place_of(session, found, noun, name)
    theirs = select(Grant).where(_of(who), KINDS[noun].granted == place.id)
    return who, place, session.scalars(theirs).all()


def _who(session: Session, tenant: Tenant, holder: Holder) -> Owner:
    user, app = holder
    if (user is None) == (app is None):
        raise InputError(
            "A grant is a user's or an app's.", "Give either `--user EMAIL` or `--app NAME`."
        )
    return app_of(session, tenant, app) if app is not None else user_of(session, tenant, user or "")


def _of(who: Owner) -> ColumnElement[bool]:
    return Grant.user_id == who.id if isinstance(who, User) else Grant.app_id == who.id


def _records(session: Session, who: Owner, grant: Grant) -> list[Record]:
    """A grant as a record: the one place that it names."""
    named = {kind: getattr(grant, kind.granted.key) for kind in KINDS.values()}
    return [
        _record(who, kind.noun, session.get_one(kind.table, id))
        for kind, id in named.items()
        if id is not None
    ]


def _record(who: Owner, noun: str, place: Place) -> Record:
    user = isinstance(who, User)
    return {
        "user": name_of(who) if user else None,
        "app": None if user else name_of(who),
        "kind": noun,
        "name": place.name,
        "id": place.id,
    }
