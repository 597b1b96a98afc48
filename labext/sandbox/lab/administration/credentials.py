"""What users and apps sign in with: keys and secrets, shown once, replaced with an overlap.

As many may be good at a time as a change takes: a new one is made, the program changed, the old
one deleted (contract, Authentication 1.5 and 2.6). What is deleted stays in the tables without
being good for anything, so that the log can tell whose it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext import wording
from labext.sandbox.keys import key_hash
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import Owner, app_of, name_of, tenant_of, user_of
from labext.sandbox.lab.store import ApiKey, App, Secret, Tenant, User, now
from labext.sandbox.naming import absent, check_yes, free_name


@dataclass(frozen=True)
class Kind:
    """A kind of credentials.

    Attributes:
        noun: what one is called.
        table: has them.
        owner_id: whose it is.
        whose: has the owners.
        called: what an owner is called by.
        owner: what one is in a record.
        of: finds an owner.
        ends: what else ends with one.
    """

    noun: str
    table: Any
    owner_id: InstrumentedAttribute[str]
    whose: Any
    called: InstrumentedAttribute[str]
    owner: str
    of: Callable[[Session, Tenant, str], Owner]
    ends: str


KEYS = Kind(
    "key",
    ApiKey,
    ApiKey.user_id,
    User,
    User.email,
    "user",
    user_of,
    "whoever uses it is refused",
)
SECRETS = Kind(
    "secret",
    Secret,
    Secret.app_id,
    App,
    App.name,
    "app",
    app_of,
    "tokens that were got with it end at once, and no more are given",
)


def listed(
    admin: Administration, kind: Kind, tenant: str, owner: str | None = None
) -> list[Record]:
    """Credentials of one owner, or of all: whose, called how, made and deleted when.

    Raises:
        NotFoundError: there is no such tenant or owner.
    """
    with admin.database.read() as session:
        found = tenant_of(session, tenant)
        rows = select(kind.table, kind.whose).join(kind.whose, kind.whose.id == kind.owner_id)
        mine = rows.where(kind.whose.tenant_id == found.id)
        if owner is not None:
            mine = mine.where(kind.whose.id == kind.of(session, found, owner).id)
        return [
            {
                kind.owner: name_of(whose),
                "name": each.name,
                "created": each.created,
                "deleted": each.deleted,
            }
            for each, whose in session.execute(mine.order_by(kind.called, kind.table.id))
        ]


def add(
    admin: Administration, kind: Kind, tenant: str, owner: str, value: str, name: str | None = None
) -> Record:
    """Give a user or an app one more; without a name it gets the next free one.

    Raises:
        NotFoundError: there is no such tenant or owner.
        ConflictError: it has one of that name, or had.
        InputError: it can't be called so.
    """
    with admin.database.write() as session:
        whose = kind.of(session, tenant_of(session, tenant), owner)
        there = session.scalars(select(kind.table.name).where(kind.owner_id == whose.id))
        called = free_name(name, kind.noun, there)
        new = {kind.owner_id.key: whose.id, "name": called, "hash": key_hash(value)}
        session.add(kind.table(**new, created=now()))
        return {kind.owner: name_of(whose), "name": called}


def remove(
    admin: Administration, kind: Kind, tenant: str, owner: str, name: str, *, yes: bool
) -> Record:
    """End a key or a secret: 401 from the next request on.

    Raises:
        NotFoundError: there is no such tenant or owner, or it has no such credentials.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        whose = kind.of(session, tenant_of(session, tenant), owner)
        good = select(kind.table).where(kind.owner_id == whose.id, kind.table.deleted.is_(None))
        there = {each.name: each for each in session.scalars(good)}
        if name not in there:
            raise absent(f"{kind.noun} of {name_of(whose)} called", name, there)
        check_yes(
            yes,
            f"This would end the {kind.noun} {wording.shown(name)} of {name_of(whose)} for good: "
            f"{kind.ends}; it may be the one that the sandbox hands out.",
        )
        there[name].deleted = now()
        return {"removed": name, kind.owner: name_of(whose)}
