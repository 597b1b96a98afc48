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
import trustme

_FIGURES = pytest.StashKey[list[str]]()

SERVER = """
import http.server, json, math, os, ssl, sys, threading, time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

def serve(handler, certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
    server.serve_forever()
"""


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
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Write a certificate of loopback; return its path and that of its authority."""
    issuer, ca, certificate = trustme.CA(), tmp_path / "ca.pem", tmp_path / "certificate.pem"
    issuer.cert_pem.write_to_path(str(ca))
    issuer.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    return certificate, ca


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """Start a script that uses `Handler` and `serve` of `SERVER`; return its address."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str | Path) -> str:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER + script, *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
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
