"""Declare handlers of routes by method and path template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from open_notebook.facts import Operation
from open_notebook.state import State

Handler = Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """A request with its parsed body.

    Attributes:
        body: the fields of the body, JSON or form.
        file: an upload's name and bytes.
    """

    state: State
    operation: Operation
    path: str
    query: Mapping[str, str]
    body: dict[str, Any]
    headers: Mapping[str, str]
    file: tuple[str, bytes] | None = None


def route(method: str, template: str) -> Callable[[Handler], Handler]:
    """Declare the handler of a route; its arguments are the path parameters."""

    def mark(handler: Handler) -> Handler:
        declared: list[tuple[str, str]] = getattr(handler, "routes", [])
        handler.routes = [*declared, (method, template)]  # type: ignore[attr-defined]
        return handler

    return mark


def routes(*modules: ModuleType) -> dict[tuple[str, str], Handler]:
    """Return the routes of all modules."""
    return {
        declared: handler
        for module in modules
        for handler in vars(module).values()
        for declared in getattr(handler, "routes", ())
    }


def parts(operation: Operation, path: str) -> tuple[str, ...]:
    """Return the path parameters."""
    pattern = re.sub(r"\{\w+\}", "([^/]+)", operation.template)
    match = re.fullmatch(pattern, path)
    return match.groups() if match else ()
