"""Backups are complete and private, and restored completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    SetupError,
    StorageError,
)
from labext.sandbox.core import backup, migrations
from labext.sandbox.core import restore as restore_module
from labext.sandbox.core.administration import Administration, open_administration
from labext.sandbox.core.backup import BackupResult, back_up
from labext.sandbox.core.data_folder import DataFolder, FileLock
from labext.sandbox.core.file_storage.cache import link_or_copy
from labext.sandbox.core.restore import restore

pytestmark = pytest.mark.faults

ODD = os.fsdecode(b"caf\xe9 \\ n\xc3\xa9.csv")
"""A file name that is not UTF-8 and contains a backslash."""

KEPT = {
    *("secrets/key", "jobs/files/1", f"jobs/jobs/1/work/out/{ODD}"),
    *("jobs/jobs/1/work/out/poetry.lock", "nb/originals/a", "ports.json"),
}
"""Files of `filled` that its backup contains, apart from the database and `only_…`."""


def filled(path: Path, word: str) -> DataFolder:
    """Create the data folder of a stopped sandbox; every file contains the word."""
    folder = DataFolder(path)
    folder.prepare()
    with closing(sqlite3.connect(folder.database)) as database:
        database.executescript(f"""
            PRAGMA journal_mode=WAL;
            CREATE TABLE alembic_version (version_num TEXT PRIMARY KEY);
            INSERT INTO alembic_version VALUES ('{migrations.newest_revision()}');
            CREATE TABLE words (word TEXT);
            INSERT INTO words VALUES ('{word}');
        """)
    for name in (
        *KEPT,
        f"jobs/jobs/only_{word}/out",
        *("secrets/signing", "secrets/nb_providers", "jobs/incoming/half", "nb/work/a/page"),
        *("nb/drafts/a/speech", "connection.json", "quarantine/x/old", "tasks/7/request.json"),
        "lost.sqlite-wal",
    ):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(word)
    (path / "jobs" / "jobs" / "1" / "link").symlink_to("/etc/passwd")
    os.mkfifo(path / "jobs" / "jobs" / "1" / "pipe")
    return folder


def word_of(folder: DataFolder) -> str:
    with closing(sqlite3.connect(folder.database)) as database:
        return str(database.execute("SELECT word FROM words").fetchone()[0])


def tree(path: Path) -> dict[str, Any]:
    """Return the entries below a folder but locks: files with their content, folders with None."""
    return {
        str(file.relative_to(path)): file.read_bytes() if file.is_file() else None
        for file in path.rglob("*")
        if file.name not in ("host.lock", "backup.lock") and not file.is_symlink()
    }


def is_whole(folder: DataFolder, word: str) -> bool:
    """Return whether the folder contains exactly the data of `filled(…, word)`."""
    contents = {
        name: content.decode()
        for name, content in tree(folder.path).items()
        if name.partition("/")[0] in ("secrets", "jobs", "nb", "ports.json") and content is not None
    }
    mine = {*KEPT, f"jobs/jobs/only_{word}/out"}
    others = {name for name in contents if name.startswith("jobs/jobs/only_")} - mine
    return (
        word_of(folder) == word
        and not others
        and {name: contents.get(name) for name in mine} == dict.fromkeys(mine, word)
    )


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return filled(tmp_path / "box", "old")


@pytest.fixture
def saved(tmp_path: Path) -> BackupResult:
    """A backup of another folder with the word "new"."""
    return back_up(filled(tmp_path / "other", "new"), tmp_path / "backup.zip")


def test_backup_is_private_and_contains_only_data(folder, tmp_path):
    before = tree(folder.path)
    created = back_up(folder, tmp_path / "b.zip")
    assert created.file.stat().st_mode & 0o777 == 0o600
    assert tree(folder.path) == before
    with zipfile.ZipFile(created.file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert archive.testzip() is None
    paths = {file["path"] for file in manifest["files"]}
    assert paths == {*KEPT, "jobs/jobs/only_old/out", "sandbox.sqlite"}
    assert created.files == len(paths)
    assert created.skipped == ()
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in ("", ".zip")] == []


def test_backup_is_restored_into_a_private_folder(saved, tmp_path):
    folder = DataFolder(tmp_path / "new" / "box")
    result = restore(folder, saved.file)
    assert is_whole(folder, "new")
    assert (result.files, result.previous) == (saved.files, None)
    assert not (folder.path / "quarantine").exists()
    for path in folder.path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_database_is_copied_while_files_are_pinned(folder, tmp_path, monkeypatch):
    link, connected = link_or_copy, backup._connect
    written = []

    def write(word: str) -> None:
        with closing(sqlite3.connect(folder.database, timeout=0, isolation_level=None)) as other:
            other.execute("UPDATE words SET word = ?", (word,))
        written.append(word)

    def linked(path: Path, target: Path) -> None:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write("while")
        link(path, target)

    def opened(path: Path) -> sqlite3.Connection:
        if path != folder.database:  # the copy; the files are already pinned
            write("after")
        return connected(path)

    monkeypatch.setattr(backup, "link_or_copy", linked)
    monkeypatch.setattr(backup, "_connect", opened)
    created = back_up(folder, tmp_path / "b.zip")
    monkeypatch.undo()
    assert written == ["after"]
    assert word_of(folder) == "after"
    restore(DataFolder(tmp_path / "restored"), created.file)
    assert word_of(DataFolder(tmp_path / "restored")) == "old"


def test_backup_does_not_overwrite_a_file(folder, tmp_path):
    (tmp_path / "thesis.zip").write_text("dear")
    with pytest.raises(ConflictError, match="exists"):
        back_up(folder, tmp_path / "thesis.zip")
    assert (tmp_path / "thesis.zip").read_text() == "dear"
    with pytest.raises(InputError, match="own folder"):
        back_up(folder, folder.path / "b.zip")
    with pytest.raises(NotFoundError, match="There is no folder"):
        back_up(folder, tmp_path / "nowhere" / "b.zip")


def test_only_one_backup_runs_at_a_time(folder, tmp_path):
    lock = FileLock(folder.path / "backup.lock")
    assert lock.acquire()
    with pytest.raises(ConflictError, match="Another backup"):
        back_up(folder, tmp_path / "b.zip")
    lock.release()
    assert back_up(folder, tmp_path / "b.zip").files


@pytest.mark.parametrize("harm", ["empty", "damaged", "none"])
def test_damaged_database_is_not_backed_up(folder, tmp_path, harm):
    content = {"empty": b"", "damaged": b"x" * 5000}.get(harm)
    if content is None:
        folder.database.unlink()
    else:
        folder.database.write_bytes(content)
    with pytest.raises((StorageError, SetupError), match=r"empty|damaged|no sandbox"):
        back_up(folder, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()
    assert not (folder.path / ".backup").exists()


def test_full_disk_of_the_data_folder_is_the_reason(folder, tmp_path, monkeypatch):
    def full(*_: Any) -> None:
        with closing(sqlite3.connect(":memory:")) as small:
            small.execute("PRAGMA max_page_count = 2")
            for number in range(9):
                small.execute(f"CREATE TABLE t{number} (x)")

    monkeypatch.setattr(backup, "_pin_snapshot", full)
    with pytest.raises(StorageError, match=f"The disk is full: {folder.path} ") as caught:
        backup.back_up(folder, tmp_path / "backup.zip")
    assert caught.value.next_step == "Make room, then try again."


def test_full_disk_leaves_no_partial_backup(folder, tmp_path, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "copy_file", full)
    with pytest.raises(StorageError, match="disk is full"):
        back_up(folder, tmp_path / "b.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["box"]
    assert not (folder.path / ".backup").exists()


def test_restore_replaces_data_only_on_request_and_keeps_the_old_data(saved, folder):
    before = tree(folder.path)
    with pytest.raises(ConflictError, match="would replace") as caught:
        restore(folder, saved.file)
    assert "replace=True" in caught.value.next_step
    assert tree(folder.path) == before
    previous = restore(folder, saved.file, replace=True).previous
    assert is_whole(folder, "new")
    assert previous is not None
    previous_files = tree(previous)
    for name in (*KEPT, "jobs/jobs/only_old/out", "jobs/incoming/half", "nb/work/a/page"):
        assert previous_files[name] == b"old"
    assert previous.parent == folder.quarantine
    assert (folder.quarantine / "x" / "old").read_text() == "old"


def test_restore_refuses_a_folder_with_other_files(saved, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("dear")
    with pytest.raises(SetupError, match="contains other files"):
        restore(DataFolder(tmp_path / "home"), saved.file, replace=True)
    assert tree(tmp_path / "home") == {"thesis.txt": b"dear"}


def test_restore_refuses_a_running_sandbox(saved, folder):
    lock = FileLock(folder.lock_file)
    assert lock.acquire()
    with pytest.raises(ConflictError, match="is running") as caught:
        restore(folder, saved.file)
    assert "`replace=True` to stop it and to replace its data" in caught.value.next_step
    with pytest.raises(ConflictError, match="is running"):
        restore(folder, saved.file, replace=True)
    lock.release()
    assert is_whole(folder, "old")


# Invalid archives


@contextmanager
def rewritten(file: Path) -> Iterator[dict[str, Any]]:
    """Change a backup: `manifest` and `members`, by name."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = {"manifest": json.loads(members.pop("manifest.json")), "members": members}
    yield content
    with zipfile.ZipFile(file, "w") as archive:
        for name, body in content["members"].items():
            archive.writestr(name, body)
        archive.writestr("manifest.json", json.dumps(content["manifest"]))


