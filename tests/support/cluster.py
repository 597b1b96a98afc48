"""A dask scheduler and workers on the loopback interface, and a proxy that can stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from labext_test_warm import SCHEDULER, ForkedProcess, shared

SUPPORT = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


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
    port: int = field(default_factory=free_port)
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
        """Start `dask scheduler`, and wait until it listens."""
        command = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        if self.tls is not None:
            options = ("--tls-ca-file", "--tls-cert", "--tls-key")
            command += ["--protocol", "tls"]
            for name, path in zip(options, self.tls, strict=True):
                command += [name, str(path)]
        self.scheduler = self._spawn(SCHEDULER, command, "scheduler.log")
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert self.scheduler.poll() is None, self.log("scheduler.log")
            assert time.monotonic() < until
            time.sleep(0.05)

    def start_worker(self, *, address: str | None = None, **options: Any) -> ForkedProcess:
        """Start a worker; `options` are those of `WorkerOptions`."""
        number = len(self.workers)
        settings = {"slots": 2, "memory": 1 << 30, "name": f"w{number}"} | options
        if self.tls is not None:
            settings.setdefault("tls", [*map(str, self.tls)])
        worker = self._spawn(
            "labext_test_worker",
            [
                address or self.address,
                str(self.folder / "workers"),
                json.dumps(settings),
            ],
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


class Proxy:
    """Forwards connections to a port of this machine, until it is stopped for a while."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._flows = threading.Event()
        self._flows.set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Stop forwarding, and keep the connections open."""
        self._flows.clear()

    def resume(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self._flows.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connect, "127.0.0.1", self.port)
        )
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for writer in self._writers:
            writer.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0.05))  # the transports close
        self._loop.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._flowing()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65536):
                await self._flowing()
                writer.write(chunk)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

    async def _flowing(self) -> None:
        while not self._flows.is_set():
            await asyncio.sleep(0.02)
