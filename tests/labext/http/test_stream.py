"""Event streams, forms and presigned uploads over a real connection."""

from __future__ import annotations

import io
import logging
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    LabextError,
    NotFoundError,
    OutcomeUnknownError,
    ServiceError,
    UnreachableError,
)
from labext.http import HttpClient, Operation, RetryMode
from labext.http.auth import ApiKeyAuth
from labext.http.event_stream import read_events
from labext.http.retry_policy import RequestOptions
from labext.http.upload import MultipartForm, PresignedStore
from labext.redaction import MASK

pytestmark = pytest.mark.faults


ASK = Operation("ask", "POST", "ask", RetryMode.ALWAYS)
CHAT = Operation("chat", "POST", "chat", RetryMode.UNSENT)
ADD = Operation("add a source", "POST", "sources", RetryMode.UNSENT)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text: str) -> bytes:
    data = text.encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def test_event_is_yielded_before_the_stream_ends(faulty: Any, transport_to: Any) -> None:
    read = threading.Event()

    def act(connection: socket.socket, request: Any) -> bool:
        connection.sendall(HEAD + chunk('data: {"type": "strategy"}\n\n: ping\n\n'))
        assert read.wait(5)
        connection.sendall(chunk("data: ü\n"[:7]) + chunk("\n\n") + b"0\r\n\r\n")
        return True

    server = faulty(act)
    with transport_to(server).stream(ASK, json={"question": "why"}) as response:
        stream = read_events(response)
        assert next(stream).json() == {"type": "strategy"}
        read.set()
        assert [event.data for event in stream] == ["ü"]
    assert server.count == 1


def test_truncated_event_stream_is_an_error(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.raw(HEAD + chunk("data: 1\n\n") + b"20\r\ndata: 2"))
    received: list[str] = []
    with (
        pytest.raises(UnreachableError, match="truncated"),
        transport_to(server).stream(ASK) as response,
    ):
        list(_recorded(read_events(response), received))
    assert received == ["1"]


def _recorded(stream: Any, results: list[str]) -> Any:
    for event in stream:
        results.append(event.data)
        yield event


def test_stalled_event_stream_times_out(faulty: Any, transport_to: Any) -> None:
    def act(connection: socket.socket, request: Any) -> bool:
        connection.sendall(HEAD + chunk("data: 1\n\n"))
        return bool(connection.recv(1)) and False

    with (
        pytest.raises(UnreachableError, match="the response timed out"),
        transport_to(faulty(act)).stream(ASK, timeout=(1, 0.2)) as response,
    ):
        list(read_events(response))


def test_stream_request_follows_the_retry_mode(faulty: Any, transport_to: Any) -> None:
    partial_response = faulty.raw(HEAD + chunk("data: 1\n\n") + b"0\r\n\r\n")
    server = faulty(faulty.silence, faulty.answer("busy", 503), partial_response)
    with transport_to(server).stream(ASK) as response:
        assert [event.data for event in read_events(response)] == ["1"]
    assert server.count == 3
    server = faulty(faulty.silence)
    with pytest.raises(OutcomeUnknownError), transport_to(server).stream(CHAT):
        pass
    assert server.count == 1


def test_form_with_a_file_is_sent_complete(faulty: Any, transport_to: Any, tmp_path: Path) -> None:
    path = tmp_path / "paper.txt"
    path.write_bytes(bytes(range(256)) * 4000)
    form = MultipartForm([("type", "upload"), ("embed", "true")], {"file": path})
    server = faulty(faulty.answer({"id": "source:1"}))
    reply = transport_to(server).send(ADD, content=form.open, headers=form.headers)
    assert reply.json() == {"id": "source:1"}
    (request,) = server.received
    assert request.headers["content-length"] == str(len(request.body))
    assert request.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert path.read_bytes() in request.body
    assert b'filename="paper.txt"' in request.body


def test_logs_contain_no_key_and_no_presigned_query(
    faulty: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = faulty(faulty.answer({"a": 1}))
    keyed = HttpClient(server.url, auth=ApiKeyAuth("swordfish"), rate=None)
    with caplog.at_level(logging.DEBUG):
        keyed.send(ASK, params={"key": "swordfish"})
        keyed.download(f"{server.url}a.zip?expires=1&signature=c0ffee", tmp_path / "a.zip")
    keyed.close()
    assert "POST /ask" in caplog.text
    assert f"/api/a.zip?{MASK}" in caplog.text
    assert "c0ffee" not in caplog.text
    assert "swordfish" not in caplog.text


@pytest.fixture
def store(clock: Any) -> PresignedStore:
    return PresignedStore(
        RequestOptions(service="job service", timeout=(1, 0.3), clock=clock, sleep=clock.sleep)
    )


def put(store: PresignedStore, server: Any, content: bytes = b"ATOM") -> None:
    store.put(f"{server.url}a.pdb?signature=c0ffee", "a.pdb", lambda: io.BytesIO(content))


@pytest.mark.parametrize("content", [b"ATOM", b"A", b""])
def test_upload_is_sent_with_its_length(content: bytes, faulty: Any, store: PresignedStore) -> None:
    server = faulty(faulty.answer(b""))
    put(store, server, content)
    (request,) = server.received
    assert (request.method, request.body) == ("PUT", content)
    assert request.headers["content-length"] == str(len(content))
    assert "transfer-encoding" not in request.headers


@pytest.mark.parametrize(
    ("status", "error", "expected_message"),
    [
        (400, AccessError, "invalid or has expired (400: Sorry)"),
        (401, AccessError, "invalid or has expired (401: Sorry)"),
        (403, AccessError, "invalid or has expired (403: Sorry)"),
        (404, NotFoundError, "answered 404 to the upload of a.pdb: Sorry"),
        (410, AccessError, "invalid or has expired (410: Sorry)"),
        (413, ServiceError, "answered 413 to the upload of a.pdb: Sorry"),
    ],
)
def test_refused_upload_is_an_error_and_not_repeated(
    status: int, error: type[LabextError], expected_message: str, faulty: Any, store: PresignedStore
) -> None:
    server = faulty(faulty.answer("Sorry", status, kind="text/plain"))
    with pytest.raises(error) as caught:
        put(store, server)
    assert expected_message in caught.value.message
    assert (caught.value.status, caught.value.method) == (status, "PUT")
    assert caught.value.server == "Sorry"
    assert ("for a larger limit" in str(caught.value.next_step)) == (status == 413)
    assert server.count == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_failed_upload_is_repeated_after_the_requested_delay(
    status: int, faulty: Any, store: PresignedStore, clock: Any
) -> None:
    server = faulty(faulty.answer(b"", status, Retry_After="7"), faulty.answer(b""))
    put(store, server)
    assert [request.body for request in server.received] == [b"ATOM", b"ATOM"]
    assert 7 <= sum(clock.slept) < 8


def test_end_of_a_file_that_is_shorter_than_the_range_is_read_whole(
    faulty: Any, store: PresignedStore
) -> None:
    server = faulty(faulty.answer("Sorry", 416), faulty.answer(b"PK\x05\x06"))
    assert store.tail(f"{server.url}f", "f", 1000) == b"PK\x05\x06"
    assert [request.headers.get("range") for request in server.received] == ["bytes=-1000", None]
