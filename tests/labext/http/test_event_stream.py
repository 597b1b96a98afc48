"""Parse server-sent events from chunks of any size."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from urllib3 import HTTPResponse

from labext.errors import ServiceError
from labext.http.event_stream import EventReader, ServerSentEvent, read_events

LINE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",)), max_size=20)


def read(stream: bytes, cuts: list[int] = []) -> list[ServerSentEvent]:  # noqa: B006 - never changed
    reader = EventReader()
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    return [event for piece in pieces for event in reader.feed(piece)]


@given(
    st.lists(st.tuples(LINE, st.lists(LINE, min_size=1, max_size=3)), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 10_000), max_size=30),
    st.booleans(),
)
def test_events_are_independent_of_chunk_boundaries(
    sent: list[tuple[str, list[str]]], end: str, cuts: list[int], mark: bool
) -> None:
    lines = [": a comment"]
    for name, data in sent:
        lines += [f"event: {name}", *(f"data: {line}" for line in data), ": another", ""]
    stream = ("\ufeff" * mark + end.join([*lines, ""])).encode()
    expected = [ServerSentEvent(name or "message", "\n".join(data)) for name, data in sent]
    assert read(stream, cuts) == expected


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=20))
def test_arbitrary_bytes_never_fail(stream: bytes, cuts: list[int]) -> None:
    assert read(stream, cuts) == read(stream)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [ServerSentEvent("message", "a")]),
        (b"data:a\ndata\ndata:  b\n\n", [ServerSentEvent("message", "a\n\n b")]),
        (b"event: x\n\ndata: a\n\n", [ServerSentEvent("message", "a")]),
        (b"id: 7\nretry: 10\nunknown: 1\n:\n\n", []),
        (b"data: half", []),
        (b"data: half\n", []),
        ("data: ü\n\n".encode(), [ServerSentEvent("message", "ü")]),
        ("\ufeffdata: a\n\n".encode(), [ServerSentEvent("message", "a")]),
        ("\ufeff\ufeffdata: a\n\n".encode(), []),
        (b'data: {"a": 1}\r\n\r\n', [ServerSentEvent("message", '{"a": 1}')]),
        (b"data: a\r\n: a comment\r\ndata: b\r\n\r\n", [ServerSentEvent("message", "a\nb")]),
    ],
)
def test_events_by_example(stream: bytes, expected: list[ServerSentEvent]) -> None:
    assert read(stream) == expected
    assert read(stream, list(range(len(stream)))) == expected


def test_unterminated_event_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labext.http.event_stream.MAX_EVENT_SIZE", 100)
    reader = EventReader()
    with pytest.raises(ServiceError, match="over 100 characters"):
        list(map(list, map(reader.feed, [b"data: aaaaaaaaaa\n"] * 20)))


def test_invalid_json_data_is_a_service_error() -> None:
    assert ServerSentEvent("answer", '{"a": 1}').json() == {"a": 1}
    with pytest.raises(ServiceError, match="not valid JSON"):
        ServerSentEvent("answer", '{"a":').json()


def response(body: bytes, kind: str) -> Any:
    result = requests.Response()
    result.status_code = 200
    result.headers["Content-Type"] = kind
    result.raw = HTTPResponse(io.BytesIO(body), preload_content=False)
    return result


def test_response_yields_its_events() -> None:
    stream = b"data: 1\n\ndata: 2\n\n"
    events = list(read_events(response(stream, "text/event-stream; charset=utf-8")))
    assert [event.json() for event in events] == [1, 2]


def test_other_content_type_is_a_service_error() -> None:
    with pytest.raises(ServiceError, match="Sign in"):
        list(read_events(response(b"<html>Sign in</html>", "text/html")))


def test_text_plain_is_accepted_on_request_only() -> None:
    stream = b"data: 1\n\n"
    assert len(list(read_events(response(stream, "Text/Plain"), plain=True))) == 1
    for kind, plain in [("text/plain", False), ("application/json", True)]:
        with pytest.raises(ServiceError, match="in place of an event stream"):
            list(read_events(response(stream, kind), plain=plain))


def test_stream_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = b"data: 1\n\n" * 10
    monkeypatch.setattr("labext.http.event_stream.ResponseLimits.size", len(stream))
    assert len(list(read_events(response(stream, "text/event-stream")))) == 10
    with pytest.raises(ServiceError, match="stream of over"):
        list(read_events(response(stream + b"\n", "text/event-stream")))


def test_compressed_stream_is_decoded() -> None:
    compressed = response(gzip.compress(b"data: 1\n\n"), "text/event-stream")
    compressed.raw.headers["Content-Encoding"] = "gzip"
    assert [event.json() for event in read_events(compressed)] == [1]
