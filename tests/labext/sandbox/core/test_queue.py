"""The queue's table and hooks, without any process."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Attempt, Queue, QueueBase, Task, TaskKind, TaskOutcome
from labext.sandbox.core.task_transitions import MAX_KILLS, TaskTransitions

MOMENT = 1_800_000_000.25
"""The start of the processes, in seconds since the epoch."""


class Recorder:
    """Record the calls of a task kind's hooks."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.endings: dict[str, TaskOutcome] = {}

    def kind(self, name: str = "kind", limit: int | None = None) -> TaskKind:
        def end(session: Session, task: Task, ending: TaskOutcome) -> None:
            self.endings[task.key] = ending
            self.events.append(("end", task.key))

        return TaskKind(
            name,
            "nowhere:nothing",
            on_start=lambda _session, task: self.events.append(("start", task.key)),
            on_end=end,
            on_requeue=lambda _session, task: self.events.append(("requeue", task.key)),
            on_tick=lambda _session, tasks: self.events.extend(("tick", t.key) for t in tasks),
            limit=limit,
        )


@pytest.fixture
def database(each_database: Database) -> Database:
    each_database.create(QueueBase.metadata)
    return each_database


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def queue(recorder: Recorder) -> Queue:
    return Queue([recorder.kind(), recorder.kind("rare", limit=1)])


@pytest.fixture
def transitions(database: Database, queue: Queue) -> TaskTransitions:
    return TaskTransitions(database, queue)


def _put(
    database: Database,
    queue: Queue,
    *keys: str,
    kind: str = "kind",
    priority: int = 0,
    owner: str = "",
    weight: float = 1.0,
) -> list[int]:
    with database.write() as session:
        tasks = [
            queue.put(
                session, kind, key, {"key": key}, priority=priority, owner=owner, weight=weight
            )
            for key in keys
        ]
    return [task.id for task in tasks]


def _begin(transitions: TaskTransitions, task_id: int) -> None:
    """Claim a task and record that its process exists."""
    assert transitions.claim(task_id) is not None
    assert transitions.start(Attempt(task_id, 1), MOMENT) is None


def _state(database: Database, key: str) -> str:
    with database.read() as session:
        return session.scalars(select(Task.state).where(Task.key == key)).one()


def _order(transitions: TaskTransitions) -> list[str]:
    order = []
    while (task_id := transitions.next(Counter())) is not None:
        claim = transitions.claim(task_id)
        assert claim is not None
        order.append(claim.key)
    return order


def test_order_is_by_priority_then_insertion(database, queue, transitions):
    _put(database, queue, "a", "b")
    _put(database, queue, "urgent1", "urgent2", priority=5)
    _put(database, queue, "last", priority=-1)
    _put(database, queue, "c")
    assert _order(transitions) == ["urgent1", "urgent2", "a", "b", "c", "last"]


def test_owners_take_turns_each_in_the_order_of_submission(database, queue, transitions):
    _put(database, queue, *[f"a{n}" for n in range(4)], owner="a")
    _put(database, queue, *[f"b{n}" for n in range(2)], owner="b")
    _put(database, queue, "a4", owner="a")
    assert _order(transitions) == ["a0", "b0", "a1", "b1", "a2", "a3", "a4"]


def test_task_of_another_owner_is_next_however_many_tasks_wait(database, queue, transitions):
    many = _put(database, queue, *[f"a{n}" for n in range(1000)], owner="a")
    _put(database, queue, *[f"u{n}" for n in range(3)], owner="a", priority=1)
    for _ in range(3 + 10):
        task_id = transitions.next(Counter())
        _begin(transitions, task_id)
        transitions.end(Attempt(task_id, 1), TaskOutcome("done"))
    for task_id in many[10:12]:
        _begin(transitions, task_id)
    [single] = _put(database, queue, "single", owner="b")
    [urgent] = _put(database, queue, "urgent", owner="b", priority=1)
    assert transitions.next(Counter()) == urgent
    _begin(transitions, urgent)
    transitions.end(Attempt(urgent, 1), TaskOutcome("done"))
    assert transitions.next(Counter()) == single