def _path(path: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["manifest"]["files"][0] |= {"path": path}

    return change


def _database(statement: str) -> Callable[[dict[str, Any]], None]:
    """Change the database, with the right checksum."""

    def change(content: dict[str, Any]) -> None:
        if statement:
            with closing(sqlite3.connect(":memory:")) as database:
                database.deserialize(content["members"]["sandbox.sqlite"])
                database.execute(statement)
                database.commit()
                body = database.serialize()
        else:
            body = content["members"]["sandbox.sqlite"][:4096] + b"x" * 4096
        content["members"]["sandbox.sqlite"] = body
        (entry,) = (e for e in content["manifest"]["files"] if e["path"] == "sandbox.sqlite")
        entry |= {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}

    return change


BAD: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another format": lambda c: c["manifest"].update(format="other"),
    "another format version": lambda c: c["manifest"].update(version=99),
    "no files": lambda c: c["manifest"].pop("files"),
    "no list": lambda c: c.update(manifest=[1]),
    "a file is missing": lambda c: c["members"].pop("jobs/files/1"),
    "a file is another": lambda c: c["members"].update({"jobs/files/1": b"odd"}),
    "a file is longer": lambda c: c["members"].update({"jobs/files/1": b"new" + b"x" * 10**6}),
    "no checksum": lambda c: c["manifest"]["files"][0].pop("sha256"),
    "no database": lambda c: c["manifest"]["files"].pop(
        [e["path"] for e in c["manifest"]["files"]].index("sandbox.sqlite")
    ),
    "a path twice": lambda c: c["manifest"]["files"].append(c["manifest"]["files"][0]),
    "a file below a file": lambda c: c["manifest"]["files"].append(
        c["manifest"]["files"][0] | {"path": "jobs/files/1/x"}
    ),
    "a damaged database": _database(""),
    "another schema": _database("UPDATE alembic_version SET version_num = '999'"),
    **{
        f"the path {path!r}": _path(path)
        for path in (
            *("/etc/x", "../x", "jobs/../../x", "jobs//x", "jobs/.", "", ".", "..", "x"),
            *("host.lock", "host.lock/x", "tasks/x", "quarantine/x", ".labext-sandbox"),
            *(".restored/journal.json", "sandbox.sqlite-wal", "sandbox.sqlite/x", "ports.json/x"),
            *("jobs/\0", "jobs/" + "x" * 300),
        )
    },
}


