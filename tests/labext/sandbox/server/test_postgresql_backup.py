"""Backups of a server whose data are in PostgreSQL, made while it runs, and their restore."""

from __future__ import annotations

import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from databases import open_database
from tls_server import jobs_client, make_server

from labext.errors import ConflictError, LabextError, SetupError, StorageError
from labext.jobs import JobsClient
from labext.sandbox.core import restore as restore_module
from labext.sandbox.core.database import Database
from labext.sandbox.core.postgresql_backup import dump_tables
from labext.sandbox.jobs.administration import open_administration
from labext.sandbox.server import Server

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump is not installed"),
]

JOBS = ["labext.sandbox.jobs.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI"]}

Run = Callable[..., Any]


def _account(server: Server, run: Run) -> JobsClient:
    run(server, "jobs", "accounts", "add", "a@lab.example.org")
    return jobs_client(server, run(server, "jobs", "keys", "add", "a@lab.example.org")["key"])


def _finish(client: JobsClient, name: str) -> None:
    client.submit(name, "digest", CUT)
    client.wait(name, timeout=90)


def _names(client: JobsClient) -> set[str]:
    return set(client.jobs()["JobName"])


def test_backup_of_a_running_server_restores_rows_and_files(
    new_server, postgresql_server, run, tmp_path
):
    server = new_server(postgresql_server.new_database(), processes=2, services=JOBS)
    client = _account(server, run)
    _finish(client, "first")
    stop = threading.Event()

    def submit() -> None:
        number = 0
        while not stop.is_set():
            client.submit(f"during-{number}", "digest", CUT)
            number += 1

    submitting = threading.Thread(target=submit)
    submitting.start()
    try:
        saved = run(server, "backup", tmp_path / "saved.zip")
    finally:
        stop.set()
        submitting.join()
    assert saved["files"] > 3
    assert (tmp_path / "saved.zip").stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(tmp_path / "saved.zip") as archive:
        assert {"database.dump", "server.json"} <= set(archive.namelist())
        assert "database.url" not in archive.namelist()
    server.stop()

    url = postgresql_server.new_database()
    copy = Server(tmp_path / "copy", workers=1, services=JOBS)
    restored = run(copy, "restore", tmp_path / "saved.zip", "--database", url)
    assert restored["previous"] is None
    copy.start()
    try:
        added = run(copy, "jobs", "keys", "add", "a@lab.example.org", "--name", "other")
        client = jobs_client(copy, added["key"])
        assert "first" in _names(client)
        assert client.download("first", tmp_path / "out")
        _finish(client, "after")
        for name in _names(client):
            client.wait(name, timeout=90)
    finally:
        copy.stop()


@pytest.fixture(scope="module")
def saved(
    postgresql_server: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Path]]:
    """A server with an account, and its backup."""
    folder = tmp_path_factory.mktemp("server")
    server = make_server(folder, postgresql_server.new_database(), services=JOBS)
    server.start()
    with open_administration(server.data_dir) as admin:
        admin.add_account("kept@lab.example.org")
    yield server, server.backup(folder / "saved.zip").file
    server.stop()


@pytest.fixture
def server(saved: tuple[Server, Path]) -> Server:
    """The running server, with an account that was added after its backup."""
    if len(_emails(saved[0])) == 1:
        with open_administration(saved[0].data_dir) as admin:
            admin.add_account("later@lab.example.org")
    return saved[0]


def _emails(server: Server) -> set[str]:
    """Start the server and return the addresses of its accounts."""
    server.start()
    with open_administration(server.data_dir) as admin:
        return {account["email"] for account in admin.accounts()}


def test_restore_replaces_the_database_and_keeps_a_dump_of_the_former(
    server, saved, postgresql_server, run
):
    url = (server.data_dir / "database.url").read_text()
    name = url.partition("?")[0].rpartition("/")[2]
    postgresql_server.run("CREATE TABLE of_another_application (x INTEGER)", name)
    with pytest.raises(ConflictError, match=r"The server in .* is running"):
        server.restore(saved[1])
    done = run(server, "restore", saved[1], "--yes")
    assert (Path(done["previous"]) / "database.dump").stat().st_size > 1000
    assert _emails(server) == {"kept@lab.example.org"}
    tables = postgresql_server.run(
        "SELECT 1 FROM pg_tables WHERE tablename = 'of_another_application'", name
    )
    assert tables == [(1,)]


