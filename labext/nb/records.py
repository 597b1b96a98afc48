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

_TIMES: Fields = {"created_at": "time", "updated_at": "time"}

NOTEBOOK: Fields = {
    "id": "text",
    "name": "text",
    "description": "text",
    "archived": "boolean",
    "source_count": "integer",
    "note_count": "integer",
    **_TIMES,
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
    **_TIMES,
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
    **_TIMES,
}
NOTE: Fields = {
    "id": "text",
    "title": "text",
    "note_type": "category",
    "content": "text",
    "notebook_id": "text",
    **_TIMES,
}
SESSION: Fields = {
    "id": "text",
    "title": "text",
    "notebook_id": "text",
    "model_override": "text",
    "message_count": "integer",
    **_TIMES,
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

TRANSFORMATION: Fields = {
    "id": "text",
    "name": "text",
    "title": "text",
    "description": "text",
    "prompt": "text",
    "apply_default": "boolean",
    "model_id": "text",
    **_TIMES,
}
OUTPUT: Fields = {"output": "text", "transformation_id": "text", "model_id": "text"}
MODEL: Fields = {
    "id": "text",
    "name": "text",
    "provider": "category",
    "type": "category",
    "credential": "text",
    **_TIMES,
}
SLOTS: Mapping[str, str] = {
    "chat": "llm",
    "transformation": "llm",
    "embedding": "embedding",
    "speech_to_text": "stt",
    "text_to_speech": "tts",
    "podcast": "llm",
    "summary": "llm",
}
"""The seven default slots, and the type of the model in each (contract, Resources)."""

TESTED: Fields = {"success": "boolean", "message": "text", "details": "json"}
PROVIDER: Fields = {"provider": "category", "available": "boolean", "types": "json"}
DISCOVERED: Fields = {
    "name": "text",
    "provider": "category",
    "model_type": "category",
    "description": "text",
}
SYNCED: Fields = {
    "provider": "category",
    "discovered": "integer",
    "new": "integer",
    "existing": "integer",
    "error": "text",
}
COUNTED: Fields = {"provider": "category", "counts": "json", "total": "integer"}
CREDENTIAL: Fields = {
    "id": "text",
    "name": "text",
    "provider": "category",
    "base_url": "text",
    "has_api_key": "boolean",
    "model_count": "integer",
    "decryption_error": "text",
    **_TIMES,
}
"""Without the key itself, which no read returns (contract, Rules)."""

DELETED_CREDENTIAL: Fields = {"id": "text", "deleted_models": "integer"}
REGISTERED: Fields = {"created": "integer", "existing": "integer"}
CONFIGURED: Fields = {"provider": "category", "configured": "boolean", "source": "category"}
SPEAKER: Fields = {
    "name": "text",
    "voice_id": "text",
    "backstory": "text",
    "personality": "text",
}
SPEAKER_PROFILE: Fields = {
    "id": "text",
    "name": "text",
    "description": "text",
    "voice_model": "text",
    "speakers": "json",
    **_TIMES,
}
EPISODE_PROFILE: Fields = {
    "id": "text",
    "name": "text",
    "description": "text",
    "speaker_profile_ids": "json",
    "outline_llm": "text",
    "transcript_llm": "text",
    "language": "text",
    "default_briefing": "text",
    "num_segments": "integer",
    "max_tokens": "integer",
    **_TIMES,
}
SUBMITTED: Fields = {
    "job_id": "text",
    "status": "category",
    "message": "text",
    "episode_id": "text",
    "episode_name": "text",
}
RETRIED: Fields = {"job_id": "text", "message": "text", "episode_id": "text"}
JOB: Fields = {
    "job_id": "text",
    "status": "category",
    "stage": "text",
    "progress": "json",
    "result": "json",
    "error_message": "text",
    **_TIMES,
}
PROGRESS: Fields = {"stage": "text", "done": "integer", "total": "integer", "stages": "json"}
"""Of a job: which of its `stages` it is at, and how much of that is done; None is not told."""

EPISODE: Fields = {
    "id": "text",
    "name": "text",
    "notebook_id": "text",
    "job_id": "text",
    "job_status": "category",
    "stage": "text",
    "progress": "json",
    "error_message": "text",
    "duration": "number",
    "audio_file": "text",
    "audio_url": "text",
    "audio_bytes": "integer",
    "episode_profile": "json",
    "speaker_profiles": "json",
    "briefing": "text",
    **_TIMES,
}
"""`duration` is in seconds; the profiles are as they were when it was generated."""

WHOLE_EPISODE: Fields = {**EPISODE, "outline": "json", "transcript": "json"}
"""`outline` is `{"segments": […]}`, `transcript` `{"transcript": […]}`; None until it is made."""

SEGMENT: Fields = {"name": "text", "description": "text", "size": "text"}
LINE: Fields = {"speaker": "text", "dialogue": "text", "start": "number", "end": "number"}
"""What one speaker says at once, and from when to when: seconds; None where it is not told."""

_WORDS = frozenset({"error", "message", "stage", "error_message", "decryption_error"})
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


def words(answer: Any) -> list[str]:
    """Return the words of a list in an answer; whatever else there is in it is left out."""
    return [each for each in answer if isinstance(each, str)] if isinstance(answer, list) else []


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