def test_tasks_put_together_are_as_those_put_one_by_one(database, queue, transitions):
    calls: list[int] = []
    queue.listen(lambda: calls.append(1))
    with database.write() as session:
        payloads = {f"a{n}": {"number": n} for n in range(3)}
        queue.put_all(session, "kind", payloads, max_seconds=9.0, owner="a", weight=0.5, needs="x")
        queue.put(session, "kind", "a3", {}, owner="a", weight=0.5)
        queue.put_all(session, "kind", {}, owner="a")
    assert calls == [1]
    _put(database, queue, *[f"b{n}" for n in range(4)], owner="b")
    with database.read() as session:
        tasks = session.scalars(select(Task).where(Task.owner == "a").order_by(Task.id)).all()
    assert [task.payload.get("number") for task in tasks] == [0, 1, 2, None]
    assert {(task.max_seconds, task.needs) for task in tasks[:3]} == {(9.0, "x")}
    assert (tasks[0].state, tasks[0].priority, tasks[0].attempt) == ("queued", 0, 0)
    assert _order(transitions)[:6] == ["a0", "b0", "b1", "a1", "b2", "b3"]
    with pytest.raises(IntegrityError), database.write() as session:
        queue.put_all(session, "kind", {"a0": {}, "new": {}})


def test_owners_start_as_many_tasks_as_their_weights_say(database, queue, transitions):
    _put(database, queue, *[f"a{n}" for n in range(30)], owner="a")
    _put(database, queue, *[f"b{n}" for n in range(30)], owner="b", weight=3)
    _put(database, queue, *[f"c{n}" for n in range(30)], owner="c", weight=0.5)
    starts = _order(transitions)[:27]
    assert Counter(key[0] for key in starts) == {"a": 6, "b": 18, "c": 3}
    assert [key for key in starts if key[0] == "b"] == [f"b{n}" for n in range(18)]


def test_new_weight_holds_for_the_tasks_that_wait(database, queue, transitions):
    _put(database, queue, *[f"a{n}" for n in range(30)], owner="a")
    _put(database, queue, *[f"b{n}" for n in range(30)], owner="b")
    for _ in range(10):
        transitions.claim(transitions.next(Counter()))
    with database.write() as session:
        queue.set_weight(session, "b", 4)
    starts = _order(transitions)[:20]
    assert Counter(key[0] for key in starts) == {"a": 4, "b": 16}
    assert [key for key in starts if key[0] == "b"] == [f"b{n}" for n in range(5, 21)]


def _limited_queue(limits: dict[str, int]) -> Queue:
    def owner_limits(_session: Session, owners: Collection[str]) -> dict[str, int]:
        return {owner: limit for owner, limit in limits.items() if owner in owners}

    return Queue([TaskKind("kind", "nowhere:nothing", owner_limits=owner_limits)])


def test_owner_runs_no_more_tasks_than_its_limit(database):
    queue = _limited_queue({"a": 2, "c": 1})
    transitions = TaskTransitions(database, queue)
    for owner in "abc":
        _put(database, queue, *[f"{owner}{n}" for n in range(4)], owner=owner)
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


@given(st.lists(st.sampled_from(["put a", "put b", "put c", "claim", "end"]), max_size=40))
def test_owner_without_unfinished_tasks_waits_for_at_most_one_task_of_each_other(
    steps: list[str],
) -> None:
    folder = tempfile.TemporaryDirectory()
    database = Database.at(Path(folder.name) / "some.sqlite")
    database.create(QueueBase.metadata)
    queue = Queue([TaskKind("kind", "nowhere:nothing")])
    transitions = TaskTransitions(database, queue)
    unfinished: dict[int, str] = {}
    running: list[int] = []
    claimed_while_waiting: dict[int, Counter[str]] = {}
    for number, step in enumerate(steps):
        if step.startswith("put"):
            owner = step[-1]
            idle = owner not in unfinished.values()
            [task_id] = _put(database, queue, str(number), owner=owner)
            unfinished[task_id] = owner
            if idle:
                claimed_while_waiting[task_id] = Counter()
        elif step == "claim" and (next_id := transitions.next(Counter())) is not None:
            _begin(transitions, next_id)
            running.append(next_id)
            others = claimed_while_waiting.pop(next_id, Counter())
            assert all(count <= 1 for count in others.values())
            for counts in claimed_while_waiting.values():
                counts[unfinished[next_id]] += 1
        elif step == "end" and running:
            transitions.end(Attempt(running[0], 1), TaskOutcome("done"))
            del unfinished[running.pop(0)]
    database.close()
    folder.cleanup()


