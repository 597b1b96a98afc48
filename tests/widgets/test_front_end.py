"""The front end that displays the output of a cell, and what importing the package loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from labext_widgets.core import front_end
from labext_widgets.core.front_end import FrontEnd


def shell(content: dict[str, Any] | None, *, last: bool = True, **metadata: Any) -> Any:
    parent = {"content": content or {}, "metadata": metadata}
    return SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=last), get_parent=lambda: parent)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("CI", raising=False)

    def run(shell: Any) -> None:
        monkeypatch.setattr(front_end, "get_shell", lambda: shell)

    return run


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        (None, FrontEnd.TERMINAL),
        (SimpleNamespace(), FrontEnd.TERMINAL),
        (shell({"allow_stdin": True}), FrontEnd.INTERACTIVE),
        (shell({"allow_stdin": False}), FrontEnd.EXECUTED),
        (shell({}, last=True), FrontEnd.INTERACTIVE),
        (shell({}, last=False), FrontEnd.EXECUTED),
    ],
)
def test_front_end(running: Any, shell: Any, expected: FrontEnd) -> None:
    running(shell)
    assert front_end.front_end() is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["jupyter-console", "--simple-prompt"], FrontEnd.TERMINAL),
        (["jupyter-qtconsole"], FrontEnd.TERMINAL),
        (["-m", "jupyter_console"], FrontEnd.TERMINAL),
        (["jupyter-lab", "jupyter-console"], FrontEnd.INTERACTIVE),
    ],
)
def test_kernel_of_a_console_prints_text(
    tmp_path: Path, command: list[str], expected: FrontEnd
) -> None:
    """Consoles ignore updates of displayed outputs."""
    kernel = """if True:
        from types import SimpleNamespace
        from labext_widgets.core import front_end
        front_end.under_ci = lambda: False
        front_end.get_shell = lambda: SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=True))
        print(front_end.front_end().name)
    """
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {kernel!r}])"
    for name in ("jupyter-console", "jupyter-qtconsole", "jupyter_console.py", "jupyter-lab"):
        (tmp_path / name).write_text(program)
    run = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == expected.name


def test_kernel_of_spyder_prints_text(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its console is a Qt console."""
    running(shell({"allow_stdin": True}))
    monkeypatch.setitem(sys.modules, "spyder_kernels", ModuleType("spyder_kernels"))
    monkeypatch.setattr(front_end, "_in_console", front_end._in_console.__wrapped__)
    assert front_end.front_end() is FrontEnd.TERMINAL


@pytest.mark.parametrize(
    ("value", "ci"), [("true", True), ("1", True), ("false", False), ("", False)]
)
def test_ci_counts_as_executed(
    running: Any, monkeypatch: pytest.MonkeyPatch, value: str, ci: bool
) -> None:
    running(shell({"allow_stdin": True}))
    monkeypatch.setenv("CI", value)
    assert (front_end.front_end() is FrontEnd.EXECUTED) is ci


def test_cell_id_and_deleted_cells(running: Any) -> None:
    running(shell({}, cellId="a1", deletedCells=["b2", 3]))
    assert front_end.cell_id() == "a1"
    assert front_end.deleted_cells() == ["b2"]
    running(None)
    assert front_end.cell_id() is None
    assert front_end.deleted_cells() == []


def test_import_loads_no_heavy_packages() -> None:
    code = (
        "import sys, labext_widgets; labext_widgets.display_message('hello');"
        "print(sorted({'ipywidgets', 'anywidget', 'IPython', 'pandas', 'numpy', 'requests'}"
        " & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["hello", "[]"]
