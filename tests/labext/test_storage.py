"""Locks of local files."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from labext import storage

pytestmark = pytest.mark.unit


def test_exclusive_block_waits_until_the_lock_is_released_and_reports_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.lock"
    path.parent.mkdir()
    held = storage.open_locked(path)
    assert held is not None
    events = []

    def on_wait() -> None:
        events.append("waiting")
        threading.Timer(0.1, release).start()

    def release() -> None:
        events.append("released")
        os.close(held)

    with storage.exclusive(path, on_wait):
        events.append("entered")
        assert storage.open_locked(path) is None
    assert events == ["waiting", "released", "entered"]
    assert not path.exists()


def test_exclusive_block_runs_without_a_folder_for_the_lock(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with storage.exclusive(tmp_path / "file" / "x.lock", pytest.fail):
        entered = True
    assert entered


def test_lock_of_a_deleted_file_is_not_that_of_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.lock"
    lock_file = storage.lock_file

    def deleted_meanwhile(descriptor: int) -> bool:
        monkeypatch.undo()
        path.unlink()
        return lock_file(descriptor)

    monkeypatch.setattr(storage, "lock_file", deleted_meanwhile)
    descriptor = storage.open_locked(path)
    assert descriptor is not None
    assert storage.is_same_file(descriptor, path)
    os.close(descriptor)
