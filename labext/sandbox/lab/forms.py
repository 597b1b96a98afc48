"""Fields of OAuth requests, each allowed once (RFC 6749, sections 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

FORM = "application/x-www-form-urlencoded"
MAX_BYTES = 16 << 10

NEVER_STORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers of every response with a token (RFC 6749, section 5.1)."""


async def content(request: Request) -> bytes:
    """Return the body of a request, cut off one byte above the limit."""
    body = b""
    try:
        async for part in request.stream():
            body += part[: MAX_BYTES + 1 - len(body)]
    except ClientDisconnect:
        return b""  # there is nobody to respond to
    return body


def of_form(content_type: str, content: bytes) -> Mapping[str, str]:
    """Return the fields of a form; fields without a value count as missing.

    Raises:
        ValueError: the body is not a form, or too large; the message gives the reason.
    """
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise ValueError(f"The content type must be {FORM}.")
    if len(content) > MAX_BYTES:
        raise ValueError(f"The form has more than {MAX_BYTES:,} bytes.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ValueError("The form is not encoded in UTF-8.") from None
    return of_query(text)


def of_query(text: str) -> Mapping[str, str]:
    """Return the fields of a query string, as `of_form`.

    Raises:
        ValueError: the query is malformed; the message gives the reason.
    """
    try:
        fields = parse_qsl(text, errors="strict", max_num_fields=50)
    except ValueError:
        raise ValueError("The fields are malformed.") from None
    if len(dict(fields)) < len(fields):
        raise ValueError("A field occurs more than once.")
    return dict(fields)
