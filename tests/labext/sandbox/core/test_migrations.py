"""The revisions create the declared tables, on SQLite and on PostgreSQL."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, inspect, text

from labext.errors import SetupError
from labext.sandbox.core import migrations
from labext.sandbox.core.database import CoreBase, Database

_PATH = Path(__file__).with_name("new_revision.py")
_SPEC = importlib.util.spec_from_file_location("new_revision", _PATH)
new_revision: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(new_revision)
METADATA: tuple[MetaData, ...] = new_revision.METADATA
FIRST = migrations.revisions()[0]
LATER = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9000", "{migrations.newest_revision()}"


def upgrade() -> None:
    with op.batch_alter_table("jobs_organizations") as batch_op:
        batch_op.add_column(sa.Column("remark", sa.String(20), server_default="none"))
        batch_op.alter_column("name", type_=sa.String(300))
"""


def _upgrade(database: Database, revision: str) -> None:
    with database.engine.begin() as connection:
        command.upgrade(migrations.alembic_config(connection), revision)


def _content(database: Database) -> dict[Any, Any]:
    """Return the columns and indexes of every table."""
    found = inspect(database.engine)
    indexes, foreign_keys = found.get_multi_indexes(), found.get_multi_foreign_keys()
    return {
        table: (
            {column["name"]: (str(column["type"]), column["nullable"]) for column in columns},
            {str(index["name"]): index["column_names"] for index in indexes[table]},
            sorted(
                (key["constrained_columns"], key["referred_table"], str(key["options"]))
                for key in foreign_keys[table]
            ),
        )
        for table, columns in found.get_multi_columns().items()
        if table[1] != "alembic_version"
    }


def _tables(database: Database) -> list[str]:
    return inspect(database.engine).get_table_names()


@pytest.fixture
def other(request: pytest.FixtureRequest, each_database: Database, tmp_path: Path) -> Iterator[Any]:
    """A second empty database of the same kind."""
    if each_database.is_postgresql:
        database = Database(request.getfixturevalue("postgresql_server").new_schema())
    else:
        database = Database.at(tmp_path / "other.sqlite")
    yield database
    database.close()


def test_upgraded_and_new_databases_have_the_declared_tables(
    each_database: Database, other: Database
) -> None:
    _upgrade(each_database, "head")
    with each_database.engine.begin() as connection, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "autogenerate skipping", UserWarning)  # tasks_turn
        command.check(migrations.alembic_config(connection, *METADATA))
    assert other.check_version() is None
    other.create(*METADATA)
    assert other.check_version() == migrations.newest_revision()
    assert _content(each_database) == _content(other)


def test_revisions_are_numbered_in_their_order() -> None:
    script = ScriptDirectory(str(migrations.FOLDER))
    assert [r.revision for r in script.walk_revisions()][::-1] == migrations.revisions()
    assert script.get_current_head() == migrations.newest_revision()


def test_help_creates_no_revision(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    created: list[str] = []
    monkeypatch.setattr(command, "revision", lambda _, text, **__: created.append(text))
    monkeypatch.setattr(sys, "argv", [_PATH.name, "--help"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(_PATH), run_name="__main__")
    assert not created
    assert "usage" in capsys.readouterr().out


def test_database_of_a_newer_version_is_refused_unchanged(each_database: Database) -> None:
    each_database.create(CoreBase.metadata)
    with each_database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = _tables(each_database)
    for check in (each_database.check_version, lambda: each_database.create(*METADATA)):
        with pytest.raises(SetupError, match=r"version is 9999, this one needs .* Use the version"):
            check()
    assert _tables(each_database) == before


def test_older_database_is_upgraded_with_its_rows(
    each_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _upgrade(each_database, FIRST)
    pipeline = "INSERT INTO jobs_saved_pipelines VALUES (1, 1, 'fold', '[]', '2026-11-20')"
    with each_database.write() as session:
        session.execute(text("INSERT INTO jobs_organizations (id, name) VALUES (1, 'Institute')"))
        session.execute(text(pipeline))
    folder = shutil.copytree(migrations.FOLDER, tmp_path / "migrations")
    (folder / "versions" / "9000_add_a_remark.py").write_text(LATER)
    monkeypatch.setattr(migrations, "FOLDER", folder)
    each_database.create(*METADATA)
    assert each_database.check_version() == "9000"
    with each_database.read() as session:
        columns = text("SELECT name, remark FROM jobs_organizations")
        assert session.execute(columns).one() == ("Institute", "none")
        # SQLite changes a table by copying and deleting it, which does not cascade.
        assert session.scalar(text("SELECT name FROM jobs_saved_pipelines")) == "fold"
    if not each_database.is_postgresql:
        with closing(sqlite3.connect(tmp_path / f"some.sqlite.{FIRST}")) as copy:
            assert copy.execute("SELECT version_num FROM alembic_version").fetchone() == (FIRST,)
            assert copy.execute("SELECT name FROM jobs_organizations").fetchone() == ("Institute",)


def test_passages_are_embedded_again_to_get_their_token_signs(each_database: Database) -> None:
    _upgrade(each_database, "0006")
    vector = "INSERT INTO nb_vectors (passage_id, space, vector) VALUES (1, '{}', '')"
    with each_database.write() as session:
        passage = "INSERT INTO nb_passages (parent_id, position, text, heading) VALUES {}"
        session.execute(text(passage.format("('source:a', 0, 'Text', '')")))
        for space in ("model:all-minilm-l6-v2", "model:other"):
            session.execute(text(vector.format(space)))
    each_database.create(*METADATA)
    with each_database.read() as session:
        assert session.scalars(text("SELECT space FROM nb_vectors")).all() == ["model:other"]


def test_database_of_a_single_service_is_upgraded(each_database: Database, other: Database) -> None:
    _upgrade(each_database, FIRST)
    missing = MetaData()
    missing.reflect(each_database.engine)
    tables = [table for table in missing.sorted_tables if table.name.startswith(("lab_", "jobs_"))]
    missing.drop_all(each_database.engine, tables)
    with each_database.engine.begin() as connection:
        migrations.upgrade(connection)
    each_database.create(*METADATA)
    other.create(*METADATA)
    assert _content(each_database) == _content(other)


def test_failed_upgrade_changes_nothing(
    each_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _upgrade(each_database, FIRST)
    before = _tables(each_database)

    def fail(connection: Any) -> None:
        connection.execute(text("CREATE TABLE half (x INTEGER)"))
        raise OSError("no room")

    monkeypatch.setattr(migrations, "upgrade", fail)
    monkeypatch.setattr(migrations, "newest_revision", lambda: "9999")
    with pytest.raises(OSError, match="no room"):
        each_database.create(*METADATA)
    assert _tables(each_database) == before
    assert each_database.check_version(upgradable=True) == FIRST


def test_alembic_is_not_imported_for_a_current_database(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from labext.sandbox.core.database import CoreBase, Database\n"
        "from labext.sandbox.core.queue import Queue\n"
        "database = Database.at(Path(sys.argv[1]))\n"
        "database.create(CoreBase.metadata)\n"
        "database.create(CoreBase.metadata)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('alembic', 'psycopg')])\n"
    )
    command_line = [sys.executable, "-c", code, str(tmp_path / "new.sqlite")]
    output = subprocess.run(command_line, check=True, capture_output=True, text=True).stdout
    assert output.strip() == "[]"
