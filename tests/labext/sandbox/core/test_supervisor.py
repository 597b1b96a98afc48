"""Tasks run in their own or in warm processes: environment, outcomes and limits."""

from __future__ import annotations

import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest
from supervision import (
    Harness,
    NewHarness,
    descendants,
    fork_server,
    is_gone,
    locked_error,
    no_process,
    state,
)
from waiting import wait_until

from labext.sandbox.core import task_transitions
from labext.sandbox.core.data_folder import FileLock
from labext.sandbox.core.executors import supervisor
from labext.sandbox.core.executors.file_transfers import FileTransfers
from labext.sandbox.core.executors.launcher import StartMethod
from labext.sandbox.core.executors.task_process import DISK_FULL
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import Task, TaskOutcome

pytestmark = pytest.mark.faults


def test_process_of_a_task(harness: Harness) -> None:
    surroundings = harness.run("surroundings").result
    assert surroundings["cwd"] == surroundings["work"] == str(harness.work("only"))
    assert surroundings["leads"], "it leads its own process group and session"
    assert surroundings["mode"] == 0o600
    assert surroundings["core"] == 0
    assert surroundings["nice"] >= 5
    assert all(surroundings["signals"]), "signal handlers are reset"
    assert surroundings["modules"] == []
    assert surroundings["environment"]["OMP_NUM_THREADS"] == "1"
    assert "pytest" not in surroundings["main"]
    if sys.platform == "linux":
        descriptors = surroundings["descriptors"]
        assert descriptors["0"] == "/dev/null"
        assert descriptors["1"] == descriptors["2"] == str(harness.work("only") / "log.txt")
        others = [path for number, path in descriptors.items() if int(number) > 2]
        assert [path for path in others if not path.startswith("/proc/")] == []
    harness.put("answer", "answer", x=[1, 2.5, None, "ä"])
    harness.put("fail", "refuse", error="TaskError")
    harness.put("print_much", "print", lines=2_000)
    outcome = harness.result("answer")
    assert (outcome.outcome, outcome.result) == ("done", {"x": [1, 2.5, None, "ä"]})
    assert 0 < outcome.seconds < 20
    outcome = harness.result("refuse")
    assert (outcome.outcome, outcome.reason) == ("failed", "sequence: X is no base.")
    assert harness.result("print").outcome == "done"
    lines = (harness.work("print") / "log.txt").read_text().splitlines()
    assert lines[:2] == ["from the task", "from its child"]
    assert len(lines) == 2_003
    assert lines[-1] == "at the end"


@pytest.mark.parametrize("is_stopped", [False, True])
def test_files_of_a_failed_task_are_synced_to_the_disk(
    forking_harness: Harness, is_synced: Callable[[Path], bool], is_stopped: bool
) -> None:
    work = forking_harness.work("only")
    if is_stopped:
        forking_harness.put("wait", "only", seconds=300)
        wait_until((work / "started").exists)
        forking_harness.cancel("only")
    else:
        forking_harness.put("fail", "only", error="TaskError")
    assert forking_harness.result("only").outcome != "done"
    for path in (*work.iterdir(), work, work.parent):
        assert is_synced(path)


