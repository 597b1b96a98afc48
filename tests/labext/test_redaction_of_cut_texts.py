"""Text shortened for a message shows no part of a secret."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from urllib3 import HTTPResponse

from labext import messages
from labext.errors import InputError, LabextError
from labext.http import Operation, RetryMode
from labext.http.event_stream import ServerSentEvent, read_events
from labext.http.responses import EXCERPT_BYTES, Response, server_message
from labext.jobs.identity import settings_difference
from labext.redaction import register_secret
from labext.sandbox.jobs.names import quote_value as shown_by_the_service
from labext_magics.core import line

SECRET = "swordfish-of-the-deep"


class Trickle(HTTPResponse):
    """A body that arrives in pieces of a few bytes."""

    def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        return super().read1(7, decode_content)


def _response(body: bytes) -> Any:
    response = requests.Response()
    response.status_code = 200
    response.headers["Content-Type"] = "text/plain"
    response.raw = Trickle(io.BytesIO(body), preload_content=False)
    return response


def _reply(text: str) -> str:
    operation = Operation("list jobs", "GET", "jobs", RetryMode.ALWAYS, answer="json")
    error = Response(operation, 200, {}, text.encode()).validation_error()
    assert error is not None
    return f"{error} {error.server}"


def _no_event_stream(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        list(read_events(_response(text.encode())))
    return str(caught.value)


def _event(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        ServerSentEvent("message", text).json()
    return str(caught.value)


def _settings(text: str) -> str:
    return settings_difference({"sequence": "A"}, {"sequence": text}) or ""


def _line(text: str) -> str:
    with pytest.raises(InputError) as caught:
        line.tokenize(f"list {{{text}")
    return str(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        _reply,
        _no_event_stream,
        _event,
        _settings,
        _line,
        messages.quote_value,
        shown_by_the_service,
        lambda text: server_message(text.encode()),
    ],
)
@pytest.mark.parametrize("blank", [" ", "x", "\u3000"])
def test_secret_at_the_cut_is_masked(message: Callable[[str], str], blank: str) -> None:
    register_secret(SECRET)
    for before in [*range(0, 90, 5), *range(465, 505, 5)]:
        message_text = message(f"x{blank * before}{SECRET} and more{' words' * 200}")
        assert not any(SECRET[:end] in message_text for end in range(4, len(SECRET))), (
            before,
            message_text,
        )


@pytest.mark.parametrize("message", [_reply, _no_event_stream])
def test_secret_at_the_end_of_the_read_text_is_masked(
    message: Callable[[str], str],
) -> None:
    register_secret(SECRET)
    wide = "\u3000"  # three bytes that become nothing of a line
    for limit in (4000, 4096, EXCERPT_BYTES):
        text = "x" + wide * ((limit - 10) // 3) + SECRET
        assert SECRET[:4] not in message(text + " more" * 1000)


def test_endless_response_is_quoted_without_part_of_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register_secret(SECRET)
    times: Iterator[float] = iter([0.0, 1.0, 2.0, 99.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    message_text = _no_event_stream(f"key {SECRET}")  # 14 bytes arrive in time
    assert "no readable text" in message_text
    assert SECRET[:4] not in message_text


def test_long_response_is_quoted() -> None:
    assert "Sign in" in _reply(f"Sign in {'first ' * 700}")
