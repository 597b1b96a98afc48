"""The service's OpenAPI description, which `/openapi.json` hands out and `/docs` shows.

FastAPI makes it from the routes; what it can't know is added: how the password is sent, what a
group is about, and of an operation's docstring the first sentence as its summary.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from labext.sandbox.nb.bodies import Refusal
from labext.sandbox.nb.gate import OPEN

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refusal, "description": "Invalid input."},
    401: {"model": Refusal, "description": "The password is missing or wrong."},
    404: {"model": Refusal, "description": "There is no such thing."},
    413: {"model": Refusal, "description": "What was sent is over a limit."},
    422: {"model": Refusal, "description": "Something has to be configured first."},
    429: {
        "model": Refusal,
        "description": "Too many requests.",
        "headers": {
            "Retry-After": {
                "description": "Seconds to wait.",
                "schema": {"type": "integer", "minimum": 1},
            }
        },
    },
    500: {"model": Refusal, "description": "The service failed."},
    502: {"model": Refusal, "description": "An external service failed."},
}
"""What any operation may be refused with (contract, Errors; 413 is the service's own)."""

TAGS = {
    "notebooks": "What groups sources and notes.",
    "sources": "Research material: files, pages and texts, processed in the background.",
    "notes": "What people and models write.",
    "chat": "Conversations about a notebook.",
    "search": "Passages by their words or their meaning, and answers with citations.",
    "models": "What answers, makes vectors, speaks and hears, and what each is used for.",
    "credentials": "How providers of models are reached; keys go in and never out.",
    "transformations": "Prompts by which a model makes something of a text.",
    "podcasts": "Episodes about a notebook, spoken: ordered, followed, heard.",
    "profiles": "Who speaks in an episode, and how one is made.",
    "service": "That the service is there; open to everybody.",
}

ABOUT = (
    "A research notebook: sources are read, searched and cited. Where a password is configured, "
    "send it as `Authorization: Bearer …`; a refusal is always `{detail: a sentence}`."
)

_SCHEME = "password"


def describe(app: FastAPI) -> None:
    """Let `app` hand out its description, made when it is first asked for."""
    made: dict[str, Any] = {}

    def description() -> dict[str, Any]:
        if not made:
            made.update(_made(app))
        return made

    app.openapi = description  # type: ignore[method-assign]


def _made(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": about} for name, about in TAGS.items()]
    found = get_openapi(
        title=app.title,
        version=version("labext-jupyter"),
        description=ABOUT,
        routes=app.routes,
        tags=tags,
    )
    schemes = found.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes[_SCHEME] = {
        "type": "http",
        "scheme": "bearer",
        "description": "The service's password, if one is configured.",
    }
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _summarise(operation)
            if path not in OPEN:
                operation["security"] = [{_SCHEME: []}]
    return found


def _summarise(operation: dict[str, Any]) -> None:
    first, _, rest = " ".join(operation.pop("description", "").split()).partition(". ")
    operation["summary"] = first.rstrip(".")
    if rest:
        operation["description"] = rest