def test_full_disk_is_a_problem_of_the_queue(
    forking_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert forking_harness.supervisor.problem() == ""
    usage = shutil.disk_usage(forking_harness.folder)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    assert forking_harness.supervisor.problem() == "The disk of the data folder is full."


def test_keys_in_the_environment_are_hidden_from_a_task(
    monkeypatch: pytest.MonkeyPatch, new_harness: NewHarness
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "some-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "some-secret")
    environment = new_harness().run("surroundings").result["environment"]
    assert "some-secret" not in environment.values()
    assert "PATH" in environment


def test_exception_or_missing_entry_point_fails_the_task(forking_harness: Harness) -> None:
    outcome = forking_harness.run("fail", error="ValueError")
    assert (outcome.outcome, outcome.reason) == ("failed", "ValueError: of no use")
    assert "Traceback" in (forking_harness.work("only") / "log.txt").read_text()
    forking_harness.put("nowhere", "missing")
    outcome = forking_harness.result("missing")
    assert outcome.outcome == "failed"
    assert "nowhere" in outcome.reason


@pytest.mark.parametrize("of", ["result", "report"])
def test_full_disk_is_the_reason_of_a_failed_task(forking_harness: Harness, of: str) -> None:
    outcome = forking_harness.run("fill_disk", of=of)
    assert (outcome.outcome, outcome.reason) == ("failed", DISK_FULL)
    forking_harness.put("answer", "next")
    assert forking_harness.result("next").outcome == "done"


def test_exit_or_signal_of_the_process_fails_the_task(forking_harness: Harness) -> None:
    ends: list[tuple[dict[str, Any], str]] = [
        ({"how": "exit", "code": 7}, "exit code 7"),
        ({"how": "exit", "code": 0}, "exit code 0 and without a result"),
        ({"how": "sys.exit", "code": 3}, "exit code"),
        ({"how": "signal", "number": signal.SIGKILL}, "signal 9 (SIGKILL)"),
        ({"how": "signal", "number": signal.SIGSEGV}, "signal 11 (SIGSEGV)"),
        ({"how": "signal", "number": signal.SIGTERM}, "signal 15 (SIGTERM)"),
    ]
    for number, (payload, words) in enumerate(ends):
        forking_harness.put("die", f"end{number}", **payload)
        outcome = forking_harness.result(f"end{number}")
        assert outcome.outcome == "failed"
        assert outcome.reason.startswith("The tool's process ended with ")
        assert words in outcome.reason
    assert forking_harness.run("answer", x=1).outcome == "done"


def test_invalid_or_too_large_result_fails_the_task(forking_harness: Harness) -> None:
    for kind, words in (("object", "not JSON"), ("text", "too much")):
        forking_harness.put("return_odd", kind, what=kind)
        outcome = forking_harness.result(kind)
        assert outcome.outcome == "failed"
        assert words in outcome.reason


def test_tasks_run_in_parallel_up_to_the_number_of_workers(new_harness: NewHarness) -> None:
    harness = new_harness(workers=3)
    for number in range(4):  # long enough that three overlap
        harness.put("span", f"s{number}", seconds=1.0)
    spans = [harness.result(f"s{number}").result for number in range(4)]
    running = [
        sum(other["began"] <= span["began"] < other["ended"] for other in spans) for span in spans
    ]
    assert max(running) == 3


def test_task_kind_has_its_own_parallel_limit(new_harness: NewHarness) -> None:
    harness = new_harness(workers=3, limits={"span": 1})
    for number in range(3):
        harness.put("span", f"s{number}", seconds=0.2)
    harness.put("answer", "quick", x=1)
    harness.result("quick")
    spans = [harness.result(f"s{number}").result for number in range(3)]
    assert spans[0]["ended"] <= spans[1]["began"]
    assert spans[1]["ended"] <= spans[2]["began"]


def test_all_processes_of_a_task_end_with_it(harness: Harness) -> None:
    harness.put("descend", "cancelled")
    cancelled = descendants(harness, "cancelled")
    harness.put("wait", "late", 1.5, seconds=300)
    started_at = time.monotonic()
    harness.cancel("cancelled")
    wait_until(lambda: all(no_process(pid) for pid in cancelled), 2.0)
    assert time.monotonic() - started_at < 2.0
    outcome = harness.result("cancelled")
    assert (outcome.outcome, outcome.reason) == ("stopped", "stopped by hand")
    assert outcome.seconds > 0
    outcome = harness.result("late", 10)
    assert outcome.outcome == "stopped"
    assert outcome.reason == "The time limit of 1.5 seconds was reached."
    assert 1.4 < outcome.seconds < 5
    harness.put("descend", "finished", 20, seconds=0)
    assert harness.result("finished").outcome == "done"
    assert [pid for pid in descendants(harness, "finished") if not no_process(pid)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans have no new parent")
@pytest.mark.parametrize("end", ["stop", "itself", "death"])
def test_detached_processes_end_with_their_task_only(forking_harness: Harness, end: str) -> None:
    harness = forking_harness
    harness.put("descend", "neighbour")
    children = descendants(harness, "neighbour")
    harness.put("escape", "only", seconds=300 if end == "stop" else 0, die=end == "death")
    pids = descendants(harness)
    if end == "stop":
        assert all(psutil.pid_exists(pid) for pid in pids)
        harness.cancel("only")
    outcome = {"stop": "stopped", "itself": "done", "death": "failed"}[end]
    assert harness.result("only", 10).outcome == outcome
    assert [pid for pid in pids if not no_process(pid)] == []
    assert not any(is_gone(pid) for pid in children)
    harness.cancel("neighbour")
    harness.result("neighbour")


@pytest.mark.parametrize(("method", "child"), [("fork", True), ("spawn", False)])
def test_task_over_its_memory_limit_is_stopped(
    new_harness: NewHarness, method: StartMethod, child: bool
) -> None:
    harness = new_harness(method=method, memory=128 << 20)
    harness.put("wait", "neighbour", seconds=300)
    wait_until((harness.work("neighbour") / "started").exists)
    outcome = harness.run("fill_memory", mib=200, seconds=300, child=child)
    assert (outcome.outcome, outcome.over) == ("stopped", "memory")
    assert outcome.reason == "The memory limit of 128 MiB was reached."
    assert no_process(int((harness.work("only") / "pid").read_text()))
    assert state(harness, "neighbour") == ("running", 0)
    harness.put("answer", "next", x=1)
    assert harness.result("next").outcome == "done"


def test_stop_ends_all_processes_and_requeues_tasks(new_harness: NewHarness) -> None:
    harness = new_harness()
    harness.put("descend", "only")
    pids = descendants(harness)
    harness.supervisor.stop()
    assert all(no_process(pid) for pid in pids)
    again = new_harness()
    assert len(descendants(again, but=pids)) == len(pids)
    again.cancel("only")
    assert again.result("only").outcome == "stopped"
    assert harness.outcomes == {}


def test_task_that_ended_before_a_stop_is_not_repeated(
    forking_harness: Harness, tmp_path: Path
) -> None:
    supervisor = forking_harness.supervisor
    is_starting, may_go_on = threading.Event(), threading.Event()

    def block(_session: Any, _task: Task) -> None:
        is_starting.set()
        may_go_on.wait(30)

    forking_harness.add("blocking", "speak", on_start=block)
    forking_harness.put("blocking", "only", release=str(tmp_path / "release"))
    assert is_starting.wait(30)
    (tmp_path / "release").touch()
    assert supervisor._launcher is not None
    assert select.select([supervisor._launcher], [], [], 30)[0], "its end is reported"
    stopping = threading.Thread(target=supervisor.stop)
    stopping.start()
    wait_until(lambda: supervisor._stopping)
    may_go_on.set()
    stopping.join()
    assert forking_harness.outcomes["only"].outcome == "done"


@pytest.mark.parametrize("name", ["supervisor.lock", "forkserver.lock"])
def test_folder_of_another_supervisor_is_refused_until_its_processes_have_ended(
    new_harness: NewHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "tasks").mkdir()
    lock = FileLock(tmp_path / "tasks" / name)
    assert lock.acquire()
    monkeypatch.setattr(supervisor, "LOCK_SECONDS", 0.1)
    refused = Harness(tmp_path)
    with pytest.raises(RuntimeError, match="Another supervisor works in "):
        refused.supervisor.start()
    refused.supervisor.stop()
    refused.close()
    monkeypatch.setattr(supervisor, "LOCK_SECONDS", 30.0)
    threading.Timer(0.3, lock.release).start()
    assert new_harness().run("answer").outcome == "done"


def test_running_tasks_tick_once_a_second_with_the_seconds_of_their_processes(
    forking_harness: Harness,
) -> None:
    ticks: list[tuple[str, float]] = []

    def tick(_session: Any, tasks: Mapping[Task, float]) -> None:
        ticks.extend((task.key, seconds) for task, seconds in tasks.items())

    forking_harness.add("ticking", "span", on_tick=tick)
    began = time.monotonic()
    outcome = forking_harness.run("ticking", seconds=2.2)
    assert outcome.outcome == "done"
    assert 2 <= len(ticks) <= time.monotonic() - began + 1
    assert {key for key, _ in ticks} == {"only"}
    seconds = [seconds for _, seconds in ticks]
    assert [0.0, *seconds, outcome.seconds] == sorted({0.0, *seconds, outcome.seconds})


def test_work_folder_is_recreated_and_scratch_removed(forking_harness: Harness) -> None:
    work = forking_harness.work("only")
    (work / "old").mkdir(parents=True)
    (work / "old" / "file").write_text("of an earlier run")
    forking_harness.run("answer", x=1)
    assert [path.name for path in work.iterdir()] == ["log.txt"]
    assert work.stat().st_mode & 0o777 == 0o700
    tasks = forking_harness.folder / "tasks"
    locks = {"forkserver.lock", "supervisor.lock"}
    wait_until(lambda: {path.name for path in tasks.iterdir()} == locks)


def test_work_folder_that_cannot_be_created_fails_the_task(forking_harness: Harness) -> None:
    (forking_harness.folder / "work").write_text("a file where a folder should be")
    outcome = forking_harness.run("answer", x=1)
    assert outcome.outcome == "failed"
    assert "folder could not be created" in outcome.reason


_FULL_DISK = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("refusing", "error"), [("start", locked_error()), ("end", locked_error()), ("end", _FULL_DISK)]
)
def test_task_that_cannot_be_recorded_is_recorded_later_and_blocks_no_other(
    forking_harness: Harness, refusing: str, error: Exception
) -> None:
    calls: list[str] = []
    has_room = threading.Event()

    def record(hook: str, task: Task) -> None:
        if task.key == "late":
            calls.append(hook)
            if hook == refusing and not has_room.is_set():
                raise error

    forking_harness.add(
        "recorded",
        on_start=lambda _session, task: record("start", task),
        on_end=lambda _session, task, _outcome: record("end", task),
    )
    with forking_harness.database.write() as session:
        for key in ("late", "other"):
            forking_harness.queue.put(session, "recorded", key, {})
    assert forking_harness.queue.wait(forking_harness.database, ["other"], 30)
    for number in range(5):
        forking_harness.put("recorded", f"later{number}")
        assert forking_harness.queue.wait(forking_harness.database, [f"later{number}"], 30)
    assert len(calls) < 10, "it is not repeated with each of the others"
    has_room.set()
    assert forking_harness.queue.wait(forking_harness.database, ["late"], 30)
    assert calls[-1] == "end"
    assert refusing == "end" or calls.count("end") == 1, "its start is recorded before its end"


@pytest.mark.parametrize(
    ("transfer", "error"),
    [("prepare", OSError(28, "No space left on device")), ("save", locked_error())],
)
def test_transfer_of_files_is_repeated_when_the_disk_or_the_database_is_available(
    forking_harness: Harness, transfer: str, error: Exception
) -> None:
    calls: list[dict[str, Any]] = []

    def refuse_once(payload: dict[str, Any]) -> list[StagedFile]:
        calls.append(payload)
        if len(calls) == 1:
            raise error
        return []

    forking_harness.add("files", **{transfer: refuse_once})
    assert forking_harness.run("files", x=1).result == {"x": 1}
    assert calls == [{"x": 1}] * 2


def test_task_cancelled_while_it_waits_for_its_files_starts_no_process(
    new_harness: NewHarness,
) -> None:
    harness = new_harness(workers=1)
    waiting, may_end = threading.Event(), threading.Event()

    def prepare(_payload: dict[str, Any]) -> None:
        waiting.set()
        may_end.wait(30)

    harness.add("files", prepare=prepare, work=lambda task: harness.work(task.key))
    harness.put("files", "only")
    assert waiting.wait(30)
    harness.cancel("only")
    assert harness.result("only", 5).reason == "stopped by hand"
    harness.put("answer", "next")
    assert harness.result("next").outcome == "done", "its slot is free"
    may_end.set()
    assert not harness.work("only").exists()


def test_results_of_a_cancelled_task_are_not_stored_again(forking_harness: Harness) -> None:
    calls: list[dict[str, Any]] = []

    def refuse(payload: dict[str, Any]) -> list[StagedFile]:
        calls.append(payload)
        raise locked_error()

    forking_harness.add("files", save=refuse)
    forking_harness.put("files", "only")
    wait_until(lambda: calls != [])
    forking_harness.cancel("only")
    assert forking_harness.result("only").reason == "stopped by hand"
    assert len(calls) == 1


def test_fault_in_the_transfer_of_files_fails_one_task_only(
    forking_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch_at_once(
        _transfers: FileTransfers, call: Callable[[Any], Any], payload: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(payload))
        except RuntimeError as error:
            future.set_exception(error)
        return future

    def refuse_first(payload: dict[str, Any]) -> None:
        if payload["number"] == 0:
            raise RuntimeError("no such folder")

    monkeypatch.setattr(FileTransfers, "_submit", fetch_at_once)
    forking_harness.add("files", prepare=refuse_first)
    with forking_harness.database.write() as session:
        for number in range(3):
            forking_harness.queue.put(session, "files", f"t{number}", {"number": number})
    first, *others = [forking_harness.result(f"t{number}") for number in range(3)]
    assert first == TaskOutcome("failed", "Its files could not be fetched: no such folder")
    assert [outcome.outcome for outcome in others] == ["done", "done"]


def test_death_of_the_fork_server_does_not_count_against_its_tasks(
    new_harness: NewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(task_transitions, "MAX_KILLS", 1)
    harness = new_harness()
    harness.put("wait", "only", seconds=300)
    for count in range(1, 3):
        wait_until((harness.work("only") / "started").exists)
        (harness.work("only") / "started").unlink()
        wait_until(lambda count=count: len(harness.starts) == count)
        fork_server().kill()
    wait_until((harness.work("only") / "started").exists)
    wait_until(lambda: state(harness, "only") == ("running", 0))
    harness.cancel("only")
    assert harness.result("only").reason == "stopped by hand"


def test_task_that_kills_the_fork_server_is_given_up(
    new_harness: NewHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "MAX_RETRY_PAUSE", 0.05)
    monkeypatch.setattr(supervisor, "MAX_LOSSES", 2)
    outcome = new_harness().run("kill_parent", file=str(tmp_path / "pids"))
    assert outcome.outcome == "failed"
    assert outcome.reason == "The process that starts tasks died 2 times while this ran."
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 4
    assert all(is_gone(int(pid)) for pid in pids)


def test_task_added_while_the_fork_server_is_down_runs_in_the_next_one(
    forking_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, may_launch = forking_harness.supervisor, threading.Event()
    launch = supervisor._launch_server

    def launch_later() -> None:
        may_launch.wait(30)
        launch()

    monkeypatch.setattr(supervisor, "_launch_server", launch_later)
    fork_server().kill()
    wait_until(lambda: supervisor._launcher is None)
    forking_harness.put("answer", "only")
    may_launch.set()
    assert forking_harness.result("only").outcome == "done"


def test_task_stays_queued_until_the_fork_server_responds(new_harness: NewHarness) -> None:
    harness = new_harness()
    harness.run("answer")
    server = fork_server()
    server.suspend()
    harness.put("answer", "waiting")
    wait_until(lambda: harness.supervisor._transitions.taken() != [])
    assert harness.starts == ["only"]
    server.resume()
    assert harness.result("waiting").outcome == "done"
    assert harness.starts == ["only", "waiting"]


def test_task_refused_at_its_start_is_killed(new_harness: NewHarness) -> None:
    harness = new_harness()

    def refuse(_session: Any, task: Task) -> None:
        wait_until((harness.work(task.key) / "pid").exists)
        raise LookupError("no such row")

    harness.add("refused", "wait", on_start=refuse, work=lambda task: harness.work(task.key))
    outcome = harness.run("refused", seconds=300)
    assert outcome == TaskOutcome("failed", "It could not be started: no such row")
    assert no_process(int((harness.work("only") / "pid").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a task is not forked")
def test_fork_server_starts_no_task_once_its_supervisor_has_ended() -> None:
    code = """
import socket
from labext.sandbox.core.executors.fork_server import ForkServer

supervisor, connection = socket.socketpair()
server, started = ForkServer(connection), []
server._start = started.append
server._obey([{"start": 1}])
supervisor.close()
server._obey([{"start": 2}])
print(started)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "[{'start': 1}]\n", printed.stderr


def test_daemon_ends_with_a_killed_fork_server(new_harness: NewHarness) -> None:
    harness = new_harness()
    harness.put("escape", "only", seconds=300)
    _task, program, daemon = descendants(harness)
    assert psutil.Process(daemon).cwd() == "/"
    fork_server().kill()
    wait_until(lambda: is_gone(daemon))
    # Only the host would adopt this orphan (see `adopt_orphans`).
    psutil.Process(program).kill()
    harness.cancel("only")
    assert harness.result("only").outcome == "stopped"


def _cpu_seconds(harness: Harness) -> float:
    """Return the processor time of the supervisor and the fork server."""
    threads = {thread.id: thread for thread in psutil.Process().threads()}
    mine = threads[harness.supervisor._thread.native_id]
    times = fork_server().cpu_times()
    return float(mine.user_time + mine.system_time + times.user + times.system)


def test_supervisor_uses_no_cpu_while_results_are_stored_after_the_time_limit(
    forking_harness: Harness,
) -> None:
    may_end = threading.Event()

    def save(_payload: dict[str, Any]) -> list[StagedFile]:
        may_end.wait(30)
        return []

    forking_harness.add("stored", save=save)
    forking_harness.put("stored", "only", max_seconds=1.0)
    time.sleep(1.5)
    before = _cpu_seconds(forking_harness)
    time.sleep(1.5)
    used = _cpu_seconds(forking_harness) - before
    may_end.set()
    assert forking_harness.result("only").outcome == "done"
    assert used < 0.3
