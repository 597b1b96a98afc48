"""Errors of the notebook service, by HTTP status."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.task_process import TaskError


class ServiceError(HTTPException):
    """A refusal in its two parts; the answer has them as one sentence or two.

    Attributes:
        what: what is wrong, a sentence.
        step: what to do, a sentence that begins with a verb; empty where there is nothing to say.
    """

    def __init__(self, status: int, what: str, step: str = "") -> None:
        self.what, self.step = what, step
        super().__init__(status, f"{what} {step}".strip())


def bad_request(sentence: str, step: str = "") -> HTTPException:
    """400: what was sent won't do."""
    return ServiceError(400, sentence, step)


def unauthorized(sentence: str) -> HTTPException:
    """401: the password is missing or wrong."""
    return HTTPException(401, sentence, headers={"WWW-Authenticate": "Bearer"})


def not_found(noun: str, identifier: str) -> HTTPException:
    """404: there is no such thing."""
    return ServiceError(404, f"There is no {noun} {identifier[:100]}.")


def not_available(sentence: str) -> HTTPException:
    """404: the thing is there, and what is asked of it is not."""
    return ServiceError(404, sentence)


def too_large(sentence: str) -> HTTPException:
    """413: what was sent is over a limit of the service."""
    return HTTPException(413, sentence)


def not_configured(sentence: str, step: str = "") -> HTTPException:
    """422: something has to be configured first."""
    return ServiceError(422, sentence, step)


def too_many_requests(sentence: str, retry_after: str) -> HTTPException:
    """429: another service is asked too often; `retry_after` is the header's value."""
    return HTTPException(429, sentence, headers={"Retry-After": retry_after})


def bad_gateway(sentence: str) -> HTTPException:
    """502: another service, such as a model's provider, failed."""
    return HTTPException(502, sentence)


def error_body(_status: int, sentence: str) -> dict[str, str]:
    """The body of a refusal (contract, Errors)."""
    return {"detail": sentence}


class UnreadableError(TaskError):
    """A source has no text that could be read; the message says why, and what to do."""
