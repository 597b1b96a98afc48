"""Presigned addresses and cursors; the guard around an application."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from labext.redaction import mask
from labext.sandbox.core.signing import (
    ExpiredSignatureError,
    InvalidSignatureError,
    Signer,
    new_key,
)
from labext.sandbox.core.web import guard_app, handle_errors

NOW = 1_800_000_000.0
PATH = "/download/abc/helix1.zip"


def _signer(now: float = NOW, key: str = "a key") -> Signer:
    return Signer(key, clock=lambda: now)


def _query(path: str = PATH, seconds: float = 900) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(_signer().presign(path, seconds)).items()}


def test_new_key_is_masked_in_messages():
    key = new_key()
    assert key not in mask(f"Refused: {key}")


def test_presigned_path_is_valid_until_it_expires():
    query = _query()
    _signer(NOW).check_presigned(PATH, **query)
    _signer(NOW + 899).check_presigned(PATH, **query)
    with pytest.raises(ExpiredSignatureError):
        _signer(NOW + 900).check_presigned(PATH, **query)


@pytest.mark.parametrize(
    "change",
    [
        {"expires": str(int(NOW) + 10**6)},
        {"expires": "9" * 5000},
        {"expires": "١٨٠٠٠٠٠٩٠٠"},
        {"expires": "-1"},
        {"expires": ""},
        {"expires": None},
        {"signature": ""},
        {"signature": None},
        {"signature": "AAAA"},
        {"signature": "ä\x00"},
    ],
)
def test_changed_query_is_invalid(change):
    with pytest.raises(InvalidSignatureError):
        _signer().check_presigned(PATH, **(_query() | change))


def test_other_path_and_other_key_are_invalid():
    with pytest.raises(InvalidSignatureError):
        _signer().check_presigned("/download/abc/other.zip", **_query())
    with pytest.raises(InvalidSignatureError):
        _signer(key="another key").check_presigned(PATH, **_query())


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(json)
def test_sealed_value_round_trips(value):
    sealed = _signer().seal(value, "cursor")
    assert sealed.isascii()
    assert _signer().unseal(sealed, "cursor") == value


@given(st.text())
def test_arbitrary_text_is_no_seal(text):
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(text, "cursor")


def test_seal_is_bound_to_its_purpose():
    sealed = _signer().seal([1, 2], "cursor")
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(sealed, "other")
    with pytest.raises(InvalidSignatureError):
        _signer(key="another key").unseal(sealed, "cursor")


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _ask(body: list[bytes], headers: dict[str, str], limit: int = 100) -> tuple[int, bytes]:
    """Return the guarded application's status and body for a body sent in pieces."""
    app = Starlette(routes=[Route("/", _length, methods=["POST"])])
    handle_errors(app, lambda _status, message: {"detail": message})
    sent: list[Message] = []
    pieces = iter(body)

    async def receive() -> Message:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await guard_app(app, max_bytes=limit)(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def _response(
    body: list[bytes], headers: dict[str, str] | None = None, limit: int = 100
) -> tuple[int, bytes]:
    # In a separate thread: a browser test leaves a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        request = _ask(body, {"host": "localhost"} | (headers or {}), limit)
        return pool.submit(asyncio.run, request).result()


def test_body_within_the_limit_is_accepted():
    assert _response([b"x" * 50, b"x" * 50]) == (200, b"100")


def test_oversized_body_is_refused():
    assert _response([b"x" * 50, b"x" * 51])[0] == 413
    assert _response([], {"content-length": "101"})[0] == 413
    assert _response([], {"content-length": "9" * 30})[0] == 413


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("127.0.0.1", 200),
        ("localhost.evil.example", 400),
        ("0.0.0.0", 400),
        ("[::1]", 400),
        ("", 400),
    ],
)
def test_foreign_host_header_is_refused(host, status):
    assert _response([b"x"], {"host": host})[0] == status
