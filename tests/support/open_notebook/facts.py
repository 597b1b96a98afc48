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
    """A recorded request with its answer.

    Attributes:
        asks: method and path.
        query, json, form: of the request.
        status, answer: of the response; the answer is JSON.
        events: of a streamed answer, in its place.
        told: headers of the answer that say something.
    """

    name: str
    asks: str
    status: int
    query: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: Any = None
    events: tuple[Any, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    bytes: int = 0
    text: str = ""

    @property
    def method(self) -> str:
        """`GET`, `POST` …"""
        return self.asks.partition(" ")[0]

    @property
    def path(self) -> str:
        """As it was sent, without the query."""
        return self.asks.partition(" ")[2]


@dataclass(frozen=True)
class Operation:
    """A route, and the names that it knows.

    Attributes:
        template: `/api/notebooks/{notebook_id}`.
        query, body: names of the query, and of the body's fields.
        needed: those without which it refuses.
        kind: of the body: `json`, `form`, or nothing.
    """

    method: str
    template: str
    query: frozenset[str]
    body: frozenset[str]
    needed: frozenset[str]
    kind: str

    def fits(self, path: str) -> bool:
        """Whether a path is one of this route."""
        return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", self.template), path) is not None


@cache
def recordings() -> Mapping[str, Recording]:
    """Every recording by its name."""
    lines = (_HERE / "recordings.jsonl").read_text(encoding="utf-8").splitlines()
    every = (json.loads(line) for line in lines)
    return {fields["name"]: Recording(**fields) for fields in every}


def asked(name: str) -> Any:
    """The body that a recorded request had."""
    recording = recordings()[name]
    return recording.json or recording.form


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation; those without a placeholder first, as the server tries them."""
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
    """A recorded answer with other values; it has no field that was not recorded.

    Raises:
        KeyError: a field is not among the recorded ones.
    """
    answer = copy.deepcopy(recordings()[name].answer)
    first_answer: dict[str, Any] = answer[0] if isinstance(answer, list) else answer
    if unknown := changed.keys() - first_answer.keys():
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}")
    return {**first_answer, **changed}
