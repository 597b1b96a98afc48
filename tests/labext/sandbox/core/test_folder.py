"""The data folder: whose it is, who may read it, who holds it, and how it goes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labext.config import sandbox_dir
from labext.errors import SetupError, StorageError
from labext.redaction import mask
from labext.sandbox.core.data_folder import (
    MARKER_FILE,
    DataFolder,
    FileLock,
    ensure_secret,
    read_json,
    remove_path,
    write_json,
)

HOLD = (
    "import sys; from pathlib import Path; from labext.sandbox.core.data_folder import FileLock\n"
    "lock = FileLock(Path(sys.argv[1])); print(lock.acquire(), flush=True); sys.stdin.read()\n"
)


def _holder(path: Path) -> subprocess.Popen[str]:
    """Another process that has the lock until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_a_lock_is_held_as_long_as_its_process_lives(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    lock = FileLock(path)
    assert not lock.is_held()
    with _holder(path) as process:
        assert lock.is_held()
        assert lock.holder()["pid"] == process.pid
        assert not lock.acquire(0.05)
        process.kill()
        process.wait()
        assert lock.acquire(5)
    assert lock.holder()["pid"] == os.getpid()
    assert lock.is_held()
    lock.release()
    assert not lock.is_held()


def test_only_one_of_many_gets_it(tmp_path: Path) -> None:
    locks = [FileLock(tmp_path / "some.lock") for _ in range(20)]
    got: list[bool] = []
    threads = [
        threading.Thread(target=lambda lock=lock: got.append(lock.acquire())) for lock in locks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count(True) == 1
    for lock in locks:
        lock.release()


def test_a_lock_file_that_was_deleted_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with _holder(path) as process:
        path.unlink()
        assert FileLock(path).acquire(1)
        process.communicate("")


def test_where_nothing_can_be_locked_is_told(tmp_path: Path) -> None:
    (tmp_path / "some.lock").mkdir()
    with pytest.raises(StorageError, match="can't be locked"):
        FileLock(tmp_path / "some.lock").acquire()
    assert not FileLock(tmp_path / "nowhere" / "some.lock").acquire()


def test_a_secret_is_made_once_read_by_its_owner_only_and_masked(tmp_path: Path) -> None:
    path = tmp_path / "key"
    value = ensure_secret(path)
    assert ensure_secret(path) == value
    assert len(value) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert value not in mask(f"the key is {value} today")


def test_a_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "a" / "b")
    folder.prepare()
    folder.prepare()
    assert folder.is_ours()
    for path in (folder.path, folder.secrets, folder.tasks, folder.service("jobs")):
        assert path.stat().st_mode & 0o777 == 0o700


def test_an_empty_folder_is_taken_and_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    DataFolder(tmp_path).prepare()
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError):
        DataFolder(tmp_path).prepare()
    with pytest.raises(SetupError):
        DataFolder(tmp_path).delete()
    assert (tmp_path / "file").exists()


def test_where_no_folder_can_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be written") as caught:
        DataFolder(tmp_path / "file" / "box").prepare()
    assert "another folder" in caught.value.next_step


def test_erasing_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = DataFolder(tmp_path / "box")
    folder.prepare()
    (folder.path / "link").symlink_to(outside)
    (folder.tasks / "link").symlink_to(outside)
    folder.delete()
    assert not folder.path.exists()
    assert (outside / "kept").exists()


def test_erasing_what_a_link_points_to_empties_it(tmp_path: Path) -> None:
    DataFolder(tmp_path / "real").prepare()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    DataFolder(tmp_path / "link").delete()
    assert list((tmp_path / "real").iterdir()) == []


def test_an_interrupted_erasure_is_still_ours(tmp_path: Path) -> None:
    (tmp_path / MARKER_FILE).touch()
    (tmp_path / "rest").mkdir()
    DataFolder(tmp_path).delete()
    assert not tmp_path.exists()


def test_folders_that_were_closed_go_too(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    (tmp_path / "outer").chmod(0o500)
    remove_path(tmp_path / "outer")
    assert not (tmp_path / "outer").exists()
    remove_path(tmp_path / "outer")


def test_json_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    assert read_json(path) == {}
    write_json(path, {"a": 1})
    write_json(path, {"a": 2})
    assert read_json(path) == {"a": 2}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["some.json"]
    for broken in ("", "{", "[1]", "\x00"):
        path.write_text(broken)
        assert read_json(path) == {}


def test_a_command_names_the_folder_unless_every_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = DataFolder(tmp_path / "my box")
    assert box.command("stop") == f"labext sandbox stop --data-dir '{tmp_path}/my box'"
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.path))
    assert "--data-dir" in box.command("stop"), "another shell may lack the variable"
    monkeypatch.delenv("LABEXT_SANDBOX_DIR")
    assert DataFolder(sandbox_dir()).command("start", "--json") == "labext sandbox start --json"


def test_a_lock_is_current_until_its_file_is_gone_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    lock = FileLock(tmp_path / "box" / "some.lock")
    assert not lock.is_current()
    assert lock.acquire()
    assert lock.is_current()
    (tmp_path / "box").rename(tmp_path / "moved")
    assert not lock.is_current()
    (tmp_path / "box").touch()
    assert not lock.is_current()
    (tmp_path / "box").unlink()
    (tmp_path / "box").mkdir()
    lock.path.touch()
    assert not lock.is_current()
    lock.release()
