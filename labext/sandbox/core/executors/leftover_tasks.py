"""Tasks whose supervisor was killed: kill their remaining processes, and queue them again."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import psutil

from labext.sandbox.core.data_folder import FileLock, remove_path
from labext.sandbox.core.executors.task_process import PROCESS_FILE, TASK_VARIABLE, TASKS_VARIABLE
from labext.sandbox.core.task_transitions import TaskTransitions

CLAIMANT_PREFIX = "process-"
"""Prefix of the names of service processes of one database, and of their scratch folders."""

TAKE_OVER_SECONDS = 2.0
"""Interval of checking for tasks of other service processes that were killed."""

FORK_SERVER_LOCK = "forkserver.lock"
SUPERVISOR_LOCK = "supervisor.lock"

START_TOLERANCE_SECONDS = 1.0
"""Tolerated difference between two readings of the start time of a process."""


log = logging.getLogger(__name__)


class LeftoverTasks:
    """Tasks that were claimed by a service process that was killed.

    Args:
        transitions: of this process.
        folder: the scratch folders of this process.
        claimant: the name of this process, see `Supervisor`.
        adopts: whether this process adopts orphans.
    """

    def __init__(
        self, transitions: TaskTransitions, folder: Path, claimant: str, *, adopts: bool
    ) -> None:
        self._transitions = transitions
        self._folder = folder
        self._claimant = claimant
        self._adopts = adopts
        self._took_over = 0.0

    def begun(self, tasks: Iterable[int], folder: Path | None = None) -> list[int]:
        """Return the tasks whose last attempt had a process on this machine."""
        folder = folder or self._folder
        return [task for task in tasks if (folder / str(task) / PROCESS_FILE).exists()]

    def restart(
        self, tasks: Sequence[int], killed: Collection[int] = (), keep: Iterable[int] = ()
    ) -> None:
        """Kill the remaining processes of tasks, queue the tasks again, and remove unused folders.

        Args:
            tasks: tasks without a supervisor.
            killed: those of them whose process had begun when the service was killed.
            keep: tasks whose scratch folders are in use.
        """
        count = kill_leftovers([self._folder / str(task_id) for task_id in tasks])
        if self._adopts:
            count += kill_adopted()
        if tasks:
            log.warning("%d tasks start again; %d processes were left.", len(tasks), count)
        self._transitions.requeue(tasks, killed)
        used = {*map(str, keep), FORK_SERVER_LOCK, SUPERVISOR_LOCK}
        for scratch in self._folder.iterdir():
            if scratch.name not in used and not scratch.name.startswith(CLAIMANT_PREFIX):
                remove_path(scratch)

    def take_over(self) -> None:
        """Queue the tasks of other service processes that were killed again.

        A process holds the lock in its folder while it lives, and its fork server another one until
        it has ended its tasks. A lock does not expire, unlike a lease: a process that was only
        stopped for a while keeps its tasks.
        """
        if time.monotonic() < self._took_over + TAKE_OVER_SECONDS:
            return
        self._took_over = time.monotonic()
        root = self._folder.parent if self._claimant else self._folder
        for name in self._transitions.other_claimants():
            folder = root / name if name else root
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.ExitStack() as stack:
                locks = [FileLock(folder / lock) for lock in (SUPERVISOR_LOCK, FORK_SERVER_LOCK)]
                for lock in locks:
                    stack.callback(lock.release)
                if all(lock.acquire() for lock in locks):
                    tasks = self._transitions.taken(name)
                    log.warning("%d tasks of %s, which was killed, start again.", len(tasks), name)
                    kill_leftovers([folder / str(task_id) for task_id in tasks])
                    self._transitions.requeue(tasks, self.begun(tasks, folder))


KILL_SECONDS = 5.0
"""Seconds in which the processes that are left are killed."""


def kill_adopted() -> int:
    """Kill and reap the orphans that this process has adopted.

    Like every task, they have their own sessions. Returns the number of live ones.
    """
    killed: set[int] = set()
    until = time.monotonic() + KILL_SECONDS
    while (adopted := _adopted_children()) and time.monotonic() < until:
        for process in adopted:
            with contextlib.suppress(psutil.Error, OSError):
                if process.status() != psutil.STATUS_ZOMBIE:
                    process.kill()
                    killed.add(process.pid)
                os.waitpid(process.pid, os.WNOHANG)
        time.sleep(0.01)  # this process adopts their orphans too
    return len(killed)


def _adopted_children() -> list[psutil.Process]:
    children = []
    for process in psutil.Process().children():
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) != os.getsid(0):
                children.append(process)
    return children


def belongs_to_task(pid: int, scratch: Path) -> bool:
    """Return whether an orphan belongs to the task, by its mark or its working directory."""
    try:
        process = psutil.Process(pid)
        if process.environ().get(TASK_VARIABLE) == str(scratch):
            return True
        work = json.loads((scratch / "request.json").read_bytes())["work"]
        return Path(process.cwd()).is_relative_to(work)
    except (psutil.Error, OSError, ValueError, KeyError):
        return False


def kill_leftovers(scratches: Iterable[Path]) -> int:
    """Kill the remaining processes of tasks with these scratch folders; return their number.

    Their fork server is gone, so no other process is responsible for them.
    """
    scratch_by_mark = {str(scratch): scratch for scratch in scratches}
    leaders = dict(filter(None, map(_recorded_leader, scratch_by_mark.values())))
    killed: set[int] = set()
    until = time.monotonic() + KILL_SECONDS
    while scratch_by_mark and time.monotonic() < until:
        alive = [
            process
            for process in psutil.process_iter()
            if _is_leftover(process, leaders, scratch_by_mark)
        ]
        if not alive:
            break
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
                killed.add(process.pid)
        psutil.wait_procs(alive, timeout=0.5)
    return len(killed)


def _recorded_leader(scratch: Path) -> tuple[int, tuple[float, Path]] | None:
    """Return the recorded process of a task: its pid, start time and scratch folder."""
    try:
        process = json.loads((scratch / PROCESS_FILE).read_bytes())
        return int(process["pid"]), (float(process["created"]), scratch)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_leftover(
    process: psutil.Process,
    leaders: dict[int, tuple[float, Path]],
    scratch_by_mark: dict[str, Path],
) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE or process.uids().real != os.getuid():
            return False
        environment = process.environ()
        if environment.get(TASK_VARIABLE) in scratch_by_mark:
            return True
        if environment.get(TASKS_VARIABLE) in {
            str(scratch.parent) for scratch in scratch_by_mark.values()
        }:
            return True
        group = os.getpgid(process.pid)
        if group not in leaders:
            return False
        start, scratch = leaders[group]
        return _has_recorded_leader(group, start) or (
            # The group leader is dead or unrelated: identify members by their working directory.
            not psutil.pid_exists(group) and belongs_to_task(process.pid, scratch)
        )
    except (psutil.Error, OSError):
        return False


def _has_recorded_leader(group: int, start: float) -> bool:
    """Return whether the group leader is the recorded process."""
    try:
        return abs(float(psutil.Process(group).create_time()) - start) < START_TOLERANCE_SECONDS
    except psutil.NoSuchProcess:
        return False
