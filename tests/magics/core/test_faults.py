"""Failures of the service or the disk give one line with a next step and leave nothing partial."""

from __future__ import annotations

import functools
import io
import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened
from waiting import wait_until

import labext.jobs.client.base
from labext.errors import (
    AccessError,
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
        ('{"jobs": [{"JobName"', 200, "application/json", ServiceError, "JobName"),
        ("", 200, "application/json", ServiceError, "an empty response"),
        ("[1, 2]", 200, "application/json", ServiceError, "invalid"),
        ("it broke", 500, "text/plain", ServiceError, "it broke"),
        (f'"wrong key {KEY}"', 401, "application/json", SignInError, "wrong key"),
        ('{"message": "budget exceeded"}', 403, "application/json", AccessError, "budget"),
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


def test_refused_submission_is_sent_once(faulty: Any, fails: Run, use: Any) -> None:
    tools = [{"name": "digest", "settings": [{"name": "sequence", "required": True}]}]
    refuse = faulty.answer({"error": "There is no such job."}, 404)

    def act(connection: Any, request: Any) -> bool:
        if request.path.endswith("/tools"):
            return bool(faulty.answer(tools)(connection, request))
        if request.method == "POST":
            return bool(faulty.answer("sequence: too short", 400)(connection, request))
        return bool(refuse(connection, request))

    server = faulty(act)
    use(server.url)
    assert "too short" in str(fails("%jobs submit digest --name x --set sequence=A"))
    assert "sequence is missing" in str(fails("%jobs submit digest --name x --set squence=A"))
    assert [r.path for r in server.received if r.method == "POST"] == ["/api/submit-job"]


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


def test_interrupted_download_is_resumed(offers: Any, fails: Run, shell: InteractiveShell) -> None:
    content = archive({"big.bin": bytes(2 * 1024 * 1024), "log.txt": b"done"})
    half = len(content) // 2
    head = b'HTTP/1.1 %b\r\nContent-Length: %d\r\nETag: "one"\r\nAccept-Ranges: bytes\r\n%b\r\n'

    def in_halves(connection: Any, request: Any) -> bool:
        if "range" not in request.headers:
            connection.sendall(head % (b"200 X", len(content), b"") + content[:half])
            wait_until(lambda: any(path.stat().st_size for path in Path("out").rglob("*")))
            os.kill(os.getpid(), signal.SIGINT)
            return False
        start = int(request.headers["range"].removeprefix("bytes=").rstrip("-"))
        span = f"Content-Range: bytes {start}-{len(content) - 1}/{len(content)}\r\n".encode()
        connection.sendall(head % (b"206 X", len(content) - start, span) + content[start:])
        return True

    server = offers(in_halves)
    error = fails("%jobs results done1 --to out")
    assert isinstance(error, TransferInterrupted)
    assert error.next_step == "`%jobs results done1 --to out` continues from there."
    shell.run_cell("%jobs results done1 --to out").raise_error()
    downloads = [request for request in server.received if "download" in request.path]
    assert len(downloads) == 2
    assert Path("out/done1.zip").read_bytes() == content


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
