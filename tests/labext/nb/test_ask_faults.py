"""Answers that are read as they come, over a connection that does what connections do."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labext.errors import InputError, ServiceError, SetupError, SignInError, UnreachableError
from labext.nb import Answer, Final, Partial, Search, Strategy
from labext.redaction import MASK

pytestmark = pytest.mark.faults

KEY = "sk-abcdefghijklmnop1234"
STRATEGY = {"type": "strategy", "reasoning": "Schau.", "searches": [{"term": "Zucker – lac"}]}
PART = {"type": "answer", "content": "Glucose “represses”.", "citations": []}
END = {"type": "final_answer", "content": "So: größer 🧬.", "citations": []}
COMPLETE = {"type": "complete", "final_answer": "So: größer 🧬.", "citations": []}

EVENTS = [
    Strategy("Schau.", (Search("Zucker – lac"),)),
    Partial("Glucose “represses”."),
    Final(Answer("So: größer 🧬.", (), "Why?")),
]


def whole(stream: Any) -> str:
    return ": hello\n\n" + "".join(stream.event(**each) for each in (STRATEGY, PART, END, COMPLETE))


@given(st.lists(st.integers(1, 500), max_size=40))
@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_an_answer_cut_anywhere_is_the_same(faulty, client_of, stream, cuts):
    data = whole(stream).encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(edges)]
    server = faulty(stream.of(pieces))
    client = client_of(server)
    assert list(client.ask_stream("Why?")) == EVENTS
    client.close()
    server.close()


def test_every_byte_by_itself(faulty, client_of, stream):
    data = whole(stream).encode()
    server = faulty(stream.of([data[n : n + 1] for n in range(len(data))]))
    assert list(client_of(server).ask_stream("Why?")) == EVENTS


def test_comments_and_several_data_lines(faulty, client_of, stream):
    text = (
        ": a comment\r\n: another\r\n\r\n"
        'data: {"type": "answer",\r\ndata:  "content":\r\n: within\r\ndata: "Part."}\r\n\r\n'
        "event: x\r\nid: 7\r\nretry: 10\r\n"
        'data: {"type": "complete", "final_answer": "All."}\r\n\r\n'
    )
    server = faulty(stream.of([text]))
    assert list(client_of(server).ask_stream("Why?")) == [
        Partial("Part."),
        Final(Answer("All.", (), "Why?")),
    ]


def test_an_event_is_there_before_the_next_is_sent(faulty, client_of, stream):
    go_on = threading.Event()

    def act(connection: Any, request: Any) -> bool:
        stream.of([stream.event(**STRATEGY)], ends=False)(connection, request)
        assert go_on.wait(10)
        data = stream.event(**END).encode()
        connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n")
        return False

    events = client_of(faulty(act)).ask_stream("Why?")
    assert next(events) == EVENTS[0]
    go_on.set()
    assert list(events) == EVENTS[2:]


def test_the_final_answer_is_the_end_although_the_stream_stays_open(faulty, client_of, stream):
    server = faulty(stream.of([stream.event(**END)], stays=True))
    assert list(client_of(server).ask_stream("Why?")) == EVENTS[2:]


def test_an_error_after_a_good_start(faulty, client_of, stream):
    failure = {"type": "error", "message": f"The provider answered 401: api_key='{KEY}'"}
    server = faulty(stream.of([stream.event(**each) for each in (STRATEGY, PART, failure)]))
    seen: list[Any] = []
    with pytest.raises(ServiceError, match="The provider answered 401") as caught:
        seen.extend(_noted(client_of(server).ask_stream("Why?"), seen))
    assert seen[:2] == EVENTS[:2]
    error = caught.value
    assert KEY not in f"{error} {error!r} {error.server} {error._render_traceback_()}"
    assert MASK in error.message
    assert server.count == 1


def _noted(events: Any, seen: list[Any]) -> Any:
    for event in events:
        seen.append(event)
    return ()


@pytest.mark.parametrize("kept", [[], [STRATEGY], [STRATEGY, PART]])
def test_a_stream_that_ends_without_its_end_says_so(faulty, client_of, stream, kept):
    half = stream.event(**END)[:-20]  # its last event is not whole either
    server = faulty(stream.of([*(stream.event(**each) for each in kept), half]))
    seen: list[Any] = []
    with pytest.raises(ServiceError, match="answer is incomplete") as caught:
        _noted(client_of(server).ask_stream("Why?"), seen)
    assert seen == EVENTS[: len(kept)]
    assert caught.value.next_step.startswith("Ask again")


def test_a_connection_that_breaks_midway_is_told(faulty, client_of, stream):
    server = faulty(stream.of([stream.event(**STRATEGY)], ends=False))
    seen: list[Any] = []
    with pytest.raises(UnreachableError, match="The answer was cut off"):
        _noted(client_of(server).ask_stream("Why?"), seen)
    assert seen == EVENTS[:1]
    assert server.count == 1


def test_silence_is_given_up_and_comments_are_no_silence(faulty, client_of, stream):
    def act(connection: Any, request: Any) -> bool:
        stream.of([], ends=False)(connection, request)
        for _ in range(5):  # longer in all than the silence that is allowed
            connection.sendall(b"6\r\n: hi\n\n\r\n")
            threading.Event().wait(0.2)
        data = stream.event(**STRATEGY).encode()
        connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        return bool(connection.recv(1)) and False

    events = client_of(faulty(act)).ask_stream("Why?", idle=0.6)
    assert next(events) == EVENTS[0]
    with pytest.raises(UnreachableError, match="no answer in time"):
        next(events)


def test_who_stops_listening_hangs_up(faulty, client_of, stream):
    left = threading.Event()

    def act(connection: Any, request: Any) -> bool:
        stream.of([stream.event(**STRATEGY)], stays=True)(connection, request)
        left.set()
        return False

    events = client_of(faulty(act)).ask_stream("Why?")
    next(events)
    events.close()
    assert left.wait(5)


@pytest.mark.parametrize(
    ("status", "detail", "kind"),
    [
        (401, "The password is wrong.", SignInError),
        (422, "There is no model for chat.", SetupError),
        (502, f"The provider says: Bearer {KEY}", ServiceError),
        (400, "question can't be empty", InputError),
    ],
)
def test_a_refusal_at_once_is_asked_once(faulty, client_of, status, detail, kind):
    server = faulty(faulty.answer({"detail": detail}, status))
    with pytest.raises(kind) as caught:
        next(client_of(server).ask_stream("Why?"))
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert KEY not in str(caught.value)
    assert server.count == 1


def test_an_answer_that_is_no_stream_is_told(faulty, client_of):
    server = faulty(faulty.answer("<html><title>Sign in</title></html>", kind="text/html"))
    with pytest.raises(ServiceError, match="in place of an event stream"):
        next(client_of(server).ask_stream("Why?"))


def test_data_that_is_no_json_is_told(faulty, client_of, stream):
    server = faulty(stream.of(["data: {half\n\n"]))
    with pytest.raises(ServiceError, match="no JSON"):
        next(client_of(server).ask_stream("Why?"))


def test_nothing_is_asked_without_a_question(faulty, client_of):
    server = faulty(faulty.silence)
    for ask in (client_of(server).ask, client_of(server).ask_stream):
        with pytest.raises(InputError, match="question is empty"):
            ask(" ")
        with pytest.raises(InputError, match="scope is empty"):
            ask("Why?", include_sources=False, include_notes=False)
    assert server.count == 0