def test_restore_is_finished_at_the_next_start_after_a_crash(server, saved, monkeypatch):
    with monkeypatch.context() as patch:

        def crash(*_arguments: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(restore_module, "restore_tables", crash)
        with pytest.raises(KeyboardInterrupt):
            server.restore(saved[1], replace=True)
    assert _emails(server) == {"kept@lab.example.org"}


@contextmanager
def _psql(folder: Path, script: str) -> Iterator[None]:
    """Replace `psql` by a script during the block."""
    (folder / "psql").write_text(f"#!/bin/sh\n{script}")
    (folder / "psql").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=":")
        yield


def test_failed_restore_of_the_database_changes_nothing(server, saved, tmp_path):
    script = "echo 'psql: error: no room' >&2\nexit 3\n"
    with _psql(tmp_path, script), pytest.raises(StorageError, match=r"psql fails: .*no room"):
        server.restore(saved[1], replace=True)
    assert len(_emails(server)) == 2


def test_restore_is_finished_at_the_next_start_if_the_connection_is_lost(server, saved, tmp_path):
    """The tables may have been replaced: the dump of the former ones must be kept."""
    earlier = {*server.data_dir.glob("quarantine/**/database.dump")}
    lost = "echo 'psql: error: connection to server was lost' >&2\nexit 2\n"
    script = f'{shutil.which("psql")} "$@"\n{lost}'
    with _psql(tmp_path, script), pytest.raises(StorageError, match="server was lost") as caught:
        server.restore(saved[1], replace=True)
    assert "to finish the restore: `labext server start" in str(caught.value.next_step)
    assert _emails(server) == {"kept@lab.example.org"}
    [dump] = {*server.data_dir.glob("quarantine/**/database.dump")} - earlier
    assert dump.stat().st_size > 1000


@pytest.mark.parametrize("query", [False, True])
def test_programs_get_passwords_in_their_environment_and_a_private_file(
    postgresql_server, tmp_path, monkeypatch, query
):
    seen, service = tmp_path / "seen", tmp_path / "service"
    script = f'echo "$PGPASSWORD:" "$@" >{seen}\ncp -p "$PGSERVICEFILE" {service}\n'
    (tmp_path / "pg_dump").write_text(f"#!/bin/sh\n{script}")
    (tmp_path / "pg_dump").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    url = postgresql_server.new_database()
    address = f"{url}&password=hidden" if query else url.replace("labext@", "labext:hidden@")
    database = Database(f"{address}&sslpassword=hidden-too")
    dump_tables(database, tmp_path / "dump")
    database.close()
    password, arguments = seen.read_text().split(":", 1)
    assert password == "hidden"
    # A password of the address, even a masked one, would be used instead.
    assert "--dbname postgresql://labext@/" in arguments
    assert "hidden" not in arguments
    assert service.read_text() == "[labext]\nsslpassword=hidden-too\n"
    assert service.stat().st_mode & 0o077 == 0


def test_missing_program_and_another_kind_of_database_are_refused(
    server, saved, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("labext.sandbox.core.postgresql_backup.shutil.which", lambda _name: None)
        with pytest.raises(SetupError, match=r"pg_dump.* is not installed") as refused:
            server.backup(tmp_path / "none.zip")
        assert "postgresql-client" in refused.value.next_step
    assert not (tmp_path / "none.zip").exists()
    with pytest.raises(LabextError, match="is of a PostgreSQL database") as without:
        Server(tmp_path / "file").restore(saved[1])
    assert 'database_url="URL"' in without.value.next_step


def test_restore_into_the_database_of_a_running_server_is_refused(
    server, saved, tmp_path, monkeypatch
):
    monkeypatch.setattr("labext.sandbox.core.postgresql.WAIT_SECONDS", 1)
    url = (server.data_dir / "database.url").read_text()
    other = Server(tmp_path / "other", database_url=url)
    with pytest.raises(ConflictError, match="is in use by"):
        other.restore(saved[1], replace=True)
    with closing(open_database(server.data_dir)) as database:
        assert database.table_names()
