"""The job client on the sandbox: from a frame to results, names, logs and deleted jobs."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import labext.config
import labext.sandbox
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    NotReadyError,
    SetupError,
    SignInError,
    UnreachableError,
)
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


def test_tools_and_parameters_are_frames(box_client: JobsClient) -> None:
    tools = box_client.tools()
    assert tools.columns.tolist() == [
        "name",
        "displayName",
        "description",
        "required",
        "optional",
        "paper",
        "github",
    ]
    assert {"peptide_build", "digest", "rna_fold"} <= set(tools["name"])
    assert [tool["name"] for tool in box_client.iter_tools()] == tools["name"].tolist()
    parameters = box_client.tool("peptide_build").set_index("name")
    assert parameters.columns.tolist() == [
        "required",
        "type",
        "default",
        "options",
        "description",
    ]
    assert bool(parameters["required"]["sequence"])
    assert parameters["options"]["conformation"] == ["helix", "strand", "custom"]
    assert parameters["default"]["conformation"] == "helix"
    assert box_client.tool("peptide_build").attrs["displayName"]


def test_job_from_submission_to_results(box_client: JobsClient, tmp_path: Path) -> None:
    sent = box_client.submit("main-helix", "peptide_build", PEPTIDE)
    assert (sent.name, sent.created, sent.row) == ("main-helix", True, None)
    assert "main-helix" in sent.message
    again = box_client.submit("main-helix", "peptide_build", dict(reversed(PEPTIDE.items())))
    assert not again.created
    assert "nothing was sent" in again.message
    with pytest.raises(ConflictError, match='its conformation is "helix", not "strand"'):
        box_client.submit("main-helix", "peptide_build", PEPTIDE | {"conformation": "strand"})
    with pytest.raises(ConflictError, match="its type is peptide_build, not digest"):
        box_client.submit("main-helix", "digest", {"sequence": "GAATTC", "enzymes": "EcoRI"})
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


def test_generated_name_is_deterministic(box_client: JobsClient) -> None:
    settings = {"sequence": "GAATTCAAGCTT", "enzymes": ["EcoRI", "HindIII"]}
    first = box_client.submit(None, "digest", settings)
    assert first.name.startswith("digest-")
    assert box_client.submit(None, "digest", settings).name == first.name
    assert box_client.submit(None, "digest", settings | {"enzymes": ["EcoRI"]}).name != first.name


def test_batch_in_parts_is_shown_as_one(
    box_client: JobsClient, box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.jobs.batch.plan.MAX_JOBS", 4)
    frame = bases(6)
    sent = box_client.submit_batch(
        "folds", "rna_fold", frame, name_column="name", mapping={"sequence": "bases"}
    )
    assert sent.created
    assert (sent.count, len(sent.parts)) == (6, 2)
    assert sent.frame["Name"].tolist() == frame["name"].tolist()
    with pytest.raises(NotReadyError, match="folds is not complete"):
        box_client.download("folds", tmp_path / "early")
    snapshots = list(box_client.watch("folds"))
    assert {progress.total for progress in snapshots} == {6}
    assert all(sum(progress.states.values()) == 6 for progress in snapshots)
    assert snapshots[-1].outcome is Outcome.COMPLETE
    again = box_client.submit_batch(
        "folds", "rna_fold", frame, name_column="name", mapping={"sequence": "bases"}
    )
    assert not again.created

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
    assert not box_client.download("folds", tmp_path / "folds").fetched

    # As from another machine
    monkeypatch.setenv("LABEXT_STATE_DIR", str(tmp_path / "elsewhere"))
    other = JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None)
    listed_elsewhere = other.jobs(batch="folds")
    assert listed_elsewhere["Name"].tolist() == frame["name"].tolist()
    assert "bases" not in listed_elsewhere.columns
    assert other.jobs(batch="folds", rows=frame, name_column="name")["bases"].equals(jobs["bases"])
    assert len(other.jobs(batch="folds", limit=5)) == 5
    assert other.job("folds")["statuses"] == {"Complete": 6}
    assert [progress.outcome for progress in other.watch("folds")] == [Outcome.COMPLETE]
    assert not other.download("folds", tmp_path / "folds").fetched
    assert other.download("folds", tmp_path / "again").fetched
    same = (tmp_path / "again" / "metrics.csv").read_text()
    assert same == (tmp_path / "folds" / "metrics.csv").read_text()
    with pytest.raises(NotFoundError, match='did you mean "folds"'):
        other.jobs(batch="fols")

    assert "deleted" in other.delete("folds")
    with pytest.raises(NotFoundError):
        box_client.job("folds")
    assert box_client.jobs()["JobName"].str.startswith("folds-").sum() == 0


def test_batch_that_is_not_split(box_client: JobsClient, tmp_path: Path) -> None:
    frame = bases(4)
    sent = box_client.submit_batch("few", "rna_fold", frame, None, "name", {"sequence": "bases"})
    assert sent.parts == ("few",)
    assert box_client.wait("few")["batchStatus"] == "Complete"
    assert box_client.jobs(batch="few")["bases"].tolist() == frame["bases"].tolist()
    assert box_client.jobs(subjobs=True, limit=1000)["JobName"].str.startswith("few-").sum() == 4
    assert box_client.download("few", tmp_path).fetched
    with pytest.raises(ConflictError, match="it has no job h004"):
        box_client.submit_batch("few", "rna_fold", bases(6), None, "name", {"sequence": "bases"})
    with pytest.raises(ConflictError, match="it is a batch"):
        box_client.submit("few", "rna_fold", {"sequence": "ACGU"})
    box_client.submit("lonely", "rna_fold", {"sequence": "ACGU"})
    with pytest.raises(ConflictError, match="a single job"):
        box_client.submit_batch("lonely", "rna_fold", {"a": {"sequence": "ACGU"}})
    assert "few" in box_client.stop("few")
    box_client.delete("few")


def test_files_are_uploaded_used_and_deleted(box_client: JobsClient, tmp_path: Path) -> None:
    built = box_client.submit("files-peptide", "peptide_build", PEPTIDE)
    box_client.wait(built.name)
    path = box_client.download(built.name, tmp_path, file="peptide.pdb").path
    assert box_client.upload(path).name == "peptide.pdb"
    assert box_client.upload(path, folder="set").path == "set/peptide.pdb"
    assert "peptide.pdb" in box_client.files()
    assert box_client.files("set") == ["peptide.pdb"]
    assert "set/" in box_client.files(include_folders=True)
    modes = box_client.submit("files-modes", "normal_modes", {"pdbFile": "peptide.pdb"})
    assert box_client.wait(modes.name)["JobStatus"] == "Complete"
    chained = box_client.submit(
        "files-chain", "normal_modes", {"pdbFile": f"{built.name}/peptide.pdb"}
    )
    assert box_client.wait(chained.name)["JobStatus"] == "Complete"
    box_client.delete_file("peptide.pdb")
    box_client.delete_file(folder="set")
    assert "peptide.pdb" not in box_client.files()
    with pytest.raises(NotFoundError):
        box_client.delete_file("peptide.pdb")


BAD = {
    "a space": (lambda c: c.submit("a b", "digest", {}), "contains a space"),
    "unknown tool": (lambda c: c.submit(None, "digst", {}), 'did you mean "digest"'),
    "missing": (lambda c: c.submit(None, "digest", {"sequence": "A"}), "enzymes is missing"),
    "condition": (
        lambda c: c.validate("peptide_build", {**PEPTIDE, "phi": [1] * 20}),
        "phi applies only if conformation is custom",
    ),
    "lengths": (
        lambda c: c.submit_batch("b", "digest", {"jobNames": ["a"], "settings": []}),
        "1 job names and settings for 0 jobs",
    ),
    "settings in a list": (lambda c: c.submit("x", "digest", [("sequence", "A")]), "are a list"),
    "no settings": (lambda c: c.submit("x", "digest", None), "are a NoneType, not a mapping"),
    "no tool": (lambda c: c.submit("x", None, {}), 'no tool "None"'),
    "number of a project": (lambda c: c.submit("x", "digest", {}, 5), "not a project identifier"),
    "no jobs": (lambda c: c.submit_batch("b", "digest", {}), "no jobs"),
    "no column": (
        lambda c: c.submit_batch("b", "rna_fold", bases(2), None, "name", {"sequence": "base"}),
        'no column "base"',
    ),
    "no file": (lambda c: c.upload("nowhere.pdb"), "no file nowhere.pdb"),
    "not uploaded": (
        lambda c: c.submit(None, "normal_modes", {"pdbFile": "nowhere.pdb"}),
        "no such file has been uploaded",
    ),
    "part's name": (
        lambda c: c.submit_batch("b-part1of2", "rna_fold", {"a": {"sequence": "A"}}),
        "part of a split batch",
    ),
    "project": (
        lambda c: c.submit(None, "digest", {}, project_tag="mine"),
        "is not a project identifier",
    ),
    "unknown job": (lambda c: c.job("nobody"), 'called "nobody"'),
    "no results": (lambda c: c.download("nobody", "out"), 'called "nobody"'),
    "limit": (lambda c: c.jobs(limit=0), "The limit is 0"),
    "limit of text": (lambda c: c.jobs(limit="5"), "The limit is '5'"),
    "fraction of a limit": (lambda c: c.jobs(limit=2.5), "The limit is 2.5"),
}


def test_invalid_input_is_refused_without_submission(box_client: JobsClient) -> None:
    before = len(box_client.jobs(subjobs=True))
    for case, (act, message) in BAD.items():
        with pytest.raises(InputError) as raised:
            act(box_client)
        assert message in raised.value.message, case
        assert raised.value.next_step, case
        assert "\n" not in str(raised.value), case
    assert len(box_client.jobs(subjobs=True)) == before


def test_wrong_key_missing_key_and_missing_service(box: Sandbox) -> None:
    for key in ("wrong-key-000", None):
        with pytest.raises(SignInError) as raised:
            JobsClient(box.jobs.base_url, key).tools()
        assert "LABEXT_JOBS_API_KEY" in raised.value.next_step
    with pytest.raises(UnreachableError):
        JobsClient("http://127.0.0.1:9/api/", "x-key-000").tools()
    with pytest.raises(LabextError):
        JobsClient(box.jobs.base_url.removesuffix("api/"), box.jobs.api_key).tools()


def test_list_continues_at_its_start_key(box_client: JobsClient) -> None:
    for number in range(3):
        box_client.submit(f"page-{number}", "rna_fold", {"sequence": "ACGU" * (number + 1)})
    first = box_client.jobs(limit=2)
    assert first["JobName"].tolist() == ["page-2", "page-1"]
    rest = box_client.jobs(limit=1, start_key=first.attrs["start_key"])
    assert rest["JobName"].tolist() == ["page-0"]
    assert box_client.jobs().attrs["start_key"] == ""
    job_names: Any = [row["JobName"] for row in box_client.iter_jobs()]
    assert job_names == box_client.jobs()["JobName"].tolist()
    assert isinstance(first["Settings"][0], dict)


SEQS = pd.DataFrame(
    {
        "name": ["gi|2765658|emb|Z78533.1|CIZ78533", "pFA6a kanMX6", "pBAD30"],
        "bases": ["ggaattcc" + "n" * 9600, "GGATCCAAAAAA", "acgtaGAATTCacgt"],
        "isCircular": pd.array([False, True, True], dtype="boolean"),
    }
)
JOB = "gi-2765658-emb-Z78533-1-CIZ78533"


def test_batch_with_adapted_names_from_records_to_results(box: Sandbox, tmp_path: Path) -> None:
    arguments = {
        "settings": {"enzymes": "EcoRI,BamHI"},
        "name_column": "name",
        "mapping": {"sequence": "bases", "circular": "isCircular"},
    }
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as jobs:
        done = jobs.submit_batch("adapted", "digest", SEQS, **arguments)
        assert done.message.endswith(
            f'2 names were adapted: "{SEQS["name"][0]}" is {JOB}, "pFA6a kanMX6" is pFA6a-kanMX6.'
        )
        assert jobs.wait("adapted")["batchStatus"] == "Complete"
        rows = SEQS.assign(mass=[1, 2, 3]).iloc[::-1]
        fetched = jobs.download("adapted", tmp_path / "out")
        for frame in (fetched.frame(), fetched.frame(rows, "name").iloc[::-1]):
            assert frame["name"].tolist() == SEQS["name"].tolist()
            assert frame["Name"].tolist() == [JOB, "pFA6a-kanMX6", "pBAD30"]
            assert frame["fragments"].tolist() == [2, 1, 1], "circles are cut open"
            assert frame["length"].tolist() == [9608, 12, 15]
        assert (Path(frame["Folder"].iloc[0]) / "fragments.csv").is_file()
        assert not jobs.submit_batch("adapted", "digest", SEQS, **arguments).created


SLOW = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23}
"""Several seconds of rna_fold."""


def test_log_and_files_of_a_running_and_a_stopped_job(box_client: JobsClient) -> None:
    box_client.submit("logged-slow", "rna_fold", SLOW)
    follow = box_client.follow_log("logged-slow")
    first = next(text for text in follow if text)
    assert first.startswith("rna_fold with ")
    with pytest.raises(NotReadyError):
        box_client.read_output("logged-slow", "log.txt")
    box_client.stop("logged-slow")
    assert first + "".join(follow) == box_client.log("logged-slow")
    files = box_client.outputs("logged-slow").set_index("file")
    assert files["view"]["log.txt"] == "text"
    assert files["modified"]["log.txt"] <= pd.Timestamp.now("UTC")
    assert box_client.read_output("logged-slow", "log.txt").decode() == first
    with pytest.raises(NotFoundError, match="nope"):
        box_client.read_output("logged-slow", "nope")


def test_batch_is_refused_and_its_jobs_have_logs(box_client: JobsClient) -> None:
    jobs = {"a": {"sequence": "GAATTC", "enzymes": "EcoRI"}}
    box_client.submit_batch("logged-cuts", "digest", jobs)
    box_client.wait("logged-cuts", 60)
    with pytest.raises(InputError, match="logged-cuts is a batch"):
        box_client.log("logged-cuts")
    assert box_client.log("logged-cuts-a").startswith("digest with ")
    assert "metrics.csv" in set(box_client.outputs("logged-cuts")["file"])
    assert b"," in box_client.read_output("logged-cuts", "metrics.csv")
