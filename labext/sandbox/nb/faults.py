"""What the service refuses: a status of the contract's table (Errors) and one sentence."""

from __future__ import annotations

from starlette.exceptions import HTTPException


def invalid(sentence: str) -> HTTPException:
    """400: what was sent won't do."""
    return HTTPException(400, sentence)


def unauthenticated(sentence: str) -> HTTPException:
    """401: the password is missing or wrong."""
    return HTTPException(401, sentence, headers={"WWW-Authenticate": "Bearer"})


def absent(noun: str, identifier: str) -> HTTPException:
    """404: there is no such thing."""
    return HTTPException(404, f"There is no {noun} {identifier[:100]}.")


def too_large(sentence: str) -> HTTPException:
    """413: what was sent is over a limit of the service."""
    return HTTPException(413, sentence)


def unconfigured(sentence: str) -> HTTPException:
    """422: something has to be configured first."""
    return HTTPException(422, sentence)


def external(sentence: str) -> HTTPException:
    """502: another service, such as a model's provider, failed."""
    return HTTPException(502, sentence)


def body(_status: int, sentence: str) -> dict[str, str]:
    """The body of a refusal (contract, Errors)."""
    return {"detail": sentence}
