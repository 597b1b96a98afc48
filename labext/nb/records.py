"""The records that the client returns, the same whatever kind of server answers.

Each is a dictionary with the keys of its kind, in their order; what a server does not tell is None.
Times are ISO 8601 in UTC, and timestamps in a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from labext.errors import ServiceError
from labext.redaction import mask

if TYPE_CHECKING:
    import pandas as pd

    from labext.cells import Kind

Record: TypeAlias = dict[str, Any]

Fields: TypeAlias = "Mapping[str, Kind]"
"""The keys of a kind of record, and what their values are in a frame."""

NOTEBOOK: Fields = {
    "id": "text",
    "name": "text",
    "description": "text",
    "archived": "boolean",
    "source_count": "integer",
    "note_count": "integer",
    "created_at": "time",
    "updated_at": "time",
}
SOURCE: Fields = {
    "id": "text",
    "title": "text",
    "topic": "text",
    "status": "category",
    "stage": "text",
    "error": "text",
    "kind": "category",
    "file_name": "text",
    "size": "integer",
    "url": "text",
    "notebooks": "json",
    "passages": "integer",
    "insights_count": "integer",
    "created_at": "time",
    "updated_at": "time",
}
WHOLE_SOURCE: Fields = {**SOURCE, "full_text": "text"}
STATUS: Fields = {
    "status": "category",
    "stage": "text",
    "error": "text",
    "message": "text",
    "started_at": "time",
    "completed_at": "time",
    "changed_at": "time",
}
INSIGHT: Fields = {
    "id": "text",
    "source_id": "text",
    "insight_type": "category",
    "content": "text",
    "created_at": "time",
    "updated_at": "time",
}
NOTE: Fields = {
    "id": "text",
    "title": "text",
    "note_type": "category",
    "content": "text",
    "notebook_id": "text",
    "created_at": "time",
    "updated_at": "time",
}
SESSION: Fields = {
    "id": "text",
    "title": "text",
    "notebook_id": "text",
    "model_override": "text",
    "message_count": "integer",
    "created_at": "time",
    "updated_at": "time",
}
MESSAGE: Fields = {
    "type": "category",
    "content": "text",
    "citations": "json",
    "model": "text",
    "created_at": "time",
}
HIT: Fields = {
    "id": "text",
    "kind": "category",
    "title": "text",
    "match": "text",
    "page": "integer",
    "similarity": "number",
    "relevance": "number",
}
PREVIEW: Fields = {
    "id": "text",
    "name": "text",
    "note_count": "integer",
    "exclusive_source_count": "integer",
    "shared_source_count": "integer",
    "session_count": "integer",
}
DELETED: Fields = {
    "id": "text",
    "deleted_notes": "integer",
    "deleted_sources": "integer",
    "unlinked_sources": "integer",
    "deleted_chat_sessions": "integer",
}
CONTEXT: Fields = {
    "sources": "json",
    "notes": "json",
    "token_count": "integer",
    "char_count": "integer",
}

_WORDS = frozenset({"error", "message", "stage"})
"""What a server says of itself, in which it may have put a key of a model's provider."""


def made(fields: Fields, values: Mapping[str, Any]) -> Record:
    """Return a record of a kind out of what a server told; a key in its own words is masked."""
    record = {name: values.get(name) for name in fields}
    for name in _WORDS & record.keys():
        told = record[name]
        if told and isinstance(told, str):
            record[name] = mask(told)
    return record


def mapping(answer: Any, what: str) -> Mapping[str, Any]:
    """Return an answer that has to be one thing.

    Raises:
        ServiceError: it is none.
    """
    if isinstance(answer, Mapping):
        return answer
    raise ServiceError(f"The notebook service's answer about {what} makes no sense.")


def several(answer: Any, what: str) -> list[Mapping[str, Any]]:
    """Return an answer that has to be a list of things.

    Raises:
        ServiceError: it is none.
    """
    if isinstance(answer, list) and all(isinstance(each, Mapping) for each in answer):
        return answer
    raise ServiceError(f"The notebook service's list of {what} makes no sense.")


def thing(fields: Fields, answer: Any, what: str) -> Record:
    """Return the record of one thing that has an identifier.

    Raises:
        ServiceError: the answer is none, or names none.
    """
    record = made(fields, mapping(answer, what))
    if isinstance(record["id"], str) and record["id"]:
        return record
    raise ServiceError(f"The notebook service's answer about {what} names no identifier.")


def things(fields: Fields, answer: Any, what: str) -> list[Record]:
    """Return the records of a list of things that have identifiers.

    Raises:
        ServiceError: the answer is none.
    """
    return [thing(fields, each, what) for each in several(answer, what)]


def frame(fields: Fields, records: Iterable[Record]) -> pd.DataFrame:
    """Return records of a kind as a typed DataFrame; an empty one has the same columns."""
    from labext import frames

    columns = [frames.Column(name, kind) for name, kind in fields.items()]
    return frames.frame(records, columns)
