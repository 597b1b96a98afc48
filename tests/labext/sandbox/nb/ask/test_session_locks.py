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


def test_sessions_do_not_wait_for_other_sessions(tmp_path):
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

async def hold_twice():
    for _ in range(2):
        async with SessionLocks(site).of("chat_session:a"):
            print("held", flush=True)
            sys.stdin.readline()
        print("released", flush=True)
        sys.stdin.readline()

asyncio.run(hold_twice())
"""


def test_session_is_locked_for_other_processes_until_it_is_released_or_its_holder_is_killed(
    tmp_path,
):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    locks = new_locks(tmp_path)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        for is_killed in (False, True):
            assert holder.stdout.readline() == "held\n"
            assert not event_loops.run(is_free(locks, "chat_session:a"))
            assert event_loops.run(is_free(locks, "chat_session:b"))
            if is_killed:
                holder.kill()
                holder.wait()
            else:
                holder.stdin.write("\n")
                assert holder.stdout.readline() == "released\n"
            assert event_loops.run(is_free(locks, "chat_session:a"))
            if not is_killed:
                holder.stdin.write("\n")
