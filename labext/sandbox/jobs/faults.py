"""What the service refuses: a status of the contract's table and one sentence.

The answer's body is `{"error": sentence}` (see `app`).
"""

from __future__ import annotations

from starlette.exceptions import HTTPException


def invalid(sentence: str) -> HTTPException:
    """400: the parameters or settings won't do."""
    return HTTPException(400, sentence)


def unknown_key(sentence: str) -> HTTPException:
    """401: the `x-api-key` is missing or wrong."""
    return HTTPException(401, sentence)


def denied(sentence: str) -> HTTPException:
    """403: the account is known and may not."""
    return HTTPException(403, sentence)


def absent(sentence: str) -> HTTPException:
    """404: there is no such thing."""
    return HTTPException(404, sentence)
