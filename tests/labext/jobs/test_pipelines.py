"""Pipelines, usage, folders and presigned uploads with the client alone, on a real service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
)
from labext.jobs import JobsClient
from labext.progress import Outcome
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

STAGES = [
    {
        "task": "Structure Prediction",
        "toolSettings": {"peptide_build": {"sequence": "pipe", "conformation": "helix"}},
    },
    {
        "task": "Scoring PDB",
        "toolSettings": {
            "structure_summary": {"pdbFile": "pipe"},
            "normal_modes": {"pdbFile": "pipe"},
        },
    },
]
PEPTIDE = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture
def client(box: Sandbox) -> Iterator[JobsClient]:
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as client:
        yield client


def test_a_pipeline_from_submission_to_results(client: JobsClient, tmp_path: Path) -> None:
    sent = client.submit_pipeline("way", STAGES, [PEPTIDE])
    assert (sent.created, sent.message) == (True, "way submitted to queue.")
    with pytest.raises(NotReadyError):
        client.download("way", tmp_path / "early")
    seen = list(client.watch("way"))
    assert {each.kind for each in seen} == {"pipeline"}
    told = [each.stage for each in seen if each.outcome is None and each.stage]
    assert told[0] == "1 of 2: Structure Prediction"
    assert list(dict.fromkeys(told)) in (
        ["1 of 2: Structure Prediction"],  # where a look came too late for the second
        ["1 of 2: Structure Prediction", "2 of 2: Scoring PDB"],
    )
    assert (seen[-1].outcome, dict(seen[-1].states)) == (Outcome.COMPLETE, {"Complete": 3})
    assert client.wait("way")["JobStatus"] == "Complete"

    jobs = client.jobs(batch="way", scores=True)
    assert jobs["Name"].tolist() == [
        *("stage1-peptide_build", "stage2-structure_summary", "stage2-normal_modes")
    ]
    assert jobs["JobName"].str.startswith("way-stage").all()
    assert "way" in client.jobs()["JobName"].tolist()
    assert not client.jobs()["JobName"].str.startswith("way-").any()
    shown = client.show("way")
    assert shown["Settings"][0] == {"initialInputs": [PEPTIDE], "stages": STAGES}
    assert shown["statuses"][0] == {"Complete": 3}
    hours = jobs["WeightedHours"].sum()
    assert shown["WeightedHours"][0] == pytest.approx(hours)

    got = client.download("way", tmp_path / "way")
    assert {file.partition("/")[0] for file in got.files["file"]} == {*jobs["Name"], "metrics.csv"}
    assert pd.read_csv(tmp_path / "way" / "metrics.csv")["job"].tolist() == jobs["Name"].tolist()
    assert got.frame()["Input"].tolist() == [PEPTIDE] * 3
    crate = json.loads((tmp_path / "way" / "ro-crate-metadata.json").read_text())["@graph"]
    (scored,) = [each for each in crate if each["@id"] == "#job-way-stage2-normal_modes"]
    assert {"@id": "stage1-peptide_build/peptide.pdb"} in scored["object"]
    assert not client.download("way", tmp_path / "way").fetched
    one = client.download("way", tmp_path / "one.pdb", file="stage1-peptide_build/peptide.pdb")
    assert one.path.read_text().count("CA ") >= len(PEPTIDE)
    assert (
        client.download("way", tmp_path / "s", pdbs_only=True)
        .files["file"]
        .str.endswith(".pdb")
        .all()
    )

    again = client.submit_pipeline("way", STAGES, pd.Series([PEPTIDE]))
    assert not again.created
    assert "with the same stages and inputs (Complete); nothing was sent" in again.message
    with pytest.raises(ConflictError, match="it has 2 stages, not 1"):
        client.submit_pipeline("way", STAGES[:1], [PEPTIDE])
    with pytest.raises(ConflictError, match="it is a pipeline"):
        client.submit("way", "digest", {"sequence": "GAATTC", "enzymes": ["EcoRI"]})
    assert client.stop("way") == "way is already Complete."
    assert "deleted" in client.delete("way")
    with pytest.raises(NotFoundError):
        client.job("way")
    assert not client.jobs(subjobs=True)["JobName"].str.startswith("way-").any()


def test_a_saved_pipeline_with_several_inputs(client: JobsClient) -> None:
    inputs = ["MKTAYIAKQRQISFVKSHFSRQ", PEPTIDE]
    sent = client.run_pipeline(None, "helix-to-modes", inputs)
    assert sent.name.startswith("helix-to-modes-")
    client.wait(sent.name)
    assert (
        client.jobs(batch=sent.name)["Type"].tolist()
        == ["peptide_build"] * 2 + ["normal_modes"] * 2
    )
    assert not client.run_pipeline(sent.name, "helix-to-modes", inputs).created
    with pytest.raises(ConflictError, match="its inputs are"):
        client.run_pipeline(sent.name, "helix-to-modes", inputs[:1])
    with pytest.raises(NotFoundError, match="no saved pipeline 'helix-to-mode'") as raised:
        client.run_pipeline(None, "helix-to-mode", inputs)
    assert "did you mean 'helix-to-modes'?" in str(raised.value)
    assert "pipeline's name" in raised.value.next_step
    with pytest.raises(NotFoundError, match="there are: helix-to-modes"):
        client.run_pipeline(None, "fold", inputs)


def test_a_failed_stage_ends_it_with_its_reason(client: JobsClient, tmp_path: Path) -> None:
    stages = [STAGES[0], {"task": "Motion", "toolSettings": {"normal_modes": {"pdbFile": "pipe"}}}]
    client.submit_pipeline("short", stages, ["AC"])
    with pytest.raises(JobFailedError, match=r"short has ended as Stopped: Stage 2 \(Motion\) f"):
        client.wait("short")
    *_, last = client.watch("short")
    assert last.outcome is Outcome.STOPPED
    assert "short-stage2-normal_modes" in last.reason
    partly = client.download("short", tmp_path / "short")
    assert "stage1-peptide_build/peptide.pdb" in set(partly.files["file"])
    assert "1 of 2 jobs did not complete: stage2-normal_modes (pdbFile: " in partly.message
    again = client.submit_pipeline("short", stages, ["AC"])
    assert "delete it first" in again.message


def test_a_pipeline_that_runs_is_stopped_with_its_jobs(client: JobsClient) -> None:
    client.submit_pipeline("many", STAGES[:1], [PEPTIDE * 5] * 40)
    assert "many" in client.stop("many")
    assert client.job("many")["JobStatus"] == "Stopped"
    states = client.jobs(batch="many").attrs["statuses"]
    assert states.get("Running", 0) == states.get("In Queue", 0) == 0
    assert [each.outcome for each in client.watch("many")] == [Outcome.STOPPED]


def test_what_the_service_refuses_is_told(client: JobsClient) -> None:
    with pytest.raises(InputError, match=r"Stage 1 \(Structure Prediction\): peptide_build"):
        client.submit_pipeline("no", STAGES, ["AC1"])
    with pytest.raises(InputError, match="stage 1, peptide_build: conformation can't be"):
        client.submit_pipeline(
            "no",
            [
                {
                    "task": "a",
                    "toolSettings": {"peptide_build": {"sequence": "A", "conformation": "x"}},
                }
            ],
            ["A"],
        )
    with pytest.raises(NotFoundError):
        client.job("no")


def test_usage(client: JobsClient) -> None:
    before = client.usage("jobs").set_index(["group", "name"])["jobs"]
    client.submit("used", "digest", {"sequence": "GAATTC", "enzymes": ["EcoRI"]})
    client.wait("used")
    jobs = client.usage("jobs")
    assert jobs.attrs["statistic"] == "jobs"
    now = jobs.set_index(["group", "name"])["jobs"]
    assert now["tool", "digest"] == before.get(("tool", "digest"), 0) + 1
    mine = jobs.loc[jobs["group"] == "user", "jobs"].sum()
    assert now["total", ""] == before["total", ""] + 1 == mine
    hours = client.usage()
    assert hours.columns.tolist() == ["group", "name", "weighted_hours"]
    assert hours.attrs["total"] == pytest.approx(hours["weighted_hours"][0])
    with pytest.raises(AccessError, match="only an owner"):
        client.usage("jobs", "organization")
    with pytest.raises(InputError, match="no statistic"):
        client.usage("days")


def test_folders_and_a_presigned_upload(client: JobsClient, tmp_path: Path) -> None:
    file = tmp_path / "straight.txt"
    file.write_bytes(b"x" * 300_000)
    assert client.upload(file, "straight", presigned=True).path == "straight/straight.txt"
    assert "straight" in client.folders()
    assert client.files("straight") == ["straight.txt"]
    client.delete_file(folder="straight")
    assert "straight" not in client.folders()
