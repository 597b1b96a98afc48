"""Uploads, downloads and podcasts over faulty connections: complete files or none."""

from __future__ import annotations

import socket
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    OutcomeUnknownError,
    ServiceError,
    SignInError,
)

pytestmark = pytest.mark.faults


SOURCE = {
    "id": "source:1",
    "title": "t",
    "status": "new",
    "asset": {"file_path": "/data/uploads/paper.pdf", "url": None},
}
CONTENT = bytes(range(256)) * 4000


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper “1”.pdf"
    path.write_bytes(CONTENT)
    return path


class TestUploads:
    def test_upload_sends_the_file_and_fields(self, faulty, client_of, paper):
        server = faulty(faulty.answer(SOURCE))
        progress: list[tuple[int, int | None]] = []
        client_of(server).sources.add_file(
            paper,
            "notebook:1",
            title="A paper",
            process_async=False,
            on_bytes=lambda *counts: progress.append(counts),
        )
        (request,) = server.received
        for name, value in (("notebook_id", "notebook:1"), ("process_async", "false")):
            assert f'name="{name}"\r\n\r\n{value}\r\n'.encode() in request.body
        assert b'name="topic"' not in request.body
        assert CONTENT in request.body
        assert int(request.headers["content-length"]) == len(request.body)
        assert progress == sorted(progress)
        assert progress[-1] == (len(request.body), len(request.body))

    def test_upload_is_streamed(self, faulty, client_of, tmp_path):
        def act(connection: socket.socket, request: Any) -> bool:
            left = int(request.headers["content-length"])
            buffer = bytearray(1 << 20)
            while left:
                left -= connection.recv_into(buffer, min(left, len(buffer)))
            return faulty.answer(SOURCE)(connection, request)

        act.before_body = True  # type: ignore[attr-defined]
        path = tmp_path / "film.mp4"
        with path.open("wb") as file:
            file.truncate(64 << 20)
        client = client_of(faulty(act))
        tracemalloc.start()
        try:
            client.sources.add_file(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 << 20

    def test_rejection_during_an_upload_is_reported(self, faulty, client_of, tmp_path):
        def act(connection: socket.socket, request: Any) -> bool:
            faulty.answer({"detail": "At most 1 MiB."}, 413, Connection="close")(
                connection, request
            )
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):  # as a server that closes the connection cleanly
                pass
            return False

        act.before_body = True  # type: ignore[attr-defined]
        path = tmp_path / "film.mp4"
        with path.open("wb") as file:
            file.truncate(32 << 20)
        server = faulty(act)
        with pytest.raises(InputError, match="At most 1 MiB") as caught:
            client_of(server).sources.add_file(path)
        assert caught.value.status == 413
        assert server.count == 1

    def test_reset_during_an_upload_has_an_unknown_outcome(self, faulty, client_of, paper):
        def act(connection: socket.socket, request: Any) -> bool:
            connection.recv(1000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False

        act.before_body = True  # type: ignore[attr-defined]
        server = faulty(act)
        with pytest.raises(OutcomeUnknownError):
            client_of(server).sources.add_file(paper)
        assert server.count == 1


class TestDownloads:
    @pytest.mark.parametrize(
        ("status", "detail", "kind"),
        [
            (401, "The password is wrong", SignInError),
            (404, "There is no file of source:1.", NotFoundError),
            (500, "It failed.", ServiceError),
        ],
    )
    def test_download_error_has_the_server_message(
        self, faulty, client_of, tmp_path, status, detail, kind
    ):
        server = faulty(faulty.answer(SOURCE), faulty.answer({"detail": detail}, status))
        with pytest.raises(kind, match=detail) as caught:
            client_of(server).sources.download("source:1", tmp_path / "a.pdf")
        assert type(caught.value) is kind
        assert list(tmp_path.iterdir()) == []

    def test_html_is_an_error_unless_the_file_is_html(self, faulty, client_of, tmp_path):
        page = faulty.answer("<html>Sign in</html>", kind="text/html")
        server = faulty(faulty.answer(SOURCE), page)
        with pytest.raises(ServiceError, match="a web page in place of"):
            client_of(server).sources.download("source:1", tmp_path / "a.pdf")
        saved = SOURCE | {"asset": {"file_path": "page.html"}}
        server = faulty(faulty.answer(saved), page)
        written = client_of(server).sources.download("source:1", tmp_path / "saved.txt")
        assert written.read_text() == "<html>Sign in</html>"


@pytest.mark.parametrize("length", [b"Content-Length: 100\r\n", b""])
@pytest.mark.parametrize("kind", [b"text/html", b"application/pdf"])
def test_exists_depends_on_the_status_only(faulty, client_of, length, kind):
    partial_response = faulty.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\n" + length + b"\r\n"
    )
    assert client_of(faulty(partial_response)).sources.exists("source:1") is True
    deleted = faulty(faulty.answer(b"", 404))
    assert client_of(deleted).sources.exists("source:1") is False
    refused = faulty(faulty.answer(b"", 401))
    with pytest.raises(SignInError):
        client_of(refused).sources.exists("source:1")


AUDIO = bytes(range(256)) * 2000
EPISODE = {
    "id": "episode:1",
    "name": "Ep: 1/2",
    "notebook_id": "notebook:1",
    "job_id": "command:1",
    "job_status": "completed",
    "audio_file": "episodes/1.mp3",
    "audio_bytes": len(AUDIO),
}
KEY = "sk-abcdefghijklmnop1234"


class TestAudio:
    @pytest.mark.parametrize(
        ("sound", "kind", "length"),
        [
            (AUDIO[:1000], "audio/mpeg", None),  # the server reports that the file is complete
            (b"", "audio/mpeg", None),
        ],
        ids=["short", "empty"],
    )
    def test_incomplete_audio_leaves_no_file(
        self, faulty, client_of, tmp_path, sound, kind, length
    ):
        server = faulty(faulty.answer(EPISODE), faulty.answer(sound, kind=kind, length=length))
        with pytest.raises(ServiceError) as caught:
            client_of(server).podcasts.audio("episode:1", tmp_path / "a.mp3")
        assert caught.value.next_step
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("fields", "kind", "message", "step"),
        [
            ({"job_status": "running"}, NotReadyError, "still being generated", "podcasts.wait"),
            (
                {"job_status": "failed", "error_message": f"401 of {KEY}."},
                JobFailedError,
                "has failed: 401 of •••.",
                "podcasts.retry",
            ),
            ({}, JobFailedError, "no audio", "podcasts.retry"),
        ],
        ids=["running", "failed", "completed without"],
    )
    def test_missing_audio_is_reported_without_a_download(
        self, faulty, client_of, fields, kind, message, step
    ):
        silent = EPISODE | {"audio_file": None, "audio_bytes": None} | fields
        server = faulty(faulty.answer(silent))
        with pytest.raises(kind) as caught:
            client_of(server).podcasts.sound("episode:1")
        assert message in caught.value.message
        assert f'`nb.{step}("Ep: 1/2")`' in caught.value.next_step
        assert server.count == 1
