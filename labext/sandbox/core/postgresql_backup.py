"""Dump and restore the tables in a PostgreSQL database with its own client programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from labext.errors import SetupError, StorageError
from labext.redaction import mask
from labext.sandbox.core import postgresql
from labext.sandbox.core.database import Database

DUMP_FILE = "database.dump"
"""The tables of a PostgreSQL database in a backup, in the custom format of pg_dump."""

_NOT_DUMPED = {"rate_windows"}
"""Tables whose rows are useless after a restart, which creates the tables again."""


_CONNECTION_LOST = 2
"""Exit code of psql."""


def dump_tables(database: Database, target: Path, snapshot: str | None = None) -> None:
    """Dump the tables of the services and of the queue to a file.

    Args:
        database: the database.
        target: the file to create.
        snapshot: the state to dump, as exported by another transaction; None for the current one.

    Raises:
        SetupError: pg_dump is not installed.
        StorageError: it fails, such as that of an older version than the server.
    """
    names = [name for name in database.table_names() if name not in _NOT_DUMPED]
    options = ["--format", "custom", "--compress", "0", "--no-owner", "--no-privileges"]
    if snapshot is not None:
        options += ["--snapshot", snapshot]
    for name in names:
        options += ["--table", name]
    _run("pg_dump", [*options, "--file", str(target)], database.url)


def restore_tables(database: Database, dump: Path, folder: Path) -> None:
    """Replace the tables by those of a dump, in one transaction.

    Args:
        database: the database; the tables of other applications are kept.
        dump: a file of `dump_tables`.
        folder: for temporary files, which are as large as the dump.

    Raises:
        SetupError: pg_restore or psql is not installed.
        StorageError: one fails; nothing has changed.
        UnreachableDatabaseError: the connection was lost, perhaps after the commit.
    """
    drop, script = folder / "drop.sql", folder / "restore.sql"
    drop.write_text("".join(f'DROP TABLE "{name}" CASCADE;\n' for name in database.table_names()))
    _run("pg_restore", ["--no-owner", "--no-privileges", "--file", str(script), str(dump)])
    options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1"]
    _run("psql", [*options, "--file", str(drop), "--file", str(script)], database.url)


def _run(program: str, arguments: Sequence[str], url: str | None = None) -> None:
    if shutil.which(program) is None:
        raise SetupError(
            f"The program {program}, which backs up and restores PostgreSQL databases, is not "
            "installed.",
            "Install the client programs of PostgreSQL (Debian: `apt-get install "
            "postgresql-client`).",
        )
    environment = dict(os.environ)
    database = []
    with contextlib.ExitStack() as stack:
        if url is not None:  # arguments of processes are visible to all users
            address = postgresql.parse_url(url)
            if address.password is not None:
                environment["PGPASSWORD"] = str(address.password)
            if passwords := address.normalized_query.get("sslpassword"):  # that of a client's key
                file = stack.enter_context(NamedTemporaryFile("w", prefix="labext-"))
                file.write(f"[labext]\nsslpassword={passwords[-1]}\n")
                file.flush()
                environment |= {"PGSERVICEFILE": file.name, "PGSERVICE": "labext"}
            address = address.difference_update_query(["sslpassword"])
            address = address._replace(drivername="postgresql", password=None)
            database = ["--dbname", address.render_as_string()]
        done = subprocess.run(
            [program, *arguments, *database],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
        reason = mask(lines[0] if lines else f"it ended with code {done.returncode}")
        is_lost = program == "psql" and done.returncode == _CONNECTION_LOST
        raise (postgresql.UnreachableDatabaseError if is_lost else StorageError)(
            f"{program} fails: {reason.removeprefix(f'{program}: ')}",
            f"Check the connection, and that {program} is at least of the server's version.",
        )
