"""Errors of the notebook service, by HTTP status.

Any function of the service may raise them; its endpoints answer with their status and text.
"""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.sandbox.core.executors.task_process import TaskError


class ServiceError(HTTPException):
    """An error with a problem and a next step, which the response joins to one text.

    `action` is the next step as data, which a client renders behind it.
    """

    def __init__(
        self, status: int, message: str, next_step: str = "", action: Action | None = None
    ) -> None:
        self.message, self.next_step, self.action = message, next_step, action
        super().__init__(status, f"{message} {next_step}".strip())


def bad_request(sentence: str, step: str = "", action: Action | None = None) -> HTTPException:
    """Return a 400: the request is invalid."""
    return ServiceError(400, sentence, step, action)


def unauthorized(sentence: str) -> HTTPException:
    """Return a 401: the password is missing or wrong."""
    return HTTPException(401, sentence, headers={"WWW-Authenticate": "Bearer"})


def not_found(noun: str, identifier: str) -> HTTPException:
    """Return a 404: the object does not exist."""
    return ServiceError(404, f"There is no {noun} {identifier[:100]}.")


def too_large(sentence: str) -> HTTPException:
    """Return a 413: the request exceeds a limit of the service."""
    return HTTPException(413, sentence)


def not_configured(sentence: str, step: str = "", action: Action | None = None) -> HTTPException:
    """Return a 422: something has to be configured first."""
    return ServiceError(422, sentence, step, action)


def bad_gateway(sentence: str, step: str = "", action: Action | None = None) -> HTTPException:
    """Return a 502: another service, such as a model provider, failed."""
    return ServiceError(502, sentence, step, action)


def failed_test(error: HTTPException) -> dict[str, Any]:
    """Return the fields `success`, `message` and `action` of a test that failed."""
    action = getattr(error, "action", None)
    return {
        "success": False,
        "message": str(error.detail),
        "action": action.to_json() if isinstance(action, Action) else None,
    }


def error_body(_status: int, sentence: str) -> dict[str, str]:
    """Return the body of an error response (NB-30)."""
    return {"detail": sentence}


class UnreadableError(TaskError):
    """A source has no readable text; the message states the reason and the next step."""
