"""Locks of chat sessions among the processes of a service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import event_loops
import pytest

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.chat import SessionLocks


def new_locks(folder: Path) -> SessionLocks:
    site: Any = SimpleNamespace(folder=folder, database=SimpleNamespace(is_postgresql=True))
    return SessionLocks(cast(Site, site))


async def is_free(locks: SessionLocks, session_id: str) -> bool:
    try:
        async with asyncio.timeout(0.2), locks.of(session_id):
            return True
    except TimeoutError:
        return False


def test_sessions_do_not_wait_for_other_sessions(tmp_path: Path) -> None:
    async def hold_all() -> None:
        locks = new_locks(tmp_path)
        async with asyncio.timeout(30), AsyncExitStack() as stack:
            for number in range(1000):
                await stack.enter_async_context(locks.of(f"chat_session:{number}"))

    event_loops.run(hold_all())


HOLDER = """
import asyncio, sys
from pathlib import Path
from types import SimpleNamespace
from labext.sandbox.nb.chat import SessionLocks

site = SimpleNamespace(folder=Path(sys.argv[1]), database=SimpleNamespace(is_postgresql=True))

async def hold():
    async with SessionLocks(site).of("chat_session:a"):
        print("held", flush=True)
        sys.stdin.readline()
    print("released", flush=True)
    sys.stdin.readline()

asyncio.run(hold())
"""


@pytest.mark.parametrize("end", ["release", "kill"])
def test_session_is_locked_for_other_processes_until_its_holder_ends(
    tmp_path: Path, end: str
) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    locks = new_locks(tmp_path)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert not event_loops.run(is_free(locks, "chat_session:a"))
        assert event_loops.run(is_free(locks, "chat_session:b"))
        if end == "release":
            holder.stdin.write("\n")
            assert holder.stdout.readline() == "released\n"
        else:
            holder.kill()
            holder.wait()
        assert event_loops.run(is_free(locks, "chat_session:a"))
        holder.kill()
