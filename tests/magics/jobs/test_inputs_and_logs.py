"""Files, invalid rows and failing inputs; logs and outputs of jobs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Printed, Run

from labext.errors import (
    ConflictError,
    InputError,
    InvalidJobsError,
    JobFailedError,
    NotReadyError,
    WatchInterrupted,
)
from labext.frames.views import frame_text
from labext.jobs import JobsClient
from labext.jobs.frames import UPLOADED_FILES
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import job_log
from labext_widgets.progress.job_log import JobLog, clean_log, follow_log

pytestmark = pytest.mark.contract


SLOW = "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23
HOSTILE = (
    "\x1b]0;title\x07<script>x()</script>\x1b[31mred\x1b[0m\x9b2J\u202etxt\0\n10%\r55%\rdone\r\n"
)


def test_log_of_a_complete_job_is_text_and_displayed_once(
    run: Run, printed: Printed, shell: InteractiveShell
) -> None:
    run("%jobs submit digest --name cut1 --set sequence=GAATTC --set enzymes=EcoRI --wait")
    assert printed("text = %jobs log cut1") == ""
    text = shell.user_ns["text"]
    assert isinstance(text, JobLog)
    assert text.startswith("digest with ")
    assert text.raw == text
    output = printed("%jobs log cut1")
    assert output.count("digest with ") == 1
    files = run("%jobs outputs cut1").set_index("file")
    assert files["view"]["fragments.csv"] == "map and gel"
    assert files["bytes"]["log.txt"] == len(text.encode())


def test_log_and_outputs_of_a_running_and_a_stopped_job(run: Run, printed: Printed) -> None:
    run(f"%jobs submit rna_fold --name slow1 --set sequence={SLOW}")
    run("import time\nwhile not len(_l := get_ipython().run_line_magic('jobs', 'log slow1')):"
          " time.sleep(0.1)")  # fmt: skip
    assert "rna_fold with " in printed("%jobs log slow1")
    with pytest.raises(NotReadyError, match="Wait for it with `%jobs watch slow1`"):
        run("%jobs results slow1")
    run("%jobs stop slow1")
    output = printed("text = %jobs log slow1 --follow")
    assert output.count("rna_fold with ") == 1
    assert output.endswith("\nStopped: Stopped by hand.\n")
    assert "log.txt" in set(run("%jobs outputs slow1")["file"])


def test_lists_of_files_fit_the_terminal_without_empty_columns(
    run: Run, shell: InteractiveShell
) -> None:
    empty = UPLOADED_FILES.show(pd.DataFrame({"file": []}))
    assert frame_text(empty) == "There are no uploaded files."
    shell.user_ns["rows"] = {n: {"sequence": "GAATTC", "enzymes": "EcoRI"} for n in "ab"}
    run("%jobs batch digests-listed --type digest --from rows --wait")
    with pytest.raises(InputError, match="logs are kept for each of its jobs"):
        run("%jobs log digests-listed")
    outputs = frame_text(run("%jobs outputs digests-listed"))
    assert "a/map.svg" in outputs
    assert "NaT" not in outputs
    results = frame_text(run("%jobs results digests-listed --to out/listed"))
    assert "b/map.svg" in results
    assert max(map(len, results.splitlines())) <= 80
    Path("one.txt").write_text("x")
    assert "folder" not in frame_text(run("%jobs upload one.txt"))
    assert "\\" not in results


def test_log_of_a_failed_job_ends_with_its_reason(run: Run, printed: Printed) -> None:
    atom = "ATOM      1  CA  ALA A   1      11.104   6.134  -6.504  1.00  0.00           C"
    run(f"atom = {atom + chr(10)!r}\n%jobs submit normal_modes --name bad1 --set pdbFile={{atom}}")
    output = printed("text = %jobs log bad1 --follow")
    assert output.splitlines()[-1].startswith("Stopped: pdbFile: ")
    assert printed("%jobs log bad1").endswith(output)


def test_interrupt_stops_only_the_following(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"%jobs submit rna_fold --name slow2 --set sequence={SLOW}")
    follow = JobsClient.follow_log

    def interrupted(*args: Any, **options: Any) -> Iterator[str]:
        yield next(text for text in follow(*args, **options) if text)
        yield "half a li"
        raise KeyboardInterrupt

    monkeypatch.setattr(JobsClient, "follow_log", interrupted)
    with pytest.raises(WatchInterrupted) as raised:
        run("%jobs log slow2 --follow")
    message = "Following stopped; slow2 continues."
    assert str(raised.value) == f"{message} `%jobs log slow2 --follow` resumes following."
    assert "half a li\n" in capsys.readouterr().out
    assert run("%jobs show slow2")["JobStatus"][0] in ("In Queue", "Running")
    run("%jobs stop slow2")


def test_log_is_cleaned() -> None:
    assert clean_log(HOSTILE) == "<script>x()</script>redtxt \ndone\n"
    assert clean_log("a\n\n\tb\n") == "a\n\n\tb\n"
    assert clean_log("50%\r") == "50%"
    log = JobLog(HOSTILE, name="x", reason="r")
    assert (log.raw, str(log)) == (HOSTILE, clean_log(HOSTILE))
    assert pickle.loads(pickle.dumps(log)).reason == "r"


@pytest.fixture
def displays(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the HTML and text of each display and each update."""
    received: list[tuple[str, str]] = []
    monkeypatch.setattr(job_log, "display_html", lambda html, text: received.append((html, text)))

    class Placeholder:
        is_live = True

        def __init__(self, html: str, text: str) -> None:
            self.update(html, text)

        def live(self, _view: str, _state: dict[str, Any]) -> bool:
            return self.is_live

        def set_state(self, state: dict[str, Any]) -> None:
            pass

        def update(self, html: str, text: str) -> None:
            received.append((html, text))

    monkeypatch.setattr("labext_widgets.core.placeholder.Placeholder", Placeholder)
    return received


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Callable[[FrontEnd], None]:
    def choose(kind: FrontEnd) -> None:
        monkeypatch.setattr(job_log, "front_end", lambda: kind)

    return choose


