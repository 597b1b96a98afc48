"""Serve with several processes: fork them, replace those that end, and stop all."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import psutil

from labext.errors import ServiceError
from labext.sandbox.core.data_folder import EXIT_CUT_OFF

STOP_SECONDS = 20.0
"""Time for the processes to stop before they are killed."""

SETTLED_SECONDS = 30.0
"""Minimum lifetime in seconds of a process that is replaced without a pause."""

MAX_PAUSE_SECONDS = 30.0

THREAD_SECONDS = 10.0
"""Maximum time to wait for threads that are exiting before a fork."""

log = logging.getLogger("labext.sandbox")

Serve = Callable[[int, Callable[[], None]], None]
"""Serve as the process with a number, and call the function once the services respond."""


@dataclass
class _Process:
    """A service process.

    Attributes:
        ready: a pipe to which it writes once it responds; None afterwards.
        started: when it was started, on the monotonic clock.
    """

    number: int
    pid: int
    ready: int | None
    started: float


class ServiceProcesses:
    """Service processes and their parent, which serves nothing itself.

    The parent must have no threads when it forks. A process must end when its parent has ended.

    Args:
        count: the number of processes.
        serve: called in each process; its exit code is 0 when it returns.
        is_current: whether the parent may continue; otherwise it kills all processes and ends.
    """

    def __init__(self, count: int, serve: Serve, is_current: Callable[[], bool]) -> None:
        self._count = count
        self._serve = serve
        self._is_current = is_current
        self._processes: dict[int, _Process] = {}
        self._due: dict[int, float] = {}
        self._pauses = dict.fromkeys(range(count), 0.5)
        self._stopping = False
        self._wakeup, self._waker = socket.socketpair()
        for end in (self._wakeup, self._waker):
            end.setblocking(False)

    def run(self, on_ready: Callable[[], None]) -> None:
        """Serve until SIGTERM or SIGINT; call `on_ready` once all processes respond.

        Raises:
            ServiceError: a process ended before it responded for the first time.
        """
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for end_signal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(end_signal, self._stop)
        signal.signal(signal.SIGHUP, lambda *_: self._signal(signal.SIGHUP))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        announced = False
        try:
            for number in range(self._count):
                self._start(number)
            while not self._stopping:
                self._wait(1.0)
                ended = self._reap()
                if ended and not announced:
                    raise ServiceError(
                        f"Service process {ended[0]} of {self._count} ended while it started.",
                        "Look at the log for the reason.",
                    )
                self._replace()
                if not self._is_current():
                    log.error("The services end.")
                    self._signal(signal.SIGKILL)
                    os._exit(1)
                if not announced and all(p.ready is None for p in self._processes.values()):
                    announced = True
                    on_ready()
        finally:
            self._end_all()

    def _stop(self, *_: object) -> None:
        if self._stopping:
            log.warning("Stopped immediately: running requests are cut off.")
            self._signal(signal.SIGKILL)
            os._exit(EXIT_CUT_OFF)
        self._stopping = True

    def _start(self, number: int) -> None:
        receiving, sending = os.pipe()
        sys.stderr.flush()
        _wait_for_threads()
        pid = os.fork()
        if pid == 0:
            os.close(receiving)
            self._become(number, sending)
        os.close(sending)
        self._processes[pid] = _Process(number, pid, receiving, time.monotonic())

    def _become(self, number: int, sending: int) -> NoReturn:
        """In the child: serve, and exit without the cleanup of the parent."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for handled in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(handled, signal.SIG_DFL)
            # A process that is starting reads the new certificate anyway.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for process in self._processes.values():
                if process.ready is not None:
                    os.close(process.ready)
            self._wakeup.close()
            self._waker.close()
            random.seed()
            self._serve(number, lambda: _tell(sending))
            code = 0
        except BaseException:
            log.exception("Service process %d ended.", number)
        finally:
            with contextlib.suppress(OSError):
                sys.stderr.flush()
            os._exit(code)

    def _wait(self, seconds: float) -> None:
        """Wait for a signal or for a process that responds; note the latter."""
        pipes = {p.ready: p for p in self._processes.values() if p.ready is not None}
        ready, _, _ = select.select([self._wakeup.fileno(), *pipes], [], [], seconds)
        for descriptor in ready:
            if descriptor == self._wakeup.fileno():
                self._wakeup.recv(4096)
            elif os.read(descriptor, 1):  # else it has died
                os.close(descriptor)
                pipes[descriptor].ready = None

    def _reap(self) -> list[int]:
        """Reap ended processes, and orphans of theirs; return the numbers of the processes."""
        ended: list[int] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            process = self._processes.pop(pid, None)
            if process is None:
                continue
            if process.ready is not None:
                os.close(process.ready)
            code = os.waitstatus_to_exitcode(status)
            if not self._stopping:
                log.error("Service process %d (pid %d) ended: %d.", process.number, pid, code)
            ended.append(process.number)
            lived = time.monotonic() - process.started
            pause = self._pauses[process.number]
            settled = lived > SETTLED_SECONDS
            self._due[process.number] = time.monotonic() + (0.0 if settled else pause)
            self._pauses[process.number] = 0.5 if settled else min(2 * pause, MAX_PAUSE_SECONDS)

    def _replace(self) -> None:
        for number, due in [*self._due.items()]:
            if time.monotonic() >= due and not self._stopping:
                del self._due[number]
                self._start(number)

    def _signal(self, number: signal.Signals) -> None:
        for pid in [*self._processes]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end_all(self) -> None:
        self._stopping = True
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5.0)):
            self._signal(number)
            until = time.monotonic() + seconds
            while self._processes and time.monotonic() < until:
                self._wait(0.1)
                self._reap()
        signal.set_wakeup_fd(-1)
        self._wakeup.close()
        self._waker.close()


def _wait_for_threads() -> None:
    """Wait until threads that were joined have ended for the system, too.

    Until then they may hold a lock of OpenSSL, which would stay locked in a forked process.
    """
    until = time.monotonic() + THREAD_SECONDS
    while (threads := psutil.Process().num_threads()) > 1:
        if time.monotonic() > until:
            log.warning("A service process is forked while %d threads run.", threads)
            return
        time.sleep(0.01)


def _tell(descriptor: int) -> None:
    os.write(descriptor, b".")
    os.close(descriptor)
