"""Start time of a sandbox, and the memory of its processes with the whole catalogue.

Measured in a new folder, where the database, keys and sample data are created, and again in the
same folder. Memory is private and total: a job's process shares most of it with the fork server.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from labext.sandbox import Sandbox

MIB = 2**20

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("cold_if_measured")]


def started(box: Sandbox) -> float:
    started_at = time.perf_counter()
    box.start()
    return time.perf_counter() - started_at


def memory(process: psutil.Process) -> str:
    result = process.memory_full_info()
    return f"{result.uss / MIB:.0f} MiB of its own, {result.rss / MIB:.0f} including shared memory"


def settled(process: psutil.Process) -> None:
    """Wait until a process has finished loading and no longer uses CPU."""
    until = time.monotonic() + 60
    before, now = -1.0, 0.0
    while now > before:
        assert time.monotonic() < until
        before = now
        time.sleep(0.5)
        now = sum(process.cpu_times()[:2])


def test_a_sandbox_starts(
    benchmark: Any, figure: Callable[[str, str], None], tmp_path: Path
) -> None:
    first: list[float] = []
    again: list[float] = []

    def start() -> None:
        box = Sandbox(tmp_path / f"box{len(first)}", rate="named", workers=2)
        try:
            first.append(started(box))
            box.stop()
            again.append(started(box))
        finally:
            box.stop()

    benchmark.pedantic(start, rounds=5 if benchmark.enabled else 1, iterations=1)
    figure(
        "a sandbox answers after",
        f"{statistics.median(first):.2f} s in a new folder (the first time {first[0]:.2f}), "
        f"{statistics.median(again):.2f} s in one that it knows",
    )


def test_memory_of_the_processes(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    box = benchmark.pedantic(new_box, kwargs={"workers": 2}, rounds=1, iterations=1)
    pid = box.status().pid
    assert pid is not None
    host = psutil.Process(pid)
    [server] = host.children()
    if benchmark.enabled:
        settled(server)
    loaded = {Path(file.path).name for file in server.memory_maps()}
    packages = [
        name for name in ("rdkit", "openmm") if any(name in file.lower() for file in loaded)
    ]
    figure("memory of the host", memory(host))
    figure(
        f"memory of the fork server, with {' and '.join(packages) or 'neither rdkit nor openmm'}",
        memory(server),
    )