def test_html_of_a_log_is_escaped_and_shows_its_end(
    front: Callable[[FrontEnd], None], displays: list[tuple[str, str]]
) -> None:
    front(FrontEnd.EXECUTED)
    raw = "".join(f"line {n}\n" for n in range(500)) + HOSTILE
    JobLog(raw, name="<b>", state="Stopped", reason="<i>", more="more")._ipython_display_()
    ((html, text),) = displays
    for forbidden in ("<script", "<b>", "<i>", "\x1b", "\u202e"):
        assert forbidden not in html
    assert text.startswith("Showing the last 200 of 502 lines; `more` shows more.\nline 302\n")
    assert text.endswith("\ndone\nStopped: <i>")
    assert "line 301\n" not in html
    JobLog(raw, tail=2)._ipython_display_()
    assert "line" not in displays[-1][1].partition("\n")[2]


def test_display_of_a_huge_log_is_bounded(
    front: Callable[[FrontEnd], None], displays: list[tuple[str, str]]
) -> None:
    front(FrontEnd.EXECUTED)
    JobLog(("x" * 10_000 + "\n") * 100, tail=100)._ipython_display_()
    html, _ = displays[0]
    assert len(html) < 70_000
    assert "Showing the last 29 of 100 lines." in html


@pytest.mark.parametrize(("is_live", "updates"), [(False, range(10, 14)), (True, range(2, 4))])
def test_followed_log_updates_one_output_ten_times_a_second_at_most(
    front: Callable[[FrontEnd], None],
    displays: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    is_live: bool,
    updates: range,
) -> None:
    """With a live view, the saved output is updated less often."""
    front(FrontEnd.INTERACTIVE)
    monkeypatch.setattr("labext_widgets.core.placeholder.Placeholder.is_live", is_live)
    now = 0.0
    monkeypatch.setattr(job_log, "current_execution", lambda: "cell")
    monkeypatch.setattr(job_log.LiveLog.__init__, "__defaults__", (lambda: now,))

    def parts() -> Iterator[str]:
        nonlocal now
        yield "first \x1b["
        for n in range(100):
            now += 0.01
            yield f"31mline {n}\n\x1b["
        now += 1
        yield ""
        yield "0mend"

    log = follow_log(parts(), name="x", end=lambda: ("Complete", ""), again="again")
    assert len(displays) in updates
    assert displays[-1][1].endswith("line 99\nend")
    assert "31m" not in displays[-1][1]
    assert log.startswith("first line 0\n")
    count = len(displays)
    log._ipython_display_()
    assert len(displays) == count
    monkeypatch.setattr(job_log, "current_execution", lambda: "next cell")
    log._ipython_display_()
    assert len(displays) == count + 1


