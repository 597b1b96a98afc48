"""Tasks in their processes: what they find, how they end, and that nothing of them stays."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select

from labext.sandbox.core.database import Database
from labext.sandbox.core.executors import supervisor
from labext.sandbox.core.executors.launcher import StartMethod
from labext.sandbox.core.executors.supervisor import Supervisor
from labext.sandbox.core.queue import (
    MAX_KILLS,
    STARTING,
    Queue,
    QueueBase,
    Task,
    TaskKind,
    TaskOutcome,
)

PARTS = Path(__file__).parents[3] / "support"
ENTRIES = [
    "answer",
    "wait",
    "span",
    "surroundings",
    "descend",
    "escape",
    "fail",
    "die",
    "print_much",
]
ENTRIES += ["return_odd", "nowhere", "kill_parent", "fill_memory", "identify"]


@dataclass
class Shop:
    """A database, a queue and a supervisor over one folder."""

    folder: Path
    method: StartMethod | None = None
    workers: int = 2
    endings: dict[str, TaskOutcome] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    memory: int | None = None
    warm: bool = False

    def __post_init__(self) -> None:
        self.database = Database.at(self.folder / "some.sqlite")
        self.database.create(QueueBase.metadata)
        self.queue = Queue(self._kind(entry) for entry in ENTRIES)
        self.supervisor = Supervisor(
            self.database,
            self.queue,
            self.folder / "tasks",
            workers=self.workers,
            preload=["labext_test_entries", "no_such_module_anywhere"],
            method=self.method,
        )

    def _kind(self, entry: str) -> TaskKind:
        return TaskKind(
            entry,
            f"labext_test_entries:{entry}",
            on_start=lambda _session, task: self.starts.append(task.key),
            on_end=self._end,
            work=lambda task: self.work(task.key),
            warm=lambda _task: self.warm,
            memory=None if self.memory is None else lambda _session: self.memory or 0,
            limit=self.limits.get(entry),
        )

    def _end(self, _session: Any, task: Task, ending: TaskOutcome) -> None:
        assert task.key not in self.endings, "a task ended twice"
        self.endings[task.key] = ending

    def work(self, key: str) -> Path:
        return self.folder / "work" / key

    def put(self, kind: str, key: str, max_seconds: float | None = None, **payload: Any) -> None:
        with self.database.write() as session:
            self.queue.put(session, kind, key, payload, max_seconds=max_seconds)

    def cancel(self, key: str) -> None:
        with self.database.write() as session:
            assert self.queue.cancel(session, key, "stopped by hand")

    def result(self, key: str, seconds: float = 30) -> TaskOutcome:
        assert self.queue.wait(self.database, key, seconds), f"{key} did not end"
        return self.endings[key]

    def run(self, kind: str, max_seconds: float | None = None, **payload: Any) -> TaskOutcome:
        self.put(kind, "only", max_seconds, **payload)
        return self.result("only")

    def close(self) -> None:
        if self.supervisor._thread.is_alive():
            self.supervisor.stop()
        self.database.close()


NewShop = Callable[..., Shop]


@pytest.fixture
def new_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewShop]:
    monkeypatch.setenv("PYTHONPATH", str(PARTS), prepend=":")
    open_shops: list[Shop] = []

    def make(**options: Any) -> Shop:
        shop = Shop(**({"folder": tmp_path} | options))
        shop.supervisor.start()
        open_shops.append(shop)
        return shop

    yield make
    for shop in open_shops:
        shop.close()


@pytest.fixture(params=["fork", "spawn"])
def shop(request: pytest.FixtureRequest, new_shop: NewShop) -> Shop:
    return new_shop(method=request.param)


@pytest.fixture
def quick_shop(new_shop: NewShop) -> Shop:
    return new_shop()


def poll(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def no_process(pid: int) -> bool:
    """Not even a zombie."""
    return not psutil.pid_exists(pid)


def state(shop: Shop, key: str) -> tuple[str, int]:
    """The state of a task that has not ended, and how many kills are counted against it."""
    with shop.database.read() as session:
        task = shop.queue.find(session, key)
        assert task is not None
        return task.state, task.kills


def fork_server() -> psutil.Process:
    """The one fork server of this process."""
    [server] = [
        child
        for child in psutil.Process().children()
        if "labext.sandbox.core.executors.fork_server" in child.cmdline()
    ]
    return server


def descendants(shop: Shop, key: str = "only", but: Sequence[int] = ()) -> list[int]:
    """Return the pids of the task, its child, the one that left the group and its grandchild.

    Waits until all live and the task is recorded as started. `but` are those of an earlier run.
    """

    def pids() -> list[int]:
        with contextlib.suppress(FileNotFoundError):
            return [int(pid) for pid in (shop.work(key) / "pids").read_text().split()]
        return []

    poll(lambda: pids() not in ([], but))

    def state() -> str | None:
        with shop.database.read() as session:
            return session.scalar(select(Task.state).where(Task.key == key))

    poll(lambda: state() != STARTING)
    return pids()


def test_a_task_returns_its_result(shop: Shop) -> None:
    ending = shop.run("answer", x=[1, 2.5, None, "ä"])
    assert ending.outcome == "done"
    assert ending.result == {"x": [1, 2.5, None, "ä"]}
    assert 0 < ending.seconds < 20


def test_what_a_task_finds_around_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shop.run("surroundings").result
    assert found["cwd"] == found["work"] == str(shop.work("only"))
    assert found["leads"], "it leads a group and a session of its own"
    assert found["mode"] == 0o600
    assert found["core"] == 0
    assert found["nice"] >= 5
    assert all(found["signals"]), "no handler of the server"
    assert found["modules"] == []
    assert found["environment"]["OMP_NUM_THREADS"] == "1"
    assert "pytest" not in found["main"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_task_has_no_file_of_the_server_but_its_log(shop: Shop) -> None:
    descriptors = shop.run("surroundings").result["descriptors"]
    log = str(shop.work("only") / "log.txt")
    assert descriptors["0"] == "/dev/null"
    assert descriptors["1"] == descriptors["2"] == log
    others = [path for number, path in descriptors.items() if int(number) > 2]
    assert [path for path in others if not path.startswith("/proc/")] == []


def test_keys_in_the_environment_do_not_reach_a_task(
    new_shop: NewShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "some-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "some-secret")
    found = new_shop().run("surroundings").result["environment"]
    assert "some-secret" not in found.values()
    assert "PATH" in found


def test_its_own_error_is_its_reason_in_one_line(shop: Shop) -> None:
    assert shop.run("fail", error="TaskError") == TaskOutcome(
        "failed", "sequence: X is no base.", seconds=shop.endings["only"].seconds
    )


def test_any_other_error_is_named_and_its_traceback_is_in_the_log(quick_shop: Shop) -> None:
    ending = quick_shop.run("fail", error="ValueError")
    assert (ending.outcome, ending.reason) == ("failed", "ValueError: of no use")
    assert "Traceback" in (quick_shop.work("only") / "log.txt").read_text()


def test_an_entry_that_is_not_there_fails_its_task(quick_shop: Shop) -> None:
    ending = quick_shop.run("nowhere")
    assert ending.outcome == "failed"
    assert "nowhere" in ending.reason


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"how": "exit", "code": 7}, "exit code 7"),
        ({"how": "exit", "code": 0}, "exit code 0 and without a result"),
        ({"how": "sys.exit", "code": 3}, "exit code"),
        ({"how": "signal", "number": signal.SIGKILL}, "signal 9 (SIGKILL)"),
        ({"how": "signal", "number": signal.SIGSEGV}, "signal 11 (SIGSEGV)"),
        ({"how": "signal", "number": signal.SIGTERM}, "signal 15 (SIGTERM)"),
    ],
)
def test_a_process_that_dies_without_a_word_fails_its_task(
    quick_shop: Shop, payload: dict[str, Any], words: str
) -> None:
    ending = quick_shop.run("die", **payload)
    assert ending.outcome == "failed"
    assert ending.reason.startswith("The tool's process ended with ")
    assert words in ending.reason
    quick_shop.put("answer", "next", x=1)
    assert quick_shop.result("next").outcome == "done"


@pytest.mark.parametrize(("what", "words"), [("object", "not JSON"), ("text", "too much")])
def test_a_result_that_cannot_be_kept_fails_its_task(
    quick_shop: Shop, what: str, words: str
) -> None:
    ending = quick_shop.run("return_odd", what=what)
    assert ending.outcome == "failed"
    assert words in ending.reason


def test_all_that_is_printed_is_in_the_log(shop: Shop) -> None:
    assert shop.run("print_much", lines=20_000).outcome == "done"
    lines = (shop.work("only") / "log.txt").read_text().splitlines()
    assert lines[:2] == ["from the task", "from its child"]
    assert len(lines) == 20_003
    assert lines[-1] == "at the end"


def test_no_more_tasks_than_workers_and_as_many(new_shop: NewShop) -> None:
    shop = new_shop(workers=3)
    for number in range(5):  # each so long that three of them have begun before one ends
        shop.put("span", f"s{number}", seconds=1.5)
    spans = [shop.result(f"s{number}").result for number in range(5)]
    at_once = [
        sum(other["began"] <= span["began"] < other["ended"] for other in spans) for span in spans
    ]
    assert max(at_once) == 3


def test_a_kind_has_its_own_limit(new_shop: NewShop) -> None:
    shop = new_shop(workers=3, limits={"span": 1})
    for number in range(3):
        shop.put("span", f"s{number}", seconds=0.2)
    shop.put("answer", "quick", x=1)
    shop.result("quick")
    spans = [shop.result(f"s{number}").result for number in range(3)]
    assert spans[0]["ended"] <= spans[1]["began"]
    assert spans[1]["ended"] <= spans[2]["began"]


def test_they_start_in_the_order_they_were_put(new_shop: NewShop) -> None:
    shop = new_shop(workers=1)
    keys = [f"k{number}" for number in range(12)]
    with shop.database.write() as session:
        for key in keys:
            shop.queue.put(session, "answer", key, {})
    shop.result(keys[-1])
    assert shop.starts == keys


def test_a_stop_takes_all_that_a_task_started(shop: Shop) -> None:
    shop.put("descend", "only")
    pids = descendants(shop)
    began = time.monotonic()
    shop.cancel("only")
    poll(lambda: all(no_process(pid) for pid in pids), 2.0)
    assert time.monotonic() - began < 2.0
    ending = shop.result("only")
    assert (ending.outcome, ending.reason) == ("stopped", "stopped by hand")
    assert ending.seconds > 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans have no new parent")
@pytest.mark.parametrize("end", ["stop", "itself", "death"])
def test_nothing_cuts_loose_though_a_neighbour_runs(shop: Shop, end: str) -> None:
    shop.put("descend", "neighbour")
    kept = descendants(shop, "neighbour")
    shop.put("escape", "only", seconds=300 if end == "stop" else 0, die=end == "death")
    pids = descendants(shop)
    if end == "stop":
        assert all(psutil.pid_exists(pid) for pid in pids)
        shop.cancel("only")
    outcome = {"stop": "stopped", "itself": "done", "death": "failed"}[end]
    assert shop.result("only", 10).outcome == outcome
    assert [pid for pid in pids if not no_process(pid)] == []
    assert not any(is_gone(pid) for pid in kept)
    shop.cancel("neighbour")
    shop.result("neighbour")


def test_what_a_task_leaves_behind_at_its_end_goes_too(shop: Shop) -> None:
    shop.put("descend", "only", seconds=0)
    assert shop.result("only").outcome == "done"
    assert [pid for pid in descendants(shop) if not no_process(pid)] == []


def test_a_neighbour_survives_the_end_of_a_task(quick_shop: Shop) -> None:
    quick_shop.put("descend", "neighbour")
    kept = descendants(quick_shop, "neighbour")
    quick_shop.put("descend", "only")
    gone = descendants(quick_shop, "only")
    quick_shop.cancel("only")
    quick_shop.result("only")
    assert all(no_process(pid) for pid in gone)
    assert not any(is_gone(pid) for pid in kept)


def test_the_time_limit_takes_all_that_a_task_started(shop: Shop) -> None:
    shop.put("descend", "only", 1.5)
    pids = descendants(shop)
    ending = shop.result("only", 10)
    assert ending.outcome == "stopped"
    assert ending.reason == "The time limit of 1.5 seconds was reached."
    assert 1.4 < ending.seconds < 5
    assert all(no_process(pid) for pid in pids)


def test_a_task_within_its_time_limit_is_done(quick_shop: Shop) -> None:
    assert quick_shop.run("wait", 20, seconds=0.05).outcome == "done"


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("child", [False, True])
def test_task_over_its_memory_limit_is_stopped_with_the_limit_as_its_reason(
    new_shop: NewShop, method: StartMethod, child: bool
) -> None:
    shop = new_shop(method=method, memory=256 << 20)
    shop.put("wait", "neighbour", seconds=300)
    poll((shop.work("neighbour") / "started").exists)
    ending = shop.run("fill_memory", mib=400, seconds=300, child=child)
    assert (ending.outcome, ending.over) == ("stopped", "memory")
    assert ending.reason == "The memory limit of 256 MiB was reached."
    assert no_process(int((shop.work("only") / "pid").read_text()))
    assert state(shop, "neighbour") == ("running", 0)
    shop.put("answer", "next", x=1)
    assert shop.result("next").outcome == "done"


def test_task_within_its_memory_limit_is_done(new_shop: NewShop) -> None:
    shop = new_shop(memory=512 << 20)
    assert shop.run("fill_memory", mib=100, seconds=0.2).outcome == "done"


@pytest.fixture(params=["fork", "spawn"])
def warm_shop(request: pytest.FixtureRequest, new_shop: NewShop) -> Shop:
    """A shop whose tasks are done one after another by processes that stay."""
    return new_shop(method=request.param, warm=True, workers=1, memory=512 << 20)


def identity(shop: Shop, key: str, **payload: Any) -> dict[str, Any]:
    shop.put("identify", key, **payload)
    ending = shop.result(key)
    assert ending.outcome == "done", ending
    return ending.result


def test_warm_process_does_several_tasks_each_in_its_own_place(warm_shop: Shop) -> None:
    found = [identity(warm_shop, key) for key in ("a", "b", "c")]
    assert len({task["pid"] for task in found}) == 1
    assert len({task["temporary"] for task in found}) == 3
    assert len({task["nice"] for task in found}) == 1
    assert all(task["cwd"] == task["work"] and task["log"] == "identified\n" for task in found)


def test_process_of_another_kind_of_task_does_one_only(quick_shop: Shop) -> None:
    assert identity(quick_shop, "a")["pid"] != identity(quick_shop, "b")["pid"]


def test_warm_process_goes_on_after_a_task_that_fails(warm_shop: Shop) -> None:
    first = identity(warm_shop, "a")
    warm_shop.put("fail", "b", error="TaskError")
    assert warm_shop.result("b").reason == "sequence: X is no base."
    assert identity(warm_shop, "c")["pid"] == first["pid"]


@pytest.mark.parametrize("end", ["death", "cancel", "time", "memory"])
def test_end_of_a_warm_process_ends_one_task_only(warm_shop: Shop, end: str) -> None:
    first = identity(warm_shop, "a")
    if end == "death":
        warm_shop.put("die", "b", how="signal", number=signal.SIGSEGV)
    elif end == "memory":
        warm_shop.put("fill_memory", "b", mib=700, seconds=300)
    else:
        warm_shop.put("wait", "b", 0.5 if end == "time" else None, seconds=300)
    warm_shop.put("identify", "c")
    if end == "cancel":
        poll((warm_shop.work("b") / "started").exists)
        warm_shop.cancel("b")
    outcome, over, words = {
        "death": ("failed", None, "SIGSEGV"),
        "cancel": ("stopped", None, "stopped by hand"),
        "time": ("stopped", "time", "0.5 seconds"),
        "memory": ("stopped", "memory", "512 MiB"),
    }[end]
    ending = warm_shop.result("b")
    assert (ending.outcome, ending.over) == (outcome, over)
    assert words in ending.reason
    assert no_process(first["pid"])
    assert warm_shop.result("c").result["pid"] != first["pid"]


def test_warm_process_that_leaves_a_process_behind_does_no_other_task(warm_shop: Shop) -> None:
    first = identity(warm_shop, "a", leave="process")
    left = int((warm_shop.work("a") / "left").read_text())
    assert no_process(left)
    assert no_process(first["pid"])
    assert identity(warm_shop, "b")["pid"] != first["pid"]


def test_warm_process_that_keeps_much_memory_does_no_other_task(warm_shop: Shop) -> None:
    first = identity(warm_shop, "a", leave="memory", mib=300)
    assert identity(warm_shop, "b")["pid"] != first["pid"]


def test_task_given_to_a_warm_process_that_died_before_is_done_by_another(
    warm_shop: Shop,
) -> None:
    first = psutil.Process(identity(warm_shop, "a")["pid"])
    first.suspend()  # it gets the task, and doesn't begin it
    warm_shop.put("identify", "b")
    poll(lambda: warm_shop.starts == ["a", "b"])
    first.kill()
    ending = warm_shop.result("b")
    assert ending.outcome == "done"
    assert ending.result["pid"] != first.pid


def test_task_cancelled_before_its_warm_process_began_it_is_not_done(warm_shop: Shop) -> None:
    first = psutil.Process(identity(warm_shop, "a")["pid"])
    first.suspend()
    warm_shop.put("identify", "b")
    poll(lambda: warm_shop.starts == ["a", "b"])
    warm_shop.cancel("b")
    assert warm_shop.result("b").reason == "stopped by hand"
    assert not (warm_shop.work("b") / "log.txt").exists()


def test_idle_warm_process_ends_with_the_supervisor(warm_shop: Shop) -> None:
    first = identity(warm_shop, "a")
    assert psutil.pid_exists(first["pid"])
    warm_shop.supervisor.stop()
    assert no_process(first["pid"])


def test_what_waits_is_cancelled_without_ever_starting(new_shop: NewShop) -> None:
    shop = new_shop(workers=1)
    shop.put("wait", "first", seconds=60)
    poll(lambda: shop.starts == ["first"])
    shop.put("wait", "second", seconds=60)
    shop.cancel("second")
    assert shop.result("second", 0) == TaskOutcome("stopped", "stopped by hand")
    shop.cancel("first")
    assert shop.result("first").outcome == "stopped"
    assert shop.starts == ["first"]


def test_a_clean_stop_leaves_no_process_and_queues_again(new_shop: NewShop) -> None:
    shop = new_shop()
    shop.put("descend", "only")
    pids = descendants(shop)
    shop.supervisor.stop()
    assert all(no_process(pid) for pid in pids)
    again = new_shop()
    assert len(descendants(again, but=pids)) == len(pids)
    again.cancel("only")
    assert again.result("only").outcome == "stopped"
    assert shop.endings == {}


def test_folders_are_made_anew_and_the_scratch_goes(quick_shop: Shop) -> None:
    work = quick_shop.work("only")
    (work / "old").mkdir(parents=True)
    (work / "old" / "file").write_text("of an earlier run")
    quick_shop.run("answer", x=1)
    assert [path.name for path in work.iterdir()] == ["log.txt"]
    assert work.stat().st_mode & 0o777 == 0o700
    tasks = quick_shop.folder / "tasks"
    poll(lambda: [path.name for path in tasks.iterdir()] == ["forkserver.lock"])


def test_a_folder_that_cannot_be_made_fails_its_task(quick_shop: Shop) -> None:
    (quick_shop.folder / "work").write_text("a file where a folder should be")
    ending = quick_shop.run("answer", x=1)
    assert ending.outcome == "failed"
    assert "folder could not be created" in ending.reason


def test_an_end_that_cannot_be_recorded_is_recorded_later(
    quick_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def refuse_once(session: Any, task: Task, ending: TaskOutcome) -> None:
        calls.append(task.key)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        quick_shop._end(session, task, ending)

    quick_shop.queue.add(TaskKind("late", "labext_test_entries:answer", on_end=refuse_once))
    quick_shop.put("late", "late")
    quick_shop.put("answer", "other")
    assert quick_shop.result("other").outcome == "done"
    assert quick_shop.result("late").outcome == "done"
    assert calls == ["late", "late"]


def test_a_fork_server_that_is_killed_is_replaced_and_its_task_runs_again(
    new_shop: NewShop,
) -> None:
    shop = new_shop()
    shop.put("descend", "only")
    pids = descendants(shop)
    fork_server().kill()
    poll(lambda: all(is_gone(pid) for pid in pids))
    assert len(descendants(shop, but=pids)) == len(pids)
    poll(lambda: shop.starts == ["only", "only"])
    shop.cancel("only")
    assert shop.result("only").outcome == "stopped"


def test_death_of_the_fork_server_is_not_counted_against_its_tasks(
    new_shop: NewShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    shop = new_shop()
    shop.put("wait", "only", seconds=300)
    for count in range(1, MAX_KILLS + 2):
        poll((shop.work("only") / "started").exists)
        (shop.work("only") / "started").unlink()
        poll(lambda count=count: len(shop.starts) == count)
        fork_server().kill()
    poll((shop.work("only") / "started").exists)
    poll(lambda: state(shop, "only") == ("running", 0))
    shop.cancel("only")
    assert shop.result("only").reason == "stopped by hand"


def test_task_beside_which_the_fork_server_always_dies_is_given_up(
    new_shop: NewShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "MAX_RETRY_PAUSE", 0.05)
    monkeypatch.setattr(supervisor, "MAX_LOSSES", 2)
    ending = new_shop().run("kill_parent")
    assert ending.outcome == "failed"
    assert ending.reason == "The process that starts tasks died 2 times while this ran."


def test_task_waits_in_the_queue_until_the_fork_server_can_start_it(new_shop: NewShop) -> None:
    shop = new_shop()
    shop.run("answer")
    server = fork_server()
    server.suspend()
    shop.put("answer", "waiting")
    poll(lambda: shop.supervisor._ledger.taken() != [])
    assert shop.starts == ["only"]
    server.resume()
    assert shop.result("waiting").outcome == "done"
    assert shop.starts == ["only", "waiting"]


def test_task_that_may_not_start_is_killed_with_its_process(new_shop: NewShop) -> None:
    shop = new_shop()

    def refuse(_session: Any, task: Task) -> None:
        poll((shop.work(task.key) / "pid").exists)
        raise LookupError("no such row")

    kind = TaskKind(
        "refused",
        "labext_test_entries:wait",
        on_start=refuse,
        on_end=shop._end,
        work=lambda task: shop.work(task.key),
    )
    shop.queue.add(kind)
    ending = shop.run("refused", seconds=300)
    assert ending == TaskOutcome("failed", "It could not be started: no such row")
    assert no_process(int((shop.work("only") / "pid").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a task is not forked")
def test_a_daemon_does_not_outlive_a_fork_server_that_is_killed(new_shop: NewShop) -> None:
    shop = new_shop()
    shop.put("escape", "only", seconds=300)
    _task, program, daemon = descendants(shop)
    assert psutil.Process(daemon).cwd() == "/"
    fork_server().kill()
    poll(lambda: is_gone(daemon))
    # Without the host, which adopts it, nobody knows it any more (see `adopt_orphans`).
    psutil.Process(program).kill()
    shop.cancel("only")
    assert shop.result("only").outcome == "stopped"


def test_it_sleeps_when_there_is_nothing_to_do(quick_shop: Shop) -> None:
    quick_shop.run("answer")
    server = fork_server()
    thread = quick_shop.supervisor._thread
    assert thread.native_id is not None

    def spent() -> float:
        threads = {one.id: one for one in psutil.Process().threads()}
        mine = threads[thread.native_id]
        times = server.cpu_times()
        return float(mine.user_time + mine.system_time + times.user + times.system)

    before = spent()
    time.sleep(3)
    assert spent() - before < 0.1
