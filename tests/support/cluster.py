"""A dask scheduler and workers on the loopback interface, and a proxy that can stop."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from labext_test_warm import SCHEDULER, ForkedProcess, shared
from tcp_proxy import TcpProxy

SUPPORT = Path(__file__).parent


def environment() -> dict[str, str]:
    """Return the environment of a process that imports the test modules."""
    paths = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


@dataclass
class Cluster:
    """Processes of a cluster; `close` ends them.

    With `beside`, the address of a running scheduler, only workers are started.
    """

    folder: Path
    tls: tuple[Path, Path, Path] | None = None
    port: int = 0
    scheduler: ForkedProcess | None = None
    workers: list[ForkedProcess] = field(default_factory=list)
    beside: str | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        if self.beside is None:
            self.start_scheduler()

    @property
    def address(self) -> str:
        if self.beside is not None:
            return self.beside
        return f"{'tcp' if self.tls is None else 'tls'}://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        """Start `dask scheduler`, and wait until it listens: on a free port, later on the same."""
        started = self.folder / "scheduler.json"
        started.unlink(missing_ok=True)
        command = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        command += ["--scheduler-file", str(started)]
        if self.tls is not None:
            options = ("--tls-ca-file", "--tls-cert", "--tls-key")
            command += ["--protocol", "tls"]
            for name, path in zip(options, self.tls, strict=True):
                command += [name, str(path)]
        self.scheduler = self._spawn(SCHEDULER, command, "scheduler.log")
        until = time.monotonic() + 60
        while not (started.exists() and started.stat().st_size):
            assert self.scheduler.poll() is None, self.log("scheduler.log")
            assert time.monotonic() < until
            time.sleep(0.05)
        self.port = int(json.loads(started.read_text())["address"].rpartition(":")[2])

    def start_worker(self, *, address: str | None = None, **options: Any) -> ForkedProcess:
        """Start a worker; `options` are those of `WorkerOptions`."""
        number = len(self.workers)
        settings = {"slots": 2, "memory": 1 << 30, "name": f"w{number}"} | options
        if self.tls is not None:
            settings.setdefault("tls", [*map(str, self.tls)])
        worker = self._spawn(
            "labext_test_worker",
            [address or self.address, str(self.folder / "workers"), json.dumps(settings)],
            f"worker{number}.log",
        )
        self.workers.append(worker)
        return worker

    def _spawn(self, module: str, arguments: list[str], log: str) -> ForkedProcess:
        variables = environment() | {"TMPDIR": str(self.folder)}
        return shared.run(module, arguments, variables, self.folder / log)

    def log(self, name: str) -> str:
        return (self.folder / name).read_text()

    def stop_workers(self) -> None:
        _stop(self.workers)
        self.workers.clear()

    def close(self) -> None:
        _stop([*self.workers, *([self.scheduler] if self.scheduler else [])])


def _stop(processes: list[ForkedProcess]) -> None:
    for process in processes:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [pid, *(child.pid for child in process.children(recursive=True))]
    return []


class Proxy(TcpProxy):
    """Forwards connections to a scheduler, until it is stopped for a while."""

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"
