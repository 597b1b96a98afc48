"""Streamed answers over connections that are split, slow or lost."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from labext.errors import OutcomeUnknownError, ServiceError, UnreachableError
from labext.nb import Answer, Final, Partial, Search, Strategy

pytestmark = pytest.mark.faults

KEY = "sk-abcdefghijklmnop1234"
STRATEGY = {"type": "strategy", "reasoning": "Schau.", "searches": [{"term": "Zucker – lac"}]}
PART = {"type": "answer", "content": "Glucose “represses”.", "citations": []}
END = {"type": "final_answer", "content": "So: größer 🧬.", "citations": []}
EVENTS = [
    Strategy("Schau.", (Search("Zucker – lac"),)),
    Partial("Glucose “represses”."),
    Final(Answer("So: größer 🧬.", (), "Why?")),
]


def test_final_answer_ends_an_open_stream(faulty, client_of, stream):
    server = faulty(stream.of([stream.event(**END)], stays=True))
    assert list(client_of(server).ask_stream("Why?")) == EVENTS[2:]


def collect(events: Any, received: list[Any]) -> Any:
    for event in events:
        received.append(event)
    return ()


@pytest.mark.parametrize("sent", [[], [STRATEGY], [STRATEGY, PART]])
def test_stream_without_a_final_answer_is_incomplete(faulty, client_of, stream, sent):
    truncated = stream.event(**END)[:-20]  # the last event is cut too
    server = faulty(stream.of([*(stream.event(**request) for request in sent), truncated]))
    received: list[Any] = []
    with pytest.raises(ServiceError, match="answer is incomplete") as caught:
        collect(client_of(server).ask_stream("Why?"), received)
    assert received == EVENTS[: len(sent)]
    assert caught.value.next_step.startswith("Ask again")


def test_lost_connection_is_reported(faulty, client_of, stream):
    server = faulty(stream.of([stream.event(**STRATEGY)], ends=False))
    received: list[Any] = []
    with pytest.raises(UnreachableError, match="The answer was cut off"):
        collect(client_of(server).ask_stream("Why?"), received)
    assert received == EVENTS[:1]
    assert server.count == 1


def test_comments_reset_the_idle_timeout(faulty, client_of, stream):
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
    with pytest.raises(UnreachableError, match="the response timed out"):
        next(events)


def test_closing_the_iterator_closes_the_connection(faulty, client_of, stream):
    left = threading.Event()

    def act(connection: Any, request: Any) -> bool:
        stream.of([stream.event(**STRATEGY)], stays=True)(connection, request)
        left.set()
        return False

    events = client_of(faulty(act)).ask_stream("Why?")
    next(events)
    events.close()
    assert left.wait(5)


def stream_is_reset(faulty, stream):
    def act(connection: Any, request: Any) -> bool:
        stream.of([], ends=False)(connection, request)
        return bool(faulty.reset(connection, request))

    return act


def stream_is_empty(faulty, stream):
    return stream.of([])


def web_page_replaces_the_reply(faulty, stream):
    return faulty.answer("<html><title>Gateway</title></html>", kind="text/html")


def json_is_cut(faulty, stream):
    return faulty.answer('{"output": "Glucose', length=1000)


@pytest.mark.parametrize(
    "fault", [stream_is_reset, stream_is_empty, web_page_replaces_the_reply, json_is_cut]
)
def test_lost_reply_to_a_chat_message_has_an_unknown_outcome(faulty, client_of, stream, fault):
    """The service may have stored the message, so that it must not be sent again blindly."""
    server = faulty(fault(faulty, stream))
    with pytest.raises(OutcomeUnknownError) as caught:
        client_of(server).chat.execute("chat_session:1", "Why?", on_words=print)
    assert "“”" not in caught.value.message
    assert "before you send it again" in caught.value.next_step
    assert server.count == 1


@pytest.mark.parametrize("path", ["ask", "ask_stream"])
def test_failed_or_lost_question_is_not_asked_again(faulty, client_of, path):
    """A provider may charge for each answer."""
    failing = faulty(faulty.answer({"detail": "No answer generated"}, 500))
    with pytest.raises(ServiceError, match="No answer generated"):
        [*getattr(client_of(failing), path)("Why?")]
    lost = faulty(faulty.silence)
    with pytest.raises(OutcomeUnknownError) as caught:
        [*getattr(client_of(lost), path)("Why?")]
    assert caught.value.next_step == "The answer is not stored: ask again."
    assert failing.count == lost.count == 1


def test_note_about_a_search_is_an_attribute_of_its_frame(client_of, faulty):
    note = "Searched by words alone."
    server = faulty(faulty.answer({"results": [], "note": note}))
    assert client_of(server).search("glucose").attrs["note"] == note
