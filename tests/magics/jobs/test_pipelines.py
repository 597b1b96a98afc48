"""Pipelines, usage and presigned uploads by their magics, against a real local service."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused, RefusedLines, Run, check_refused

from labext.errors import ConflictError, InputError, JobFailedError, NotFoundError

pytestmark = pytest.mark.contract

PIPELINE = """%%jobs pipeline p1
initialInputs: [ACDEFGHIKLMNPQRSTVWY]
stages:
  - {task: Structure Prediction, toolSettings: {peptide_build: {sequence: pipe, conformation: helix}}}
  - {task: Scoring PDB, toolSettings: {structure_summary: {pdbFile: pipe}, normal_modes: {pdbFile: pipe}}}
"""  # noqa: E501
RUN_SAVED = '%jobs run-pipeline helix-to-modes --name p2 --inputs {["MKTAYIAKQRQISFVKSHFSRQ"]}'


def test_one_line_submission_generates_a_name(
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
    pipeline = run(f"%%jobs pipeline --wait --out kept\n{body}")
    assert pipeline is None
    result = shell.user_ns["kept"]
    assert result["JobName"][0].startswith("pipeline-")
    assert run(f"%%jobs pipeline\n{body}")["JobName"].tolist() == result["JobName"].tolist()


def test_pipeline_inputs_from_a_variable(run: Run, shell: InteractiveShell) -> None:
    shell.user_ns["frame"] = pd.DataFrame({"sequence": ["MKTAYIAKQR", "MKTAYIAKQL"]})
    stages = "stages:\n  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
    row = run('%%jobs pipeline lined --inputs {frame["sequence"]}\n' + stages)
    assert row["Settings"][0]["initialInputs"] == ["MKTAYIAKQR", "MKTAYIAKQL"]
    with pytest.raises(InputError, match="--inputs") as raised:
        run(f"%%jobs pipeline lined --inputs MKT\ninitialInputs: [MKT]\n{stages}")
    assert "Keep one" in raised.value.next_step
    with pytest.raises(InputError, match="takes no Python expressions") as raised:
        run(f"%%jobs pipeline lined\ninitialInputs: {{frame}}\n{stages}")
    assert "--inputs" in raised.value.next_step


def test_numbers_in_a_body_are_cast_by_the_tool(run: Run) -> None:
    row = run(
        "%%jobs pipeline numbers\ninputs: [MKTAYIAKQR]\nstages:\n"
        "  - task: Build\n    toolSettings:\n      peptide_build: {sequence: pipe}\n"
        "  - task: Move\n    toolSettings:\n"
        "      normal_modes: {pdbFile: pipe, modes: 2, cutoff: '12'}\n"
    )
    moves = row["Settings"][0]["stages"][1]["toolSettings"]["normal_modes"]
    assert moves == {"pdbFile": "pipe", "modes": 2, "cutoff": 12}


def test_pipeline_stage_without_pipe_is_reported(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    row = run(
        "%%jobs pipeline unfed\ninitialInputs: [ACDEFGHIK]\nstages:\n"
        "  - {task: Build, toolSettings: {peptide_build: {sequence: Pipe}}}\n"
        "  - {task: Look, toolSettings: {structure_summary: {pdbFile: pipe}}}\n"
    )
    assert row["JobName"].tolist() == ["unfed"]
    output = capsys.readouterr().out.splitlines()
    assert "No setting of stage 1 is `pipe`: it does not use the inputs." in output
    assert not any("stage 2" in line for line in output)
    run("%jobs watch unfed")
    capsys.readouterr()
    run("%jobs delete unfed --preview")
    assert "pipeline with 2 jobs, Complete" in capsys.readouterr().out
    assert run("%jobs show unfed")["JobStatus"].tolist() == ["Complete"]


BAD: RefusedLines = [
    ("%jobs pipeline p9", InputError, "needs a cell body with its stages"),
    ("%%jobs pipeline p9\ninputs: [A]", InputError, "has no `stages`"),
    ("%jobs run-pipeline helix-to-modes", InputError, "needs --inputs"),
    ("%jobs run-pipeline x --inputs {7}", InputError, "a list, not a number"),
    ("%jobs run-pipeline x --inputs {seqs}", InputError, "no variable `seqs`"),
    ("%jobs run-pipeline helix --inputs A", NotFoundError, "no saved pipeline"),
    (f"{PIPELINE.replace('p1', 'p1 --wait --background', 1)}", InputError, "exclude each other"),
    (
        "%%jobs pipeline p9\ninputs: [A]\nstages:\n"
        "  - {task: a, toolSettings: {peptide_buid: {}}}\n"
        "  - {task: b, toolSettings: {normal_modes: {pdbfile: pipe, modes: many}}}\n"
        "  - {taks: c}\n",
        InputError,
        'stage 1: the service has no tool "peptide_buid" (did you mean "peptide_build"?); '
        'stage 2, normal_modes: pdbfile is not a setting (did you mean "pdbFile"?); stage 2, '
        'normal_modes: modes takes a whole number, not "many"; stage 2, normal_modes: pdbFile '
        'is missing; stage 3 has an unknown key `taks` (did you mean "task"?)',
    ),
    ("%%jobs pipeline p9\ninputs: ACD\nstages: []", InputError, "not a text"),
    ("%jobs usage --statistic hours", InputError, "weighted_hours or jobs"),
    ("%jobs usage --scope me", InputError, "user or organization"),
]


def test_bad_input_is_one_line(run: Run, refused: Refused) -> None:
    check_refused(refused, BAD)
    assert "p9" not in set(run("%jobs list")["JobName"])


def test_failed_pipeline_stops_run_all(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    cell = (
        "%%jobs pipeline fails --wait\ninputs: [AC]\nstages:\n"
        "  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
        "  - {task: Move, toolSettings: {normal_modes: {pdbFile: pipe}}}\n"
    )
    with pytest.raises(
        JobFailedError, match=r"The pipeline fails ended with the state Stopped: Stage 2"
    ) as no:
        run(cell)
    output = capsys.readouterr().out
    assert "fails: Stopped" in output
    assert output.count("Stage 2 (Move)") == 1, "the reason is in the error, once"
    assert no.value.next_step == (
        "`%jobs list --batch fails` shows its jobs. "
        "`%jobs results fails` downloads the results of complete jobs."
    )
    with pytest.raises(ConflictError, match="its inputs are"):
        run(cell.replace("[AC]", "[ACD]"))
    with pytest.raises(InputError, match=r"fails \(pipeline with 2 jobs, Stopped\)"):
        run("%jobs delete fails")
    run("%jobs delete fails --yes")


def test_pipeline_in_the_background(run: Run) -> None:
    row = run(
        '%jobs run-pipeline helix-to-modes --name back --inputs {["MKTAYIAKQR"]} --background'
    )
    assert row["JobName"].tolist() == ["back"]
    assert run("%jobs watch back")["JobStatus"].tolist() == ["Complete"]


def test_presigned_upload(run: Run, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_bytes(b"x" * 100_000)
    done = run("%jobs upload big.txt --folder stored --presigned")
    assert done["bytes"].tolist() == [100_000]
    assert run("%jobs files --folder stored")["file"].tolist() == ["big.txt"]


def test_check_of_a_pipeline_submits_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = run("%jobs list")["JobName"].tolist()
    checked = run(PIPELINE.replace("pipeline p1", "pipeline p9 --check"))
    assert checked["Tool"].tolist() == ["peptide_build", "structure_summary", "normal_modes"]
    assert re.search(
        r"The pipeline is valid; nothing was submitted.\n(Expected: .*|The run time is)",
        capsys.readouterr().out,
    )
    run("%jobs run-pipeline never-run --inputs MKT --check")
    output = capsys.readouterr().out
    assert "The inputs are valid" in output, "the pipeline is unknown"
    assert "unknown: never-run has no earlier runs." in output
    assert run("%jobs list")["JobName"].tolist() == before
    run(f"{RUN_SAVED} --wait")
    checked = run(f"{RUN_SAVED.replace('p2', 'p3')} --check")
    assert checked["Jobs"].tolist() == [1] * len(checked)
    output = capsys.readouterr().out
    assert re.search(r"Expected: .* of computing .*The inputs of stage 2 are unknown", output)
    assert "p3" not in run("%jobs list")["JobName"].tolist()


def test_check_names_a_stage_of_more_than_100_jobs(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = PIPELINE[PIPELINE.index("stages:") :]
    run('%%jobs pipeline p9 --check --inputs {["ACDEFGHIK"] * 50}\n' + stages)
    assert "Stage 2 would" not in capsys.readouterr().out
    run('%%jobs pipeline p9 --check --inputs {["ACDEFGHIK"] * 51}\n' + stages)
    assert "Stage 2 would have about 102 jobs" in capsys.readouterr().out
