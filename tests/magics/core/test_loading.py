"""`%load_ext labext` is fast, and unloading removes everything."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from labext.errors import InputError

HEAVY = ("pandas", "numpy", "requests", "ipywidgets", "anywidget", "yaml", "keyring", "orjson")


@pytest.fixture
def shell(opened: InteractiveShell) -> Iterator[InteractiveShell]:
    yield opened
    if "jobs" in opened.magics_manager.magics["line"]:
        opened.run_line_magic("unload_ext", "labext")


def left(ip: InteractiveShell) -> tuple[Any, ...]:
    tables = {kind: sorted(table) for kind, table in ip.magics_manager.magics.items()}
    matchers = [m.matcher_identifier for m in ip.Completer.custom_matchers]
    ours = [t.name for t in threading.enumerate() if t.name.startswith("labext")]
    hooks = {name: list(ip.events.callbacks[name]) for name in ip.events.callbacks}
    return tables, matchers, ours, hooks, sorted(ip.user_ns)


def test_loading_imports_nothing_heavy(tmp_path: Path) -> None:
    script = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
ip = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
before = set(sys.modules)
ip.run_line_magic("load_ext", "labext")
new = sorted(set(sys.modules) - before)
from labext_magics.core import dispatch
dispatch.help_text("nb")
print(json.dumps([new, sorted(set(sys.modules) - before)]))
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={
            "PYTHONPATH": ":".join(p for p in sys.path if p),
            "IPYTHONDIR": str(tmp_path),
            "PATH": "",
        },
    )
    new, after_help = json.loads(run.stdout)
    assert "labext_magics" in new
    assert "labext_magics.nb.magic" in after_help
    assert not {name.partition(".")[0] for name in after_help} & set(HEAVY)
    assert not [n for n in new if n.startswith(("labext_magics.", "labext.", "labext_widgets"))]


def test_magic_docstring_is_the_help(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "labext")
    assert not shell.run_cell("%jobs").error_in_exec
    output = capsys.readouterr().out
    assert "submit" in output
    info = shell.object_inspect("%jobs")
    assert info["docstring"].strip() == output.strip()
    shell.run_cell("%jobs?")
    assert "Submit one job." in capsys.readouterr().out
    for line in ("%jobs submit --help", "%jobs submit?", "  %jobs submit ??", "%%jobs submit?"):
        shell.run_cell(line)
        assert "--set SETTING=VALUE" in capsys.readouterr().out
    shell.run_cell("%nb notebooks show?")
    assert "%nb notebooks show" in capsys.readouterr().out
    shell.run_cell("%lab")
    assert "sandbox start" in capsys.readouterr().out


QUESTION_MARKS = {
    "%nb ask?": True,
    "%nb ask --limit 3 ?": True,
    '%nb ask "What is pBAD30" ?': True,
    "%nb transform Summary?": True,
    "# help\n%jobs submit?": True,
    "shown = %jobs submit?": True,
    "if True:\n    %jobs submit?": True,
    "%nb ask Why?": False,
    "%nb ask What is pBAD30 ?": False,
    "%nb sources chat Paper Why?": False,
    "if True:\n    answer = %nb ask Why?": False,
}


def test_question_mark_shows_help_unless_it_ends_a_typed_question(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "labext")
    for line, is_help in QUESTION_MARKS.items():
        error = shell.run_cell(line).error_in_exec
        assert (error is None) == is_help, line
        assert ("[options]" in capsys.readouterr().out) == is_help, line
    error = shell.run_cell('%nb ask "What is pBAD30?').error_in_exec
    assert str(error) == 'The quote " before `What is pBAD30?` is not closed. Close it with ".'
    error = shell.run_cell("%nb ask What is pBAD30?").error_in_exec
    assert str(error) == (
        '`%nb ask` does not take `is`. Put the whole text in quotes: `%nb ask "…"`.'
    )


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("jobs = %jobs list;", "list"),
        ('made["a"] = %jobs list --since "1;d" ; # now', 'list --since "1;d"'),
        ("if True:\n    jobs = %jobs list \\\n--limit 1;", "list  --limit 1"),
        ("jobs = %jobs list --state 'a;'", "list --state 'a;'"),
        ("jobs = %jobs list 'a;", "list 'a;"),
        ("%jobs list;", "list;"),
    ],
)
def test_assigned_result_is_kept_with_a_final_semicolon(
    shell: InteractiveShell, cell: str, line: str
) -> None:
    shell.run_line_magic("load_ext", "labext")
    assert shell.transform_cell(cell).endswith(f"get_ipython().run_line_magic('jobs', {line!r})\n")


def test_question_mark_in_a_string_or_a_cell_body_stays(shell: InteractiveShell) -> None:
    shell.run_line_magic("load_ext", "labext")
    shell.register_magic_function(lambda _, cell: cell, "cell", "body")
    text = "\n%jobs submit?\n"
    assert shell.run_cell(f"%%body{text}").result == text.removeprefix("\n")
    assert shell.run_cell(f"'''{text}'''").result == text
    assert shell.run_cell("jobs = 1\n%jobs?").success


@pytest.mark.parametrize(("colors", "colored"), [("nocolor", False), ("linux", True)])
def test_error_has_the_colors_of_ipython(
    monkeypatch: pytest.MonkeyPatch, colors: str, colored: bool
) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(colors=colors))
    (line,) = InputError("No limit.", "Add one.")._render_traceback_()
    assert ("\x1b" in line) == colored
    assert re.sub(r"\x1b\[\d+m", "", line) == "InputError: No limit. Add one."


def test_loading_keeps_the_views_that_are_open(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    import labext_widgets

    unloaded: list[None] = []
    monkeypatch.setattr(labext_widgets, "unload", lambda: unloaded.append(None))
    shell.run_line_magic("load_ext", "labext")
    assert unloaded == []


def test_reload_and_unload_leave_nothing(shell: InteractiveShell) -> None:
    before = left(shell)
    shell.run_line_magic("load_ext", "labext")
    loaded_once = left(shell)
    assert loaded_once != before
    shell.run_cell("%jobs")
    with provisionalcompleter():
        assert [c.text for c in shell.Completer.completions("%jobs su", 8)] == ["submit"]
    for _ in range(3):
        shell.run_line_magic("reload_ext", "labext")
    assert left(shell) == loaded_once
    shell.run_line_magic("unload_ext", "labext")
    assert left(shell) == before
    transformers = [*shell.input_transformers_cleanup, *shell.input_transformers_post]
    assert not [t for t in transformers if t.__module__ == "labext_magics"]
    assert "jobs" not in shell.magics_manager.magics["line"]
    shell.run_line_magic("load_ext", "labext")
    assert left(shell) == loaded_once
    assert not shell.run_cell("%jobs").error_in_exec


def test_magic_of_another_extension_is_kept(shell: InteractiveShell) -> None:
    import labext_magics

    labext_magics.register(shell)
    shell.register_magic_function(lambda line: "theirs", "line", "jobs")
    labext_magics.unregister(shell)
    assert shell.run_line_magic("jobs", "") == "theirs"


def test_handlers_accept_their_declared_parameters() -> None:
    import inspect

    from labext_magics import MAGICS
    from labext_magics.core import dispatch

    for name in MAGICS:
        for command in dispatch.magic_named(name).commands:
            declared = {p.key for p in (*command.arguments, *command.options)} - {"out"}
            parameters = inspect.signature(command.run).parameters
            named = {p for p, of in parameters.items() if of.kind is not of.VAR_KEYWORD} - {"call"}
            assert named <= declared, command.name
            takes_others = any(of.kind is of.VAR_KEYWORD for of in parameters.values())
            assert takes_others or named == declared, command.name
