"""Locks of chat sessions among the processes of a service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.chat import SessionLocks

ROOT = Path(__file__).parents[5]


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

    asyncio.run(hold_all())


HOLDER = """
import asyncio, sys
from pathlib import Path
from tests.labext.sandbox.nb.ask.test_session_locks import new_locks

async def hold():
    async with new_locks(Path(sys.argv[1])).of("chat_session:a"):
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
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=ROOT
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert not asyncio.run(is_free(locks, "chat_session:a"))
        assert asyncio.run(is_free(locks, "chat_session:b"))
        if end == "release":
            holder.stdin.write("\n")
            assert holder.stdout.readline() == "released\n"
        else:
            holder.kill()
            holder.wait()
        assert asyncio.run(is_free(locks, "chat_session:a"))
        holder.kill()
