"""`%jobs resume` in another notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened

from labext.errors import InputError, LabextError, NotFoundError, SubmissionInterrupted

pytestmark = pytest.mark.faults

KEY = "ledger-key-0123456789"
SEND = "%jobs batch folds --type fold --from rows --name-column name --map sequence=bases"

Shells = Callable[[], InteractiveShell]


@pytest.fixture
def new_shell(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shells]:
    """Make shells that use the ledger's service."""
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", ledger.url)
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", KEY)
    with ExitStack() as shells:

        def make() -> InteractiveShell:
            ip = shells.enter_context(opened())
            ip.run_cell("%load_ext labext").raise_error()
            return ip

        yield make


def fails(ip: InteractiveShell, line: str) -> LabextError:
    error = ip.run_cell(line).error_in_exec
    assert isinstance(error, LabextError), error
    return error


def broken_off(new_shell: Shells, ledger: Any) -> LabextError:
    ip = new_shell()
    ip.push({"rows": pd.DataFrame({"name": [f"h{n}" for n in range(150)], "bases": "A"})})
    ledger.fail("submit-batch", None, ledger.answer(403, "Budget exceeded for team X"))
    return fails(ip, SEND)


def test_resume_lists_and_completes_unfinished_batches(
    new_shell: Shells,
    ledger: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "`%jobs resume folds`" in broken_off(new_shell, ledger).next_step
    ip = new_shell()
    monkeypatch.setattr("IPython.get_ipython", lambda: ip)
    ip.run_cell("left = %jobs resume").raise_error()
    assert ip.user_ns["left"]["Name"].tolist() == ["folds"]
    assert "`%jobs resume NAME`" in capsys.readouterr().out
    ip.run_cell("jobs = %jobs resume folds").raise_error()
    assert "50 jobs were submitted" in capsys.readouterr().out
    assert ip.user_ns["jobs"]["JobName"].iloc[-1] == "folds-part2of2-h149"
    ip.run_cell("%jobs resume folds").raise_error()
    assert "folds is complete" in capsys.readouterr().out
    ip.run_cell("left = %jobs resume").raise_error()
    assert ip.user_ns["left"].empty
    assert capsys.readouterr().out == ""
    ip.run_cell("%jobs resume").raise_error()
    output = capsys.readouterr().out
    assert output.count("No unfinished batches were sent from this machine.") == 1
    assert "Empty" not in output
    assert ledger.count("submit-batch") == 3


def test_resume_waits_and_downloads(new_shell: Shells, ledger: Any, tmp_path: Any) -> None:
    broken_off(new_shell, ledger)
    submit = ledger.do_submit_batch

    def complete(query: Any, body: Any) -> Any:
        done = submit(query, body)
        ledger.complete(*ledger.members)
        return done

    ledger.do_submit_batch = complete
    ip = new_shell()
    ip.run_cell(f"jobs = %jobs resume folds --wait --to {tmp_path / 'out'}").raise_error()
    assert set(ip.user_ns["jobs"]["JobStatus"]) == {"Complete"}
    assert (tmp_path / "out" / "folds.zip").exists()


def test_invalid_resume_lines_are_refused(new_shell: Shells, ledger: Any) -> None:
    broken_off(new_shell, ledger)
    ip = new_shell()
    assert isinstance(fails(ip, "%jobs resume fols"), NotFoundError)
    assert "needs a NAME" in fails(ip, "%jobs resume --wait").message
    assert isinstance(fails(ip, "%jobs resume folds --to out"), InputError)


def test_interrupted_batch_line_suggests_resume(
    new_shell: Shells, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from labext.jobs.api import JobsApi

    submit, count = JobsApi.submit_batch, 0

    def interrupted(service: JobsApi, body: Any) -> str:
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt
        return submit(service, body)

    monkeypatch.setattr(JobsApi, "submit_batch", interrupted)
    ip = new_shell()
    ip.push({"rows": pd.DataFrame({"name": [f"h{n}" for n in range(150)], "bases": "A"})})
    error = fails(ip, SEND)
    assert isinstance(error, SubmissionInterrupted)
    assert "`%jobs resume folds` sends the rest" in error.next_step
    ip.run_cell("%jobs resume folds").raise_error()
    assert sorted(ledger.members) == ["folds-part1of2", "folds-part2of2"]


def test_resume_completes_unfinished_names(new_shell: Shells, ledger: Any) -> None:
    broken_off(new_shell, ledger)
    ip = new_shell()
    line = "%jobs resume fo"
    with provisionalcompleter():
        offered = [completion.text for completion in ip.Completer.completions(line, len(line))]
    assert "folds" in offered
