"""Compare a backend's method with recordings: its requests, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labext.nb import records
from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES
from labext.nb.records import Fields, Record
from open_notebook.facts import Operation, Recording, operations, recordings
from open_notebook.serving import ReceivedRequest

FIELDS: Mapping[str, Fields] = {
    method: fields
    for methods, fields in (
        ("notebooks notebook new_notebook change_notebook", records.NOTEBOOK),
        ("delete_notebook", records.NOTEBOOK_DELETION),
        ("preview", records.PREVIEW),
        ("notes note new_note change_note save_insight", records.NOTE),
        ("sources", records.SOURCE),
        ("source add_text add_url add_file change_source retry_source", records.SOURCE_DETAIL),
        ("source_status", records.STATUS),
        ("insights insight", records.INSIGHT),
        ("sessions session new_session change_session", records.SESSION),
        ("context", records.CONTEXT),
        ("search", records.HIT),
        ("models new_model models_of", records.MODEL),
        ("test_model", records.TEST_RESULT),
        ("providers", records.PROVIDER),
        ("discover discover_with", records.DISCOVERED_MODEL),
        ("sync", records.SYNC_RESULT),
        ("count_models", records.MODEL_COUNT),
        (
            "credentials credentials_of credential new_credential change_credential",
            records.CREDENTIAL,
        ),
        ("delete_credential", records.CREDENTIAL_DELETION),
        ("test_credential", {"provider": "category", **records.TEST_RESULT}),
        ("register_models", records.MODEL_REGISTRATION),
        (
            "transformations transformation new_transformation change_transformation",
            records.TRANSFORMATION,
        ),
        ("transform", records.OUTPUT),
        ("generate", records.EPISODE_SUBMISSION),
        ("podcast_job", records.JOB),
        ("episodes", records.EPISODE),
        ("episode", records.EPISODE_DETAIL),
        ("retry_episode", records.EPISODE_RETRY),
        ("command_kinds", records.COMMAND_KIND),
        ("commands command", records.COMMAND),
        ("embed", records.EMBEDDING_SUBMISSION),
    )
    for method in methods.split()
}
"""The fields of the record, or of each record of the list, that a method returns."""
PROFILE_FIELDS = {
    EPISODE_PROFILES: records.EPISODE_PROFILE,
    SPEAKER_PROFILES: records.SPEAKER_PROFILE,
}


@dataclass(frozen=True)
class Proof:
    """One call of a backend's method, the recordings that answer it, and its result.

    Attributes:
        made: the call, as `unittest.mock.call` records it: `call.notebook("notebook:…")`.
        by: recordings of its requests in order; `derived` ones if none was made.
        missing: fields that are None because this server lacks them or has no value.
        values: expected values of the record or the first record.
        unrecorded: names that are sent and only in the server's schema.
        omitted: recorded names that are not sent.
        differing: names whose values differ from the recorded ones.
        result: the expected result if it is not a record.
    """

    made: Any
    by: tuple[str | Recording, ...]
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

    @property
    def fields(self) -> Fields | None:
        """Return the fields of the record, or of each record of a list."""
        _, arguments, _ = self.made
        if self.method.endswith(("profile", "profiles")):
            return PROFILE_FIELDS[arguments[0]]
        return FIELDS.get(self.method)

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
    fields = proof.fields
    if proof.result is not ... or fields is None:
        return
    every: list[Record] = result if isinstance(result, list) else [result]
    assert every, "no result"
    for record in every:
        assert list(record) == [*fields, *(key for key in record if key not in fields)]
    first = every[0]
    assert {key for key, value in first.items() if value is None} == proof.missing
    for name, value in proof.values.items():
        assert first[name] == value, name
