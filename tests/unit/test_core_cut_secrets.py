"""Text that is shortened for a message is masked first: no part of a secret is shown."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from urllib3 import HTTPResponse

from labext import wording
from labext.errors import InputError, LabextError
from labext.jobs.identity import settings_difference
from labext.redaction import keep_secret, mask_start
from labext.sandbox.jobs.names import shown as shown_by_the_service
from labext.transport import Operation, Repeat
from labext.transport import events as event_module
from labext.transport.events import Event, events
from labext.transport.failure import READ_FOR_WORDS, server_words
from labext.transport.reply import Reply
from labext_magics import line

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
    operation = Operation("list jobs", "GET", "jobs", Repeat.ALWAYS, answer="json")
    error = Reply(operation, 200, {}, text.encode()).broken()
    assert error is not None
    return f"{error} {error.server}"


def _no_event_stream(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        list(events(_response(text.encode())))
    return str(caught.value)


def _event(text: str) -> str:
    with pytest.raises(LabextError) as caught:
        Event("message", text).json()
    return str(caught.value)


def _settings(text: str) -> str:
    return settings_difference({"sequence": "A"}, {"sequence": text}) or ""


def _line(text: str) -> str:
    with pytest.raises(InputError) as caught:
        line.read(f"list {{{text}")
    return str(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        _reply,
        _no_event_stream,
        _event,
        _settings,
        _line,
        wording.shown,
        shown_by_the_service,
        lambda text: server_words(text.encode()),
    ],
)
@pytest.mark.parametrize("blank", [" ", "x", "\u3000"])
def test_a_secret_at_the_cut_is_not_shown_in_part(
    message: Callable[[str], str], blank: str
) -> None:
    keep_secret(SECRET)
    for before in [*range(0, 90, 5), *range(465, 505, 5)]:
        shown = message(f"x{blank * before}{SECRET} and more{' words' * 200}")
        assert not any(SECRET[:end] in shown for end in range(4, len(SECRET))), (before, shown)


@pytest.mark.parametrize("message", [_reply, _no_event_stream])
def test_a_secret_at_the_end_of_what_is_read_is_not_shown_in_part(
    message: Callable[[str], str],
) -> None:
    keep_secret(SECRET)
    wide = "\u3000"  # three bytes that become nothing of a line
    for limit in (4000, 4096, READ_FOR_WORDS):
        text = "x" + wide * ((limit - 10) // 3) + SECRET
        assert SECRET[:4] not in message(text + " more" * 1000)


def test_an_answer_that_never_ends_is_quoted_without_half_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep_secret(SECRET)
    times: Iterator[float] = iter([0.0, 1.0, 2.0, 99.0])
    monkeypatch.setattr(event_module.time, "monotonic", lambda: next(times))
    shown = _no_event_stream(f"key {SECRET}")  # 14 bytes arrive in time
    assert "no readable text" in shown
    assert SECRET[:4] not in shown


@pytest.mark.parametrize("length", [0, 10, 1600, 3999, 4001])
def test_a_text_somewhat_longer_than_the_cut_keeps_its_start(length: int) -> None:
    assert mask_start("word " * 900, length) == ("word " * 900)[:length]


def test_a_long_web_page_in_place_of_an_answer_is_quoted() -> None:
    assert "Sign in" in _reply(f"Sign in {'first ' * 700}")
