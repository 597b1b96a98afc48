"""Fixtures of the benchmarks: a summary of their figures and a local server.

    python -m pytest -m benchmark -n 0 --benchmark-only

Without `--benchmark-only`, and always under xdist, each benchmark runs once with little data,
untimed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Record a figure: its name and its measured value."""
    lines = request.config.stash.setdefault(_FIGURES, [])

    def note(title: str, result: str) -> None:
        lines.append(f"{title}: {result}")

    return note


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures."""
    lines = config.stash.get(_FIGURES, [])
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def cold_if_measured(request: pytest.FixtureRequest) -> None:
    """Start the hosts of measured sandboxes in the usual way."""
    if request.config.getoption("--benchmark-only"):
        request.getfixturevalue("cold")


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """Start a script that serves on loopback and prints its port; return its address."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str | Path) -> str:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return f"http://127.0.0.1:{int(process.stdout.readline())}/"

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def notebook_page(benchmark: Any, tmp_path: Path) -> Iterator[Any]:
    """Create an empty notebook with a separate JupyterLab and Chromium."""
    if not benchmark.enabled:
        pytest.skip("measured with --benchmark-only; browser tests cover its behaviour")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not on the PATH: apt-get install chromium")
    from notebook_page import Lab, NotebookPage
    from own_server import jupyter_server
    from playwright.sync_api import sync_playwright

    with (
        jupyter_server(tmp_path) as server,
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        ) as browser,
    ):

        def lab(name: str) -> Lab:
            return Lab(server, browser, name)

        page = NotebookPage(server, browser, lab, server.folder / "measured.ipynb")
        yield page
        page.close()
        server.stop_kernels()
