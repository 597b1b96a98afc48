"""Find and kill task processes that outlived their supervisor."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from labext.sandbox.core.executors.task_process import PROCESS_FILE, TASK_VARIABLE, TASKS_VARIABLE

START_TOLERANCE_SECONDS = 1.0
"""Tolerated difference between two readings of the start time of a process."""


def kill_adopted(seconds: float = 5.0) -> int:
    """Kill and reap the orphans that this process has adopted.

    Like every task, they have their own sessions. Returns the number of live ones.
    """
    killed: set[int] = set()
    until = time.monotonic() + seconds
    while (adopted := _adopted_children()) and time.monotonic() < until:
        for process in adopted:
            with contextlib.suppress(psutil.Error, OSError):
                if process.status() != psutil.STATUS_ZOMBIE:
                    process.kill()
                    killed.add(process.pid)
                os.waitpid(process.pid, os.WNOHANG)
        time.sleep(0.01)  # their orphans are adopted here too
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


def kill_leftovers(scratches: Iterable[Path], seconds: float = 5.0) -> int:
    """Kill the remaining processes of tasks with these scratch folders; return their number.

    Their fork server is gone, so no other process is responsible for them.
    """
    scratch_by_mark = {str(scratch): scratch for scratch in scratches}
    leaders = dict(filter(None, map(_recorded_leader, scratch_by_mark.values())))
    killed: set[int] = set()
    until = time.monotonic() + seconds
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
