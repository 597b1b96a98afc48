"""The databases of tests: SQLite files, and a temporary PostgreSQL server.

The server is the system's package. It listens only on a socket in its folder, and does not sync to
the disk. `initdb` and `postgres` refuse to run as root; then they are run as the user `postgres`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.database import Database

_VERSIONS = Path("/usr/lib/postgresql")
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


def missing() -> str | None:
    """Return the reason why no server can be started; None if it can."""
    if _programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'labext-jupyter[postgresql]'"
    return None


def _programs() -> Path | None:
    """Return the folder with initdb and postgres, of the newest version."""
    found = sorted(_VERSIONS.glob("*/bin/initdb"), key=lambda path: float(path.parents[1].name))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return Path(program).parent if program else None


class Server:
    """A running server and its temporary folder; `stop` removes both.

    `settings` are some of postgresql.conf: `fsync="on"`.
    """

    def __init__(self, **settings: str) -> None:
        programs = _programs()
        assert programs is not None
        self._programs = programs
        self._settings = _SETTINGS | settings
        self.folder = Path(tempfile.mkdtemp(prefix="labext-postgresql-"))
        self._names = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        subprocess.run(
            self._command(
                *("initdb", "--auth=trust", "--username=labext", "--no-sync", "--encoding=UTF8"),
                # The order of texts differs from SQLite's: no column may depend on it.
                *("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"),
                str(self.folder / "data"),
            ),
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
        )
        self.start()

    def start(self) -> None:
        """Start it, again after `stop_at_once`."""
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        data = str(self.folder / "data")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", data, "-k", str(self.folder), *settings),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + 30
        while not self._accepts():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.02)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop_at_once(self) -> None:
        """End every connection and stop, as when the machine restarts."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self.is_running():
            self.stop_at_once()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return f"postgresql+psycopg://labext@/{name}?host={self.folder}"

    def new_database(self) -> str:
        """Create an empty database and return its address."""
        name = f"labext_{os.getpid()}_{next(self._names)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def new_schema(self) -> str:
        """Create an empty schema, faster than a database, and return the address of its owner."""
        name = f"labext_{next(self._names)}"
        self.run(f"CREATE ROLE {name} SUPERUSER LOGIN; CREATE SCHEMA AUTHORIZATION {name}")
        return self.url("postgres").replace("labext@", f"{name}@")

    def run(self, statement: str, name: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""
        import psycopg

        where = f"user=labext dbname={name} host={self.folder}"
        with psycopg.connect(where, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _accepts(self) -> bool:
        import psycopg

        with contextlib.suppress(psycopg.OperationalError):
            self.run("SELECT 1")
            return True
        return False

    def _command(self, program: str, *arguments: str) -> Sequence[str]:
        user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        prefix = ends_with_parent("QUIT", *(user if os.getuid() == 0 else ()))
        return [*prefix, str(self._programs / program), *arguments]


def ends_with_parent(signal_name: str, *options: str) -> list[str]:
    """Return the prefix of a command that is sent a signal when its parent is killed (Linux)."""
    if shutil.which("setpriv") is None:
        return []
    return ["setpriv", f"--pdeathsig={signal_name}", *options]


def open_database(data_dir: Path) -> Database:
    """Return the database of the sandbox in a folder."""
    return Database(DataFolder(data_dir).database_url)


def stored_content(data_dir: Path) -> bytes:
    """Return the content of the tables of the sandbox in a folder, in any form."""
    database = open_database(data_dir)
    try:
        if not database.is_postgresql:
            return b"".join(file.read_bytes() for file in data_dir.glob("sandbox.sqlite*"))
        with database.read() as session:
            names = inspect(database.engine).get_table_names()
            rows = (session.execute(text(f'SELECT t::text FROM "{name}" t')) for name in names)
            return "\n".join(row[0] for result in rows for row in result).encode()
    finally:
        database.close()


def _running_server() -> Iterator[Server]:
    if reason := missing():
        pytest.skip(reason)
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """A server shared by the tests of this process; skips the test if no server can be started."""
    yield from _running_server()


@pytest.fixture(scope="session")
def stoppable_postgresql() -> Iterator[Server]:
    """Another one, for services that go on while a test stops it."""
    yield from _running_server()


@pytest.fixture
def postgresql(stoppable_postgresql: Server) -> Iterator[Server]:
    """The server that a test may stop; it is started again after the test."""
    yield stoppable_postgresql
    if not stoppable_postgresql.is_running():
        stoppable_postgresql.start()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs sandboxes on PostgreSQL."""
    parser.addoption("--database", choices=["sqlite", "postgresql"], default="sqlite")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run on PostgreSQL, skip the tests of the SQLite file, and leave out those that choose
    their database themselves.
    """
    if config.getoption("--database") == "sqlite":
        return
    unaffected = {item for item in items if uses(item, "postgresql", "sqlite")}
    config.hook.pytest_deselected(items=unaffected)
    items[:] = [item for item in items if item not in unaffected]
    for item in items:
        if item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(reason="It tests the SQLite file."))


def uses(item: pytest.Item, *servers: str) -> bool:
    """Return whether a parameter of a test names one of the servers, or a fixture provides it."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = {value for value in parameters if isinstance(value, str)}
    names |= {name.removesuffix("_server") for name in getattr(item, "fixturenames", ())}
    return not names.isdisjoint(servers)


@pytest.fixture(scope="session")
def database_of_hosts(request: pytest.FixtureRequest) -> Callable[..., Callable[..., Any]]:
    """Wrap `spawn_host`: with `--database postgresql`, a new sandbox gets a database there."""

    def wrap(spawn: Callable[..., Any]) -> Callable[..., Any]:
        if request.config.getoption("--database") == "sqlite":
            return spawn
        server: Server = request.getfixturevalue("postgresql_server")

        def spawn_host(folder: DataFolder, options: Sequence[str]) -> Any:
            if not folder.has_database:
                folder.request_database(server.new_database())
            return spawn(folder, options)

        return spawn_host

    return wrap


@pytest.fixture(params=["sqlite", "postgresql"])
def each_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        database = Database.at(tmp_path / "some.sqlite")
    else:
        database = Database(request.getfixturevalue("postgresql_server").new_schema())
    yield database
    database.close()
