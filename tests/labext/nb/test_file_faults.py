"""Uploads and downloads over faulty connections: complete files or none."""

from __future__ import annotations

import re
import socket
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, OutcomeUnknownError, ServiceError, SignInError

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
        boundary = re.search("boundary=(.*)", request.headers["content-type"])
        assert boundary is not None
        parts = request.body.split(f"--{boundary[1]}".encode())[1:-1]
        fields = dict(self._field(part) for part in parts)
        assert fields == {
            "notebook_id": b"notebook:1",
            "title": b"A paper",
            "process_async": b"false",
            "file": CONTENT,
        }
        assert int(request.headers["content-length"]) == len(request.body)
        assert progress == sorted(progress)
        assert progress[-1] == (len(request.body), len(request.body))

    @staticmethod
    def _field(part: bytes) -> tuple[str, bytes]:
        head, _, body = part.removesuffix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb' name="([^"]*)"', head)
        assert name is not None
        return name[1].decode(), body

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
            while connection.recv(1 << 20):  # as a server that hangs up with good manners
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

    def test_files_and_urls_are_added_in_order(self, faulty, client_of, paper):
        server = faulty(*(faulty.answer(SOURCE | {"id": f"source:{n}"}) for n in range(2)))
        added: list[str] = []
        frame = client_of(server).sources.add(
            [paper, "https://example.org"],
            "notebook:1",
            topic="t",
            on_added=lambda record: added.append(record["id"]),
        )
        assert list(frame["id"]) == added == ["source:0", "source:1"]


class TestDownloads:
    def test_download_keeps_the_file_name(self, faulty, client_of, tmp_path):
        server = faulty(
            faulty.answer(SOURCE), faulty.answer(CONTENT, kind="application/pdf", ETag='"v1"')
        )
        progress: list[tuple[int, int | None]] = []
        written = client_of(server).sources.download(
            "source:1", tmp_path, on_bytes=lambda *counts: progress.append(counts)
        )
        assert written == tmp_path / "paper.pdf"
        assert written.read_bytes() == CONTENT
        assert [path.name for path in tmp_path.iterdir()] == ["paper.pdf"]
        assert progress[-1] == (len(CONTENT), len(CONTENT))
        headers = server.received[1].headers
        assert headers["authorization"] == f"Bearer {client_of.password}"
        assert server.received[1].path == "/api/sources/source%3A1/download"

    def test_interrupted_download_is_resumed(self, faulty, client_of, tmp_path):
        half = len(CONTENT) // 2
        head = (f'HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Length: {len(CONTENT)}\r\n\r\n').encode()
        rest = (
            f'HTTP/1.1 206 Partial Content\r\nETag: "v1"\r\n'
            f"Content-Range: bytes {half}-{len(CONTENT) - 1}/{len(CONTENT)}\r\n"
            f"Content-Length: {len(CONTENT) - half}\r\n\r\n"
        ).encode()
        server = faulty(
            faulty.answer(SOURCE),
            faulty.raw(head + CONTENT[:half]),
            faulty.raw(rest + CONTENT[half:]),
        )
        written = client_of(server).sources.download("source:1", tmp_path / "a.pdf")
        assert written.read_bytes() == CONTENT
        headers = server.received[2].headers
        assert (headers["range"], headers["if-range"]) == (f"bytes={half}-", '"v1"')
        assert headers["authorization"] == f"Bearer {client_of.password}"

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

    def test_redirect_to_another_server_drops_the_password(self, faulty, client_of, tmp_path):
        other = faulty(faulty.answer(CONTENT, kind="application/pdf"))
        moved = faulty.answer(b"", 302, Location=f"{other.url}elsewhere")
        server = faulty(faulty.answer(SOURCE), moved)
        written = client_of(server).sources.download("source:1", tmp_path / "a.pdf")
        assert written.read_bytes() == CONTENT
        assert "authorization" not in other.received[0].headers

    def test_source_without_a_file_has_no_download(self, faulty, client_of, tmp_path):
        server = faulty(faulty.answer(SOURCE | {"asset": None}))
        with pytest.raises(NotFoundError, match="has no file to download"):
            client_of(server).sources.download("source:1", tmp_path)
        assert server.count == 1


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
