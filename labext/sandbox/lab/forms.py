"""What token endpoints are asked with: the fields of a form, each once (RFC 6749, 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

FORM = "application/x-www-form-urlencoded"
LARGEST = 16 << 10
"""Bytes of a form."""

NEVER_STORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers of every answer that has a token (RFC 6749, 5.1)."""


async def content(request: Request) -> bytes:
    """The body of a request; of what is longer than any form no more than shows that it is."""
    found = b""
    try:
        async for part in request.stream():
            found += part[: LARGEST + 1 - len(found)]
    except ClientDisconnect:
        return b""  # nobody hears the answer
    return found


def of_form(content_type: str, content: bytes) -> Mapping[str, str]:
    """The fields of a form; those without a value are as good as missing.

    Raises:
        ValueError: it is no form, or too large; says why in a sentence.
    """
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise ValueError(f"The content type must be {FORM}.")
    if len(content) > LARGEST:
        raise ValueError(f"The form has more than {LARGEST:,} bytes.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ValueError("The form can't be read.") from None
    return of_query(text)


def of_query(text: str) -> Mapping[str, str]:
    """The same of a query string.

    Raises:
        ValueError: it can't be read; says why in a sentence.
    """
    try:
        fields = parse_qsl(text, errors="strict", max_num_fields=50)
    except ValueError:
        raise ValueError("The fields can't be read.") from None
    if len(dict(fields)) < len(fields):
        raise ValueError("A field is there more than once.")
    return dict(fields)
