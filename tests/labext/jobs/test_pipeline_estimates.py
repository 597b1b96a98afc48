"""The expected time and cost of pipelines, and those that exceed the budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labext.errors import ConflictError, InputError
from labext.jobs import JobsClient
from labext.jobs.estimates import Estimate
from labext.jobs.pipeline_estimate import PipelineEstimate, latest_stages, plan_jobs
from labext.jobs.pipelines import Pipeline

pytestmark = pytest.mark.faults

STAGES = [
    {"task": "Structure", "toolSettings": {"fold": {"sequence": "pipe", "temperature": 37}}},
    {"task": "Again", "toolSettings": {"fold": {"sequence": "GGG", "pdbFile": "pipe"}}},
]
INPUTS = ["GGGAAACCC", "GGGGAAAACCCC"]


@pytest.fixture
def used(ledger: Any) -> Any:
    """The service with three runs of `fold`, each of one hour and two weighted hours."""
    for number in range(3):
        ledger.add(f"old{number}", Started="2026-01-01T00:00:00Z", WeightedHours=2.0)
        ledger.complete(f"old{number}")
    ledger.usage = {"total": 6.0, "budgetLeft": 8.0}
    return ledger


def _sent(ledger: Any) -> int:
    return int(ledger.count("submit-pipeline") + ledger.count("run-pipeline"))


def test_later_stages_run_once_per_upstream_job_or_once_without_a_pipe() -> None:
    stages = [
        {"task": "1", "toolSettings": {"a": {"x": "pipe", "y": 1}, "b": {"x": "fixed"}}},
        {"task": "2", "toolSettings": {"c": {"x": "pipe"}, "d": {"x": "fixed"}}},
        {"task": "3", "toolSettings": {"e": {"x": "pipe"}}},
    ]
    plan = plan_jobs(Pipeline(["AA", "CC"], stages))
    assert [(part.stage, part.tool, len(part.jobs), part.inputs_known) for part in plan] == [
        (1, "a", 2, True),
        (1, "b", 1, True),
        (2, "c", 3, False),
        (2, "d", 1, True),
        (3, "e", 4, False),
    ]
    assert plan[0].jobs == [{"x": "AA", "y": 1}, {"x": "CC", "y": 1}]
    assert plan[2].jobs == [{}] * 3


def test_unused_tool_is_named_and_not_included() -> None:
    stages = [{"task": "1", "toolSettings": {"used": {"x": "pipe"}, "new": {"x": "pipe"}}}]

    def estimate(tool: str, jobs: list[dict[str, Any]]) -> Estimate | None:
        return Estimate([60.0] * len(jobs), 2.0, 0.5, 7) if tool == "used" else None

    expected = PipelineEstimate(stages, INPUTS, estimate)
    total = expected.total()
    assert total is not None
    assert (total.total_seconds, total.weighted_hours, total.runs) == (120.0, 0.5, 7)
    assert str(total).endswith("by 7 earlier runs. Not included: new, which has no earlier runs.")
    frame = expected.frame()
    assert frame["Basis"].tolist() == ["earlier runs and these inputs", "no earlier runs"]
    assert frame["ExpectedSeconds"].isna().tolist() == [False, True]


def test_check_gives_each_stage_and_sends_nothing(used: Any, client: JobsClient) -> None:
    checked = client.check_pipeline("p1", STAGES, INPUTS)
    columns = ["Stage", "Tool", "Jobs", "ExpectedSeconds", "WeightedHours", "Runs"]
    assert checked[columns].to_numpy().tolist() == [
        [1, "fold", 2, pytest.approx(7200.0), pytest.approx(4.0), 3],
        [2, "fold", 2, pytest.approx(7200.0), pytest.approx(4.0), 3],
    ]
    assert checked["Basis"].tolist() == [
        "earlier runs and these inputs",
        "earlier runs; inputs unknown",
    ]
    expected = Estimate(**checked.attrs["estimate"])
    assert str(expected) == (
        "Expected: 4 h of computing (2 h to 8 h), 8 weighted hours, by 3 earlier runs. The inputs "
        "of stage 2 are unknown: inputs of the usual size are assumed, one from each job of the "
        "stage before. 8 weighted hours of the budget are left."
    )
    assert _sent(used) == 0


def test_pipeline_over_the_budget_is_refused_before_it_is_sent(
    used: Any, client: JobsClient
) -> None:
    used.usage = {"budgetLeft": 7.9}
    with pytest.raises(InputError, match=r"p1 is expected to need 8 .*; 7\.9 of your") as refusal:
        client.submit_pipeline("p1", STAGES, INPUTS)
    assert "over_budget=True" in refusal.value.next_step
    assert _sent(used) == 0
    assert client.submit_pipeline("p1", STAGES, INPUTS, over_budget=True).created
    assert not client.submit_pipeline("p1", STAGES, INPUTS).created, "it exists: nothing is sent"
    used.usage = {"budgetLeft": 8.0}
    assert client.submit_pipeline("p2", STAGES, INPUTS).created
    assert _sent(used) == 2


def test_saved_pipeline_is_estimated_from_the_stages_of_its_latest_run(
    used: Any, client: JobsClient
) -> None:
    empty = client.check_saved_pipeline(None, "saved", INPUTS)
    assert (len(empty), empty.attrs) == (0, {})
    used.usage = {"budgetLeft": 7.9}
    assert client.run_pipeline("first", "saved", INPUTS).created, "its cost is unknown"
    settings = {"pipelineName": "saved", "initialInputs": ["A"], "stages": STAGES}
    used.add("p0", "pipeline", settings)
    assert client.check_saved_pipeline(None, "saved", INPUTS)["Jobs"].tolist() == [2, 2]
    with pytest.raises(InputError, match="expected to need 8 weighted hours"):
        client.run_pipeline("second", "saved", INPUTS)
    assert client.run_pipeline("second", "saved", INPUTS, over_budget=True).created


@pytest.mark.parametrize("stages", [None, [], [1], [{"toolSettings": {"fold": None}}]])
def test_unreadable_stages_of_earlier_runs_are_ignored(stages: Any) -> None:
    settings = json.dumps({"pipelineName": "saved", "stages": stages})
    assert latest_stages([{"Type": "pipeline", "Settings": settings}], "saved") is None


def test_check_reports_a_taken_name_and_a_rejected_job(used: Any, client: JobsClient) -> None:
    used.add("taken")
    with pytest.raises(ConflictError, match="it is a job"):
        client.check_pipeline("taken", STAGES, INPUTS)
    used.fail("validate-job", used.answer(200, {"valid": False, "error": "too warm"}))
    with pytest.raises(InputError, match=r"stage 1, fold: too warm"):
        client.check_pipeline("free", STAGES, INPUTS)
    assert _sent(used) == 0