@pytest.mark.parametrize("harm", BAD)
def test_invalid_backup_changes_nothing(saved, folder, harm):
    with rewritten(saved.file) as content:
        BAD[harm](content)
    before = tree(folder.path)
    with pytest.raises(LabextError):
        restore(folder, saved.file, replace=True)
    assert tree(folder.path) == before
    assert is_whole(folder, "old")


def test_truncated_or_changed_backup_is_never_restored_in_part(saved, tmp_path):
    whole = saved.file.read_bytes()
    chance = random.Random(20261122)
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(5)]
    for _ in range(30):
        place = chance.randrange(len(whole))
        damaged.append(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    folder = filled(tmp_path / "box", "old")
    failures = 0
    for number, content in enumerate(damaged):
        saved.file.write_bytes(content)
        try:
            restore(folder, saved.file, replace=True)
        except LabextError:
            failures += 1
            assert is_whole(folder, "old")
        else:  # a change without effect: a time, a mode
            assert is_whole(folder, "new")
            folder = filled(tmp_path / f"box{number}", "old")
    assert failures > 20


def test_file_that_is_no_backup_is_refused(folder, tmp_path):
    with pytest.raises(NotFoundError, match="no file"):
        restore(folder, tmp_path / "none.zip", replace=True)
    (tmp_path / "text.zip").write_text("not a zip")
    with pytest.raises(InputError, match="not a backup"):
        restore(folder, tmp_path / "text.zip", replace=True)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(InputError, match="not a backup"):
        restore(folder, tmp_path / "other.zip", replace=True)
    assert is_whole(folder, "old")


def test_missing_disk_space_is_reported_before_unpacking(saved, folder, monkeypatch):
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(StorageError, match="no room"):
        restore(folder, saved.file, replace=True)
    assert is_whole(folder, "old")


# Killed


KILLED = """
import os, sys
from pathlib import Path
from labext.sandbox.core.restore import restore
from labext.sandbox.core.data_folder import DataFolder

def watched(event, arguments):
    global left
    writes = event == "open" and arguments[2] & os.O_ACCMODE
    if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir"):
        if left and str(folder.path) in str(arguments[0]):
            left -= 1
            if left == 0:
                os._exit(9)

left = 0
sys.addaudithook(watched)
for line in sys.stdin:
    path, source, steps = line.rstrip("\\n").split("\\t")
    pid = os.fork()
    if pid == 0:
        folder, left = DataFolder(path), int(steps)
        restore(folder, Path(source), replace=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture
def killed_after() -> Iterator[Callable[[int, DataFolder, Path], bool]]:
    """Restore in a process that is killed at a step; return False if it ended before that step."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def kill(steps: int, folder: DataFolder, file: Path) -> bool:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{folder.path}\t{file}\t{steps}\n")
            process.stdin.flush()
            code = process.stdout.readline().strip()
            assert code in ("0", "9")
            return code == "9"

        yield kill
        process.stdin.close()


def test_killed_restore_leaves_old_or_new_data(saved, tmp_path, killed_after):
    """A restore that is committed is finished by the next start."""
    outcomes = []
    ended = False
    while not ended:
        steps = len(outcomes) + 1
        folder = filled(tmp_path / f"box{steps}", "old")
        ended = not killed_after(steps, folder, saved.file)
        interrupted = (folder.path / ".restored").exists()
        if interrupted:
            service = type("Service", (), {"metadata": None})
            with (
                pytest.raises(SetupError, match="interrupted"),
                open_administration(folder.path, service(), Administration),
            ):
                pass
        folder.prepare()  # as at every start
        restore_module.clean_up(folder)
        word = word_of(folder)
        assert is_whole(folder, word), steps
        assert not [path for path in folder.path.iterdir() if path.name.startswith(".rest")]
        outcomes.append((word, interrupted))
    order = [("old", False), ("new", True), ("new", False)]
    assert [*dict.fromkeys(outcomes)] == order
    assert outcomes == sorted(outcomes, key=order.index)
