"""How much memory a process and its descendants have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from labext.sandbox.core.executors import fork_server

MIB = 1 << 20
PARENT = f"""
import os, sys, time
block = bytearray(b"x" * (200 * {MIB}))
pid = os.fork()
if pid:
    print(pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process that has 200 MiB, and a fork of it."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.communicate("")


def test_descendants_are_counted(family):
    assert fork_server.exceeds_memory(family[0], 190 * MIB)
    assert not fork_server.exceeds_memory(family[0], 500 * MIB)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_shared_pages_are_counted_by_their_share(family):
    _parent, child = family
    assert fork_server._resident_bytes(child) > 190 * MIB
    assert not fork_server.exceeds_memory(child, 150 * MIB)
    assert fork_server.exceeds_memory(child, 80 * MIB)


def test_process_that_has_ended_has_no_memory():
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(pid, 0)
    assert not fork_server.exceeds_memory(pid, 0)
