"""Processes that run several tasks of one kind, one after the other."""

from __future__ import annotations

import signal
from typing import Any

import psutil
import pytest
from supervision import Harness, NewHarness, no_process
from waiting import wait_until

from labext.sandbox.core.executors.launcher import StartMethod

pytestmark = pytest.mark.faults


@pytest.fixture
def warm_harness(new_harness: NewHarness) -> Harness:
    """A harness with warm processes that run several tasks in turn."""
    return new_harness(warm=True, workers=1, memory=192 << 20)


def identity(harness: Harness, key: str, **payload: Any) -> dict[str, Any]:
    harness.put("identify", key, **payload)
    outcome = harness.result(key)
    assert outcome.outcome == "done", outcome
    return outcome.result


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_warm_process_runs_several_tasks_in_separate_folders(
    new_harness: NewHarness, method: StartMethod
) -> None:
    harness = new_harness(method=method, warm=True, workers=1, memory=512 << 20)
    results = [identity(harness, key) for key in ("a", "b")]
    harness.put("fail", "refused", error="TaskError")
    assert harness.result("refused").reason == "sequence: X is no base."
    results.append(identity(harness, "c"))
    assert len({task["pid"] for task in results}) == 1, "a failed task does not end it either"
    assert len({task["temporary"] for task in results}) == 3
    assert len({task["nice"] for task in results}) == 1
    assert all(task["cwd"] == task["work"] and task["log"] == "identified\n" for task in results)


def test_process_of_another_task_kind_runs_one_task(forking_harness: Harness) -> None:
    assert identity(forking_harness, "a")["pid"] != identity(forking_harness, "b")["pid"]


@pytest.mark.parametrize("end", ["death", "cancel", "time", "memory"])
def test_end_of_a_warm_process_affects_one_task_only(warm_harness: Harness, end: str) -> None:
    first = identity(warm_harness, "a")
    if end == "death":
        warm_harness.put("die", "b", how="signal", number=signal.SIGSEGV)
    elif end == "memory":
        warm_harness.put("fill_memory", "b", mib=260, seconds=300)
    else:
        warm_harness.put("wait", "b", 0.5 if end == "time" else None, seconds=300)
    warm_harness.put("identify", "c")
    if end == "cancel":
        wait_until((warm_harness.work("b") / "started").exists)
        warm_harness.cancel("b")
    outcome, over, words = {
        "death": ("failed", None, "SIGSEGV"),
        "cancel": ("stopped", None, "stopped by hand"),
        "time": ("stopped", "time", "0.5 seconds"),
        "memory": ("stopped", "memory", "192 MiB"),
    }[end]
    result = warm_harness.result("b")
    assert (result.outcome, result.over) == (outcome, over)
    assert words in result.reason
    assert no_process(first["pid"])
    assert warm_harness.result("c").result["pid"] != first["pid"]


def test_warm_process_with_a_child_or_much_memory_is_not_reused(warm_harness: Harness) -> None:
    first = identity(warm_harness, "a", leave="process")
    left = int((warm_harness.work("a") / "left").read_text())
    assert no_process(left)
    assert no_process(first["pid"])
    second = identity(warm_harness, "b", leave="memory", mib=110)
    assert second["pid"] != first["pid"]
    assert identity(warm_harness, "c")["pid"] != second["pid"]


def test_task_of_a_warm_process_killed_before_it_began_runs_again(warm_harness: Harness) -> None:
    first = psutil.Process(identity(warm_harness, "a")["pid"])
    first.suspend()  # it receives the task but does not begin it
    warm_harness.put("identify", "b")
    wait_until(lambda: warm_harness.starts == ["a", "b"])
    first.kill()
    outcome = warm_harness.result("b")
    assert outcome.outcome == "done"
    assert outcome.result["pid"] != first.pid


def test_task_cancelled_before_its_warm_process_began_is_not_run(warm_harness: Harness) -> None:
    first = psutil.Process(identity(warm_harness, "a")["pid"])
    first.suspend()
    warm_harness.put("identify", "b")
    wait_until(lambda: warm_harness.starts == ["a", "b"])
    warm_harness.cancel("b")
    assert warm_harness.result("b").reason == "stopped by hand"
    assert not (warm_harness.work("b") / "log.txt").exists()


def test_idle_warm_process_ends_with_the_supervisor(warm_harness: Harness) -> None:
    first = identity(warm_harness, "a")
    assert psutil.pid_exists(first["pid"])
    warm_harness.supervisor.stop()
    assert no_process(first["pid"])
