"""Locks of chat sessions among the processes of a service."""

from __future__ import annotations

import asyncio
import multiprocessing
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
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


def test_sessions_do_not_wait_for_other_sessions(tmp_path):
    async def hold_all() -> None:
        locks = new_locks(tmp_path)
        async with asyncio.timeout(30), AsyncExitStack() as stack:
            for number in range(1000):
                await stack.enter_async_context(locks.of(f"chat_session:{number}"))

    event_loops.run(hold_all())


def hold_twice(folder: Path, tests: Connection) -> None:
    """Hold the lock of a session, until told to release it, two times."""

    async def hold() -> None:
        for _ in range(2):
            async with new_locks(folder).of("chat_session:a"):
                tests.send("held")
                tests.recv()
            tests.send("released")
            tests.recv()

    event_loops.run(hold())


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # of Python 3.12
def test_session_is_locked_for_other_processes_until_it_is_released_or_its_holder_is_killed(
    tmp_path,
):
    locks = new_locks(tmp_path)
    holder_end, connection = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    holder = fork.Process(target=hold_twice, args=(tmp_path, holder_end))
    holder.start()
    for is_killed in (False, True):
        assert connection.recv() == "held"
        assert not event_loops.run(is_free(locks, "chat_session:a"))
        assert event_loops.run(is_free(locks, "chat_session:b"))
        if is_killed:
            holder.kill()
            holder.join(30)
        else:
            connection.send("release")
            assert connection.recv() == "released"
        assert event_loops.run(is_free(locks, "chat_session:a"))
        if not is_killed:
            connection.send("hold again")
