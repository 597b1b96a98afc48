"""Failures of the service or the disk give one line with a next step and leave nothing partial."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened

import labext.jobs.client.base
from labext.errors import (
    LabextError,
    ServiceError,
    SignInError,
    TransferInterrupted,
    UnreachableError,
)
from labext.http import HttpClient

pytestmark = pytest.mark.faults

KEY = "swordfish-0123456789"
ROW = {"JobName": "done1", "Type": "digest", "JobStatus": "Complete", "Settings": "{}"}

Run = Callable[[str], LabextError]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    patient = functools.partial(HttpClient, attempts=2)
    monkeypatch.setattr(labext.jobs.client.base, "HttpClient", patient)
    with opened() as ip:
        ip.run_cell("%load_ext labext").raise_error()
        yield ip


@pytest.fixture
def fails(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a line that fails; return its error, which must be one line with a next step."""

    def run(line: str) -> LabextError:
        capsys.readouterr()
        error = shell.run_cell(line, store_history=True).error_in_exec
        output = capsys.readouterr().out
        assert isinstance(error, LabextError), error
        assert len(output.strip().splitlines()) == 1, output
        assert error.next_step
        assert KEY not in output
        return error

    return run


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Select a service by its address, with a key."""

    def choose(url: str) -> None:
        monkeypatch.setenv("LABEXT_JOBS_BASE_URL", url)
        monkeypatch.setenv("LABEXT_JOBS_API_KEY", KEY)

    return choose


@pytest.mark.parametrize(
    ("body", "status", "kind", "error", "words"),
    [
        ("<html><body>Welcome</body></html>", 200, "text/html", ServiceError, "Welcome"),
        (f'"wrong key {KEY}"', 401, "application/json", SignInError, "wrong key"),
    ],
)
def test_invalid_and_error_responses(
    faulty: Any, fails: Run, use: Any, body: str, status: int, kind: str, error: type, words: str
) -> None:
    use(faulty(faulty.answer(body, status, kind)).url)
    raised = fails("%jobs list")
    assert isinstance(raised, error)
    assert words in str(raised)


def test_no_service_at_the_address(faulty: Any, fails: Run, use: Any) -> None:
    use(f"http://127.0.0.1:{faulty.closed_port()}/api/")
    for line in ("%jobs list", "%jobs status", "%jobs submit digest --set a=1"):
        assert isinstance(fails(line), UnreachableError)
    use(faulty(faulty.silence).url)
    assert isinstance(fails("%jobs list"), UnreachableError)


@pytest.fixture
def offers(faulty: Any, use: Any) -> Callable[..., Any]:
    """Serve one complete job with a scripted download; connect to that service."""

    def serve(download: Callable[[Any, Any], bool]) -> Any:
        def act(connection: Any, request: Any) -> bool:
            if "/download" in request.path:
                assert "x-api-key" not in request.headers
                return download(connection, request)
            if request.path.endswith("/result"):
                url = server.url.replace("/api/", "/download/done1.zip?signature=s3cr3tsignature")
                return bool(faulty.answer(url, kind="text/plain")(connection, request))
            return bool(faulty.answer(ROW)(connection, request))

        server = faulty(act)
        use(server.url)
        return server

    return serve


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as created:
        for name, content in files.items():
            created.writestr(name, content)
    return buffer.getvalue()


class Terminal(io.StringIO):
    """The output of a terminal, and a shell that runs in it."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__()
        self.shell = shell

    def run(self, line: str) -> BaseException | None:
        """Run a line, and return its error."""
        with contextlib.redirect_stdout(self):
            error: BaseException | None = self.shell.run_cell(line).error_in_exec
        return error

    def isatty(self) -> bool:
        return True

    def until(self, words: str) -> None:
        """Wait for words, from another thread."""
        end = time.monotonic() + 60
        while words not in self.getvalue():
            assert time.monotonic() < end, self.getvalue()
            time.sleep(0.005)


@pytest.fixture
def terminal(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in which a transfer is displayed without a delay."""
    from labext_widgets.progress import transfer

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(transfer, "DISPLAY_AFTER", 0.0)
    return Terminal(shell)


HALF = b'HTTP/1.1 %b\r\nContent-Length: %d\r\nETag: "one"\r\nAccept-Ranges: bytes\r\n%b\r\n'


class Halves:
    """A download in two halves; the test acts between them."""

    def __init__(self, content: bytes, between: Callable[[], None]) -> None:
        self.content, self.between = content, between

    def __call__(self, connection: Any, request: Any) -> bool:
        range_header = request.headers.get("range")
        start = int(range_header.removeprefix("bytes=").rstrip("-")) if range_header else 0
        whole, half = len(self.content), len(self.content) // 2
        span = (
            f"Content-Range: bytes {start}-{whole - 1}/{whole}\r\n".encode()
            if range_header
            else b""
        )
        connection.sendall(HALF % (b"206 X" if range_header else b"200 X", whole - start, span))
        if not range_header:
            connection.sendall(self.content[:half])
            start = half
            self.between()
        connection.sendall(self.content[start:])
        return True


BIG = {"big.bin": bytes(2 * 1024 * 1024), "log.txt": b"done"}


def test_slow_download_shows_progress_then_its_message(offers: Any, terminal: Terminal) -> None:
    offers(Halves(archive(BIG), lambda: terminal.until("of 2.10 MB")))
    assert terminal.run("df = %jobs results done1 --to out") is None
    drawn, message = terminal.getvalue().rsplit("\r\x1b[K", 1)
    assert drawn.startswith("\rdone1: Fetching, 0.52 of 2.10 MB (0:00)\x1b[K")
    assert message == "The results (2 files) were downloaded to out.\n"
    terminal.truncate(0)
    assert terminal.run("df = %jobs results done1 --to out") is None
    assert "\r" not in terminal.getvalue(), "existing results need no progress bar"


@pytest.mark.parametrize("to", ["out", "out --frame", "alone.zip"])
def test_interrupted_download_is_resumed(offers: Any, terminal: Terminal, to: str) -> None:
    def interrupt() -> None:
        terminal.until("of 2.10 MB")
        os.kill(os.getpid(), signal.SIGINT)

    content = archive(BIG)
    server = offers(Halves(content, interrupt))
    error = terminal.run(f"%jobs results done1 --to {to}")
    assert isinstance(error, TransferInterrupted)
    assert error.message.startswith("Fetching was stopped at ")
    assert error.next_step == f"`%jobs results done1 --to {to}` continues from there."
    lines = terminal.getvalue().rsplit("\r\x1b[K", 1)[1].splitlines()
    assert lines[0].startswith("done1: Stopped, ")
    assert len(lines) == 2, lines
    assert terminal.run(f"df = {error.next_step.split('`')[1]}") is None
    ranges = [
        request.headers.get("range") for request in server.received if "download" in request.path
    ]
    assert ranges[0] is None
    assert len(ranges) == 2
    assert int(ranges[1].removeprefix("bytes=").rstrip("-")) >= 512 * 1024
    partial_path = Path("alone.zip" if to.endswith(".zip") else "out/done1.zip")
    assert partial_path.read_bytes() == content


def test_internal_error_keeps_its_traceback(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from labext_magics.core import session

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a bug of labext")

    monkeypatch.setattr(session.Session, "connected", broken)
    error = shell.run_cell("%jobs list").error_in_exec
    assert isinstance(error, ZeroDivisionError)
    assert "Traceback" in capsys.readouterr().out
