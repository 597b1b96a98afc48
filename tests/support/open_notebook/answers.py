"""Recorded responses and rejections."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from starlette.responses import JSONResponse, Response

from open_notebook.facts import recordings


class Refused(Exception):
    """A request is rejected with a response."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def recorded_response(name: str) -> Response:
    """Return the response of a recording."""
    recording = recordings()[name]
    headers = {
        k: v for k, v in recording.response_headers.items() if k in ("www-authenticate", "allow")
    }
    return JSONResponse(recording.answer, recording.status, headers=headers)


def refuse(name: str) -> NoReturn:
    """Reject the request with the response of a recording."""
    raise Refused(recorded_response(name))


def missing(names: Sequence[str], query: Collection[str], body: Any) -> Response:
    """Return the rejection of a request without a required field in its query or body."""
    detail = [
        {
            "type": "missing",
            "loc": ["query" if name in query else "body", name],
            "msg": "Field required",
            "input": body,
        }
        for name in names
    ]
    return JSONResponse({"detail": detail}, 422)


def known(table: Mapping[str, Any], identifier: str, absent: str) -> Any:
    """Return an object by its identifier, or the recorded response for a missing one."""
    if identifier not in table:
        refuse(absent)
    return table[identifier]


def now() -> str:
    """Return the current time in the server's format."""
    return datetime.now(UTC).isoformat(sep=" ", timespec="microseconds")
