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
    return None


def stamp(connection: Connection) -> None:
    """Record that the tables are those of the newest revision."""
    _STAMPS.create(connection, checkfirst=True)
    if connection.scalar(select(_STAMPS.c.version_num)) != newest_revision():
        connection.execute(delete(_STAMPS))
        connection.execute(insert(_STAMPS).values(version_num=newest_revision()))


def upgrade(connection: Connection) -> None:
    """Create the tables, or upgrade them to the newest revision, in a connection's transaction."""
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


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
