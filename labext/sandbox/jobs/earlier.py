"""What the tables of an earlier version said elsewhere: moved once, when the new ones are made.

Until accounts could have several keys, each had one in its own row; until usage was counted, it
was in the jobs that are there.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, column, event, func, insert, literal, select, table

from labext.sandbox.jobs.store import BATCH, PIPELINE, Account, Base, Job, Key, Usage, now
from labext.sandbox.upgrading import columns_in

TABLES = Base.metadata
"""The service's tables; creating them moves what has to be moved."""


@event.listens_for(Key.__table__, "after_create")
def _keys(_keys: Table, connection: Connection, **_: Any) -> None:
    """An account's one key becomes the first of its keys."""
    if "key_hash" not in _columns(connection, Account.__tablename__):
        return
    old = table(Account.__tablename__, column("id"), column("key_hash"))
    first = select(old.c.id, literal("first"), old.c.key_hash, literal(now()))
    names = ["account_id", "name", "hash", "created"]
    connection.execute(insert(Key).from_select(names, first))


@event.listens_for(Usage.__table__, "after_create")
def _usage(_usage: Table, connection: Connection, **_: Any) -> None:
    """What the jobs that are there have used."""
    if not _columns(connection, Job.__tablename__):
        return
    used = (
        select(
            Job.account_id, Job.tool, func.count(), func.coalesce(func.sum(Job.weighted_hours), 0.0)
        )
        .where(Job.type.not_in((BATCH, PIPELINE)))
        .group_by(Job.account_id, Job.tool)
    )
    names = ["account_id", "tool", "jobs", "weighted_hours"]
    connection.execute(insert(Usage).from_select(names, used))


def _columns(connection: Connection, name: str) -> dict[str, bool]:
    return columns_in(connection).get(name, {}) if connection.dialect.name == "sqlite" else {}
