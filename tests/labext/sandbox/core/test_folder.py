"""The data folder, the import time of the sandbox, and the memory of processes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
from labext.sandbox.core.executors import fork_server

HOLD = (
    "import sys; from pathlib import Path; from labext.sandbox.core.data_folder import FileLock\n"
    "lock = FileLock(Path(sys.argv[1])); print(lock.acquire(), flush=True); sys.stdin.read()\n"
)


def _holder(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_lock_is_held_until_its_process_ends(tmp_path):
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


def test_lock_on_a_read_only_file_system_can_be_queried(tmp_path, monkeypatch):
    def open_read_only(path, flags, mode=0o777, _open=os.open):
        if flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return _open(path, flags, mode)

    path = tmp_path / "some.lock"
    with _holder(path) as process:
        monkeypatch.setattr(os, "open", open_read_only)
        assert FileLock(path).is_held()
        process.kill()
        process.wait()
    assert not FileLock(path).is_held()
    with pytest.raises(StorageError, match="Read-only"):
        FileLock(path).acquire()


def test_only_one_process_acquires_the_lock(tmp_path):
    locks = [FileLock(tmp_path / "some.lock") for _ in range(20)]
    with ThreadPoolExecutor(len(locks)) as pool:
        acquired = list(pool.map(FileLock.acquire, locks))
    assert acquired.count(True) == 1
    for lock in locks:
        lock.release()


def test_deleted_lock_file_is_no_lock(tmp_path):
    lock, other = FileLock(tmp_path / "some.lock"), FileLock(tmp_path / "some.lock")
    assert lock.acquire()
    lock.path.unlink()
    assert other.acquire(1)
    for held in (lock, other):
        held.release()


def test_filesystem_without_locks_is_reported(tmp_path):
    (tmp_path / "some.lock").mkdir()
    with pytest.raises(StorageError, match="can't be locked"):
        FileLock(tmp_path / "some.lock").acquire()
    assert not FileLock(tmp_path / "nowhere" / "some.lock").acquire()


def test_secret_is_private_stable_and_masked(tmp_path):
    path = tmp_path / "key"
    value = ensure_secret(path)
    assert ensure_secret(path) == value
    assert len(value) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert value not in mask(f"the key is {value} today")


def test_folder_is_private(tmp_path):
    folder = DataFolder(tmp_path / "a" / "b")
    folder.prepare()
    folder.prepare()
    assert folder.is_ours()
    for path in (folder.path, folder.secrets, folder.tasks, folder.service("jobs")):
        assert path.stat().st_mode & 0o777 == 0o700


def test_empty_folder_is_accepted_and_made_private(tmp_path):
    tmp_path.chmod(0o755)
    DataFolder(tmp_path).prepare()
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_folder_that_another_process_creates_meanwhile_is_accepted(tmp_path, monkeypatch):
    folder, is_ours = DataFolder(tmp_path / "box"), DataFolder.is_ours

    def is_ours_before_the_other(self):
        result = is_ours(self)
        monkeypatch.setattr(DataFolder, "is_ours", is_ours)
        DataFolder(folder.path).prepare()
        return result

    monkeypatch.setattr(DataFolder, "is_ours", is_ours_before_the_other)
    folder.prepare()
    assert folder.is_ours()


def test_copy_without_hidden_files_is_refused_with_the_remedy(tmp_path):
    folder = DataFolder(tmp_path / "a copy")
    folder.path.mkdir()
    write_json(folder.state, {"pid": 1})
    with pytest.raises(SetupError, match=f"without the file {MARKER_FILE}") as caught:
        folder.prepare()
    assert caught.value.next_step
    command = caught.value.next_step.split("`")[1]
    subprocess.run(command, shell=True, check=True)
    folder.prepare()


def test_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="contains other files"):
        DataFolder(tmp_path).prepare()
    with pytest.raises(SetupError, match="not belong to a sandbox"):
        DataFolder(tmp_path).delete()
    assert (tmp_path / "file").exists()


def test_impossible_folder_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be written") as caught:
        DataFolder(tmp_path / "file" / "box").prepare()
    assert "another folder" in caught.value.next_step


def test_erasing_does_not_follow_links(tmp_path):
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


def test_erasing_a_linked_folder_empties_its_target(tmp_path):
    DataFolder(tmp_path / "real").prepare()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    DataFolder(tmp_path / "link").delete()
    assert list((tmp_path / "real").iterdir()) == []


def test_interrupted_erasure_can_be_resumed(tmp_path):
    (tmp_path / MARKER_FILE).touch()
    (tmp_path / "rest").mkdir()
    DataFolder(tmp_path).delete()
    assert not tmp_path.exists()


def test_erasing_removes_folders_without_permissions(tmp_path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    (tmp_path / "outer").chmod(0o500)
    remove_path(tmp_path / "outer")
    assert not (tmp_path / "outer").exists()
    remove_path(tmp_path / "outer")


def test_json_is_written_atomically(tmp_path):
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


def test_command_names_a_non_default_folder(tmp_path, monkeypatch):
    box = DataFolder(tmp_path / "my box")
    assert box.command("stop") == f"labext sandbox stop --data-dir '{tmp_path}/my box'"
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.path))
    assert "--data-dir" in box.command("stop"), "another shell may lack the variable"
    monkeypatch.delenv("LABEXT_SANDBOX_DIR")
    assert DataFolder(sandbox_dir()).command("start", "--json") == "labext sandbox start --json"


def test_lock_is_current_until_its_file_is_removed_or_replaced(tmp_path):
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


SERVERS = ["fastapi", "itsdangerous", "psutil", "sqlalchemy", "starlette", "uvicorn"]


def _run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_import_loads_neither_server_nor_dataframes():
    code = (
        "import sys, json; from labext.sandbox import Sandbox; Sandbox('nowhere').status()\n"
        "print(json.dumps([name for name in sys.modules if '.' not in name]))"
    )
    loaded = set(json.loads(_run(code)))
    assert loaded.isdisjoint([*SERVERS, "pandas", "numpy", "requests", "ipywidgets", "yaml"])


def test_missing_posix_or_packages_are_reported(tmp_path):
    code = (
        "import sys\n"
        f"for name in {[*SERVERS, 'fcntl', 'resource', 'pwd']!r}: sys.modules[name] = None\n"
        "from labext.sandbox import Sandbox; from labext.errors import SetupError\n"
        "sys.platform = 'win32'\n"
        "box = Sandbox(sys.argv[1]); print(box.status().state, box.stop())\n"
        "try: box.start()\n"
        "except SetupError as error: print(error.message)"
    )
    output = _run(code, str(tmp_path / "box")).splitlines()
    assert output == ["stopped False", "The sandbox needs Linux or macOS."]
    assert not (tmp_path / "box").exists()


MIB = 1 << 20
PARENT = f"""
import os, sys, time
block = bytearray(b"x" * (200 * {MIB}))
pid = os.fork()
if pid:
    print(pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def family() -> Iterator[tuple[int, int]]:
    """A process with 200 MiB of memory, and a fork of it."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.communicate("")


def test_descendants_are_counted(family):
    assert fork_server.exceeds_memory(family[0], 190 * MIB)
    assert not fork_server.exceeds_memory(family[0], 500 * MIB)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_shared_pages_are_counted_by_their_share(family):
    _parent, child = family
    assert fork_server._resident_bytes(child) > 190 * MIB
    assert not fork_server.exceeds_memory(child, 150 * MIB)
    assert fork_server.exceeds_memory(child, 80 * MIB)


def test_process_that_has_ended_has_no_memory():
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(pid, 0)
    assert not fork_server.exceeds_memory(pid, 0)
