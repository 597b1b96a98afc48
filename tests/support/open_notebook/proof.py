"""Compare a backend's method with recordings: its requests, and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labext.nb.records import Fields, Record
from open_notebook.facts import Operation, Recording, operations, recordings
from open_notebook.scripted import Heard

Does = Callable[[Any], Any]
"""What is asked of a backend: `lambda d: d.notebook("notebook:…")`."""


@dataclass(frozen=True)
class Proof:
    """One call of a backend's method, the recordings that answer it, and its result.

    Attributes:
        method: the backend's.
        does: the call.
        by: the recordings of the requests, in their order; `derived` ones where none was made.
        fields: of the record, or of each record of a list.
        untold: fields that are None, because this server does not tell them or has nothing there.
        holds: of the record, or of the first one: some values.
        schema: names that are sent and are in none of the recordings: the server's schema has them.
        left: names that were recorded and are not sent.
        other: names whose values differ from the recorded ones.
        result: the expected result if it is not a record.
    """

    method: str
    does: Does
    by: tuple[str | Recording, ...]
    fields: Fields | None = None
    untold: frozenset[str] = frozenset()
    holds: Mapping[str, Any] = field(default_factory=dict)
    schema: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    result: Any = ...

    @property
    def recordings(self) -> list[Recording]:
        """Return the responses, in their order."""
        return [item if isinstance(item, Recording) else recordings()[item] for item in self.by]

    @property
    def names(self) -> list[str]:
        """The names of the recordings."""
        return [recording.name for recording in self.recordings]

    def __str__(self) -> str:
        return f"{self.method}-{self.names[-1]}" if self.by else self.method


def proof(method: str, does: Does, *by: str | Recording, **more: Any) -> Proof:
    """A proof, its names of fields given as words: `untold="notebook_id title"`."""
    for name in ("untold", "schema", "left", "other"):
        if name in more:
            more[name] = frozenset(more[name].split())
    return Proof(method, does, by, **more)


def derived(name: str, **changes: Any) -> Recording:
    """A recorded exchange about another thing, or with another answer of the same form."""
    return replace(recordings()[name], **changes)


def operation_of(told: Recording) -> Operation:
    """The operation of the server's schema that a recording is of."""
    path = told.path.replace("%3A", ":")
    for operation in operations():
        if operation.method == told.method and operation.fits(path):
            return operation
    raise LookupError(told.name)


def check_sent(proof: Proof, heard: list[Heard]) -> None:
    """See that the requests are the recorded ones.

    Raises:
        AssertionError: one is not.
    """
    actual_calls = [(request.method, request.path) for request in heard]
    expected_calls = [
        (recording.method, recording.path.replace("%3A", ":")) for recording in proof.recordings
    ]
    assert actual_calls == expected_calls
    for request, recorded in zip(heard, proof.recordings, strict=True):
        operation = operation_of(recorded)
        assert set(request.query) <= operation.query
        _check_values(proof, request.query, recorded.query)
        body = request.body if isinstance(request.body, dict) else {}
        assert set(body) <= operation.body
        files = {name: value[0] for name, value in recorded.files.items()}
        sent = recorded.json if recorded.json is not None else {**recorded.form, **files}
        _check_values(proof, body, sent if isinstance(sent, dict) else {})


def _check_values(proof: Proof, sent: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    assert set(sent) - proof.schema == set(recorded) - proof.left
    for name in set(sent) & set(recorded) - proof.other:
        recording = recorded[name]
        assert sent[name] == (
            recording if isinstance(sent[name], type(recording)) else str(recording)
        ), name


def check_made(proof: Proof, result: Any) -> None:
    """Check that the result has the values of the server, and is complete.

    Raises:
        AssertionError: something is missing or wrong.
    """
    if proof.result is not ...:
        assert result == proof.result
    if proof.fields is None:
        return
    every: list[Record] = result if isinstance(result, list) else [result]
    assert every, "nothing came of it"
    for record in every:
        assert list(record) == [*proof.fields, *(key for key in record if key not in proof.fields)]
    first = every[0]
    assert {key for key, value in first.items() if value is None} == proof.untold
    for name, value in proof.holds.items():
        assert first[name] == value, name
