"""Several service processes take tasks from one queue."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.queue import Attempt, Queue, Task, TaskKind, TaskOutcome
from labext.sandbox.core.task_transitions import TaskTransitions

KINDS = [
    TaskKind("kind", "nowhere:nothing"),
    TaskKind("rare", "nowhere:nothing", limit=1),
    TaskKind("shared", "nowhere:nothing", owner_limit=lambda *_: 3),
]


@pytest.fixture
def processes(each_database: Database) -> Iterator[list[TaskTransitions]]:
    """Two service processes, each with its own connections."""
    each_database.create(CoreBase.metadata)
    databases = [Database(each_database.url) for _ in range(2)]
    yield [
        TaskTransitions(database, Queue(KINDS), f"process-{number}")
        for number, database in enumerate(databases)
    ]
    for database in databases:
        database.close()


def _claims(transitions: TaskTransitions, free: int = 1) -> list[str]:
    return [claim.key for claim in transitions.turn({}, {}, Counter(), free).claims]


def test_no_task_is_claimed_by_two_processes(each_database, processes):
    queue = processes[0]._queue
    with each_database.write() as session:
        for number in range(60):
            queue.put(session, "kind", f"t{number}", {})

    def claim(process: TaskTransitions) -> list[str]:
        return [key for keys in iter(lambda: _claims(process, 2), []) for key in keys]

    with ThreadPoolExecutor(2) as pool:
        claimed = list(pool.map(claim, processes))
    assert sorted(claimed[0] + claimed[1]) == sorted(f"t{number}" for number in range(60))
    for number, process in enumerate(processes):
        assert len(process.taken()) == len(claimed[number])
    with each_database.read() as session:
        claimants = session.execute(select(Task.key, Task.claimed_by)).all()
    assert dict(claimants) == {
        key: f"process-{number}" for number, keys in enumerate(claimed) for key in keys
    }


@pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)
def test_task_that_another_process_is_claiming_is_skipped(each_database, processes):
    with each_database.write() as session:
        for key in ("first", "second"):
            processes[0]._queue.put(session, "kind", key, {})
    with each_database.write_concurrently() as session:
        session.execute(select(Task.id).where(Task.key == "first").with_for_update())
        assert _claims(processes[0]) == ["second"]
    assert _claims(processes[1]) == ["first"]


def test_limit_of_an_owner_holds_among_processes(each_database, processes):
    with each_database.write() as session:
        for number in range(20):
            for owner in "ab":
                key = f"{owner}{number}"
                processes[0]._queue.put(session, "shared", key, {}, owner=owner)
    together = threading.Barrier(2)

    def claim(process: TaskTransitions) -> list[str]:
        together.wait()
        return [key for _ in range(6) for key in _claims(process, 2)]

    with ThreadPoolExecutor(2) as pool:
        claimed = [key for keys in pool.map(claim, processes) for key in keys]
    assert sorted(claimed) == ["a0", "a1", "a2", "b0", "b1", "b2"]


@pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)
def test_limit_of_a_kind_holds_among_processes(each_database, processes):
    with each_database.write() as session:
        for number in range(3):
            processes[0]._queue.put(session, "rare", f"r{number}", {})
    assert _claims(processes[0], 2) == ["r0"]
    assert _claims(processes[1], 2) == []
    (task,) = processes[0].taken()
    processes[0].end(Attempt(task, 1), TaskOutcome("done"))
    assert _claims(processes[1], 2) == ["r1"]
    assert processes[0].other_claimants() == ["process-1"]


def test_result_of_a_process_whose_task_was_requeued_is_refused(each_database, processes):
    with each_database.write() as session:
        processes[0]._queue.put(session, "kind", "t", {})
    assert _claims(processes[0]) == ["t"]
    (task,) = processes[0].taken()
    processes[1].requeue(processes[1].taken("process-0"))
    assert _claims(processes[1]) == ["t"]
    processes[0].end(Attempt(task, 1), TaskOutcome("done"))
    assert processes[1].taken() == [task]
    processes[1].end(Attempt(task, 2), TaskOutcome("done"))
    assert processes[1].taken() == []


@pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)
def test_task_that_is_being_claimed_is_cancelled_by_the_process_that_runs_it(
    each_database, processes
):
    queue = processes[0]._queue
    with each_database.write() as session:
        queue.put(session, "kind", "t", {})

    def cancel() -> None:
        with each_database.write() as session:
            queue.cancel(session, "t", "No longer needed.")

    thread = threading.Thread(target=cancel)
    with processes[1]._database.write_concurrently() as session:
        task = session.scalars(select(Task).with_for_update()).one()
        thread.start()
        time.sleep(0.3)  # it waits for the row
        task.state, task.attempt, task.claimed_by = "starting", 1, "process-1"
    thread.join()
    assert len(processes[1].cancelled()) == 1
    assert processes[0].cancelled() == set()
