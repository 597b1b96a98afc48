"""The recorded requests and responses, and the field names of the server."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Recording:
    """A recorded request with its response.

    Attributes:
        request_line: method and path.
        query, json, form: of the request.
        status, answer: of the response; the answer is JSON.
        events: of a streamed answer, instead of `answer`.
        response_headers: the relevant headers of the response.
    """

    name: str
    request_line: str
    status: int
    query: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: Any = None
    events: tuple[Any, ...] = ()
    response_headers: Mapping[str, str] = field(default_factory=dict)
    bytes: int = 0
    text: str = ""

    @property
    def method(self) -> str:
        """`GET`, `POST` …"""
        return self.request_line.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path as sent, without the query."""
        return self.request_line.partition(" ")[2]


@dataclass(frozen=True)
class Operation:
    """A route with the names of its parameters.

    Attributes:
        template: `/api/notebooks/{notebook_id}`.
        query, body: names of the query, and of the body's fields.
        needed: the required names.
        kind: of the body: `json`, `form` or empty.
    """

    method: str
    template: str
    query: frozenset[str]
    body: frozenset[str]
    needed: frozenset[str]
    kind: str

    def fits(self, path: str) -> bool:
        """Return whether the route matches a path."""
        return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", self.template), path) is not None


@cache
def recordings() -> Mapping[str, Recording]:
    """Return all recordings by name."""
    lines = (_HERE / "recordings.jsonl").read_text(encoding="utf-8").splitlines()
    every = (json.loads(line) for line in lines)
    return {fields["name"]: Recording(**fields) for fields in every}


def request_body(name: str) -> Any:
    """Return the body of a recorded request."""
    recording = recordings()[name]
    return recording.json or recording.form


@cache
def operations() -> tuple[Operation, ...]:
    """Return all operations, those without path parameters first, as the server matches them."""
    lines = (_HERE / "operations.txt").read_text(encoding="utf-8").splitlines()
    return tuple(
        sorted(map(_operation, lines), key=lambda operation: operation.template.count("{"))
    )


def _operation(line: str) -> Operation:
    head, _, fields = line.partition(": ")
    method, template, *more = head.split()
    query = [word[1:] for word in more if word.startswith("?")]
    kind = next((word for word in more if not word.startswith("?")), "")
    names = [*query, *fields.split()]
    return Operation(
        method,
        template,
        frozenset(item.rstrip("*") for item in query),
        frozenset(word.rstrip("*") for word in fields.split()),
        frozenset(item.rstrip("*") for item in names if item.endswith("*")),
        kind,
    )


def like(name: str, /, **changed: Any) -> dict[str, Any]:
    """Return a recorded response with other values of its fields.

    Raises:
        KeyError: a field is not among the recorded ones.
    """
    answer = copy.deepcopy(recordings()[name].answer)
    first_answer: dict[str, Any] = answer[0] if isinstance(answer, list) else answer
    if unknown := changed.keys() - first_answer.keys():
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}")
    return {**first_answer, **changed}
