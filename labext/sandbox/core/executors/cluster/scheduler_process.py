"""Run dask's scheduler as a child of the service."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

from labext.sandbox.core.executors.cluster.address import TlsFiles
from labext.sandbox.core.executors.launcher import clean_environment

RESTART_SECONDS = 2.0
"""Seconds between two starts of a scheduler that keeps ending."""


class SchedulerProcess:
    """A `dask scheduler` that ends with this process and is started again if it is killed.

    Args:
        port: the port to listen on.
        tls: the certificates. With them it listens on all addresses, else on the loopback
            interface.
    """

    def __init__(self, port: int, tls: TlsFiles | None) -> None:
        self._tls = tls
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    @property
    def address(self) -> str:
        """The address for this machine."""
        return f"{'tcp' if self._tls is None else 'tls'}://127.0.0.1:{self._port}"

    def ensure(self) -> None:
        """Start the scheduler unless it runs."""
        is_running = self._process is not None and self._process.poll() is None
        if is_running or time.monotonic() < self._started + RESTART_SECONDS:
            return
        self._started = time.monotonic()
        self.leave_to_parent()
        # In the session of this process: orphans in other sessions are tasks, see `Supervisor`.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, *self._arguments()],
            # Lost workers are reported by the service: in its log format, without a traceback.
            env=clean_environment()
            | {"DASK_LOGGING__DISTRIBUTED": "critical", "DASK_LOGGING__ASYNCIO": "critical"},
            stdin=subprocess.PIPE,
        )

    def close(self) -> None:
        """End the scheduler."""
        self.leave_to_parent()
        if self._process is not None:
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def leave_to_parent(self) -> None:
        """In a forked process: let the scheduler end with the parent only."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _arguments(self) -> list[str]:
        arguments = ["--port", str(self._port), "--no-dashboard", "--no-jupyter"]
        # Without a dashboard there still is an unprotected page with the state of the scheduler.
        arguments += ["--dashboard-address", "127.0.0.1:0"]
        if self._tls is None:
            return [*arguments, "--host", "127.0.0.1"]
        arguments += ["--protocol", "tls", "--tls-ca-file", str(self._tls.ca)]
        arguments += ["--tls-cert", str(self._tls.certificate), "--tls-key", str(self._tls.key)]
        return arguments


def _end_with_parent() -> None:
    # Until the parent closes the pipe or dies. A buffered read would fail at the end of Python.
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


if __name__ == "__main__":
    from distributed.cli.dask_scheduler import main

    threading.Thread(target=_end_with_parent, daemon=True).start()
    main(sys.argv[1:])
