"""The job client on the sandbox: a job and a split batch from submission to results."""

from __future__ import annotations

import json
import random
import secrets
import shutil
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pytest

import labext.config
import labext.sandbox
from labext.cli.examples import examples_folder
from labext.errors import NotFoundError, SetupError
from labext.jobs import JobsClient
from labext.progress import Outcome
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract


PEPTIDE = {"sequence": "ACDEFGHIKLMNPQRSTVWY", "conformation": "helix"}


def bases(count: int) -> pd.DataFrame:
    letters = random.Random(7)
    return pd.DataFrame(
        {
            "name": [f"h{n:03d}" for n in range(count)],
            "bases": ["".join(letters.choices("ACGU", k=24)) for _ in range(count)],
            "source": ["a", "b"] * (count // 2),
        }
    )


def test_next_step_without_configuration_connects_to_the_sandbox(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError) as failure:
        labext.connect("jobs")
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    exec(failure.value.next_step.split("`")[1])
    assert len(labext.connect("jobs").tools())


def test_job_from_submission_to_results(box_client: JobsClient, tmp_path: Path) -> None:
    sent = box_client.submit("main-helix", "peptide_build", PEPTIDE)
    assert (sent.name, sent.created, sent.row) == ("main-helix", True, None)
    *_, last = box_client.watch("main-helix")
    assert last.outcome is Outcome.COMPLETE
    assert box_client.wait("main-helix")["JobStatus"] == "Complete"
    downloaded = box_client.download("main-helix", tmp_path / "out")
    assert {"peptide.pdb", "log.txt"} <= set(downloaded.files["file"])
    atoms = (tmp_path / "out" / "peptide.pdb").read_text()
    assert (
        sum(line.startswith("ATOM") for line in atoms.splitlines())
        == (box_client.show("main-helix")["Score"][0]["atoms"])
    )
    assert not box_client.download("main-helix", tmp_path / "out").fetched
    first = box_client.download("main-helix", tmp_path / "one.pdb", file="peptide.pdb")
    assert first.path.read_text() == atoms
    structures = box_client.download("main-helix", tmp_path / "s", pdbs_only=True)
    assert structures.files["file"].tolist() == ["peptide.pdb"]
    alone = box_client.download("main-helix", tmp_path / "alone.zip")
    with zipfile.ZipFile(alone.path) as archive:
        assert archive.testzip() is None


def test_batch_in_parts_is_shown_as_one(
    box_client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.jobs.batch.plan.MAX_JOBS", 4)
    frame = bases(6)
    sent = box_client.submit_batch(
        "folds", "rna_fold", frame, name_column="name", mapping={"sequence": "bases"}
    )
    assert sent.created
    assert (sent.count, len(sent.parts)) == (6, 2)
    assert sent.frame["Name"].tolist() == frame["name"].tolist()
    snapshots = list(box_client.watch("folds"))
    assert {progress.total for progress in snapshots} == {6}
    assert all(sum(progress.states.values()) == 6 for progress in snapshots)
    assert snapshots[-1].outcome is Outcome.COMPLETE
    jobs = box_client.jobs(batch="folds", scores=True)
    assert jobs.columns[0] == "Name"
    assert jobs["Name"].tolist() == frame["name"].tolist()
    assert jobs["bases"].tolist() == frame["bases"].tolist()
    assert jobs["source"].tolist() == frame["source"].tolist()
    assert [cell["sequence"] for cell in jobs["Settings"]] == frame["bases"].tolist()
    assert set(jobs["JobStatus"]) == {"Complete"}
    assert str(jobs["Completed"].dtype) == "datetime64[us, UTC]"
    assert jobs["score.mfe"].dtype.kind == "f"
    assert jobs.attrs["statuses"] == {"Complete": 6}

    downloaded = box_client.download("folds", tmp_path / "folds")
    metrics = pd.read_csv(tmp_path / "folds" / "metrics.csv")
    assert metrics["job"].tolist() == frame["name"].tolist()
    assert metrics["mfe"].tolist() == jobs["score.mfe"].tolist()
    assert len({path.partition("/")[0] for path in downloaded.files["file"]}) == 7
    for name in ("h000", "h004", "h005"):
        score = json.loads((tmp_path / "folds" / name / "score.json").read_text())
        assert score["mfe"] == jobs.set_index("Name")["score.mfe"][name]

    assert "deleted" in box_client.delete("folds")
    with pytest.raises(NotFoundError):
        box_client.job("folds")
    assert box_client.jobs()["JobName"].str.startswith("folds-").sum() == 0


def test_times_are_those_of_the_service_if_the_clock_of_this_machine_is_ahead(
    box_client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Self:
            return super().now(tz) + timedelta(minutes=5)

    for module in ("labext.http.client", "labext.jobs.listing"):
        monkeypatch.setattr(f"{module}.datetime", Ahead)
    source = tmp_path / f"{secrets.token_hex(4)}.pdb"
    shutil.copy(examples_folder() / "data" / "1A8O.pdb", source)
    box_client.upload(source)
    box_client.submit(source.stem, "normal_modes", {"pdbFile": source.name})
    box_client.wait(source.stem, timeout=60)
    assert source.stem in list(box_client.jobs(since="1m")["JobName"])
    box_client.download(source.stem, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "ro-crate-metadata.json").read_text())
    assert source.name in [entity.get("name") for entity in record["@graph"]]
