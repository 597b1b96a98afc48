"""Fork a process per task, watch its memory and report its exit."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import select
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil

from labext.sandbox.core.data_folder import FileLock
from labext.sandbox.core.executors import task_process
from labext.sandbox.core.executors.launcher import MessageStream

MEMORY_CHECK_SECONDS = 0.05 if sys.platform == "linux" else 0.5
"""Interval between memory measurements of a task; finding descendants is slow outside of Linux."""

_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


def exceeds_memory(pid: int, max_bytes: int) -> bool:
    """Return whether a process and its descendants have more than `max_bytes` in memory."""
    if sys.platform != "linux":
        return _portable_resident_bytes(pid) > max_bytes
    processes = [*_process_tree(pid)]
    if sum(map(_resident_bytes, processes)) <= max_bytes:
        return False
    return sum(map(_proportional_bytes, processes)) > max_bytes


def has_descendants(pid: int) -> bool:
    """Return whether a process has children, or left orphans to its ancestors."""
    if sys.platform == "linux":
        return len([*_process_tree(pid)]) > 1
    try:
        return bool(psutil.Process(pid).children())
    except psutil.Error:
        return True


def _process_tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants (Linux); see `task_process` for detached ones."""
    yield pid
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _process_tree(int(child))


def _resident_bytes(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[1]
    except (OSError, IndexError):  # it has ended
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _proportional_bytes(pid: int) -> int:
    try:
        match = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
    except OSError:
        return _resident_bytes(pid)
    return 0 if match is None else int(match[1]) * 1024


def _portable_resident_bytes(pid: int) -> int:
    total = 0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for member in family:
        try:
            total += int(member.memory_info().rss)
        except psutil.Error:
            continue
    return total


IDLE_SECONDS = 60.0
"""Seconds that a warm process waits for another task."""

EXIT_SECONDS = 5.0
"""Seconds to wait for the end of a killed process group, which the kernel may delay."""


@dataclass
class _Task:
    id: int
    pid: int
    scratch: Path
    began: float
    max_memory: int | None
    channel: socket.socket | None = None
    was_idle: bool = False
    is_killed: bool = False
    over_memory: bool = False
    code: int | None = None
    seconds: float = 0.0
    ended: float = 0.0


@dataclass
class _IdleProcess:
    """A warm process that waits for a task."""

    channel: socket.socket
    since: float


class ForkServer:
    """Serve the supervisor: start and kill tasks, and report their end."""

    def __init__(self, supervisor: socket.socket) -> None:
        self._supervisor = supervisor
        self._stream = MessageStream(supervisor)
        self._tasks: dict[int, _Task] = {}  # by pid
        self._idle: dict[int, _IdleProcess] = {}  # by pid
        self._method = "fork"
        self._next_look = 0.0
        self._wakeup, wakeup = socket.socketpair()
        for end in (self._wakeup, wakeup):
            end.setblocking(False)
        self._wakeup_sender = wakeup
        self._selector = selectors.DefaultSelector()
        self._selector.register(supervisor, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def serve(self) -> None:
        """Serve until the supervisor closes its end or dies; then kill every task."""
        messages: list[dict[str, Any]] | None = []
        while not messages:
            messages = self._stream.receive()
            if messages is None:
                return
        hello, *orders = messages
        self._method = hello["method"]
        lock = FileLock(Path(hello["lock"]))
        if not lock.acquire(seconds=10.0):
            raise SystemExit("Another fork server serves this sandbox.")
        self._lock = lock
        if self._method == "fork":
            self._preload(["orjson", *hello["preload"]])
        self._obey(orders)
        while True:
            ready = [key.fileobj for key, _ in self._selector.select(self._timeout())]
            self._note_done(ready)
            if self._wakeup in ready:
                self._wakeup.recv(4096)
            if self._supervisor in ready:
                messages = self._stream.receive()
                if messages is None:
                    break
                self._obey(messages)
            self._watch_memory()
            self._reap()
            self._bury()
        self._kill_all()

    def _preload(self, modules: list[str]) -> None:
        gc.disable()
        for module in modules:
            if self._is_abandoned():  # the next supervisor waits for the lock
                raise SystemExit(0)
            try:
                importlib.import_module(module)
            except Exception as error:  # noqa: BLE001 - a task that needs it will report it
                print(f"{module} is not preloaded: {error}", file=sys.stderr)
        # Keep the garbage collector from touching loaded objects, which would unshare their pages.
        gc.collect()
        gc.freeze()

    def _is_abandoned(self) -> bool:
        """Return whether the supervisor has closed the connection, even if messages are unread."""
        poll = select.poll()
        poll.register(self._supervisor, 0)  # reports only a closed connection
        return bool(poll.poll(0))

    def _obey(self, messages: list[dict[str, Any]]) -> None:
        if self._is_abandoned():  # a task would be killed at once, and count as killed
            return
        for message in messages:
            if "start" in message:
                self._start(message)
            else:
                for task in self._tasks.values():
                    if task.id == message["kill"] and task.code is None:
                        task.is_killed = True
                        _kill(task.pid)

    def _start(self, order: dict[str, Any]) -> None:
        scratch = Path(order["scratch"])
        idle = self._take_idle(scratch) if order["warm"] else None
        pid, channel = idle or self._new_process(scratch, warm=order["warm"])
        started = time.monotonic()
        task = _Task(order["start"], pid, scratch, started, order["memory"], channel)
        task.was_idle = idle is not None
        self._tasks[pid] = task
        self._stream.send({"started": task.id})

    def _take_idle(self, scratch: Path) -> tuple[int, socket.socket] | None:
        """Give a task to an idle warm process, if there is one."""
        while self._idle:
            pid, idle = self._idle.popitem()
            try:
                idle.channel.sendall(str(scratch).encode())
            except OSError:  # it has died
                self._close(idle.channel)
                continue
            return pid, idle.channel
        return None

    def _new_process(self, scratch: Path, *, warm: bool) -> tuple[int, socket.socket | None]:
        """Create a process for a task, with a channel to it if it is warm."""
        parent_end, child_end = socket.socketpair() if warm else (None, None)
        if self._method == "fork":
            sys.stdout.flush()
            sys.stderr.flush()
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                if parent_end is not None:
                    parent_end.close()
                self._become(scratch, parent, child_end)
        else:
            command = [sys.executable, "-P", "-m", task_process.__name__, str(scratch)]
            if child_end is not None:
                child_end.set_inheritable(True)
                command.append(str(child_end.fileno()))
            environment = os.environ | {task_process.TASK_VARIABLE: str(scratch)}
            pid = os.posix_spawn(sys.executable, command, environment)
        if parent_end is not None and child_end is not None:
            child_end.close()
            self._selector.register(parent_end, selectors.EVENT_READ)
        return pid, parent_end

    def _note_done(self, ready: Sequence[Any]) -> None:
        """Handle warm processes that have finished a task or closed their connection."""
        for pid, idle in [*self._idle.items()]:
            if idle.channel in ready or time.monotonic() > idle.since + IDLE_SECONDS:
                del self._idle[pid]
                self._close(idle.channel)
        for task in [*self._tasks.values()]:
            if task.channel is None or task.channel not in ready:
                continue
            try:
                is_done = bool(task.channel.recv(16))
            except OSError:
                is_done = False
            if not is_done:  # it has died: see `_reap`
                self._close(task.channel)
                task.channel = None
            else:
                self._done(task, task.channel)

    def _done(self, task: _Task, channel: socket.socket) -> None:
        """Report a task of a warm process; keep the process unless it has children or is large."""
        task.code, task.ended = 0, time.monotonic()
        task.seconds = task.ended - task.began
        limit = task.max_memory
        if has_descendants(task.pid) or (
            limit is not None and exceeds_memory(task.pid, limit // 2)
        ):
            self._close(channel)
            task.channel = None
            _kill(task.pid)  # `_bury` reports it
            return
        del self._tasks[task.pid]
        self._idle[task.pid] = _IdleProcess(channel, task.ended)
        self._report(task)

    def _close(self, channel: socket.socket) -> None:
        self._selector.unregister(channel)
        channel.close()

    def _become(self, scratch: Path, parent: int, channel: socket.socket | None) -> NoReturn:
        """In the child process: close the server's resources, run the task and exit."""
        code = 1
        try:
            self._selector.close()
            channels = [task.channel for task in self._tasks.values()]
            channels += [idle.channel for idle in self._idle.values()]
            for end in (self._supervisor, self._wakeup, self._wakeup_sender, *channels):
                if end is not None:
                    end.close()
            self._lock.release()
            gc.enable()
            code = task_process.run_task(scratch, parent, channel)
        except BaseException:  # noqa: BLE001 - nothing above would report it
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        """Reap every process that has ended: tasks and adopted orphans."""
        while True:
            try:
                # Its group is killed before it is reaped, since its id cannot be reused until then.
                if hasattr(os, "waitid"):
                    look = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                    if look is not None and look.si_pid in {*self._tasks, *self._idle}:
                        _kill(look.si_pid)
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._idle:
                self._close(self._idle.pop(pid).channel)
            task = self._tasks.get(pid)
            if task is not None and task.code is None:
                if (
                    task.was_idle
                    and not task.is_killed
                    and not (task.scratch / task_process.PROCESS_FILE).exists()
                ):
                    self._restart(task)
                    continue
                task.code = os.waitstatus_to_exitcode(status)
                task.ended = time.monotonic()
                task.seconds = task.ended - task.began

    def _bury(self) -> None:
        """Report ended tasks once all their processes are gone."""
        for task in [task for task in self._tasks.values() if task.code is not None]:
            empty = _kill_group(task.pid) and not self._kill_strays()
            if empty or time.monotonic() - task.ended > EXIT_SECONDS:
                del self._tasks[task.pid]
                if task.channel is not None:
                    self._close(task.channel)
                self._report(task)

    def _report(self, task: _Task) -> None:
        ending = {"code": task.code, "seconds": task.seconds, "over_memory": task.over_memory}
        self._stream.send({"ended": task.id} | ending)

    def _restart(self, task: _Task) -> None:
        """Restart a task in a new process if its warm process died before the task began."""
        del self._tasks[task.pid]
        if task.channel is not None:
            self._close(task.channel)
        task.pid, task.channel = self._new_process(task.scratch, warm=True)
        task.began, task.was_idle = time.monotonic(), False
        self._tasks[task.pid] = task

    def _kill_strays(self) -> bool:
        """Kill orphans of ended tasks. Orphans of running tasks stay with their task."""
        own_pids = {*self._tasks, *self._idle}
        strays = [pid for pid in _child_pids() if pid not in own_pids]
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(strays)

    def _timeout(self) -> float | None:
        if any(task.code is not None for task in self._tasks.values()):
            return 0.005
        if any(task.max_memory is not None for task in self._tasks.values()):
            return max(0.0, self._next_look - time.monotonic())
        if self._idle:
            oldest = min(idle.since for idle in self._idle.values())
            return max(0.0, oldest + IDLE_SECONDS - time.monotonic() + 0.01)
        return None

    def _watch_memory(self) -> None:
        """Kill the tasks that exceed their memory limit."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + MEMORY_CHECK_SECONDS
        for task in self._tasks.values():
            if task.max_memory is None or task.code is not None or task.over_memory:
                continue
            if exceeds_memory(task.pid, task.max_memory):
                task.over_memory = task.is_killed = True
                _kill(task.pid)

    def _kill_all(self) -> None:
        for task in self._tasks.values():
            task.is_killed = True
        for pid in (*self._tasks, *self._idle):
            _kill(pid)
        until = time.monotonic() + EXIT_SECONDS
        while (self._tasks or self._idle) and time.monotonic() < until:
            self._reap()
            self._bury()
            time.sleep(0.005)


def _kill(pid: int) -> None:
    """Kill a task that has not been reaped, with its group."""
    if not _kill_group(pid):
        return
    # A process that was just forked does not lead a group yet.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(group: int) -> bool:
    """Kill the rest of a process group; return True if it was empty."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the latter on macOS if all are dead
        return True
    return False


def _child_pids() -> list[int]:
    """Return the pids of this process's children; empty where /proc does not list them."""
    try:
        return [int(pid) for pid in Path("/proc/thread-self/children").read_text().split()]
    except OSError:
        return []


def main(arguments: Sequence[str]) -> None:
    """Serve the supervisor connected by the socket whose descriptor is the first argument."""
    number = int(arguments[0])
    os.set_inheritable(number, False)
    os.umask(0o077)
    task_process.adopt_orphans()  # adopt orphans of ended tasks, to kill them
    ForkServer(socket.socket(fileno=number)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
