"""Pipelines: submission, identity, validation, watch and stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
)
from labext.jobs import JobsClient
from labext.progress import Outcome

pytestmark = pytest.mark.faults

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
        {
            "initialInputs": ["AAA", "CCC"],
            "pipelineName": "helix-to-modes",
            "projectTag": "proj_1",
        }
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
            "in its stage 1, for fold, its temperature is 37, not 40",
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
    for count in (1, 101):
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
    "not a number": ({"inputs": [1.0, float("nan")]}, "input 2 is not a number"),
    "a mapping": ({"stages": STAGES[0]}, "must be a list, not a mapping"),
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
    ledger.add("o")  # a letter of the refusal
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
