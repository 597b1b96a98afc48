"""Input and output files of an attempt that runs on another machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.core.data_folder import remove_path
from labext.sandbox.core.executors.cluster.attempts import LostAttemptError, RemoteAttempt
from labext.sandbox.core.executors.cluster.protocol import read_chunk, resolve_inside, walk_files
from labext.sandbox.core.task_transitions import ClaimedTask
from labext.storage import sync_folder, sync_tree

CallWorker = Callable[..., Awaitable[dict[str, Any]]]
"""Sends a message about an attempt to its worker: `(attempt, operation, **arguments)`."""


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


def copy_file(source: Path, target: Path) -> None:
    """Copy a file and create the folder of its copy."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def move_into_place(incoming: Path, work: Path) -> None:
    """Move received files and folders to the work folder, replacing existing ones.

    They are synced to the disk, since their worker then deletes its own.
    """
    sync_tree(incoming)
    for entry in incoming.iterdir():
        target = work / entry.name
        if target.is_dir() and not target.is_symlink():
            remove_path(target)
        try:
            os.replace(entry, target)
        except OSError:  # another file system
            shutil.move(entry, target)
    for folder in (work, *work.parents[:2]):
        sync_folder(folder)


async def send_inputs(
    attempt: RemoteAttempt, files: Sequence[tuple[str, Path, int]], target: Path, call: CallWorker
) -> None:
    """Copy the inputs of an attempt, from `list_inputs`, into a folder at its worker."""
    if attempt.worker.shared is not None:
        for name, path, _ in files:
            await asyncio.to_thread(copy_file, path, resolve_inside(target, name))
        return
    for name, path, size in files:
        offset = 0
        while offset < size or not offset:
            data = await asyncio.to_thread(read_chunk, path, offset)
            await call(attempt, "labext_put", path=name, offset=offset, data=data)
            offset += len(data)
            if not data:
                break


async def fetch_outputs(
    attempt: RemoteAttempt, state: Mapping[str, Any], incoming: Path, call: CallWorker
) -> None:
    """Copy the outputs of an attempt, as in the last `state` of its worker, into an emptied folder.

    Raises:
        LostAttemptError: a file at the worker has become shorter.
    """
    contents = state.get("contents")
    remove_path(incoming)
    incoming.mkdir(mode=0o700)
    for number, (name, size) in enumerate(state["files"]):
        target = resolve_inside(incoming, name)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if contents is not None:
            target.write_bytes(contents[number])
        elif attempt.worker.shared is not None:
            source = resolve_inside(Path(state["work"]), name)
            await asyncio.to_thread(copy_file, source, target)
        else:
            await _fetch_file(attempt, name, size, target, call)


async def _fetch_file(
    attempt: RemoteAttempt, name: str, size: int, target: Path, call: CallWorker
) -> None:
    with target.open("wb") as file:
        while file.tell() < size:
            reply = await call(attempt, "labext_read", path=name, offset=file.tell())
            if not reply["data"]:
                raise LostAttemptError("A file has become shorter.")
            await asyncio.to_thread(file.write, reply["data"])
