"""Fork the hosts of sandboxes and the processes of clusters from a warm process.

Imports take most of their start. `Warm.spawn` stands in for `host_process.spawn_host`. A forked
host has the same session, arguments, environment, folder and log as a started one, and inherits no
other files or signal handlers. Its fork server is forked as well, by a `_ForkServerProcess`. Tests
with the fixture `cold`, and those that start sandboxes from kernels and shells, start both in the
usual way.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from labext import redaction
from labext.sandbox.core.executors import fork_server, launcher, task_process
from labext.sandbox.core.executors.launcher import SINGLE_THREAD_VARIABLES

LAZY = (
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto"),
    *("anyio._backends._asyncio", "platformdirs", "Bio.SeqFeature", "Bio.GenBank"),
    "pyloudnorm",
)
"""Modules that hosts import when they start serving, and one whose import takes more than a second
in each task that records an episode.
"""

HEAVY = ("biotite", "pyhmmer", "rdkit")
"""Packages that few jobs need; the jobs' processes import them."""


SCHEDULER = "labext_test_scheduler"
"""The module of a scheduler, which runs no tasks."""

STORAGE = ("s3fs",)
"""Packages that hosts with files in S3 need."""

POSTGRESQL = ("psycopg",)
"""Packages that hosts with a PostgreSQL database need."""

CLUSTER = ("distributed", "distributed.cli.dask_scheduler")
"""Packages that workers and schedulers need, and hosts that use them."""


