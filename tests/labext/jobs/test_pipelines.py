"""Pipelines, usage, folders and presigned uploads of the client on the sandbox."""

from __future__ import annotations

import json
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


def test_pipeline_from_submission_to_results(box_client: JobsClient, tmp_path: Path) -> None:
    sent = box_client.submit_pipeline("way", STAGES, [PEPTIDE])
    assert (sent.created, sent.message) == (True, "way submitted to queue.")
    with pytest.raises(NotReadyError):
        box_client.download("way", tmp_path / "early")
    snapshots = list(box_client.watch("way"))
    assert {snapshot.kind for snapshot in snapshots} == {"pipeline"}
    stages = [
        snapshot.stage for snapshot in snapshots if snapshot.outcome is None and snapshot.stage
    ]
    assert stages[0] == "1 of 2: Structure Prediction"
    assert list(dict.fromkeys(stages)) in (
        ["1 of 2: Structure Prediction"],  # unless a poll was too late for the second
        ["1 of 2: Structure Prediction", "2 of 2: Scoring PDB"],
    )
    assert (snapshots[-1].outcome, dict(snapshots[-1].states)) == (
        Outcome.COMPLETE,
        {"Complete": 3},
    )
    assert box_client.wait("way")["JobStatus"] == "Complete"

    jobs = box_client.jobs(batch="way", scores=True)
    assert jobs["Name"].tolist() == [
        *("stage1-peptide_build", "stage2-structure_summary", "stage2-normal_modes")
    ]
    assert jobs["JobName"].str.startswith("way-stage").all()
    assert "way" in box_client.jobs()["JobName"].tolist()
    assert not box_client.jobs()["JobName"].str.startswith("way-").any()
    pipeline_view = box_client.show("way")
    assert pipeline_view["Settings"][0] == {"initialInputs": [PEPTIDE], "stages": STAGES}
    assert pipeline_view["statuses"][0] == {"Complete": 3}
    hours = jobs["WeightedHours"].sum()
    assert pipeline_view["WeightedHours"][0] == pytest.approx(hours)

    downloaded = box_client.download("way", tmp_path / "way")
    assert {file.partition("/")[0] for file in downloaded.files["file"]} == {
        *jobs["Name"],
        "metrics.csv",
    }
    assert pd.read_csv(tmp_path / "way" / "metrics.csv")["job"].tolist() == jobs["Name"].tolist()
    assert downloaded.frame()["Input"].tolist() == [PEPTIDE] * 3
    crate = json.loads((tmp_path / "way" / "ro-crate-metadata.json").read_text())["@graph"]
    (scored,) = [item for item in crate if item["@id"] == "#job-way-stage2-normal_modes"]
    assert {"@id": "stage1-peptide_build/peptide.pdb"} in scored["object"]
    assert not box_client.download("way", tmp_path / "way").fetched
    first = box_client.download(
        "way", tmp_path / "one.pdb", file="stage1-peptide_build/peptide.pdb"
    )
    assert first.path.read_text().count("CA ") >= len(PEPTIDE)
    assert (
        box_client.download("way", tmp_path / "s", pdbs_only=True)
        .files["file"]
        .str.endswith(".pdb")
        .all()
    )

    again = box_client.submit_pipeline("way", STAGES, pd.Series([PEPTIDE]))
    assert not again.created
    assert "with the same stages and inputs (Complete); nothing was sent" in again.message
    with pytest.raises(ConflictError, match="it has 2 stages, not 1"):
        box_client.submit_pipeline("way", STAGES[:1], [PEPTIDE])
    with pytest.raises(ConflictError, match="it is a pipeline"):
        box_client.submit("way", "digest", {"sequence": "GAATTC", "enzymes": ["EcoRI"]})
    assert box_client.stop("way") == "way is already Complete."
    assert "deleted" in box_client.delete("way")
    with pytest.raises(NotFoundError):
        box_client.job("way")
    assert not box_client.jobs(subjobs=True)["JobName"].str.startswith("way-").any()


def test_saved_pipeline_with_several_inputs(box_client: JobsClient) -> None:
    inputs = ["MKTAYIAKQRQISFVKSHFSRQ", PEPTIDE]
    sent = box_client.run_pipeline(None, "helix-to-modes", inputs)
    assert sent.name.startswith("helix-to-modes-")
    box_client.wait(sent.name)
    assert (
        box_client.jobs(batch=sent.name)["Type"].tolist()
        == ["peptide_build"] * 2 + ["normal_modes"] * 2
    )
    assert not box_client.run_pipeline(sent.name, "helix-to-modes", inputs).created
    with pytest.raises(ConflictError, match="its inputs are"):
        box_client.run_pipeline(sent.name, "helix-to-modes", inputs[:1])
    with pytest.raises(NotFoundError, match="no saved pipeline 'helix-to-mode'") as raised:
        box_client.run_pipeline(None, "helix-to-mode", inputs)
    assert "did you mean 'helix-to-modes'?" in str(raised.value)
    assert "pipeline's name" in raised.value.next_step
    with pytest.raises(NotFoundError, match="available: helix-to-modes"):
        box_client.run_pipeline(None, "fold", inputs)


def test_failed_stage_stops_the_pipeline_with_its_reason(
    box_client: JobsClient, tmp_path: Path
) -> None:
    stages = [STAGES[0], {"task": "Motion", "toolSettings": {"normal_modes": {"pdbFile": "pipe"}}}]
    box_client.submit_pipeline("short", stages, ["AC"])
    with pytest.raises(
        JobFailedError, match=r"short did not complete: its status is Stopped: Stage 2 \(Motion\) f"
    ):
        box_client.wait("short")
    *_, last = box_client.watch("short")
    assert last.outcome is Outcome.STOPPED
    assert "short-stage2-normal_modes" in last.reason
    partly = box_client.download("short", tmp_path / "short")
    assert "stage1-peptide_build/peptide.pdb" in set(partly.files["file"])
    assert "1 of 2 jobs did not complete: stage2-normal_modes (pdbFile: " in partly.message
    again = box_client.submit_pipeline("short", stages, ["AC"])
    assert "delete it first" in again.message


def test_usage_counts_jobs_and_hours(box_client: JobsClient) -> None:
    before = box_client.usage("jobs").set_index(["group", "name"])["jobs"]
    box_client.submit("used", "digest", {"sequence": "GAATTC", "enzymes": ["EcoRI"]})
    box_client.wait("used")
    jobs = box_client.usage("jobs")
    assert jobs.attrs["statistic"] == "jobs"
    now = jobs.set_index(["group", "name"])["jobs"]
    assert now["tool", "digest"] == before.get(("tool", "digest"), 0) + 1
    mine = jobs.loc[jobs["group"] == "user", "jobs"].sum()
    assert now["total", ""] == before["total", ""] + 1 == mine
    hours = box_client.usage()
    assert hours.columns.tolist() == ["group", "name", "weighted_hours"]
    assert hours.attrs["total"] == pytest.approx(hours["weighted_hours"][0])
    with pytest.raises(AccessError, match="only an owner"):
        box_client.usage("jobs", "organization")
    with pytest.raises(InputError, match="no statistic"):
        box_client.usage("days")


def test_presigned_upload_into_a_folder(box_client: JobsClient, tmp_path: Path) -> None:
    file = tmp_path / "straight.txt"
    file.write_bytes(b"x" * 300_000)
    assert box_client.upload(file, "straight", presigned=True).path == "straight/straight.txt"
    assert "straight" in box_client.folders()
    assert box_client.files("straight") == ["straight.txt"]
    box_client.delete_file(folder="straight")
    assert "straight" not in box_client.folders()
