"""Pipelines: submission, identity, validation, estimates, watch and stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import ConflictError, InputError, JobFailedError, LabextError, NotFoundError
from labext.frames.views import frame_text
from labext.jobs import JobsClient
from labext.jobs.estimates import Estimate, PipelineEstimate, latest_stages, plan_jobs
from labext.jobs.pipelines import Pipeline
from labext.progress import Outcome

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]


STAGES = [
    {"task": "Structure", "toolSettings": {"fold": {"sequence": "pipe", "temperature": 37}}},
    {"task": "Again", "toolSettings": {"fold": {"sequence": "GGG", "pdbFile": "pipe"}}},
]
INPUTS = ["GGGAAACCC"]


def send(client: JobsClient, name: str | None = "p1", **changed: Any) -> Any:
    return client.submit_pipeline(
        name, changed.get("stages", STAGES), changed.get("inputs", INPUTS)
    )


def test_pipeline_body_has_inputs_and_stages(client: JobsClient, ledger: Any) -> None:
    done = send(client)
    assert (done.name, done.type, done.created) == ("p1", "pipeline", True)
    assert ledger.received[-1][0] == "submit-pipeline"
    assert json.loads(ledger.rows["p1"]["Settings"]) == {"initialInputs": INPUTS, "stages": STAGES}


def test_saved_pipeline_runs_once_with_its_inputs(client: JobsClient, ledger: Any) -> None:
    done = client.run_pipeline("p2", "helix-to-modes", ("AAA", "CCC"), project_tag="proj_1")
    assert done.created
    assert ledger.bodies("run-pipeline") == [
        {"initialInputs": ["AAA", "CCC"], "pipelineName": "helix-to-modes", "projectTag": "proj_1"}
    ]
    again = client.run_pipeline("p2", "helix-to-modes", ["AAA", "CCC"])
    assert not again.created
    assert "with the same inputs (In Queue); nothing was sent" in again.message
    with pytest.raises(ConflictError, match=r'its inputs are .*not \["GGG"\]'):
        client.run_pipeline("p2", "helix-to-modes", ["GGG"])
    with pytest.raises(ConflictError, match="it runs helix-to-modes"):
        client.run_pipeline("p2", "another", ["AAA", "CCC"])
    with pytest.raises(ConflictError, match="it runs helix-to-modes"):
        send(client, "p2", inputs=["AAA", "CCC"])


def changed(stage: int, **change: Any) -> list[dict[str, Any]]:
    return [{**original, **change} if n == stage else original for n, original in enumerate(STAGES)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": ["AAA"]}, r'its inputs are \["GGGAAACCC"\], not \["AAA"\]'),
        ({"stages": STAGES[:1]}, "it has 2 stages, not 1"),
        ({"stages": changed(1, task="Other")}, "its stage 2 is Again, not Other"),
        (
            {"stages": changed(0, toolSettings={"fold": {"sequence": "pipe", "temperature": 40}})},
            "in its stage 1, for fold, it has temperature=37, not 40",
        ),
    ],
    ids=["inputs", "count", "task", "setting"],
)
def test_other_pipeline_of_the_same_name_is_a_conflict(
    client: JobsClient, ledger: Any, change: dict[str, Any], message: str
) -> None:
    send(client)
    with pytest.raises(ConflictError, match=message):
        send(client, **change)
    assert ledger.count("submit-pipeline") == 1


def test_job_batch_and_pipeline_share_one_namespace(client: JobsClient, ledger: Any) -> None:
    ledger.add("p1", settings={"sequence": "A"})
    ledger.add_batch("b1", {"a": {}})
    with pytest.raises(ConflictError, match="it is a job"):
        send(client)
    with pytest.raises(ConflictError, match="it is a batch"):
        send(client, "b1")
    send(client, "p2")
    with pytest.raises(ConflictError, match="it is a pipeline"):
        client.submit("p2", "fold", {"sequence": "A"})
    for count in (1, 11):
        jobs = {f"j{n}": {"sequence": "A"} for n in range(count)}
        with pytest.raises(ConflictError, match="is a pipeline"):
            client.submit_batch("p2", "fold", jobs)
    assert ledger.count("submit-batch") == 0


def test_fields_added_by_the_service_are_ignored(client: JobsClient, ledger: Any) -> None:
    stored = json.loads(json.dumps(STAGES))
    for stage in stored:
        stage["id"] = 7
        for settings in stage["toolSettings"].values():
            settings["submit_method"] = "api"
    stored[0]["toolSettings"]["fold"]["temperature"] = 37.0
    ledger.add("p1", "pipeline", {"stages": stored, "initialInputs": INPUTS, "version": 2})
    assert not send(client).created


def test_pipeline_with_unreadable_settings_is_a_conflict(client: JobsClient, ledger: Any) -> None:
    ledger.add("p1", "pipeline", {})
    with pytest.raises(ConflictError, match="can't be read"):
        send(client)


def test_inputs_may_be_a_series_or_an_array(client: JobsClient, ledger: Any) -> None:
    frame = pd.DataFrame({"bases": ["GGG", "AAA"], "n": [1, 2]})
    first = send(client, None, inputs=frame["bases"])
    assert first.name.startswith("pipeline-")
    assert json.loads(ledger.rows[first.name]["Settings"])["initialInputs"] == ["GGG", "AAA"]
    assert send(client, None, inputs=frame["bases"].to_numpy()).name == first.name
    numbers = send(client, None, inputs=frame["n"])
    assert json.loads(ledger.rows[numbers.name]["Settings"])["initialInputs"] == [1, 2]
    ran = client.run_pipeline(None, "My pipeline", frame["bases"])
    assert ran.name.startswith("My-pipeline-")
    assert not client.run_pipeline(None, "My pipeline", ["GGG", "AAA"]).created


TWICE = pd.DataFrame({"a": ["G"], "b": ["G"]})
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "one text": ({"inputs": "GGG"}, "a list, not a text"),
    "no inputs": ({"inputs": []}, "has no inputs"),
    "a frame": ({"inputs": TWICE}, "not a table"),
    "a path": ({"inputs": [Path("x.pdb")]}, "input 1 is a path; upload the file"),
    "missing": ({"inputs": pd.Series(["G", None])}, "input 2 is"),
    "not a number": ({"inputs": [1.0, float("nan")]}, "input 2 is missing"),
    "a mapping": ({"stages": STAGES[0]}, "must be a list, not a mapping"),
    "an unknown type": ({"stages": object()}, "must be a list, not an object"),
    "no stages": ({"stages": []}, "has no stages"),
    "no task": ({"stages": changed(1, task="")}, "stage 2 has no `task`"),
    "no tools": ({"stages": changed(1, toolSettings={})}, "stage 2 has no `toolSettings`"),
    "strange": ({"stages": changed(0, tasks=1)}, "stage 1 has an unknown key `tasks` (did"),
    "unknown tool": (
        {"stages": changed(1, toolSettings={"fol": {}})},
        'stage 2: the service has no tool "fol" (did you mean "fold"?)',
    ),
    "every fault": (
        {"stages": changed(0, toolSettings={"fold": {"sequnce": "pipe", "mode": "slw"}})},
        'stage 1, fold: sequnce is not a setting (did you mean "sequence"?); stage 1, fold: mode '
        'can\'t be "slw" (did you mean "slow"?); stage 1, fold: sequence is missing',
    ),
    "no file": (
        {"stages": changed(0, toolSettings={"fold": {"sequence": "A", "pdbFile": "none.pdb"}})},
        'stage 1, fold: pdbFile is "none.pdb", but no such file has been uploaded',
    ),
    "no file as input": (
        {
            "inputs": ["none.pdb"],
            "stages": changed(0, toolSettings={"fold": {"sequence": "A", "pdbFile": "pipe"}}),
        },
        'stage 1, fold: pdbFile is "none.pdb"',
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_pipeline_is_refused_before_submission(
    client: JobsClient, ledger: Any, case: str
) -> None:
    change, message = WRONG[case]
    with pytest.raises(InputError) as raised:
        send(client, **change)
    assert message in raised.value.message
    assert raised.value.next_step
    assert ledger.count("submit-pipeline") == 0


def test_pipeline_name_and_project_are_checked(client: JobsClient, ledger: Any) -> None:
    for act in (
        lambda: send(client, "a b"),
        lambda: client.run_pipeline("p", "", INPUTS),
        lambda: client.run_pipeline("p", "saved", INPUTS, project_tag="mine"),
    ):
        with pytest.raises(InputError):
            act()
    assert ledger.received == []


@pytest.mark.usefixtures("quick_polls")
def test_watch_reports_state_and_stage(client: JobsClient, ledger: Any) -> None:
    send(client)
    ledger.add("p1-stage1-fold", settings={})
    ledger.members["p1"] = ["p1-stage1-fold"]
    ledger.rows["p1"] |= {"JobStatus": "Running", "Stage": "1 of 2: Structure"}
    ledger.rows["p1-stage1-fold"]["JobStatus"] = "Complete"
    watch = client.watch("p1")
    snapshot = next(watch)
    assert (snapshot.kind, snapshot.phase, snapshot.stage) == (
        "pipeline",
        "Running",
        "1 of 2: Structure",
    )
    assert (dict(snapshot.states), snapshot.total, snapshot.outcome) == ({"Complete": 1}, 1, None)
    ledger.rows["p1"] |= {"JobStatus": "Stopped", "Reason": "Stage 2 (Again) failed: x."}
    *_, last = watch
    assert (last.outcome, last.phase, last.stage) == (Outcome.STOPPED, "Stopped", "")
    assert last.reason == "Stage 2 (Again) failed: x."
    with pytest.raises(JobFailedError, match=r"its status is Stopped: Stage 2 \(Again\) failed: x"):
        client.wait("p1")


def test_watch_counts_jobs_if_there_is_no_tally(client: JobsClient, ledger: Any) -> None:
    send(client)
    ledger.add("p1-a", settings={})
    ledger.members["p1"] = ["p1-a"]
    ledger.rows["p1"]["JobStatus"] = "Running"
    ledger.by_name = lambda row: {k: v for k, v in row.items() if k != "statuses"}
    snapshot = next(client.watch("p1"))
    assert (dict(snapshot.states), snapshot.stage) == ({"In Queue": 1}, "")


ABSENT = [
    (404, {"detail": "Not Found"}),
    (404, "<!DOCTYPE html><title>404</title>"),
    (405, {"detail": "Method Not Allowed"}),
    (501, "not implemented"),
    (403, {"message": "Missing Authentication Token"}),
]


@pytest.mark.parametrize(("status", "body"), ABSENT, ids=lambda item: str(item)[:30])
def test_stop_falls_back_to_cancel(client: JobsClient, ledger: Any, status: int, body: Any) -> None:
    ledger.not_served["stop-job"] = ledger.answer(status, body)
    ledger.add("f1")
    ledger.add_batch("b1", {"a": {}})
    ledger.add("p1", "pipeline")
    ledger.add("o")  # a letter of the message
    for name in ("f1", "b1", "p1", "o"):
        assert client.stop(name) == f"{name} stopped"
    assert ledger.bodies("cancelJob") == [{"jobName": name} for name in ("f1", "p1", "o")]
    assert ledger.bodies("cancelBatch") == [{"batchName": "b1"}]
    ledger.not_served["cancelJob"] = ledger.answer(status, body)
    with pytest.raises(LabextError) as raised:
        client.stop("f1")
    assert raised.value.path == "/stop-job"


def test_stop_of_a_missing_job_does_not_fall_back(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", ledger.answer(404, {"error": "Job f1 not found"}))
    with pytest.raises(NotFoundError, match="Job f1 not found"):
        client.stop("f1")
    assert ledger.count("cancelJob") == 0


ESTIMATED_INPUTS = ["GGGAAACCC", "GGGGAAAACCCC"]


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

    expected = PipelineEstimate(stages, ESTIMATED_INPUTS, estimate)
    total = expected.total()
    assert (total.total_seconds, total.weighted_hours, total.runs) == (120.0, 0.5, 7)
    assert str(total).endswith("by 7 earlier runs. Not included: new, which has no earlier runs.")
    frame = expected.frame()
    assert frame["Basis"].tolist() == ["earlier runs and these inputs", "no earlier runs"]
    assert frame["ExpectedSeconds"].isna().tolist() == [False, True]


def test_check_gives_each_stage_and_sends_nothing(used: Any, client: JobsClient) -> None:
    checked = client.check_pipeline("p1", STAGES, ESTIMATED_INPUTS)
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
        client.submit_pipeline("p1", STAGES, ESTIMATED_INPUTS)
    assert "over_budget=True" in refusal.value.next_step
    assert _sent(used) == 0
    assert client.submit_pipeline("p1", STAGES, ESTIMATED_INPUTS, over_budget=True).created
    assert not client.submit_pipeline("p1", STAGES, ESTIMATED_INPUTS).created, (
        "it exists: nothing is sent"
    )
    used.usage = {"budgetLeft": 8.0}
    assert client.submit_pipeline("p2", STAGES, ESTIMATED_INPUTS).created
    assert _sent(used) == 2


def test_saved_pipeline_is_estimated_from_the_stages_of_its_latest_run(
    used: Any, client: JobsClient
) -> None:
    empty = client.check_saved_pipeline(None, "saved", ESTIMATED_INPUTS)
    assert len(empty) == 0
    assert "estimate" not in empty.attrs
    assert frame_text(empty) == "The stages are unknown until the pipeline has run once."
    used.usage = {"budgetLeft": 7.9}
    assert client.run_pipeline("first", "saved", ESTIMATED_INPUTS).created, "its cost is unknown"
    settings = {"pipelineName": "saved", "initialInputs": ["A"], "stages": STAGES}
    used.add("p0", "pipeline", settings)
    assert client.check_saved_pipeline(None, "saved", ESTIMATED_INPUTS)["Jobs"].tolist() == [2, 2]
    with pytest.raises(InputError, match="expected to need 8 weighted hours"):
        client.run_pipeline("second", "saved", ESTIMATED_INPUTS)
    assert client.run_pipeline("second", "saved", ESTIMATED_INPUTS, over_budget=True).created


@pytest.mark.parametrize("stages", [None, [], [1], [{"toolSettings": {"fold": None}}]])
def test_unreadable_stages_of_earlier_runs_are_ignored(stages: Any) -> None:
    settings = json.dumps({"pipelineName": "saved", "stages": stages})
    assert latest_stages([{"Type": "pipeline", "Settings": settings}], "saved") is None


def test_check_reports_a_taken_name_and_a_rejected_job(used: Any, client: JobsClient) -> None:
    used.add("taken")
    with pytest.raises(ConflictError, match="it is a job"):
        client.check_pipeline("taken", STAGES, ESTIMATED_INPUTS)
    used.fail("validate-job", used.answer(200, {"valid": False, "error": "too warm"}))
    with pytest.raises(InputError, match=r"stage 1, fold: too warm"):
        client.check_pipeline("free", STAGES, ESTIMATED_INPUTS)
    assert _sent(used) == 0
