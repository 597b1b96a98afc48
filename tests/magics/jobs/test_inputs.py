"""The lines of a notebook about inputs: files, invalid rows, failing inputs, filtered lists."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run

from labext.errors import ConflictError, InputError, InvalidJobsError, JobFailedError
from labext.frames.views import frame_text

pytestmark = pytest.mark.contract

THREE = ">a\nACGTACGTAC\n>b\nACGTTCGTAC\n>c\nACGTTCGAAC\n"
FOUR = THREE + ">d\nACGTTCGAAG\n"


def test_submission_after_replacing_its_file_is_a_conflict(
    ready: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stale.fasta"
    file.write_text(THREE)
    assert ready("%jobs upload stale.fasta")["status"].tolist() == ["new"]
    submit = "%jobs submit msa_tree --name stale --set sequences=stale.fasta"
    pipeline = (
        "%%jobs pipeline stale-p\ninitialInputs: [stale.fasta]\nstages:\n"
        "  - {task: Tree, toolSettings: {msa_tree: {sequences: pipe}}}\n"
    )
    batch = "%%jobs batch stale-b --type msa_tree\none: {sequences: stale.fasta}\n"
    made_up = "%jobs submit msa_tree --set sequences=stale.fasta"
    assert ready(f"{submit} --wait")["Score"][0]["sequences"] == 3
    first = ready(made_up)["JobName"][0]
    ready(pipeline)
    ready(batch)
    capsys.readouterr()

    assert ready("%jobs upload stale.fasta")["status"].tolist() == ["unchanged"]
    assert "stale.fasta already exists with the same content" in capsys.readouterr().out
    for cell in (submit, pipeline, batch, made_up):
        ready(cell)
        assert "nothing was sent" in capsys.readouterr().out

    file.write_text(FOUR)
    assert ready("%jobs upload stale.fasta")["status"].tolist() == ["replaced"]
    output = capsys.readouterr().out
    assert "replaced the file of that name of 42 bytes" in output
    for cell, name in ((submit, "stale"), (pipeline, "stale-p"), (batch, "stale-b")):
        with pytest.raises(ConflictError, match=r"stale\.fasta has 56 bytes .*had 42") as raised:
            ready(cell)
        assert f"`%jobs delete {name} --yes`" in raised.value.next_step
    assert ready(made_up)["JobName"][0] != first
    ready("%jobs delete stale --yes")
    assert ready(f"{submit} --wait")["Score"][0]["sequences"] == 4


def test_ambiguous_file_name_is_completed_with_its_folder(
    ready: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, content in (("amb1", THREE), ("amb2", FOUR)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "amb.fasta").write_text(content)
        ready(f"%jobs upload {folder}/amb.fasta --folder {folder}")
    assert "or by amb1/amb.fasta if several folders" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"amb1/amb\.fasta or amb2/amb\.fasta"):
        ready("%jobs submit msa_tree --set sequences=amb.fasta")
    with pytest.raises(InputError, match=r'no file "none\.fasta" has been uploaded to a folder'):
        ready("%jobs submit msa_tree --set sequences=amb1/none.fasta")
    for folder, count in (("amb1", 3), ("amb2", 4)):
        row = ready(f"%jobs submit msa_tree --set sequences={folder}/amb.fasta --wait")
        assert row["Score"][0]["sequences"] == count
    pipeline = (
        "%%jobs pipeline amb --wait\ninitialInputs: [amb1/amb.fasta, amb2/amb.fasta]\nstages:\n"
        "  - {task: Tree, toolSettings: {msa_tree: {sequences: pipe}}}\n"
    )
    ready(pipeline)
    scores = ready("%jobs list --batch amb --scores")
    assert scores["score.sequences"].tolist() == [3, 4]
    (tmp_path / "amb2" / "amb.fasta").write_text(THREE)
    ready("%jobs upload amb2/amb.fasta --folder amb2")
    with pytest.raises(ConflictError, match=r"amb2/amb\.fasta has 42 bytes"):
        ready(pipeline)


def test_failing_input_keeps_the_results_of_others(
    ready: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = (
        "stages:\n  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
        "  - {task: Move, toolSettings: {normal_modes: {pdbFile: pipe}}}\n"
    )
    ready(
        "%%jobs pipeline part --wait --to out/part\n"
        f"initialInputs: [ACDEFGHIKLMNPQRSTVWY, AC, ACDEFGHIKL]\n{stages}"
    )
    output = capsys.readouterr().out
    assert "1 of 6 jobs did not complete: stage2-normal_modes-2 (pdbFile: it has 2 res" in output
    table = ready("%jobs results part --to out/part --frame")
    assert table["JobStatus"].tolist() == ["Complete"] * 4 + ["Stopped", "Complete"]
    assert table["Input"].tolist()[4] == "AC"

    with pytest.raises(JobFailedError, match="Stage 2") as raised:
        ready(f"%%jobs pipeline none --wait\ninitialInputs: [AC, AD]\n{stages}")
    assert "`%jobs results none` downloads the results of complete jobs." in raised.value.next_step
    files = ready("%jobs results none --to out/none")["file"].tolist()
    assert "stage1-peptide_build-1/peptide.pdb" in files
    assert "2 of 4 jobs did not complete: stage2-normal_modes-1, stage2" in capsys.readouterr().out
    metrics = pd.read_csv(tmp_path / "out" / "none" / "metrics.csv")
    assert metrics["status"].tolist() == ["Complete", "Complete", "Stopped", "Stopped"]


def test_pipe_of_another_type_is_refused_at_submission(ready: Run) -> None:
    with pytest.raises(InputError, match=r"Stage 2 \(Cut\), digest: .* no suitable output of DNA"):
        ready(
            "%%jobs pipeline piped\ninitialInputs: [ACDEFGHIKL]\nstages:\n"
            "  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
            "  - {task: Cut, toolSettings: {digest: {sequence: pipe, enzymes: EcoRI}}}\n"
        )


def test_results_of_an_interrupted_batch(
    ready: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23
    bases = ["GGGAAACCC", "GGGAAACCC", *[slow] * 6]
    shell.user_ns["rna"] = pd.DataFrame({"name": [f"r{n}" for n in range(8)], "bases": bases})
    line = "--type rna_fold --from rna --name-column name --map sequence=bases"
    ready(f"%jobs batch budgeted {line} --budget 0.0015 --over-budget --wait")
    files = ready("%jobs results budgeted --to out/budgeted")["file"]
    output = capsys.readouterr().out
    assert "did not complete" in output
    assert "The batch's budget of 0.0015 weighted hours is used up" in output
    assert "metrics.csv" in files.tolist()

    ready(f"%jobs batch halted {line}")
    while not (ready("%jobs list --batch halted")["JobStatus"] == "Complete").any():
        pass
    ready("%jobs stop halted")
    files = ready("%jobs results halted --to out/halted")["file"].tolist()
    assert "r0/structure.dbn" in files
    assert "(Stopped by hand)" in capsys.readouterr().out


def test_invalid_rows_are_named_and_the_others_submitted(
    ready: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["rows"] = pd.DataFrame(
        {"name": ["a", "b", "c", "d"], "seq": ["GAATTC", "GAAZTC", None, "GGG"]}
    )
    line = (
        "%jobs batch partly --type digest --from rows --name-column name --map sequence=seq "
        "--set enzymes=EcoRI"
    )
    for option in ("", " --check"):
        with pytest.raises(InvalidJobsError, match=r"'Z' at 4.*\(in b\).*is empty \(in c\)"):
            ready(line + option)
    would = ready(f"{line} --check --skip-invalid")
    assert would["Name"].tolist() == ["b", "c"]
    assert "2 rows would be skipped; nothing was submitted." in capsys.readouterr().out
    ready(f"refused = {line} --skip-invalid --wait")
    refused = shell.user_ns["refused"]
    assert refused.columns.tolist() == ["Name", "Error", "seq"]
    assert refused["Name"].tolist() == ["b", "c"]
    assert "2 invalid rows were skipped: b, c." in capsys.readouterr().out
    rows = ready("%jobs list --batch partly")
    assert rows["Name"].tolist() == ["a", "d"]
    assert rows["seq"].tolist() == ["GAATTC", "GGG"]
    assert ready(f"{line} --skip-invalid")["Name"].tolist() == ["b", "c"]
    assert "partly already exists with the same 2 jobs" in capsys.readouterr().out


def test_job_list_filters_by_state_tool_and_time(ready: Run) -> None:
    cut = "%jobs submit digest --name {} --set sequence={} --set enzymes=EcoRI --wait"
    ready(cut.format("filtered-1", "GAATTC"))
    ready(cut.format("filtered-2", "GGAATTCC"))
    filtered = ready("%jobs list --state complete --tool digest --since 1h")
    assert {"filtered-1", "filtered-2"} <= set(filtered["JobName"])
    assert set(filtered["Type"]) <= {"digest", "batch", "pipeline"}
    assert ready("%jobs list --tool digest --since 1h --limit 1")["JobName"][0] == "filtered-2"
    assert ready("%jobs list --state running --since {__import__('datetime').timedelta()}").empty
    with pytest.raises(InputError, match='did you mean "Complete"'):
        ready("%jobs list --state complet --tool digest")
    with pytest.raises(InputError, match="not a date, time or duration"):
        ready("%jobs list --since someday")


def test_submission_is_shown_in_one_line(ready: Run) -> None:
    row = ready(
        "%jobs submit digest --name oneline --set sequence=GAATTC --set enzymes=EcoRI --wait"
    )
    assert frame_text(row).startswith("oneline · digest · Complete · length: 6, cuts: 1")
    assert "\n" not in frame_text(row)
    assert row["JobStatus"].tolist() == ["Complete"]
