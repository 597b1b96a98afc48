"""HTTP errors of the laboratory platform."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException

CHALLENGE = {"WWW-Authenticate": 'Basic realm="lab", Bearer realm="lab"'}


def bad_request(message: str) -> HTTPException:
    """400: the query is invalid."""
    return HTTPException(400, message)


def unauthorized(message: str) -> HTTPException:
    """401: the credentials are missing, malformed, invalid, expired or deleted."""
    return HTTPException(401, message, headers=CHALLENGE)


def forbidden(message: str) -> HTTPException:
    """403: the user or app lacks the permission."""
    return HTTPException(403, message)


def not_found(message: str) -> HTTPException:
    """404: the object does not exist."""
    return HTTPException(404, message)


def unknown_address() -> HTTPException:
    """404: no route has this path."""
    return not_found("This address does not exist.")


def method_not_allowed(allowed: str) -> HTTPException:
    """405: the path does not allow the method."""
    return HTTPException(405, f"This address only allows {allowed}.", headers={"Allow": allowed})


def too_many_requests(requests: int, seconds: float) -> HTTPException:
    """429: too many calls; the rate limit headers state the time to wait."""
    return HTTPException(429, f"More than {requests} requests in {seconds:g} seconds.")


class OAuthError(HTTPException):
    """An error response for a client of OAuth (RFC 6749, sections 4.1.2.1 and 5.2).

    Attributes:
        error: the error code: `invalid_request`, `invalid_client`, …
    """

    def __init__(self, error: str, message: str, status: int = 400) -> None:
        challenge = {"WWW-Authenticate": 'Basic realm="lab"'} if status == 401 else None
        super().__init__(status, message, headers=challenge)
        self.error = error

    @property
    def body(self) -> dict[str, str]:
        """The parameters of the response."""
        return {"error": self.error, "error_description": self.detail}


def error_body(_status: int, message: str) -> dict[str, Any]:
    """Return the body of an error response."""
    error = {"type": "invalid_request_error", "message": message, "userMessage": message}
    return {"error": error}
