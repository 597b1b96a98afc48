"""What the platform refuses: a status of the contract's table and one sentence.

The bodies are those that real-services.md gives; the token endpoint has its own (RFC 6749, 5.2).
"""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException

CHALLENGE = {"WWW-Authenticate": 'Basic realm="lab", Bearer realm="lab"'}


def invalid(sentence: str) -> HTTPException:
    """400: the query won't do."""
    return HTTPException(400, sentence)


def unauthenticated(sentence: str) -> HTTPException:
    """401: the credentials are missing, malformed, invalid, expired or deleted."""
    return HTTPException(401, sentence, headers=CHALLENGE)


def denied(sentence: str) -> HTTPException:
    """403: the credentials are good, and the user or the app may not."""
    return HTTPException(403, sentence)


def absent(sentence: str) -> HTTPException:
    """404: there is no such thing."""
    return HTTPException(404, sentence)


def wrong_method(allowed: str) -> HTTPException:
    """405: the address is right, the method is not."""
    return HTTPException(405, f"This address takes {allowed} alone.", headers={"Allow": allowed})


def flooded(requests: int, seconds: float) -> HTTPException:
    """429: too many calls; the headers say how long to wait."""
    return HTTPException(429, f"More than {requests} requests in {seconds:g} seconds.")


class TokenRefused(HTTPException):
    """What the token endpoint refuses.

    Attributes:
        error: RFC 6749's word: `invalid_request`, `invalid_client`, …
    """

    def __init__(self, status: int, error: str, sentence: str) -> None:
        challenge = {"WWW-Authenticate": 'Basic realm="lab"'} if status == 401 else None
        super().__init__(status, sentence, headers=challenge)
        self.error = error


def body(_status: int, sentence: str) -> dict[str, Any]:
    """The body of a refusal."""
    error = {"type": "invalid_request_error", "message": sentence, "userMessage": sentence}
    return {"error": error}


def body_of(error: HTTPException) -> dict[str, Any]:
    """The body of this refusal: the token endpoint's form for its own."""
    if isinstance(error, TokenRefused):
        return {"error": error.error, "error_description": error.detail}
    return body(error.status_code, error.detail)