def test_limited_kind_does_not_block_others(database, queue, transitions):
    _put(database, queue, "rare1", "rare2", kind="rare", priority=9)
    [common] = _put(database, queue, "common")
    assert transitions.next(Counter({"rare": 1})) == common
    assert transitions.next(Counter({"kind": 50})) != common


def test_failed_transaction_enqueues_nothing(database, queue, transitions):
    calls: list[int] = []
    queue.listen(lambda: calls.append(1))

    def fail() -> None:
        with database.write() as session:
            queue.put(session, "kind", "a", {})
            session.flush()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert transitions.next(Counter()) is None
    assert not calls


def test_listeners_are_called_once_after_commit(database, queue):
    received: list[int] = []

    def look() -> None:
        with database.read() as session:
            received.append(len(session.scalars(select(Task)).all()))

    queue.listen(look)
    _put(database, queue, "a", "b", "c")
    assert received == [3]


def test_listeners_are_called_on_cancel(database, queue, transitions):
    _waiting, running = _put(database, queue, "waiting", "running")
    transitions.claim(running)
    calls: list[int] = []
    queue.listen(lambda: calls.append(1))
    for count, key in enumerate(("waiting", "running"), 1):
        with database.write() as session:
            assert queue.cancel(session, key, "no longer wanted")
        assert len(calls) == count
    with database.write() as session:
        assert not queue.cancel(session, "unheard", "no longer wanted")
    assert len(calls) == 2


def test_task_is_found_by_its_key(database, queue):
    first, second = _put(database, queue, "a", "b")
    with database.read() as session:
        tasks = [queue.find(session, key) for key in ("a", "b", "c")]
    assert [task and task.id for task in tasks] == [first, second, None]


def test_key_is_unique_until_its_task_ends(database, queue, transitions):
    [first] = _put(database, queue, "a")
    with pytest.raises(IntegrityError):
        _put(database, queue, "a")
    _begin(transitions, first)
    transitions.end(Attempt(first, 1), TaskOutcome("done"))
    [second] = _put(database, queue, "a")
    assert second > first


def test_unknown_and_repeated_kinds_are_refused(database, queue):
    with pytest.raises(KeyError):
        _put(database, queue, "a", kind="unheard")
    with pytest.raises(ValueError, match="already"):
        queue.add(TaskKind("kind", "x:y"))


def test_cancelled_waiting_task_ends_at_once(database, queue, transitions, recorder):
    _put(database, queue, "a")
    with database.write() as session:
        assert queue.cancel(session, "a", "no longer wanted")
        assert queue.find(session, "a") is None
        assert not queue.cancel(session, "a", "again")
    assert recorder.endings["a"] == TaskOutcome("stopped", "no longer wanted")
    assert transitions.next(Counter()) is None
    assert queue.wait(database, "a", 0.0)


