"""Compare a backend's method with recordings: its requests, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labext.nb.records import Fields, Record
from open_notebook.facts import Operation, Recording, operations, recordings
from open_notebook.serving import ReceivedRequest


@dataclass(frozen=True)
class Proof:
    """One call of a backend's method, the recordings that answer it, and its result.

    Attributes:
        made: the call, as `unittest.mock.call` records it: `call.notebook("notebook:…")`.
        by: recordings of its requests in order; `derived` ones if none was made.
        fields: of the record, or of each record of a list.
        missing: fields that are None because this server lacks them or has no value.
        values: expected values of the record or the first record.
        unrecorded: names that are sent and only in the server's schema.
        omitted: recorded names that are not sent.
        differing: names whose values differ from the recorded ones.
        result: the expected result if it is not a record.
    """

    made: Any
    by: tuple[str | Recording, ...]
    fields: Fields | None = None
    missing: frozenset[str] = frozenset()
    values: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    differing: frozenset[str] = frozenset()
    result: Any = ...

    @property
    def method(self) -> str:
        """Return the name of the backend's method."""
        return str(self.made[0])

    def call(self, backend: Any) -> Any:
        """Call the backend's method."""
        name, arguments, options = self.made
        return getattr(backend, name)(*arguments, **options)

    @property
    def recordings(self) -> list[Recording]:
        """Return the responses, in their order."""
        return [item if isinstance(item, Recording) else recordings()[item] for item in self.by]

    @property
    def names(self) -> list[str]:
        """Return the names of the recordings."""
        return [recording.name for recording in self.recordings]

    def __str__(self) -> str:
        return f"{self.method}-{self.names[-1]}" if self.by else self.method


def proof(made: Any, *by: str | Recording, **more: Any) -> Proof:
    """Return a proof; names are separated by spaces: `missing="notebook_id title"`."""
    for name in ("missing", "unrecorded", "omitted", "differing"):
        if name in more:
            more[name] = frozenset(more[name].split())
    return Proof(made, by, **more)


def derived(name: str, **changes: Any) -> Recording:
    """Return a changed copy of a recording."""
    return replace(recordings()[name], **changes)


def operation_of(recording: Recording) -> Operation:
    """Return the operation of a recording."""
    path = recording.path.replace("%3A", ":")
    for operation in operations():
        if operation.method == recording.method and operation.fits(path):
            return operation
    raise LookupError(recording.name)


def check_sent(proof: Proof, received: list[ReceivedRequest]) -> None:
    """Check that the requests equal the recorded ones."""
    actual_calls = [(request.method, request.path) for request in received]
    expected_calls = [
        (recording.method, recording.path.replace("%3A", ":")) for recording in proof.recordings
    ]
    assert actual_calls == expected_calls
    for request, recorded in zip(received, proof.recordings, strict=True):
        operation = operation_of(recorded)
        assert set(request.query) <= operation.query
        _check_values(proof, request.query, recorded.query)
        body = request.body if isinstance(request.body, dict) else {}
        assert set(body) <= operation.body
        files = {name: value[0] for name, value in recorded.files.items()}
        sent = recorded.json if recorded.json is not None else {**recorded.form, **files}
        _check_values(proof, body, sent if isinstance(sent, dict) else {})


def _check_values(proof: Proof, sent: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    assert set(sent) - proof.unrecorded == set(recorded) - proof.omitted
    for name in set(sent) & set(recorded) - proof.differing:
        recording = recorded[name]
        assert sent[name] == (
            recording if isinstance(sent[name], type(recording)) else str(recording)
        ), name


def check_result(proof: Proof, result: Any) -> None:
    """Check that the result is complete and has the server's values."""
    if proof.result is not ...:
        assert result == proof.result
    if proof.fields is None:
        return
    every: list[Record] = result if isinstance(result, list) else [result]
    assert every, "no result"
    for record in every:
        assert list(record) == [*proof.fields, *(key for key in record if key not in proof.fields)]
    first = every[0]
    assert {key for key, value in first.items() if value is None} == proof.missing
    for name, value in proof.values.items():
        assert first[name] == value, name
