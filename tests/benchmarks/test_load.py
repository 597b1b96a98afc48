"""`%load_ext labext` in fresh interpreters: the goal is a median of 20 ms."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.benchmark

LOAD = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
began = time.perf_counter()
shell.run_line_magic("load_ext", "labext")
print((time.perf_counter() - began) * 1000)
assert "labext_magics" in sys.modules
"""


def load_ms() -> float:
    done = subprocess.run(
        [sys.executable, "-c", LOAD], capture_output=True, text=True, check=True, timeout=60
    )
    return float(done.stdout.split()[-1])


def test_load_ext(benchmark: Any, figure: Callable[[str, str], None]) -> None:
    times: list[float] = []
    rounds = 25 if benchmark.enabled else 1
    benchmark.pedantic(lambda: times.append(load_ms()), rounds=rounds, iterations=1)
    median = statistics.median(times)
    benchmark.extra_info["load_ext_ms"] = median
    figure(
        "%load_ext labext, median of fresh interpreters",
        f"{median:.1f} ms of 20 ({min(times):.1f} to {max(times):.1f}, {len(times)} rounds)",
    )