class Warm:
    """The warm process of a test process, started with the first host."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def spawn(self, folder: Any, options: Sequence[str]) -> ForkedProcess:
        """Start the host of `folder`, as `labext.sandbox.host_process.spawn_host` does."""
        from labext.sandbox import host_process

        log = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        storage = folder.storage.read_text() if folder.storage.exists() else ""
        is_in_s3 = any("s3://" in text for text in (storage, *options))
        imports = (
            *(STORAGE if is_in_s3 else ()),
            *(POSTGRESQL if folder.uses_postgresql else ()),
            *(CLUSTER if "--executor" in options else ()),
        )
        request = {
            "arguments": [str(folder.path), *options],
            "environment": host_process.host_environment(folder),
            "folder": str(folder.path),
            "imports": imports,
        }
        return self._fork(request, log)

    def run(
        self, module: str, arguments: Sequence[str], environment: dict[str, str], log: Path
    ) -> ForkedProcess:
        """Call the function `main` of a module with arguments in a process of a cluster."""
        request = {
            "module": module,
            "arguments": [*arguments],
            "environment": environment,
            "folder": str(Path.cwd()),
            "imports": (module, *CLUSTER),
        }
        return self._fork(request, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))

    def _fork(self, request: dict[str, Any], log: int) -> ForkedProcess:
        try:
            return ForkedProcess(self, self.ask(request, log)["pid"])
        finally:
            os.close(log)

    def ask(self, command: dict[str, Any], *files: int) -> dict[str, Any]:
        """Send a request with file descriptors; return the response."""
        with self._lock:
            if self._socket is None:
                self._start()
            assert self._socket is not None
            socket.send_fds(self._socket, [json.dumps(command).encode()], files)
            answer: dict[str, Any] = json.loads(self._socket.recv(65536))
        return answer

    def close(self) -> None:
        """End the warm process, and hosts that were not stopped."""
        if self._process is not None and self._socket is not None:
            self._socket.close()
            self._process.wait(10)

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env=os.environ
                | SINGLE_THREAD_VARIABLES
                | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
            )


class ForkedProcess:
    """A forked process with the methods of `subprocess.Popen` that tests and `lifecycle` use."""

    def __init__(self, warm: Warm, pid: int) -> None:
        self._warm, self.pid = warm, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        if self.returncode is None:
            self.returncode = self._warm.ask({"code": self.pid})["code"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing happens if it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send it SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


shared = Warm()
"""The warm process of this test process."""


class Server:
    """The warm process: forks hosts and reaps them."""

    def __init__(self, command: socket.socket) -> None:
        from labext.sandbox import host
        from labext.sandbox.jobs.tools import catalogue

        self._socket = command
        self._hosts: set[int] = set()
        self._codes: dict[int, int] = {}
        light = [name for name in catalogue.preload_modules() if not name.startswith(HEAVY)]
        catalogue.preload_modules = lambda: light
        names = [service.partition(":")[0] for service in host.SERVICES]
        services = [importlib.import_module(name).service for name in names]
        for name in (*LAZY, *(name for service in services for name in service.preload)):
            importlib.import_module(name)
        redaction.mask("-")  # compiles its expressions
        gc.collect()
        gc.freeze()
        signal.signal(signal.SIGCHLD, self._reap)

    def serve(self) -> None:
        """Handle requests until the connection is closed; then end hosts that are left.

        They are left if the test process was killed.
        """
        while True:
            message, files, _flags, _from = socket.recv_fds(self._socket, 65536, 1)
            if not message:
                for pid in self._hosts - self._codes.keys():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
                return
            self._socket.send(json.dumps(self._answer(json.loads(message), files)).encode())

    def _answer(self, command: dict[str, Any], files: list[int]) -> dict[str, Any]:
        if "code" in command:
            return {"code": self._codes.get(command["code"])}
        for name in command["imports"]:
            if name not in sys.modules:
                importlib.import_module(name)
                if name in STORAGE:
                    _read_service_descriptions()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            _become(command, files[0])
        self._hosts.add(pid)
        self._codes.pop(pid, None)  # of an earlier host with this pid
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.close(files[0])
        return {"pid": pid}

    def _reap(self, *_: Any) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])


def _read_service_descriptions() -> None:
    """Create a client as hosts do, so that forked hosts need not parse the files of botocore."""
    loader = importlib.import_module("botocore.loaders").JSONFileLoader
    read = functools.cache(functools.partial(loader.load_file, loader()))
    loader.load_file = lambda _self, path: read(path)
    session = importlib.import_module("botocore.session").Session()
    keys = {"aws_access_key_id": "-", "aws_secret_access_key": "-"}
    session.create_client("s3", "us-east-1", endpoint_url="http://127.0.0.1:1", **keys)


class _ForkServerProcess:
    """A child process that becomes the fork server of a host or service process.

    It is forked before its parent has threads. Its methods are those of `subprocess.Popen` that
    `Launcher` uses.
    """

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            _serve_tasks(theirs.detach())
        theirs.close()

    def serve(self, connection: socket.socket, folder: Path) -> _ForkServerProcess:
        """Serve the tasks of a folder."""
        variables = {task_process.TASKS_VARIABLE: str(folder)}
        environment = launcher.clean_environment() | SINGLE_THREAD_VARIABLES | variables
        message = json.dumps(environment).encode()
        socket.send_fds(self._requests, [message], [connection.fileno()])
        self._requests.close()
        return self

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        until = None if timeout is None else time.monotonic() + timeout
        while not (ended := os.waitpid(self._pid, os.WNOHANG))[0]:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("fork_server", timeout or 0.0)
            time.sleep(0.005)
        return os.waitstatus_to_exitcode(ended[1])

    def kill(self) -> None:
        """Kill it."""
        os.kill(self._pid, signal.SIGKILL)


def _serve_tasks(requests: int) -> NoReturn:
    """Wait for the request of the parent, and run the fork server."""
    global _prepared
    _prepared = None
    os.closerange(3, requests)
    os.closerange(requests + 1, 1024)
    try:
        with socket.socket(fileno=requests) as connection:
            message, [number], *_ = socket.recv_fds(connection, 65536, 1)
        os.setsid()
        os.environ.clear()
        os.environ.update(json.loads(message))
        fork_server.main([str(number)])
    except ValueError:  # the parent has ended without a task
        pass
    finally:
        os._exit(0)


_prepared: list[_ForkServerProcess] | None = None
"""The fork server of this process until it is needed; None in processes that need none."""


def _prepare_fork_server() -> None:
    """Fork a fork server in a host, and in each service process that a host forks."""
    global _prepared
    if _prepared is not None:
        _prepared = None  # not in the fork server and its tasks
        _prepared = [_ForkServerProcess()]


def _spawn_fork_server(connection: socket.socket, folder: Path) -> Any:
    if _prepared:
        return _prepared.pop().serve(connection, folder)
    return _spawn_cold_fork_server(connection, folder)


_spawn_cold_fork_server = launcher.spawn_fork_server


def _become(command: dict[str, Any], log: int) -> NoReturn:
    """Run the host, or the process of a cluster, in the forked process."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.setsid()
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)
        os.chdir(command["folder"])
        os.environ.clear()
        os.environ.update(command["environment"])
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [path for path in paths if path and path not in sys.path]
        tempfile.tempdir = None
        global _prepared
        _prepared = []
        if "--processes" not in command["arguments"] and command.get("module") != SCHEDULER:
            _prepare_fork_server()
        os.register_at_fork(after_in_child=_prepare_fork_server)
        launcher.spawn_fork_server = _spawn_fork_server
        gc.unfreeze()
        code = _run(command.get("module"), command["arguments"])
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(code)


def _run(module: str | None, arguments: list[str]) -> int:
    if module is None:
        from labext.sandbox import host

        return host.main(arguments)
    try:
        importlib.import_module(module).main(*arguments)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception:  # noqa: BLE001 - reported as by the interpreter
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()
