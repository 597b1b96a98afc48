"""The order in which tasks start: by priority, then in turns of their owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from queueing import MOMENT, begin, put
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.queue import Attempt, Queue, Task, TaskKind, TaskOutcome
from labext.sandbox.core.task_transitions import TaskTransitions


@pytest.fixture
def queue() -> Queue:
    return Queue([TaskKind("kind", "nowhere:nothing")])


def _order(transitions: TaskTransitions, most: int = 100) -> list[str]:
    order: list[str] = []
    while len(order) < most and (task_id := transitions.next(Counter())) is not None:
        claim = transitions.claim(task_id)
        assert claim is not None
        order.append(claim.key)
    return order


def test_order_is_by_priority_then_insertion(database, queue, transitions):
    put(database, queue, "a", "b")
    put(database, queue, "urgent1", "urgent2", priority=5)
    put(database, queue, "last", priority=-1)
    put(database, queue, "c")
    assert _order(transitions) == ["urgent1", "urgent2", "a", "b", "c", "last"]


def test_owners_take_turns_each_in_the_order_of_submission(database, queue, transitions):
    put(database, queue, *[f"a{n}" for n in range(4)], owner="a")
    put(database, queue, *[f"b{n}" for n in range(2)], owner="b")
    put(database, queue, "a4", owner="a")
    assert _order(transitions) == ["a0", "b0", "a1", "b1", "a2", "a3", "a4"]


def test_task_of_another_owner_is_next_however_many_tasks_wait(database, queue, transitions):
    many = put(database, queue, *[f"a{n}" for n in range(40)], owner="a")
    put(database, queue, *[f"u{n}" for n in range(3)], owner="a", priority=1)
    for _ in range(3 + 10):
        task_id = transitions.next(Counter())
        begin(transitions, task_id)
        transitions.end(Attempt(task_id, 1), TaskOutcome("done"))
    for task_id in many[10:12]:
        begin(transitions, task_id)
    [single] = put(database, queue, "single", owner="b")
    [urgent] = put(database, queue, "urgent", owner="b", priority=1)
    assert transitions.next(Counter()) == urgent
    begin(transitions, urgent)
    transitions.end(Attempt(urgent, 1), TaskOutcome("done"))
    assert transitions.next(Counter()) == single


def test_tasks_added_together_equal_tasks_added_one_by_one(database, queue, transitions):
    calls: list[int] = []
    queue.listen(lambda: calls.append(1))
    with database.write() as session:
        payloads = {f"a{n}": {"number": n} for n in range(3)}
        queue.put_all(session, "kind", payloads, max_seconds=9.0, owner="a", weight=0.5, needs="x")
        queue.put(session, "kind", "a3", {}, owner="a", weight=0.5)
        queue.put_all(session, "kind", {}, owner="a")
    assert calls == [1]
    put(database, queue, *[f"b{n}" for n in range(4)], owner="b")
    with database.read() as session:
        tasks = session.scalars(select(Task).where(Task.owner == "a").order_by(Task.id)).all()
    assert [task.payload.get("number") for task in tasks] == [0, 1, 2, None]
    assert {(task.max_seconds, task.needs) for task in tasks[:3]} == {(9.0, "x")}
    assert (tasks[0].state, tasks[0].priority, tasks[0].attempt) == ("queued", 0, 0)
    assert _order(transitions, 6) == ["a0", "b0", "b1", "a1", "b2", "b3"]
    with pytest.raises(IntegrityError), database.write() as session:
        queue.put_all(session, "kind", {"a0": {}, "new": {}})


def test_owners_start_tasks_in_proportion_to_their_weights(database, queue, transitions):
    put(database, queue, *[f"a{n}" for n in range(30)], owner="a")
    put(database, queue, *[f"b{n}" for n in range(30)], owner="b", weight=3)
    put(database, queue, *[f"c{n}" for n in range(30)], owner="c", weight=0.5)
    starts = _order(transitions, 27)
    assert Counter(key[0] for key in starts) == {"a": 6, "b": 18, "c": 3}
    assert [key for key in starts if key[0] == "b"] == [f"b{n}" for n in range(18)]


def test_new_weight_holds_for_the_tasks_that_wait(database, queue, transitions):
    put(database, queue, *[f"a{n}" for n in range(30)], owner="a")
    put(database, queue, *[f"b{n}" for n in range(30)], owner="b")
    for _ in range(10):
        transitions.claim(transitions.next(Counter()))
    with database.write() as session:
        queue.set_weight(session, "b", 4)
    starts = _order(transitions, 20)
    assert Counter(key[0] for key in starts) == {"a": 4, "b": 16}
    assert [key for key in starts if key[0] == "b"] == [f"b{n}" for n in range(5, 21)]


def _limited_queue(limits: dict[str, int]) -> Queue:
    return Queue(
        [TaskKind("kind", "nowhere:nothing", owner_limit=lambda _, owner: limits.get(owner))]
    )


def test_owner_runs_no_more_tasks_than_its_limit(database):
    queue = _limited_queue({"a": 2, "c": 1})
    transitions = TaskTransitions(database, queue)
    for owner in "abc":
        put(database, queue, *[f"{owner}{n}" for n in range(4)], owner=owner)
    claims = transitions.turn({}, {}, Counter(), 9).claims
    assert [claim.key for claim in claims] == ["a0", "b0", "c0", "a1", "b1", "b2", "b3"]
    assert transitions.next(Counter()) is None
    assert transitions.turn({}, {}, Counter(), 9).claims == []
    with database.read() as session:
        waiting = session.scalars(select(Task.id).where(Task.key == "a2")).one()
    assert transitions.claim(waiting) is None
    ends = {Attempt(claims[0].id, 1): TaskOutcome("done")}
    turn = transitions.turn({Attempt(claims[0].id, 1): MOMENT}, ends, Counter(), 9)
    assert [claim.key for claim in turn.claims] == ["a2"]


@pytest.fixture(scope="module")
def reused_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database for all examples of a test."""
    database = Database.at(tmp_path_factory.mktemp("queue") / "some.sqlite")
    database.create(CoreBase.metadata)
    yield database
    database.close()


@given(st.lists(st.sampled_from(["put a", "put b", "put c", "claim", "end"]), max_size=40))
def test_owner_without_unfinished_tasks_waits_for_at_most_one_task_of_each_other(
    reused_database: Database, steps: list[str]
) -> None:
    database = reused_database
    with database.write() as session:
        for table in reversed(CoreBase.metadata.sorted_tables):
            session.execute(table.delete())
    queue = Queue([TaskKind("kind", "nowhere:nothing")])
    transitions = TaskTransitions(database, queue)
    unfinished: dict[int, str] = {}
    running: list[int] = []
    claimed_while_waiting: dict[int, Counter[str]] = {}
    for number, step in enumerate(steps):
        if step.startswith("put"):
            owner = step[-1]
            idle = owner not in unfinished.values()
            [task_id] = put(database, queue, str(number), owner=owner)
            unfinished[task_id] = owner
            if idle:
                claimed_while_waiting[task_id] = Counter()
        elif step == "claim" and (next_id := transitions.next(Counter())) is not None:
            begin(transitions, next_id)
            running.append(next_id)
            others = claimed_while_waiting.pop(next_id, Counter())
            assert all(count <= 1 for count in others.values())
            for counts in claimed_while_waiting.values():
                counts[unfinished[next_id]] += 1
        elif step == "end" and running:
            transitions.end(Attempt(running[0], 1), TaskOutcome("done"))
            del unfinished[running.pop(0)]
