"""Revisions of the tables, and the upgrade of a database to the newest one by Alembic.

Each file in `versions` is a revision. A new database gets the current tables and the number of the
newest revision; Alembic is imported only to upgrade an older one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, delete, insert, inspect, select
from sqlalchemy.engine import Connection

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).parent

_STAMPS = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))

_LAST_UNNUMBERED = 7
"""`PRAGMA user_version` of the SQLite databases whose tables are those of the first revision."""


def revisions() -> list[str]:
    """Return the numbers of all revisions, the oldest first."""
    return sorted(path.name.partition("_")[0] for path in FOLDER.glob("versions/[0-9]*.py"))


def newest_revision() -> str:
    """Return the revision that this version of labext needs."""
    return revisions()[-1]


def stored_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None for one without tables."""
    if inspect(connection).has_table(_STAMPS.name):
        return connection.scalar(select(_STAMPS.c.version_num))
    if connection.dialect.name != "sqlite":
        return None
    number: int = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if number == _LAST_UNNUMBERED:
        return revisions()[0]
    return f"0.{number}" if number else None


def stamp(connection: Connection) -> None:
    """Record that the tables are those of the newest revision."""
    _STAMPS.create(connection, checkfirst=True)
    if connection.scalar(select(_STAMPS.c.version_num)) != newest_revision():
        connection.execute(delete(_STAMPS))
        connection.execute(insert(_STAMPS).values(version_num=newest_revision()))


def create_tables(connection: Connection) -> None:
    """Create the tables of the newest revision, in the transaction of a connection."""
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def upgrade(connection: Connection) -> None:
    """Upgrade the tables to the newest revision, in the transaction of a connection."""
    from alembic import command

    config = alembic_config(connection)
    if not inspect(connection).has_table(_STAMPS.name):
        command.stamp(config, revisions()[0])
    command.upgrade(config, "head")


def alembic_config(connection: Connection, *metadata: MetaData) -> Config:
    """Return the configuration of Alembic's commands.

    Args:
        connection: the database.
        metadata: the tables with which `check` and `revision` compare it.
    """
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, metadata=list(metadata))
    return config
