"""Pipelines, usage and presigned uploads by their magics, against a real local service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened

from labext.errors import ConflictError, InputError, JobFailedError, NotFoundError
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

PIPELINE = """%%jobs pipeline p1
initialInputs: [ACDEFGHIKLMNPQRSTVWY]
stages:
  - {task: Structure Prediction, toolSettings: {peptide_build: {sequence: pipe, conformation: helix}}}
  - {task: Scoring PDB, toolSettings: {structure_summary: {pdbFile: pipe}, normal_modes: {pdbFile: pipe}}}
"""  # noqa: E501
RUN_SAVED = '%jobs run-pipeline helix-to-modes --name p2 --inputs {["MKTAYIAKQRQISFVKSHFSRQ"]}'

Run = Callable[[str], Any]


@pytest.fixture
def shell(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell in a folder of its own, whose sandbox is the one that runs."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.chdir(tmp_path)
    with opened() as ip:
        yield ip


@pytest.fixture
def run(shell: InteractiveShell) -> Run:
    """Run a cell, with the sandbox chosen, and return what it shows; raise what it raises."""

    def run_cell(cell: str) -> Any:
        done = shell.run_cell(cell, store_history=True)
        done.raise_error()
        return done.result

    run_cell("%load_ext labext\n%lab sandbox start")
    return run_cell


def test_the_cells_of_the_issue_run_twice(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    row = run(PIPELINE)
    assert row[["JobName", "Type"]].iloc[0].tolist() == ["p1", "pipeline"]
    watched = run("%jobs watch p1")
    assert watched["JobStatus"].tolist() == ["Complete"]
    told = capsys.readouterr().out
    assert "p1 submitted to queue." in told
    assert "p1: Complete, 3 of 3 complete (pipeline" in told
    assert run("%jobs list --batch p1 --scores")["score.residues"].tolist() == [20, 20, 20]
    files = run("%jobs results p1 --to out/p1")
    assert (tmp_path / "out" / "p1" / "metrics.csv").is_file()
    assert run(RUN_SAVED)["JobName"].tolist() == ["p2"]
    assert run("%jobs watch p2")["JobStatus"].tolist() == ["Complete"]
    run("hours = %jobs usage --statistic weighted_hours --scope user")
    hours = shell.user_ns["hours"]
    assert hours.columns.tolist() == ["group", "name", "weighted_hours"]
    assert {"peptide_build", "normal_modes"} <= set(hours["name"])

    again = run(PIPELINE)
    assert again["Created"].tolist() == row["Created"].tolist()
    assert run("%jobs results p1 --to out/p1")["sha256"].equals(files["sha256"])
    run(RUN_SAVED)
    told = capsys.readouterr().out
    assert "p1 already exists with the same stages and inputs (Complete)" in told
    assert "p2 already exists with the same inputs (Complete)" in told


def test_all_in_one_line_with_names_made_up(
    run: Run, shell: InteractiveShell, tmp_path: Path
) -> None:
    shell.user_ns["frame"] = pd.DataFrame({"sequence": ["MKTAYIAKQR", "MKTAYIAKQL"]})
    line = '%jobs run-pipeline helix-to-modes --inputs {frame["sequence"]} --wait --to out/modes'
    row = run(line)
    assert row["JobName"][0].startswith("helix-to-modes-")
    assert row["Settings"][0]["initialInputs"] == ["MKTAYIAKQR", "MKTAYIAKQL"]
    assert len(pd.read_csv(tmp_path / "out" / "modes" / "metrics.csv")) == 4
    same = run("%jobs run-pipeline helix-to-modes --inputs MKTAYIAKQR --inputs=MKTAYIAKQL")
    assert same["JobName"].tolist() == row["JobName"].tolist()
    body = PIPELINE.partition("\n")[2].replace("ACDEFGHIKLMNPQRSTVWY", "ACDEFGHIKL")
    made = run(f"%%jobs pipeline --wait --out kept\n{body}")
    assert made is None
    kept = shell.user_ns["kept"]
    assert kept["JobName"][0].startswith("pipeline-")
    assert run(f"%%jobs pipeline\n{body}")["JobName"].tolist() == kept["JobName"].tolist()


def test_inputs_of_a_variable_stand_on_the_line(run: Run, shell: InteractiveShell) -> None:
    shell.user_ns["frame"] = pd.DataFrame({"sequence": ["MKTAYIAKQR", "MKTAYIAKQL"]})
    stages = "stages:\n  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
    row = run('%%jobs pipeline lined --inputs {frame["sequence"]}\n' + stages)
    assert row["Settings"][0]["initialInputs"] == ["MKTAYIAKQR", "MKTAYIAKQL"]
    with pytest.raises(InputError, match="--inputs") as raised:
        run(f"%%jobs pipeline lined --inputs MKT\ninitialInputs: [MKT]\n{stages}")
    assert "Keep one" in raised.value.next_step
    with pytest.raises(InputError, match="is a mapping") as raised:
        run(f"%%jobs pipeline lined\ninitialInputs: {{frame}}\n{stages}")
    assert "--inputs" in raised.value.next_step


def test_numbers_in_a_body_are_what_the_tool_takes(run: Run) -> None:
    row = run(
        "%%jobs pipeline numbers\ninputs: [MKTAYIAKQR]\nstages:\n"
        "  - task: Build\n    toolSettings:\n      peptide_build: {sequence: pipe}\n"
        "  - task: Move\n    toolSettings:\n"
        "      normal_modes: {pdbFile: pipe, modes: 2, cutoff: '12'}\n"
    )
    moves = row["Settings"][0]["stages"][1]["toolSettings"]["normal_modes"]
    assert moves == {"pdbFile": "pipe", "modes": 2, "cutoff": 12}


def test_a_stage_that_takes_nothing_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    row = run(
        "%%jobs pipeline unfed\ninitialInputs: [ACDEFGHIK]\nstages:\n"
        "  - {task: Build, toolSettings: {peptide_build: {sequence: Pipe}}}\n"
        "  - {task: Look, toolSettings: {structure_summary: {pdbFile: pipe}}}\n"
    )
    assert row["JobName"].tolist() == ["unfed"]
    told = capsys.readouterr().out.splitlines()
    assert "No setting of stage 1 is `pipe`: it does not use the inputs." in told
    assert not any("stage 2" in line for line in told)
    run("%jobs watch unfed")
    capsys.readouterr()
    run("%jobs delete unfed --preview")
    assert "pipeline with 2 jobs, Complete" in capsys.readouterr().out
    assert run("%jobs show unfed")["JobStatus"].tolist() == ["Complete"]


BAD = {
    "no body": ("%jobs pipeline p9", InputError, "needs a cell body with its stages"),
    "no stages": ("%%jobs pipeline p9\ninputs: [A]", InputError, "has no `stages`"),
    "no inputs": ("%jobs run-pipeline helix-to-modes", InputError, "needs --inputs"),
    "no list": ("%jobs run-pipeline x --inputs {7}", InputError, "a list, not a number"),
    "no variable": ("%jobs run-pipeline x --inputs {seqs}", InputError, "no variable `seqs`"),
    "not saved": ("%jobs run-pipeline helix --inputs A", NotFoundError, "no saved pipeline"),
    "two ends": (
        f"{PIPELINE.replace('p1', 'p1 --wait --background', 1)}",
        InputError,
        "exclude each other",
    ),
    "faults": (
        "%%jobs pipeline p9\ninputs: [A]\nstages:\n"
        "  - {task: a, toolSettings: {peptide_buid: {}}}\n"
        "  - {task: b, toolSettings: {normal_modes: {pdbfile: pipe, modes: many}}}\n"
        "  - {taks: c}\n",
        InputError,
        'stage 1: the service has no tool "peptide_buid" (did you mean "peptide_build"?); '
        'stage 2, normal_modes: pdbfile is not a setting (did you mean "pdbFile"?); stage 2, '
        'normal_modes: modes takes a whole number, not "many"; stage 2, normal_modes: pdbFile '
        'is missing; stage 3 has `taks`, which no stage has (did you mean "task"?)',
    ),
    "scalar": ("%%jobs pipeline p9\ninputs: ACD\nstages: []", InputError, "not one text"),
    "statistic": ("%jobs usage --statistic hours", InputError, "weighted_hours or jobs"),
    "scope": ("%jobs usage --scope me", InputError, "user or organization"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line(run: Run, what: str) -> None:
    cell, kind, said = BAD[what]
    with pytest.raises(kind) as raised:
        run(cell)
    assert said in raised.value.message
    assert raised.value.next_step
    assert "p9" not in set(run("%jobs list")["JobName"])


def test_a_pipeline_that_fails_stops_run_all(run: Run) -> None:
    cell = (
        "%%jobs pipeline fails --wait\ninputs: [AC]\nstages:\n"
        "  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
        "  - {task: Move, toolSettings: {normal_modes: {pdbFile: pipe}}}\n"
    )
    with pytest.raises(JobFailedError, match=r"The pipeline fails ended as Stopped: Stage 2") as no:
        run(cell)
    assert no.value.next_step == (
        "`%jobs list --batch fails` shows its jobs. "
        "`%jobs results fails` fetches the completed ones."
    )
    with pytest.raises(ConflictError, match="its inputs are"):
        run(cell.replace("[AC]", "[ACD]"))
    with pytest.raises(InputError, match=r"fails \(pipeline with 2 jobs, Stopped\)"):
        run("%jobs delete fails")
    run("%jobs delete fails --yes")


def test_a_pipeline_in_the_background(run: Run) -> None:
    row = run(
        '%jobs run-pipeline helix-to-modes --name back --inputs {["MKTAYIAKQR"]} --background'
    )
    assert row["JobName"].tolist() == ["back"]
    assert run("%jobs watch back")["JobStatus"].tolist() == ["Complete"]


def test_a_presigned_upload(run: Run, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_bytes(b"x" * 100_000)
    done = run("%jobs upload big.txt --folder stored --presigned")
    assert done["bytes"].tolist() == [100_000]
    assert run("%jobs files --folder stored")["file"].tolist() == ["big.txt"]
