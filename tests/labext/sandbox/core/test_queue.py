"""The queue's table and hooks, without any process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from queueing import MOMENT, Recorder, begin, put
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError, OperationalError, TimeoutError
from sqlalchemy.orm import Session

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Attempt, Queue, Task, TaskKind, TaskOutcome
from labext.sandbox.core.task_transitions import MAX_KILLS, TaskTransitions


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def queue(recorder: Recorder) -> Queue:
    return Queue([recorder.kind(), recorder.kind("rare", limit=1)])


def _state(database: Database, key: str) -> str:
    with database.read() as session:
        return session.scalars(select(Task.state).where(Task.key == key)).one()


def test_limited_kind_does_not_block_others(database, queue, transitions):
    put(database, queue, "rare1", "rare2", kind="rare", priority=9)
    [common] = put(database, queue, "common")
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
    put(database, queue, "a", "b", "c")
    assert received == [3]


def test_listeners_are_called_on_cancel(database, queue, transitions):
    _waiting, running = put(database, queue, "waiting", "running")
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


def test_key_is_unique_until_its_task_ends(database, queue, transitions):
    [first] = put(database, queue, "a")
    with pytest.raises(IntegrityError):
        put(database, queue, "a")
    begin(transitions, first)
    transitions.end(Attempt(first, 1), TaskOutcome("done"))
    [second] = put(database, queue, "a")
    assert second > first


def test_unknown_and_repeated_kinds_are_refused(database, queue):
    with pytest.raises(KeyError):
        put(database, queue, "a", kind="unheard")
    with pytest.raises(ValueError, match="already"):
        queue.add(TaskKind("kind", "x:y"))


def test_cancelled_waiting_task_ends_at_once(database, queue, transitions, recorder):
    put(database, queue, "a")
    with database.write() as session:
        assert queue.cancel(session, "a", "no longer wanted")
        assert queue.find(session, "a") is None
        assert not queue.cancel(session, "a", "again")
    assert recorder.endings["a"] == TaskOutcome("stopped", "no longer wanted")
    assert transitions.next(Counter()) is None
    assert queue.wait(database, ["a"], 0.0)


def test_cancellation_precedes_a_simultaneous_end(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
    begin(transitions, task)
    with database.write() as session:
        assert queue.cancel(session, "a", "first")
        assert queue.cancel(session, "a", "second")
    assert not queue.wait(database, ["a"], 0.05)
    assert transitions.cancelled() == {task}
    transitions.end(Attempt(task, 1), TaskOutcome("done", result={"x": 1}, seconds=2.0))
    assert recorder.endings["a"] == TaskOutcome("stopped", "first", seconds=2.0)
    assert queue.wait(database, ["a"], 0.0)


def test_wait_waits_for_the_last_task(database, queue, transitions):
    first, second = put(database, queue, "a", "b")
    assert queue.wait(database, [], 0.0)
    for task in (first, second):
        assert not queue.wait(database, ["a", "b", "never"], 0.0)
        begin(transitions, task)
        transitions.end(Attempt(task, 1), TaskOutcome("done"))
    assert queue.wait(database, ["a", "b", "never"], 0.0)


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
    [task] = put(database, queue, "a")
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
    bad, good = put(database, queue, "bad", "good")
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
    bad, good = put(database, queue, "bad", "good")
    transitions = TaskTransitions(database, queue)
    with pytest.raises(LookupError):
        transitions.claim(bad)
    assert transitions.next(Counter()) == good


def test_task_whose_folder_cannot_be_named_ends_at_its_claim(database, recorder):
    def work(_task: Task) -> Path:
        raise LookupError("no such row")

    queue = Queue([TaskKind("kind", "x:y", work=work, on_end=recorder.kind().on_end)])
    [task] = put(database, queue, "a")
    transitions = TaskTransitions(database, queue)
    assert transitions.turn({}, {}, Counter(), 1).claims == []
    assert recorder.endings["a"] == TaskOutcome("failed", "It could not be started: no such row")
    assert transitions.claim(task) is None


def test_taken_task_is_not_claimed_again(database, queue, transitions):
    [task] = put(database, queue, "a")
    assert transitions.claim(task) is not None
    assert transitions.claim(task) is None
    assert transitions.claim(task + 1) is None


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("UPDATE tasks", None, Exception("database or disk is full")),
        TimeoutError("QueuePool limit of size 5 overflow 25 reached"),
    ],
)
def test_task_is_claimed_again_after_a_full_disk_or_without_a_connection(database, queue, error):
    errors = [error]

    def memory(_session: Session) -> int:
        if errors:
            raise errors.pop()
        return 1

    queue.add(TaskKind("full", "x:y", memory=memory))
    [task] = put(database, queue, "a", kind="full")
    transitions = TaskTransitions(database, queue)
    with pytest.raises(type(error)):
        transitions.claim(task)
    assert transitions.next(Counter()) == task
    claim = transitions.claim(task)
    assert claim is not None
    assert claim.max_memory == 1


def test_task_runs_once_its_process_exists(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
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
    [task] = put(database, queue, "a")
    transitions.claim(task)
    transitions.turn(
        {Attempt(task, 1): MOMENT}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0
    )
    assert recorder.events == [("start", "a"), ("end", "a")]
    assert recorder.endings["a"] == TaskOutcome("done")


def test_refusal_of_on_start_precedes_the_end_of_its_process(database, recorder):
    def start(_session: Session, _task: Task) -> None:
        raise LookupError("no such row")

    queue = Queue([TaskKind("kind", "x:y", on_start=start, on_end=recorder.kind().on_end)])
    [task] = put(database, queue, "a")
    transitions = TaskTransitions(database, queue)
    transitions.claim(task)
    transitions.turn(
        {Attempt(task, 1): MOMENT}, {Attempt(task, 1): TaskOutcome("done")}, Counter(), 0
    )
    assert recorder.endings["a"].outcome == "failed"


def test_task_cancelled_before_its_start_never_starts(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
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
    ran, waited = put(database, queue, "ran", "waited")
    for _ in range(MAX_KILLS):
        transitions.claim(ran)
        transitions.claim(waited)
        transitions.requeue(transitions.taken(), killed=[ran])
    assert list(recorder.endings) == ["ran"]
    assert transitions.next(Counter()) == waited
    assert ("requeue", "waited") in recorder.events


def test_task_is_requeued_until_the_kill_limit(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
    for _ in range(MAX_KILLS - 1):
        begin(transitions, task)
        transitions.requeue(transitions.taken(), killed=[task])
        assert transitions.next(Counter()) == task
    begin(transitions, task)
    transitions.requeue([task], killed=[task])
    reason = "The service was killed 3 times while this ran."
    assert recorder.endings["a"] == TaskOutcome("failed", reason)
    assert recorder.events.count(("requeue", "a")) == MAX_KILLS - 1


def test_clean_stop_does_not_count_as_kill(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
    for _ in range(2 * MAX_KILLS):
        begin(transitions, task)
        transitions.requeue([task])
    assert "a" not in recorder.endings


def test_cancelled_task_is_not_requeued(database, queue, transitions, recorder):
    [task] = put(database, queue, "a")
    begin(transitions, task)
    with database.write() as session:
        queue.cancel(session, "a", "stopped by hand")
    transitions.requeue([task], killed=[task])
    assert recorder.endings["a"] == TaskOutcome("stopped", "stopped by hand")


def test_tick_sees_only_running_tasks(database, queue, transitions, recorder):
    first, _ = put(database, queue, "a", "b")
    begin(transitions, first)
    transitions.tick({})
    assert recorder.events[-1] == ("tick", "a")
    assert ("tick", "b") not in recorder.events


def test_ends_and_claims_of_one_turn_are_one_transaction(database, queue, transitions, recorder):
    first, second, third = put(database, queue, "a", "b", "c")
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
    [task] = put(database, queue, "a")
    begin(transitions, task)
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


def test_tasks_that_are_not_admitted_do_not_block_others(database, queue):
    with database.write() as session:
        for number, needs in enumerate(["rna", "rna", "dna", "rna", "dna"]):
            queue.put(session, "kind", f"{needs}{number}", {}, needs=needs)
    considered = []

    def admit(claim):
        considered.append(claim.key)
        return claim.needs == "dna"

    transitions = TaskTransitions(database, queue, admit=admit)
    turn = transitions.turn({}, {}, Counter(), 5)
    assert [claim.key for claim in turn.claims] == ["dna2", "dna4"]
    assert considered == ["rna0", "dna2", "dna4"]
    assert transitions.unfit == {("kind", "rna")}
    assert transitions.next(Counter()) is None
    transitions.unfit.clear()
    assert transitions.next(Counter()) is not None
    assert _state(database, "rna0") == "queued"


def test_turn_respects_the_limit_of_a_kind(database, queue, transitions):
    put(database, queue, "rare1", "rare2", kind="rare", priority=9)
    put(database, queue, "common")
    claims = transitions.turn({}, {}, Counter(), 3).claims
    assert [claim.key for claim in claims] == ["rare1", "common"]


def test_turn_with_a_failing_end_changes_nothing(database, queue, transitions):
    def fail(_session: Session, _task: Task, _ending: TaskOutcome) -> None:
        raise LookupError("a fault of the service")

    queue.add(TaskKind("faulty", "nowhere:nothing", on_end=fail))
    good, waiting = put(database, queue, "good", "waiting")
    [bad] = put(database, queue, "bad", kind="faulty", priority=1)
    begin(transitions, good)
    begin(transitions, bad)
    ends = {Attempt(task, 1): TaskOutcome("done") for task in (good, bad)}
    with pytest.raises(LookupError):
        transitions.turn({}, ends, Counter(), 1)
    assert set(transitions.taken()) == {good, bad}
    with database.read() as session:
        assert set(session.scalars(select(Task.id))) == {good, bad, waiting}


@pytest.mark.parametrize("each_database", ["sqlite"], indirect=True)
def test_next_task_is_found_through_the_index(database, queue, transitions):
    query = transitions._waiting(Counter(), {})
    statement = query.compile(database.engine, compile_kwargs={"literal_binds": True})
    with database.read() as session:
        steps = session.execute(text(f"EXPLAIN QUERY PLAN {statement}")).all()
    plan = " ".join(step[3] for step in steps)
    assert "tasks_turn" in plan
    assert "TEMP B-TREE" not in plan
