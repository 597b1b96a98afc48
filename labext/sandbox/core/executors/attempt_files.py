"""Input and output files of an attempt that runs on another machine."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from labext.sandbox.core.data_folder import remove_path
from labext.sandbox.core.executors.cluster_attempts import RemoteAttempt
from labext.sandbox.core.executors.cluster_protocol import CHUNK_BYTES, walk_files
from labext.sandbox.core.queue import ClaimedTask


def work_folder(attempt: RemoteAttempt) -> Path:
    """Return the folder in which a task leaves its outputs on this machine."""
    assert attempt.scratch is not None
    return attempt.task.work or attempt.scratch / "work"


def append_log(attempt: RemoteAttempt, text: bytes) -> None:
    """Append the next part of a task's log to the copy on this machine."""
    with contextlib.suppress(OSError):  # the log is sent again at the end
        with (work_folder(attempt) / "log.txt").open("ab") as file:
            file.truncate(attempt.log_size)
            file.write(text)
        attempt.log_size += len(text)


def visible_folder(shared: list[str] | None) -> Path | None:
    """Return a worker's shared folder if this machine sees the same one."""
    if shared is None:
        return None
    folder, token = Path(shared[0]), shared[1]
    try:
        return folder if (folder / "token").read_text() == token else None
    except OSError:
        return None


def list_inputs(task: ClaimedTask) -> list[tuple[str, Path, int]]:
    """Return the names, paths and sizes of the files in the input folders of a task."""
    return [
        (f"{folder.name}/{name}", folder / name, size)
        for folder in task.inputs or ()
        if folder.is_dir()
        for name, size in walk_files(folder)
    ]


def read_chunk(path: Path, offset: int) -> bytes:
    """Return the next part of a file, of at most `CHUNK_BYTES` bytes."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(CHUNK_BYTES)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file and create the folder of its copy."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def move_into_place(incoming: Path, work: Path) -> None:
    """Move received files and folders to the work folder, replacing existing ones."""
    for entry in incoming.iterdir():
        target = work / entry.name
        if target.is_dir() and not target.is_symlink():
            remove_path(target)
        try:
            os.replace(entry, target)
        except OSError:  # another file system
            shutil.move(entry, target)
