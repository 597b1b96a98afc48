"""Shells in which the magics are run."""

from __future__ import annotations

import builtins
import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import labext_test_shell
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused, Run, User

from labext.errors import LabextError
from labext.sandbox import Sandbox


@pytest.fixture(autouse=True)
def fast_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll the services every 50 ms instead of every second."""
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.05)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.05)


@pytest.fixture(scope="module")
def opened() -> Iterator[InteractiveShell]:
    """A shell shared by the tests of a file, since opening one takes most of a test's time."""
    with labext_test_shell.opened() as ip:
        yield ip


@pytest.fixture
def own_shell(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell for one test, in an empty folder, that finds the running sandbox."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.chdir(tmp_path)
    with labext_test_shell.opened() as ip:
        yield ip


@pytest.fixture
def loaded_shell(
    opened: InteractiveShell, box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """The shell of the file with the magics, in an empty folder, that finds the sandbox."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.chdir(tmp_path)
    with labext_test_shell.loaded(opened):
        yield opened


@pytest.fixture
def shell_without_sandbox(
    opened: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """The shell of the file with the magics, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with labext_test_shell.loaded(opened):
        yield opened


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> User:
    user = User()
    monkeypatch.setattr(getpass, "getpass", user.hide)
    monkeypatch.setattr(builtins, "input", user.show)
    return user


@pytest.fixture
def run(shell: InteractiveShell) -> Run:
    """Run a cell and return its result; raise its error."""

    def run_cell(cell: str) -> object:
        execution = shell.run_cell(cell, store_history=True)
        execution.raise_error()
        return execution.result

    return run_cell


@pytest.fixture
def printed(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run a cell and return its printed output."""

    def run_cell(cell: str) -> str:
        capsys.readouterr()
        run(cell)
        return capsys.readouterr().out

    return run_cell


@pytest.fixture
def refused(shell: InteractiveShell) -> Refused:
    """Run a cell that fails; return the error, of a kind, one line and with a next step."""

    def run_cell(cell: str, kind: type[LabextError] = LabextError) -> LabextError:
        error = shell.run_cell(cell, store_history=True).error_in_exec
        assert isinstance(error, kind), (cell, error)
        assert "\n" not in str(error)
        assert error.next_step.endswith((".", "?")), error.next_step
        assert len(error._render_traceback_()) == 1
        return error

    return run_cell
