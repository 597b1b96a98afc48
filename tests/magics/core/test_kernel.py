"""The magics in kernels and in a terminal: errors, prompts and the first Tab."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pexpect
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import complete, opened
from nbclient import NotebookClient

from labext import config
from labext.cli import examples
from labext.jobs import JobsClient
from labext.sandbox import Sandbox
from labext_magics.core import session

pytestmark = pytest.mark.contract


@pytest.fixture
def execute(box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Execute cells in a kernel that finds the running sandbox; return the notebook."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))

    def run(*cells: str, **options: Any) -> Any:
        sources = ("%load_ext labext\n%lab sandbox start", *cells)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in sources])
        paths = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=120, resources=paths, **options).execute()
        return notebook

    return run


def text(cell: Any) -> str:
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


def test_errors_are_one_line_without_a_key_prompt(execute: Any, box: Sandbox) -> None:
    notebook = execute(
        "%jobs submit digest --nmae x",
        "%jobs show nosuch",
        f"%jobs connect {box.jobs.base_url}",
        "%jobs status",
        allow_errors=True,
    )
    errors = [cell.outputs[0] for cell in notebook.cells[1:4]]
    assert [error.ename for error in errors] == ["InputError", "NotFoundError", "SetupError"]
    assert "Did you mean `--name`?" in errors[0].evalue
    assert all(len(error.traceback) == 1 for error in errors)
    assert all("\n" not in error.traceback[0] for error in errors)
    assert "sandbox" in text(notebook.cells[4])
    assert box.jobs.api_key not in nbformat.writes(notebook)


def test_background_watch_in_a_kernel(execute: Any) -> None:
    notebook = execute(
        "%jobs submit digest --name kernel1 --set sequence=GAATTC --set enzymes=EcoRI",
        "%jobs watch kernel1 --background",
        "help = %jobs submit --help\nassert help is None",
        "%reload_ext labext\n%unload_ext labext\n"
        "import threading\n[t.name for t in threading.enumerate() if 'labext' in t.name]",
    )
    assert "Complete" in text(notebook.cells[2])
    assert "--set SETTING=VALUE" in text(notebook.cells[3])
    assert text(notebook.cells[4]) == "[]"


@pytest.fixture(scope="module")
def client(box: Sandbox) -> Iterator[JobsClient]:
    """The sandbox's job service with one complete job."""
    service = box.connection()["jobs"]
    with JobsClient(service["base_url"], service["api_key"]) as result:
        result.submit("first-tab", "digest", {"sequence": "GAATTC", "enzymes": "EcoRI"})
        result.wait("first-tab")
        yield result


@pytest.fixture(params=["environment", "sandbox"])
def configured(
    request: pytest.FixtureRequest, box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The job service from the environment, or from the running sandbox."""
    if request.param == "environment":
        service = box.connection()["jobs"]
        monkeypatch.setenv("LABEXT_JOBS_BASE_URL", service["base_url"])
        monkeypatch.setenv("LABEXT_JOBS_API_KEY", service["api_key"])
        yield
    else:
        monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
        config.choose_profile("jobs", "sandbox")
        yield
        config.choose_profile("jobs", None)


@pytest.fixture
def shell(
    client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A fresh shell that has only loaded the extension, in an empty folder."""
    assert client
    monkeypatch.chdir(tmp_path)
    with opened() as ip:
        ip.run_line_magic("load_ext", "labext")
        yield ip


@pytest.mark.usefixtures("configured")
def test_first_tab_looks_up_names_and_result_files_without_connecting(
    shell: InteractiveShell,
) -> None:
    assert complete(shell, "%jobs sho") == ["%jobs show"]
    names = session.session_of(shell).names
    for thread in threading.enumerate():
        if thread.name.startswith("labext-names"):
            thread.join()
    assert "first-tab" in names.get("jobs/jobs", list)
    assert "digest" in [field["name"] for field in names.get("jobs/tools", list)]
    assert "%jobs show first-tab" in complete(shell, "%jobs show first")
    line = "%jobs results first-tab --file "
    assert f"{line}fragments.csv" in complete(shell, f"{line}frag")


def test_no_completions_without_a_configured_service(shell: InteractiveShell) -> None:
    assert complete(shell, "%jobs show first") == ["%jobs show first"]


def test_all_result_files_are_listed_if_their_directory_is_longer_than_the_first_read(
    client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.result_files("first-tab")
    assert set(whole) == set(client.download("first-tab", tmp_path / "out").files["file"])
    for size in (1500, 60):
        monkeypatch.setattr("labext.jobs.results.archives._TAIL_SIZE", size)
        assert client.result_files("first-tab") == whole
    monkeypatch.setattr("labext.jobs.results.archives._TAIL_SIZE", 10)
    assert client.result_files("first-tab") == []


PROMPT = r"In \[(\d+)\]: $"
CELL_SECONDS = 120
BATCH_LINE = re.compile("^%l|tools|^import|frame|folds|scores")
"""Matches the lines of the tutorial about tools and a batch; those about jobs display the same."""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn]:
    """IPython in a pseudo-terminal, in a copy of the examples with a table of 8 rows."""
    folder = tmp_path / "notebooks"
    shutil.copytree(
        examples.examples_folder(), folder, ignore=shutil.ignore_patterns("out", "*.py", ".*")
    )
    table = folder / "data" / "hairpins.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:9]))
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "IPython",
            "--simple-prompt",
            "--no-banner",
            "--colors=NoColor",
            "--no-confirm-exit",
        ],
        cwd=folder,
        env=environment,
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=CELL_SECONDS,
    )
    yield child
    child.close(force=True)
    Sandbox().stop()


def enter(terminal: pexpect.spawn, line: str) -> str:
    """Type one line and return its output, as sent to the terminal."""
    terminal.sendline(line)
    terminal.expect(PROMPT)
    return str(terminal.before)


def test_tutorial_of_a_batch_runs_in_a_terminal(terminal: pexpect.spawn) -> None:
    terminal.expect(PROMPT)
    enter(terminal, "%load_ext labext")
    text = enter(terminal, "%jobs submit digest --set sequence=GAATTC")
    assert "Traceback" not in text
    assert "SetupError" in text
    assert "%lab sandbox start" in text
    Sandbox().start()  # which takes longer from another process
    notebook = nbformat.read(examples.examples_folder() / "jobs.ipynb", as_version=4)
    outputs = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for line in filter(BATCH_LINE.search, cell.source.splitlines()):
                outputs[line.split("#")[0].strip()] = enter(terminal, line)
    for line, text in outputs.items():
        assert not re.search(r"^\w+(Error|Interrupted):|Traceback", text, re.MULTILINE), (
            f"{line}: {text}"
        )
    assert "peptide_build" in outputs["tools"]
    watched = outputs["%jobs watch folds"]
    assert re.search(r"\r[^\r\n]", watched), "the line is updated, not printed again"
    assert "Complete" in watched
    assert "<div" not in "".join(outputs.values())
    assert "score.mfe" in outputs['scores.sort_values("score.mfe").head()']
