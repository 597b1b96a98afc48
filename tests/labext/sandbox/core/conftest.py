"""Fixtures of tests of the queue and the supervisor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from supervision import Harness, NewHarness

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.task_transitions import TaskTransitions

SUPPORT = Path(__file__).parents[3] / "support"


@pytest.fixture
def new_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewHarness]:
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")
    harnesses: list[Harness] = []

    def make(**options: Any) -> Harness:
        harness = Harness(**({"folder": tmp_path} | options))
        harness.supervisor.start()
        harnesses.append(harness)
        return harness

    yield make
    for harness in harnesses:
        harness.close()


@pytest.fixture(params=["fork", "spawn"])
def harness(request: pytest.FixtureRequest, new_harness: NewHarness) -> Harness:
    return new_harness(method=request.param)


@pytest.fixture
def forking_harness(new_harness: NewHarness) -> Harness:
    return new_harness()


@pytest.fixture
def database(each_database: Database) -> Database:
    """An empty database with the tables of the queue."""
    each_database.create(CoreBase.metadata)
    return each_database


@pytest.fixture
def transitions(database: Database, queue: Queue) -> TaskTransitions:
    return TaskTransitions(database, queue)
