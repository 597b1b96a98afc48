"""Measure the memory of a process and its descendants.

Resident memory is what counts: a Python process with numpy, RDKit or a speech model maps several
times as much address space as it uses, so that a limit on that (RLIMIT_AS) would have to be far
above what the machine has. A task's process shares most of its pages with the fork server, and
children share theirs with it: on Linux each page is counted by its share (PSS), once the resident
size, which is cheap to read and never less, is over the limit.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

LOOK_SECONDS = 0.05 if sys.platform == "linux" else 0.5
"""How often a running task is measured. Elsewhere finding its descendants takes longer."""

_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


def exceeds(pid: int, most: int) -> bool:
    """Return whether a process and its descendants have more than `most` bytes in memory."""
    if sys.platform != "linux":
        return _resident_anywhere(pid) > most
    processes = [*_family(pid)]
    if sum(map(_resident, processes)) <= most:
        return False
    return sum(map(_proportional, processes)) > most


def has_descendants(pid: int) -> bool:
    """Return whether a process has children, or left any to the processes above it."""
    if sys.platform == "linux":
        return len([*_family(pid)]) > 1
    try:
        return bool(psutil.Process(pid).children())
    except psutil.Error:
        return True


def _family(pid: int) -> Iterator[int]:
    """Yield a process and its descendants (Linux); those of a task stay below it, see `runner`."""
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
            yield from _family(int(child))


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[1]
    except (OSError, IndexError):  # it has ended
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _proportional(pid: int) -> int:
    try:
        found = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
    except OSError:
        return _resident(pid)
    return 0 if found is None else int(found[1]) * 1024


def _resident_anywhere(pid: int) -> int:
    total = 0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for each in family:
        try:
            total += int(each.memory_info().rss)
        except psutil.Error:
            continue
    return total
