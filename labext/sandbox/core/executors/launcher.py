"""Start the fork server and exchange messages with it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from labext.sandbox.core.executors.task_process import TASKS_VARIABLE

StartMethod = Literal["fork", "spawn"]

_INHERITED_VARIABLES = re.compile(
    r"(?i)PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|PYTHON(PATH|HOME|UTF8)|"
    r"VIRTUAL_ENV|CONDA_PREFIX|LD_LIBRARY_PATH|DYLD_\w+|SSL_CERT_\w+|(https?|no|all)_proxy|XDG_\w+|"
    r"LABEXT_(SERVICES|CACHE_DIR)"
)
SINGLE_THREAD_VARIABLES = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def clean_environment() -> dict[str, str]:
    """Environment variables passed to child processes; keys and tokens are left out."""
    return {
        name: value for name, value in os.environ.items() if _INHERITED_VARIABLES.fullmatch(name)
    }


class MessageStream:
    """JSON messages over a socket, one per line."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._received = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; nothing happens if the other process has ended."""
        with contextlib.suppress(OSError):  # the next `receive` reports it
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for messages and return them; None once the other process has ended."""
        try:
            chunk = self.socket.recv(65536)
        except ConnectionError:
            chunk = b""
        if not chunk:
            return None
        *lines, self._received = (self._received + chunk).split(b"\n")
        return [json.loads(line) for line in lines]


def spawn_fork_server(connection: socket.socket, folder: Path) -> subprocess.Popen[bytes]:
    """Start a fork server for the tasks of a folder in its own session."""
    # A job is one worker: libraries with a thread per core would starve other jobs.
    variables = SINGLE_THREAD_VARIABLES | {TASKS_VARIABLE: str(folder)}
    module = "labext.sandbox.core.executors.fork_server"
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, str(connection.fileno())],
        env=clean_environment() | variables,
        pass_fds=[connection.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


class Launcher:
    """A fork server and the connection to it.

    Args:
        lock: the file that the fork server locks while it runs, beside the scratch folders.
        preload: modules that tasks need.
    """

    def __init__(
        self, lock: Path, preload: Sequence[str] = (), method: StartMethod | None = None
    ) -> None:
        parent_end, child_end = socket.socketpair()
        self._stream = MessageStream(parent_end)
        with child_end:
            self._process = spawn_fork_server(child_end, lock.parent)
        # On macOS, system libraries may crash after a fork.
        method = method or ("fork" if sys.platform == "linux" else "spawn")
        self._stream.send({"preload": [*preload], "method": method, "lock": str(lock)})

    def fileno(self) -> int:
        """Return the descriptor for a selector; readable when `events` does not block."""
        return self._stream.socket.fileno()

    def start(
        self, task_id: int, scratch: Path, max_memory: int | None = None, *, warm: bool = False
    ) -> None:
        """Start the process of a task; see `Executor.start`."""
        order = {"start": task_id, "scratch": str(scratch), "memory": max_memory, "warm": warm}
        self._stream.send(order)

    def kill(self, task_id: int) -> None:
        """Kill a task with its descendants; its end is reported as usual."""
        self._stream.send({"kill": task_id})

    def events(self) -> list[dict[str, Any]] | None:
        """Wait for events and return them; None once the fork server has ended."""
        return self._stream.receive()

    def close(self) -> None:
        """End the fork server, and with it every task."""
        self._stream.socket.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