def test_cancellation_wins_over_a_simultaneous_end(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    _begin(transitions, task)
    with database.write() as session:
        assert queue.cancel(session, "a", "first")
        assert queue.cancel(session, "a", "second")
    assert not queue.wait(database, "a", 0.05)
    assert transitions.cancelled() == {task}
    transitions.end(Attempt(task, 1), TaskOutcome("done", result={"x": 1}, seconds=2.0))
    assert recorder.endings["a"] == TaskOutcome("stopped", "first", seconds=2.0)
    assert queue.wait(database, "a", 0.0)


def test_wait_all_waits_for_the_last_task(database, queue, transitions):
    first, second = _put(database, queue, "a", "b")
    assert queue.wait_all(database, [], 0.0)
    for task in (first, second):
        assert not queue.wait_all(database, ["a", "b", "never"], 0.0)
        _begin(transitions, task)
        transitions.end(Attempt(task, 1), TaskOutcome("done"))
    assert queue.wait_all(database, ["a", "b", "never"], 0.0)


def test_on_start_may_cancel_the_task(database, recorder):
    kind = recorder.kind()
    queue = Queue()
    queue.add(
        TaskKind(
            "kind",
            "x:y",
            on_start=lambda session, task: [queue.cancel(session, task.key, "budget"), None][1],
            on_end=kind.on_end,
        )
    )
    [task] = _put(database, queue, "a")
    transitions = TaskTransitions(database, queue)
    assert transitions.claim(task) is not None
    assert transitions.start(Attempt(task, 1), MOMENT) == TaskOutcome("stopped", "budget")
    transitions.end(Attempt(task, 1), TaskOutcome("done"))
    assert recorder.endings["a"] == TaskOutcome("stopped", "budget")


def test_on_start_that_raises_refuses_only_its_own_task(database, recorder):
    def start(session: Session, task: Task) -> None:
        if task.key == "bad":
            raise LookupError("no such row")

    queue = Queue([TaskKind("kind", "x:y", on_start=start, on_end=recorder.kind().on_end)])
    bad, good = _put(database, queue, "bad", "good")
    transitions = TaskTransitions(database, queue)
    assert [claim.id for claim in transitions.turn({}, {}, Counter(), 1).claims] == [bad]
    assert transitions.claim(good) is not None
    turn = transitions.turn({Attempt(bad, 1): MOMENT, Attempt(good, 1): MOMENT}, {}, Counter(), 0)
    assert list(turn.refused) == [bad]
    ending = turn.refused[bad]
    assert (ending.outcome, ending.reason) == ("failed", "It could not be started: no such row")
    assert _state(database, "good") == "running"


def test_task_that_cannot_be_claimed_or_ended_blocks_no_other(database):
    def refuse(_session: Session, _task: Task, _ending: TaskOutcome) -> None:
        raise LookupError

    def work(task: Task) -> Path:
        if task.key == "bad":
            raise LookupError
        return Path(task.key)

    queue = Queue([TaskKind("kind", "x:y", work=work, on_end=refuse)])
    bad, good = _put(database, queue, "bad", "good")
    transitions = TaskTransitions(database, queue)
    with pytest.raises(LookupError):
        transitions.claim(bad)
    assert transitions.next(Counter()) == good


def test_task_whose_folder_cannot_be_named_ends_at_its_claim(database, recorder):
    def work(_task: Task) -> Path:
        raise LookupError("no such row")

    queue = Queue([TaskKind("kind", "x:y", work=work, on_end=recorder.kind().on_end)])
    [task] = _put(database, queue, "a")
    transitions = TaskTransitions(database, queue)
    assert transitions.turn({}, {}, Counter(), 1).claims == []
    assert recorder.endings["a"] == TaskOutcome("failed", "It could not be started: no such row")
    assert transitions.claim(task) is None


def test_taken_task_is_not_claimed_again(database, queue, transitions):
    [task] = _put(database, queue, "a")
    assert transitions.claim(task) is not None
    assert transitions.claim(task) is None
    assert transitions.claim(task + 1) is None


def test_task_is_claimed_again_after_a_full_disk(database, queue):
    full = [OperationalError("UPDATE tasks", None, Exception("database or disk is full"))]

    def memory(_session: Session) -> int:
        if full:
            raise full.pop()
        return 1

    queue.add(TaskKind("full", "x:y", memory=memory))
    [task] = _put(database, queue, "a", kind="full")
    transitions = TaskTransitions(database, queue)
    with pytest.raises(OperationalError):
        transitions.claim(task)
    assert transitions.next(Counter()) == task
    claim = transitions.claim(task)
    assert claim is not None
    assert claim.max_memory == 1


def test_task_runs_once_its_process_exists(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    [claim] = transitions.turn({}, {}, Counter(), 1).claims
    assert claim.id == task
    assert _state(database, "a") == "starting"
    assert recorder.events == []
    assert transitions.taken() == [task]
    assert transitions.next(Counter()) is None
    transitions.turn({Attempt(task, 1): MOMENT}, {}, Counter(), 0)
    assert _state(database, "a") == "running"
    with database.read() as session:
        assert session.get(Task, task).started == MOMENT
    assert recorder.events == [("start", "a")]
    transitions.turn({Attempt(task, 1): MOMENT}, {}, Counter(), 0)
    assert recorder.events == [("start", "a")], "it starts once"


def test_end_before_the_recorded_start_records_both(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    transitions.claim(task)
    transitions.turn(
        {Attempt(task, 1): MOMENT}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0
    )
    assert recorder.events == [("start", "a"), ("end", "a")]
    assert recorder.endings["a"] == TaskOutcome("done")


def test_end_is_recorded_without_other_tasks(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    _begin(transitions, task)
    transitions.turn({}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0)
    assert recorder.endings["a"] == TaskOutcome("done")
    assert transitions.taken() == []


def test_refusal_of_on_start_wins_over_the_end_of_its_process(database, recorder):
    def start(_session: Session, _task: Task) -> None:
        raise LookupError("no such row")

    queue = Queue([TaskKind("kind", "x:y", on_start=start, on_end=recorder.kind().on_end)])
    [task] = _put(database, queue, "a")
    transitions = TaskTransitions(database, queue)
    transitions.claim(task)
    transitions.turn(
        {Attempt(task, 1): MOMENT}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0
    )
    assert recorder.endings["a"].outcome == "failed"


def test_task_cancelled_before_its_start_never_starts(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    transitions.claim(task)
    with database.write() as session:
        assert queue.cancel(session, "a", "stopped by hand")
    assert recorder.endings == {}, "its process may exist"
    assert transitions.cancelled() == {task}
    assert transitions.start(Attempt(task, 1), MOMENT) == TaskOutcome("stopped", "stopped by hand")
    transitions.end(Attempt(task, 1), TaskOutcome("failed", "signal 9"))
    assert recorder.events == [("end", "a")]
    assert recorder.endings["a"] == TaskOutcome("stopped", "stopped by hand")


def test_kill_counts_only_for_tasks_whose_process_ran(database, queue, transitions, recorder):
    ran, waited = _put(database, queue, "ran", "waited")
    for _ in range(MAX_KILLS):
        transitions.claim(ran)
        transitions.claim(waited)
        transitions.requeue(transitions.taken(), killed=[ran])
    assert list(recorder.endings) == ["ran"]
    assert transitions.next(Counter()) == waited
    assert ("requeue", "waited") in recorder.events


def test_task_is_requeued_until_the_kill_limit(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    for _ in range(MAX_KILLS - 1):
        _begin(transitions, task)
        transitions.requeue(transitions.taken(), killed=[task])
        assert transitions.next(Counter()) == task
    _begin(transitions, task)
    transitions.requeue([task], killed=[task])
    assert recorder.endings["a"].outcome == "failed"
    assert "3 times" in recorder.endings["a"].reason
    assert recorder.events.count(("requeue", "a")) == MAX_KILLS - 1


def test_clean_stop_does_not_count_as_kill(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    for _ in range(2 * MAX_KILLS):
        _begin(transitions, task)
        transitions.requeue([task])
    assert "a" not in recorder.endings


def test_cancelled_task_is_not_requeued(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    _begin(transitions, task)
    with database.write() as session:
        queue.cancel(session, "a", "stopped by hand")
    transitions.requeue([task], killed=[task])
    assert recorder.endings["a"] == TaskOutcome("stopped", "stopped by hand")


def test_tick_sees_only_running_tasks(database, queue, transitions, recorder):
    first, _ = _put(database, queue, "a", "b")
    _begin(transitions, first)
    transitions.tick()
    assert recorder.events[-1] == ("tick", "a")
    assert ("tick", "b") not in recorder.events


def test_ends_and_claims_of_one_turn_are_one_transaction(database, queue, transitions, recorder):
    first, second, third = _put(database, queue, "a", "b", "c")
    assert [claim.key for claim in transitions.turn({}, {}, Counter(), 2).claims] == ["a", "b"]
    ends = {
        Attempt(first, 1): TaskOutcome("done"),
        Attempt(second, 1): TaskOutcome("failed", "why"),
    }
    turn = transitions.turn(
        {Attempt(first, 1): MOMENT, Attempt(second, 1): MOMENT}, ends, Counter(), 2
    )
    assert [claim.id for claim in turn.claims] == [third]
    assert transitions.taken() == [third]
    assert transitions.turn({}, {}, Counter({"kind": 1}), 1).claims == []


def test_result_of_an_earlier_attempt_is_refused(database, queue, transitions, recorder):
    [task] = _put(database, queue, "a")
    _begin(transitions, task)
    transitions.requeue([task])
    transitions.end(Attempt(task, 1), TaskOutcome("done"))
    assert _state(database, "a") == "queued"
    claim = transitions.claim(task)
    assert (claim.id, claim.attempt) == (task, 2)
    transitions.turn(
        {Attempt(task, 1): MOMENT}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0
    )
    assert _state(database, "a") == "starting"
    assert recorder.endings == {}
    transitions.end(Attempt(task, 2), TaskOutcome("failed", "signal 9"))
    assert recorder.endings["a"].outcome == "failed"


def test_tasks_that_are_not_admitted_do_not_block_others(database, queue, transitions):
    with database.write() as session:
        for number, needs in enumerate(["rna", "rna", "dna", "rna", "dna"]):
            queue.put(session, "kind", f"{needs}{number}", {}, needs=needs)
    unfit = set()
    considered = []

    def admit(claim):
        considered.append(claim.key)
        return claim.needs == "dna"

    turn = transitions.turn({}, {}, Counter(), 5, admit, unfit)
    assert [claim.key for claim in turn.claims] == ["dna2", "dna4"]
    assert considered == ["rna0", "dna2", "dna4"]
    assert unfit == {("kind", "rna")}
    assert transitions.next(Counter(), unfit) is None
    assert transitions.next(Counter()) is not None
    assert _state(database, "rna0") == "queued"


def test_turn_respects_the_limit_of_a_kind(database, queue, transitions):
    _put(database, queue, "rare1", "rare2", kind="rare", priority=9)
    _put(database, queue, "common")
    claims = transitions.turn({}, {}, Counter(), 3).claims
    assert [claim.key for claim in claims] == ["rare1", "common"]


def test_turn_with_a_failing_end_changes_nothing(database, queue, transitions):
    def fail(_session: Session, _task: Task, _ending: TaskOutcome) -> None:
        raise LookupError("a fault of the service")

    queue.add(TaskKind("faulty", "nowhere:nothing", on_end=fail))
    good, waiting = _put(database, queue, "good", "waiting")
    [bad] = _put(database, queue, "bad", kind="faulty", priority=1)
    _begin(transitions, good)
    _begin(transitions, bad)
    with pytest.raises(LookupError):
        transitions.turn(
            {},
            {Attempt(good, 1): TaskOutcome("done"), Attempt(bad, 1): TaskOutcome("done")},
            Counter(),
            1,
        )
    assert set(transitions.taken()) == {good, bad}
    assert transitions.living() == {good, bad, waiting}


@pytest.mark.parametrize("each_database", ["sqlite"], indirect=True)
def test_next_task_is_found_through_the_index(database, queue, transitions):
    query = transitions._waiting(Counter())
    statement = query.compile(database.engine, compile_kwargs={"literal_binds": True})
    with database.read() as session:
        steps = session.execute(text(f"EXPLAIN QUERY PLAN {statement}")).all()
    plan = " ".join(step[3] for step in steps)
    assert "tasks_turn" in plan
    assert "TEMP B-TREE" not in plan
