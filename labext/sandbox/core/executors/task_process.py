"""Run a single task in its own process, with limits, a log and a report file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from labext.redaction import mask, mask_line

TASK_VARIABLE = "LABEXT_TASK"
"""Environment variable that marks the processes of a task: its scratch folder."""

TASKS_VARIABLE = "LABEXT_TASKS"
"""Environment variable that marks a fork server and its processes: the folder of the scratch
folders. The system reports only the initial environment of a process, so a forked process has this
variable and not the one of its task."""

PROCESS_FILE = "process.json"
"""File in the scratch folder that a task's process writes before the entry runs, which tells the
supervisor that an attempt has begun."""

EXIT_DISK_FULL = 28
"""Exit code of a task that could not write its report to a full disk."""

DISK_FULL = "The disk was full while it ran. Try again once there is room."
"""Reason of a task that failed on a full disk."""

MAX_REASON_LENGTH = 500
MAX_REPORT_BYTES = 4 * 1024**2
MAX_FILE_BYTES = 4 * 1024**3
"""Size limit of a file written by a task."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class TaskError(Exception):
    """A task failed; the message is one line for its user."""


is_warm = False
"""Whether this process may run several tasks, one after another."""


def run_task(scratch: Path, parent: int, channel: socket.socket | None = None) -> int:
    """Run the task in this process, a new child of `parent`; return the exit code.

    A warm process has a channel to its parent: it reports the end of a task and receives the
    scratch folder of the next one. It exits when the channel is closed or a task fails.
    """
    _isolate(parent)
    if channel is None:
        return _execute(scratch)
    global is_warm
    is_warm = True
    while True:
        code = _execute(scratch)
        if code != 0:
            return code
        channel.sendall(b"\n")
        message = channel.recv(65536)
        if not message:
            return 0
        scratch = Path(message.decode())


def _isolate(parent: int) -> None:
    """Give this process its own signal handlers, session and limits."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(PermissionError):  # a spawned process leads its session already
        os.setsid()
    _die_with_parent(parent)
    _apply_limits()


def _execute(scratch: Path) -> int:
    """Run a task; return the exit code."""
    try:
        return _run_task(scratch)
    except OSError as error:
        if _is_disk_full(error):
            return EXIT_DISK_FULL
        raise


def _is_disk_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _run_task(scratch: Path) -> int:
    """Run a task and write its report; return the exit code."""
    _write_process_file(scratch)
    request = json.loads((scratch / "request.json").read_bytes())
    work = Path(request["work"])
    _enter_work_folder(scratch, work)
    report = _call_entry(request["entry"], work, request["payload"])
    sys.stdout.flush()
    sys.stderr.flush()
    if report is None:
        return 1
    _write_whole(scratch / "report.json", report)
    return 0


def adopt_orphans() -> None:
    """Let this process adopt the orphans among its descendants (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when `parent` is killed, and to let it adopt orphans.

    A detached process (new session, double fork) of a task belongs to the task until the task ends,
    and then to `parent`. So a child of `parent` that is not a task is an orphan of an ended task.
    """
    if sys.platform != "linux":
        return
    adopt_orphans()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before the call
        os._exit(1)


def _write_process_file(scratch: Path) -> None:
    import psutil

    process = {"pid": os.getpid(), "created": psutil.Process().create_time()}
    _write_whole(scratch / PROCESS_FILE, json.dumps(process).encode())


def _enter_work_folder(scratch: Path, work: Path) -> None:
    """Set the working folder, log and environment of a task."""
    os.umask(0o077)
    os.chdir(work)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    faulthandler.enable()
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    os.environ.update({TASK_VARIABLE: str(scratch), "TMPDIR": str(temporary)})
    tempfile.tempdir = None  # it caches the folder of the previous task


def _apply_limits() -> None:
    import resource

    os.nice(5)
    # If the machine runs out of memory, the kernel kills a task, not the service.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = MAX_FILE_BYTES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILE_BYTES)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))


def _call_entry(entry: str, work: Path, payload: dict[str, Any]) -> bytes | None:
    """Call the entry; return None if it exited the interpreter, so that the exit code is used."""
    import orjson

    try:
        module, _, function = entry.partition(":")
        result = getattr(importlib.import_module(module), function)(work, payload)
        option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        report = orjson.dumps({"outcome": "done", "result": dict(result)}, option=option)
        if len(report) > MAX_REPORT_BYTES:
            raise TaskError(f"The tool returned {len(report)} bytes, which is too much to store.")
        return report
    except TaskError as error:
        reason = str(error)
        print(mask(reason), file=sys.stderr)
    except SystemExit:
        sys.stderr.write(mask(traceback.format_exc()))
        return None
    except Exception as error:  # noqa: BLE001 - any exception of a tool becomes its job's reason
        sys.stderr.write(mask(traceback.format_exc()))
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, OSError) and _is_disk_full(error):
            reason = DISK_FULL
    # PostgreSQL stores no NUL characters, which files of users may contain.
    reason = mask_line(reason)[:MAX_REASON_LENGTH]
    return json.dumps({"outcome": "failed", "reason": reason}).encode()


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    partial = path.with_name(f".{path.name}")
    partial.write_bytes(content)
    partial.replace(path)


if __name__ == "__main__":
    # A tool raises the TaskError of the imported module, which is not the class of `__main__`.
    imported = importlib.import_module("labext.sandbox.core.executors.task_process")
    channel = socket.socket(fileno=int(sys.argv[2])) if len(sys.argv) > 2 else None
    if channel is not None:
        channel.set_inheritable(False)
    os._exit(imported.run_task(Path(sys.argv[1]), os.getppid(), channel))
