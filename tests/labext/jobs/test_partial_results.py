"""Results of batches and pipelines with failed jobs: those of the complete jobs."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from labext.errors import ConflictError, InputError, LabextError
from labext.jobs import JobsClient

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]


LEFT_OUT = "2 of 4 jobs did not complete: b (Out of budget); d (It broke)."


@pytest.fixture(params=["batch", "pipeline"])
def partial(request: pytest.FixtureRequest, ledger: Any) -> Any:
    """A batch or a pipeline, p, that ended without an archive: two jobs of four are complete."""
    jobs = ["a", "b", "c", "d"]
    if request.param == "batch":
        ledger.add_batch("p", {job: {} for job in jobs})
        ledger.rows["p"]["batchStatus"] = "Stopped"
    else:
        ledger.add("p", "pipeline", {"initialInputs": ["ACG"], "stages": []})
        ledger.members["p"] = [f"p-{job}" for job in jobs]
        for job in jobs:
            ledger.add(f"p-{job}", "fold")
    ledger.rows["p"].update(JobStatus="Stopped", Reason="The budget is used up.")
    for number, job in enumerate(("a", "c"), 1):
        ledger.complete(f"p-{job}", results={"log.txt": f"{job}\n", "rank_1.pdb": f"{job}"})
        ledger.rows[f"p-{job}"]["Score"] = f'{{"energy": -{number}.5}}'
    for job, reason in (("b", "Out of budget."), ("d", "It broke.")):
        ledger.rows[f"p-{job}"].update(JobStatus="Stopped", Reason=reason)
    return ledger


def test_complete_jobs_are_downloaded_and_failures_reported(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    downloaded = client.download("p", tmp_path)
    assert downloaded.message.endswith(LEFT_OUT)
    assert sorted(downloaded.files["file"]) == [
        "a/log.txt",
        "a/rank_1.pdb",
        "c/log.txt",
        "c/rank_1.pdb",
        "metrics.csv",
    ]
    assert (tmp_path / "c" / "log.txt").read_text() == "c\n"
    assert (tmp_path / "metrics.csv").read_text() == (
        "job,status,energy\na,Complete,-1.5\nb,Stopped,\nc,Complete,-2.5\nd,Stopped,\n"
    )
    frame = downloaded.frame()
    assert frame["Name"].tolist() == ["a", "b", "c", "d"]
    assert frame["Reason"].tolist()[1] == "Out of budget."
    requested = [body["jobName"] for body in partial.bodies("result")]
    assert requested == ["p", "p-a", "p-c"], "of the complete jobs only"
    again = client.download("p", tmp_path)
    assert not again.fetched
    assert again.message.endswith(LEFT_OUT)
    assert partial.count("download") == 2


def test_stopped_pipeline_whose_jobs_are_complete_is_reported(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("p", "pipeline", {"initialInputs": ["ACG"], "stages": []})
    ledger.members["p"] = ["p-a"]
    ledger.add("p-a", "fold")
    ledger.complete("p-a", results={"log.txt": "a\n"})
    ledger.rows["p"].update(JobStatus="Stopped", Reason="Stage 2 could not start: too many jobs.")
    message = "; the pipeline ended with the state Stopped: Stage 2 could not start: too many jobs."
    for _ in range(2):
        assert client.download("p", tmp_path).message.endswith(message)


def test_results_are_downloaded_again_after_another_job_completes(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    client.download("p", tmp_path)
    partial.complete("p-b", results={"log.txt": "b\n"})
    again = client.download("p", tmp_path)
    assert again.fetched
    assert (tmp_path / "b" / "log.txt").read_text() == "b\n"
    assert again.message.endswith("1 of 4 jobs did not complete: d (It broke).")


def test_single_file_and_structures_of_complete_jobs(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    downloaded = client.download("p", tmp_path / "all.zip")
    assert downloaded.message.endswith(LEFT_OUT)
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert "metrics.csv" in archive.namelist()
        assert archive.read("a/log.txt") == b"a\n"
    client.download("p", tmp_path / "one.txt", file="c/log.txt")
    assert (tmp_path / "one.txt").read_text() == "c\n"
    client.download("p", tmp_path / "m.csv", file="metrics.csv")
    assert (tmp_path / "m.csv").read_text().startswith("job,status,energy\na,Complete,-1.5\n")
    structures = client.download("p", tmp_path / "pdbs", pdbs_only=True)
    assert "metrics.csv" not in structures.files["file"].tolist()
    with pytest.raises(InputError, match="has no file"):
        client.download("p", tmp_path / "no.txt", file="nobody/log.txt")


def test_file_of_other_results_is_not_overwritten(
    client: JobsClient, done: Any, partial: Any, tmp_path: Path
) -> None:
    client.download("p", tmp_path, file="a/log.txt")
    for name, file in (("p", "c/log.txt"), ("f1", "log.txt")):
        with pytest.raises(ConflictError, match=f"is not {file} of {name}"):
            client.download(name, tmp_path, file=file)
    assert (tmp_path / "log.txt").read_text() == "a\n"
    client.download("p", tmp_path / "x.zip")
    with pytest.raises(ConflictError, match=r"is not the archive of f1"):
        client.download("f1", tmp_path / "x.zip")


@pytest.mark.parametrize(("name", "file"), [("log.txt", "log.txt"), ("f1.zip", None)])
def test_identical_file_without_manifest_is_accepted(
    client: JobsClient, done: Any, tmp_path: Path, name: str, file: str | None
) -> None:
    target = tmp_path / name
    content = client.download("f1", tmp_path / "elsewhere" / name, file=file).path.read_bytes()
    target.write_bytes(content[:-1])
    with pytest.raises(ConflictError, match="already exists and is not"):
        client.download("f1", target, file=file)
    assert target.read_bytes() == content[:-1]
    assert not list(tmp_path.glob(".labext*"))
    target.write_bytes(content)
    assert client.download("f1", target, file=file).path == target
    assert not client.download("f1", target, file=file).fetched


def test_batch_with_failed_aggregation_gives_results_of_its_jobs(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add_batch("p", {"a": {}, "b": {}})
    for job in ("a", "b"):
        ledger.complete(f"p-{job}")
    ledger.rows["p"].update(batchStatus="AggregationFailed", AggregationError="over quota")
    downloaded = client.download("p", tmp_path)
    assert {"a/log.txt", "b/log.txt", "metrics.csv"} <= set(downloaded.files["file"])
    assert downloaded.message.endswith(f"were downloaded to {tmp_path}.")
    assert ledger.bodies("result")[0] == {"jobName": "p-a"}, "it has no archive to request"


def test_stopped_batch_with_an_archive_uses_it(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    partial.archives["p"] = partial.zipped({"a/log.txt": "from the archive", "metrics.csv": "job"})
    downloaded = client.download("p", tmp_path)
    assert (tmp_path / "a" / "log.txt").read_text() == "from the archive"
    assert downloaded.message.endswith(LEFT_OUT)
    assert partial.count("download") == 1


def test_stopped_part_gives_results_of_its_complete_jobs(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.rows["b-part1of2"]["batchStatus"] = "Stopped"
    del split.archives["b-part1of2"]
    split.complete("b-part1of2-x", results={"log.txt": "x alone\n"})
    split.rows["b-part1of2-yy"].update(JobStatus="Stopped", Reason="Out of time.")
    downloaded = client.download("b", tmp_path)
    assert downloaded.message.endswith("1 of 3 jobs did not complete: yy (Out of time).")
    assert (tmp_path / "x" / "log.txt").read_text() == "x alone\n"
    assert (tmp_path / "zzz" / "log.txt").exists()
    with (tmp_path / "metrics.csv").open() as file:
        assert [row["job"] for row in csv.DictReader(file)] == ["x", "yy", "zzz"]


def test_interrupted_partial_download_keeps_downloaded_jobs(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    partial.fail("result", None, None, partial.answer(403, "too many requests"))
    with pytest.raises(LabextError, match="too many"):
        client.download("p", tmp_path)
    assert partial.count("download") == 1
    client.download("p", tmp_path)
    assert partial.count("download") == 2
