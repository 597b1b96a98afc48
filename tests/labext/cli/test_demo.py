"""`labext demo`, `labext doctor`, `labext --version`, and the display of errors in a shell."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
import requests

from labext import cli
from labext.cli import examples
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

SHORT = """
%load_ext labext
%lab sandbox start
---
%jobs submit digest --name cut --set sequence=GAATTCAAGCTT --set enzymes=EcoRI --wait --to out/cut
---
import sys
print(sys.prefix)
"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a sandbox that a demo has started and the others find running."""
    folder = tmp_path_factory.mktemp("demo") / "my box"
    _placed, sandbox = examples.start_demo(folder.with_name("first"), folder)
    assert sandbox.status().running
    yield folder
    Sandbox(folder).stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A demo folder with a notebook of three short cells."""
    folder = tmp_path / "demo"
    folder.mkdir()
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in SHORT.split("---")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / examples.NOTEBOOK)
    return folder


def labext(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "labext.cli", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_failing_cell_is_reported_in_one_line(folder, data_dir):
    notebook = nbformat.read(folder / examples.NOTEBOOK, as_version=4)
    notebook.cells[1].source = "%jobs submit digest --set sequnce=GAATTC"
    nbformat.write(notebook, folder / examples.NOTEBOOK)
    done = labext(
        "demo", "--run", "--data-dir", str(data_dir), "--folder", "demo", cwd=folder.parent
    )
    assert done.returncode == 1
    *by_others, last = done.stderr.splitlines()  # an old ipykernel warns about its debugger
    assert last.startswith("labext: ")
    assert "sequnce" in last
    assert not [line for line in by_others if "Traceback" in line or "labext" in line]
    executed = nbformat.read(folder / "jobs.executed.ipynb", as_version=4)
    assert executed.cells[1].outputs[-1].output_type == "error"


def test_executed_notebook_is_synced_to_the_disk(tmp_path, monkeypatch, is_synced):
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / examples.NOTEBOOK)
    monkeypatch.setattr(examples, "_execute", lambda *_: None)
    monkeypatch.setattr(examples, "_count_complete", lambda _: 0)
    examples.run_notebook(tmp_path, None, None)
    executed = tmp_path / "jobs.executed.ipynb"
    assert nbformat.read(executed, as_version=4).cells == []
    assert is_synced(executed)


def test_notebook_opens_in_jupyterlab_without_run(folder, data_dir):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["demo", "--no-browser", "--port", str(port), "--folder", str(folder)]
    log = folder.parent / "lab.txt"
    with log.open("wb") as output:
        lab = subprocess.Popen(
            [sys.executable, "-m", "labext.cli", *command, "--data-dir", str(data_dir)],
            stdout=output,
            stderr=output,
            env={**os.environ, "JUPYTER_TOKEN": "known"},
        )
    try:
        page = wait_for(f"http://localhost:{port}/lab/tree/jobs.ipynb?token=known", lab)
        assert page.status_code == 200, log.read_text()
        response = requests.get(f"http://localhost:{port}/api/contents?token=known", timeout=10)
        assert "jobs.ipynb" in {entry["name"] for entry in response.json()["content"]}
        assert Sandbox(data_dir).status().running
        name = "@jupyterlab/apputils-extension:notification"
        settings = requests.get(
            f"http://localhost:{port}/lab/api/settings/{name}?token=known", timeout=10
        )
        defaults = settings.json()["schema"]["properties"]
        assert defaults["fetchNews"]["default"] == "false"
        assert defaults["checkForUpdates"]["default"] is False
    finally:
        lab.terminate()
        lab.wait(30)


def wait_for(address: str, process: subprocess.Popen[bytes]) -> requests.Response:
    until = time.monotonic() + 90
    while True:
        try:
            return requests.get(address, timeout=10)
        except requests.ConnectionError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)


def test_run_executes_the_notebook_and_reports_it(folder, data_dir):
    done = labext(
        "demo", "--run", "--data-dir", str(data_dir), "--folder", "demo", cwd=folder.parent
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"3 cells in \d+ s; 1 jobs? complete", done.stdout)
    assert "Not replaced, since you have changed it: demo/jobs.ipynb" in done.stdout
    executed = nbformat.read(folder / "jobs.executed.ipynb", as_version=4)
    assert [cell.execution_count for cell in executed.cells] == [1, 2, 3]
    assert executed.cells[2].outputs[0].text.strip() == sys.prefix
    assert any((folder / "out" / "cut").rglob("*"))
    assert (folder / "data" / "hairpins.csv").is_file()
    assert nbformat.read(folder / examples.NOTEBOOK, as_version=4).cells[0].execution_count is None
    check_printed_stop_command(done.stdout, data_dir)


def check_printed_stop_command(printed: str, data_dir: Path) -> None:
    """The demo's sandbox is stopped by the line that the demo prints, typed in any folder."""
    match = re.search(r"`(labext .+)` stops it", printed)
    program, *words = shlex.split(match[1])
    assert program == "labext"
    assert Sandbox(data_dir).status().running
    stopped = labext(*words, cwd=Path("/"))
    assert stopped.returncode == 0, stopped.stderr
    assert Sandbox(data_dir).status().state == "stopped"


def test_error_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--run", "--folder", str(tmp_path / "file" / "demo")]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"labext: .+ `--folder DIR`\.\n", output.err)


def test_doctor_lists_installed_parts(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"labext {version('labext-jupyter')}" in out
    assert "peptide_build" in out
    assert re.search(r"^sandbox in .+: stopped$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("extra", "tools"),
    [
        ("rna", {"rna_fold": "viennarna"}),
        ("gpl-tools", {"primer_design": "primer3-py", "gene_find": "pyrodigal"}),
    ],
)
def test_doctor_prints_the_install_command_of_a_missing_extra(capsys, monkeypatch, extra, tools):
    from labext import extras
    from labext.sandbox.jobs.tools import catalogue
    from labext.sandbox.jobs.tools.tool import Tool

    missing_modules = Tool.missing_modules
    monkeypatch.setattr(
        Tool,
        "missing_modules",
        lambda tool: [tool.name] if tool.name in tools else missing_modules(tool),
    )
    monkeypatch.setattr(
        extras, "installed_version", lambda name: None if name in tools.values() else "1.0"
    )
    cli.main(["doctor"])
    out = capsys.readouterr().out
    command = f'{sys.executable} -m pip install "labext-jupyter[{extra}]"'
    assert f"extra {extra}: missing {', '.join(tools.values())}: {command}" in out
    for name in tools:
        assert f"tool {name}: absent: {command}" in out
        assert name not in catalogue.available_tools()


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"labext {version('labext-jupyter')}\n"
