"""`%jobs log` and `%jobs outputs` in a shell against a local service."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Printed, Run

from labext.errors import InputError, NotFoundError, WatchInterrupted
from labext.jobs import JobsClient
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import job_log
from labext_widgets.progress.job_log import JobLog, clean_log, follow_log

pytestmark = pytest.mark.contract

SLOW = "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23
HOSTILE = (
    "\x1b]0;title\x07<script>x()</script>\x1b[31mred\x1b[0m\x9b2J\u202etxt\0\n10%\r55%\rdone\r\n"
)


def test_log_of_a_complete_job_is_text_and_displayed_once(
    ready: Run, printed: Printed, shell: InteractiveShell
) -> None:
    ready("%jobs submit digest --name cut1 --set sequence=GAATTC --set enzymes=EcoRI --wait")
    assert printed("text = %jobs log cut1") == ""
    text = shell.user_ns["text"]
    assert isinstance(text, JobLog)
    assert text.startswith("digest with ")
    assert text.raw == text
    output = printed("%jobs log cut1")
    assert output.count("digest with ") == 1
    files = ready("%jobs outputs cut1").set_index("file")
    assert files["view"]["fragments.csv"] == "map and gel"
    assert files["bytes"]["log.txt"] == len(text.encode())


def test_log_and_outputs_of_a_running_and_a_stopped_job(ready: Run, printed: Printed) -> None:
    ready(f"%jobs submit rna_fold --name slow1 --set sequence={SLOW}")
    ready("import time\nwhile not len(_l := get_ipython().run_line_magic('jobs', 'log slow1')):"
          " time.sleep(0.1)")  # fmt: skip
    assert "rna_fold with " in printed("%jobs log slow1")
    ready("%jobs stop slow1")
    output = printed("text = %jobs log slow1 --follow")
    assert output.count("rna_fold with ") == 1
    assert output.endswith("\nStopped: Stopped by hand.\n")
    assert "log.txt" in set(ready("%jobs outputs slow1")["file"])


def test_log_of_a_failed_job_ends_with_its_reason(ready: Run, printed: Printed) -> None:
    atom = "ATOM      1  CA  ALA A   1      11.104   6.134  -6.504  1.00  0.00           C"
    ready(
        f"atom = {atom + chr(10)!r}\n%jobs submit normal_modes --name bad1 --set pdbFile={{atom}}"
    )
    output = printed("text = %jobs log bad1 --follow")
    assert output.splitlines()[-1].startswith("Stopped: pdbFile: ")
    assert printed("%jobs log bad1").endswith(output)


def test_batch_and_unknown_job_are_refused_in_one_line(ready: Run) -> None:
    ready("rows = {'a': {'sequence': 'GAATTC', 'enzymes': 'EcoRI'}}")
    ready("%jobs batch cuts1 --type digest --from rows --wait")
    with pytest.raises(InputError) as raised:
        ready("%jobs log cuts1")
    assert "`%jobs list --batch cuts1` lists them" in str(raised.value)
    assert "cuts1-a" in ready("%jobs list --batch cuts1")["JobName"].tolist()
    assert ready("%jobs log cuts1-a").startswith("digest with ")
    with pytest.raises(NotFoundError, match="cuts1-b"):
        ready("%jobs log cuts1-b")


def test_interrupt_stops_only_the_following(
    ready: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ready(f"%jobs submit rna_fold --name slow2 --set sequence={SLOW}")
    follow = JobsClient.follow_log

    def interrupted(*args: Any, **options: Any) -> Iterator[str]:
        yield next(text for text in follow(*args, **options) if text)
        yield "half a li"
        raise KeyboardInterrupt

    monkeypatch.setattr(JobsClient, "follow_log", interrupted)
    with pytest.raises(WatchInterrupted) as raised:
        ready("%jobs log slow2 --follow")
    message = "Following stopped; slow2 continues."
    assert str(raised.value) == f"{message} `%jobs log slow2 --follow` resumes following."
    assert "half a li\n" in capsys.readouterr().out
    assert ready("%jobs show slow2")["JobStatus"][0] in ("In Queue", "Running")
    ready("%jobs stop slow2")


def test_log_is_cleaned() -> None:
    assert clean_log(HOSTILE) == "<script>x()</script>redtxt \ndone\n"
    assert clean_log("a\n\n\tb\n") == "a\n\n\tb\n"
    assert clean_log("50%\r") == "50%"
    log = JobLog(HOSTILE, name="x", reason="r")
    assert (log.raw, str(log)) == (HOSTILE, clean_log(HOSTILE))
    assert pickle.loads(pickle.dumps(log)).reason == "r"


@pytest.fixture
def displays(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The HTML and text of each display and of each update of one."""
    received: list[tuple[str, str]] = []
    monkeypatch.setattr(job_log, "display_html", lambda html, text: received.append((html, text)))

    class Placeholder:
        def __init__(self, html: str, text: str) -> None:
            self.update(html, text)

        def update(self, html: str, text: str) -> None:
            received.append((html, text))

        def close(self) -> None:
            received.append(("closed", ""))

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
    JobLog(("x" * 10_000 + "\n") * 1000, tail=1000)._ipython_display_()
    html, _ = displays[0]
    assert len(html) < 70_000
    assert "Showing the last 29 of 1,000 lines." in html


def test_followed_log_updates_one_output_ten_times_a_second_at_most(
    front: Callable[[FrontEnd], None],
    displays: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    front(FrontEnd.INTERACTIVE)
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
    assert 10 <= len(displays) <= 13
    assert displays[-1][0] == "closed"
    assert displays[-2][1].endswith("line 99\nend")
    assert "31m" not in displays[-2][1]
    assert log.startswith("first line 0\n")
    count = len(displays)
    log._ipython_display_()
    assert len(displays) == count
    monkeypatch.setattr(job_log, "current_execution", lambda: "next cell")
    log._ipython_display_()
    assert len(displays) == count + 1


def test_executed_notebook_has_one_display_of_a_followed_log(
    front: Callable[[FrontEnd], None], displays: list[tuple[str, str]]
) -> None:
    front(FrontEnd.EXECUTED)
    follow_log(["a\n", "", "b\n"], name="x", end=lambda: ("Stopped", "why"), again="again")
    assert [text for _, text in displays] == ["a\nb\nStopped: why"]