def test_followed_log_as_the_value_of_its_cell_is_one_line_in_a_terminal(
    front: Callable[[FrontEnd], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    front(FrontEnd.TERMINAL)
    monkeypatch.setattr(job_log, "current_execution", lambda: "cell")
    log = follow_log(["a\n"], name="x", end=lambda: ("Complete", ""), again="again")
    capsys.readouterr()
    log._ipython_display_()
    assert capsys.readouterr().out == "<JobLog x>\n"


def test_executed_notebook_has_one_display_of_a_followed_log(
    front: Callable[[FrontEnd], None], displays: list[tuple[str, str]]
) -> None:
    front(FrontEnd.EXECUTED)
    follow_log(["a\n", "", "b\n"], name="x", end=lambda: ("Stopped", "why"), again="again")
    assert [text for _, text in displays] == ["a\nb\nStopped: why"]


FIVE_RESIDUES, SIX_RESIDUES = (
    "".join(
        f"ATOM  {n:5}  CA  ALA A{n:4}    {n * 3.0:8.3f}{n % 2 * 2.3:8.3f}{n % 3:8.3f}  1.00\n"
        for n in range(1, count + 1)
    )
    for count in (5, 6)
)


def test_submission_after_replacing_its_file_is_a_conflict(
    run: Run, tmp_path: Path, printed: Printed
) -> None:
    file = tmp_path / "stale.pdb"
    file.write_text(FIVE_RESIDUES)
    assert run("%jobs upload stale.pdb")["status"].tolist() == ["new"]
    submit = "%jobs submit normal_modes --name stale --set pdbFile=stale.pdb"
    run(submit)
    assert "stale.pdb already exists with the same content" in printed("%jobs upload stale.pdb;")
    assert "nothing was sent" in printed(f"{submit};")
    file.write_text(SIX_RESIDUES)
    assert "replaced the file of that name of 305 bytes" in printed("%jobs upload stale.pdb;")
    with pytest.raises(ConflictError, match=r"stale\.pdb has 366 bytes .*had 305") as raised:
        run(submit)
    assert "`%jobs delete stale --yes`" in raised.value.next_step


def test_failing_input_keeps_the_results_of_others(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = (
        "stages:\n  - {task: Build, toolSettings: {peptide_build: {sequence: pipe}}}\n"
        "  - {task: Move, toolSettings: {normal_modes: {pdbFile: pipe}}}\n"
    )
    run(
        "%%jobs pipeline part --wait --to out/part\n"
        f"initialInputs: [ACDEFGHIKLMNPQRSTVWY, AC, ACDEFGHIKL]\n{stages}"
    )
    output = capsys.readouterr().out
    assert "1 of 6 jobs did not complete: stage2-normal_modes-2 (pdbFile: it has 2 res" in output
    table = run("%jobs results part --to out/part --frame")
    assert table["JobStatus"].tolist() == ["Complete"] * 4 + ["Stopped", "Complete"]
    assert table["Input"].tolist()[4] == "AC"

    with pytest.raises(JobFailedError, match="Stage 2") as raised:
        run(f"%%jobs pipeline none --wait\ninitialInputs: [AC, AD]\n{stages}")
    assert "`%jobs results none` downloads the results of complete jobs." in raised.value.next_step
    files = run("%jobs results none --to out/none")["file"].tolist()
    assert "stage1-peptide_build-1/peptide.pdb" in files
    assert "2 of 4 jobs did not complete: stage2-normal_modes-1, stage2" in capsys.readouterr().out
    metrics = pd.read_csv(tmp_path / "out" / "none" / "metrics.csv")
    assert metrics["status"].tolist() == ["Complete", "Complete", "Stopped", "Stopped"]


def test_invalid_rows_are_named_and_the_others_submitted(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
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
            run(line + option)
    would = run(f"{line} --check --skip-invalid")
    assert would["Name"].tolist() == ["b", "c"]
    assert "2 rows would be skipped; nothing was submitted." in capsys.readouterr().out
    run(f"refused = {line} --skip-invalid --wait")
    refused = shell.user_ns["refused"]
    assert refused.columns.tolist() == ["Name", "Error", "seq"]
    assert refused["Name"].tolist() == ["b", "c"]
    assert "2 invalid rows were skipped: b, c." in capsys.readouterr().out
    rows = run("%jobs list --batch partly")
    assert rows["Name"].tolist() == ["a", "d"]
    assert rows["seq"].tolist() == ["GAATTC", "GGG"]
    assert run(f"{line} --skip-invalid")["Name"].tolist() == ["b", "c"]
    assert "partly already exists with the same 2 jobs" in capsys.readouterr().out


def test_job_list_filters_by_state_tool_and_time(run: Run) -> None:
    cut = "%jobs submit digest --name {} --set sequence={} --set enzymes=EcoRI --wait"
    run(cut.format("filtered-1", "GAATTC"))
    run(cut.format("filtered-2", "GGAATTCC"))
    filtered = run("%jobs list --state complete --tool digest --since 1h")
    assert {"filtered-1", "filtered-2"} <= set(filtered["JobName"])
    assert set(filtered["Type"]) <= {"digest", "batch", "pipeline"}
    assert run("%jobs list --tool digest --since 1h --limit 1")["JobName"][0] == "filtered-2"
    assert run("%jobs list --state running --since {__import__('datetime').timedelta()}").empty
    since = "__import__('datetime').date(2020, 1, 1)"
    assert run(f"%jobs list --since {{{since}}} --limit 1").equals(run("%jobs list --limit 1"))
    with pytest.raises(InputError, match='did you mean "Complete"'):
        run("%jobs list --state complet --tool digest")
    with pytest.raises(InputError, match="not a date, time or duration"):
        run("%jobs list --since someday")
