"""A server that has kept its data in a SQLite file moves to PostgreSQL by a backup."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from databases import open_database
from sqlalchemy import text
from tls_server import jobs_client, make_server

from labext.errors import ConflictError, StorageError
from labext.jobs import JobsClient
from labext.sandbox.core import restore as restore_module
from labext.sandbox.core.restore import copy_tables
from labext.sandbox.core.signing import new_key
from labext.sandbox.jobs.administration import open_administration
from labext.sandbox.server import Server

pytestmark = pytest.mark.faults

JOBS = ["labext.sandbox.jobs.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI"]}
Run = Callable[..., Any]


def _client(server: Server, run: Run) -> JobsClient:
    return jobs_client(server, run(server, "jobs", "keys", "add", "a@lab.example.org")["key"])


def _counts(backup: Path, folder: Path) -> dict[str, int]:
    """Return the number of rows of each table in the SQLite file of a backup."""
    with zipfile.ZipFile(backup) as archive:
        archive.extract("sandbox.sqlite", folder)
    with closing(sqlite3.connect(folder / "sandbox.sqlite")) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for (name,) in names
        }


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a server with an account, two complete jobs, and the id of a deleted one."""
    folder, key = tmp_path_factory.mktemp("laptop"), new_key("sk_")
    with make_server(folder) as server:
        with open_administration(server.data_dir) as admin:
            admin.add_account("a@lab.example.org")
            admin.add_key("a@lab.example.org", key)
        with jobs_client(server, key) as client:
            for name in ("first", "second", "deleted"):
                client.submit(name, "digest", CUT)
                client.wait(name, timeout=90)
            client.delete("deleted")
        server.backup(folder / "laptop.zip")
    return folder / "laptop.zip"


def test_restored_server_has_all_rows_files_and_new_ids(
    backup: Path, postgresql_server: Any, run: Run, tmp_path: Path
) -> None:
    moved = Server(tmp_path / "moved", workers=1, services=JOBS)
    run(moved, "restore", backup, "--database", postgresql_server.new_database())
    database = open_database(moved.data_dir)
    counts = _counts(backup, tmp_path)
    assert counts["jobs_jobs"] == 2
    with database.read() as session:
        for name in {*database.table_names()} - {"alembic_version", "nb_words", "rate_windows"}:
            stored = session.scalar(text(f'SELECT count(*) FROM "{name}"'))
            assert stored == counts.get(name, 0), name
        last = session.scalar(text("SELECT max(id) FROM jobs_jobs"))
    assert not (moved.data_dir / "sandbox.sqlite").exists()
    moved.start()
    try:
        with _client(moved, run) as client:
            assert client.download("first", tmp_path / "out").files.shape[0] > 1
            client.submit("third", "digest", CUT)
            client.wait("third", timeout=90)
            assert set(client.jobs()["JobName"]) == {"first", "second", "third"}
        with database.read() as session:
            new = session.scalar(text("SELECT max(id) FROM jobs_jobs"))
        assert new > last + 1, "the id of the deleted job is not used again"
    finally:
        moved.stop()
        database.close()


def test_refused_row_changes_nothing(
    backup: Path, postgresql_server: Any, run: Run, tmp_path: Path, monkeypatch: Any
) -> None:
    url = postgresql_server.new_database()
    moved = Server(tmp_path / "moved", database_url=url)
    moved.restore(backup)
    with pytest.raises(ConflictError, match="which a restore would replace"):
        moved.restore(backup)
    run(moved, "jobs", "accounts", "add", "later@lab.example.org")

    def corrupt(source: Path, target: Any) -> None:
        with closing(sqlite3.connect(source)) as database:  # PostgreSQL has no NUL in texts
            database.execute("UPDATE jobs_jobs SET name = 'a' || char(0) WHERE name = 'second'")
            database.commit()
        copy_tables(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(restore_module, "copy_tables", corrupt)
        with pytest.raises(StorageError, match="cannot be used"):
            moved.restore(backup, replace=True)
    assert len(run(moved, "jobs", "accounts", "list")) == 2
    previous = moved.restore(backup, replace=True).previous
    assert previous is not None
    assert (previous / "database.dump").exists()
    assert len(run(moved, "jobs", "accounts", "list")) == 1


def test_interrupted_move_is_finished_at_the_next_start(
    backup: Path, postgresql_server: Any, run: Run, tmp_path: Path, monkeypatch: Any
) -> None:
    moved = Server(tmp_path / "moved", database_url=postgresql_server.new_database())
    with monkeypatch.context() as patch:

        def crash(*_arguments: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(restore_module, "copy_tables", crash)
        with pytest.raises(KeyboardInterrupt):
            moved.restore(backup)
    moved = Server(tmp_path / "moved", services=JOBS)
    database = open_database(moved.data_dir)
    assert database.table_names() == []
    database.close()
    restore_module.clean_up(moved._folder)
    moved.start()
    try:
        assert [row["email"] for row in run(moved, "jobs", "accounts", "list")] == [
            "a@lab.example.org"
        ]
    finally:
        moved.stop()
