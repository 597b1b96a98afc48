"""Types that the client returns: records, scopes, questions, answers and citations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from labext.errors import ServiceError
from labext.redaction import mask

if TYPE_CHECKING:
    import pandas as pd

    from labext.frames.column_types import Kind

Record: TypeAlias = dict[str, Any]

Fields: TypeAlias = "Mapping[str, Kind]"
"""Keys of a kind of record, with the column type of each."""

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
SOURCE_DETAIL: Fields = {**SOURCE, "full_text": "text"}
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
NOTEBOOK_DELETION: Fields = {
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
"""The seven default slots, and the type of the model in each (NB-281)."""

TEST_RESULT: Fields = {"success": "boolean", "message": "text", "details": "json"}
PROVIDER: Fields = {"provider": "category", "available": "boolean", "types": "json"}
DISCOVERED_MODEL: Fields = {
    "name": "text",
    "provider": "category",
    "model_type": "category",
    "description": "text",
}
SYNC_RESULT: Fields = {
    "provider": "category",
    "discovered": "integer",
    "new": "integer",
    "existing": "integer",
    "error": "text",
}
MODEL_COUNT: Fields = {"provider": "category", "counts": "json", "total": "integer"}
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
"""Without the key itself, which no read returns."""

CREDENTIAL_DELETION: Fields = {"id": "text", "deleted_models": "integer"}
MODEL_REGISTRATION: Fields = {"created": "integer", "existing": "integer"}
CREDENTIAL_STATUS: Fields = {"provider": "category", "configured": "boolean", "source": "category"}
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
EPISODE_SUBMISSION: Fields = {
    "job_id": "text",
    "status": "category",
    "message": "text",
    "episode_id": "text",
    "episode_name": "text",
}
EPISODE_RETRY: Fields = {"job_id": "text", "message": "text", "episode_id": "text"}
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
"""Progress of a job: the current one of its `stages` and its counts; None if not reported."""

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

EPISODE_DETAIL: Fields = {**EPISODE, "outline": "json", "transcript": "json"}
"""`outline` is `{"segments": […]}`, `transcript` `{"transcript": […]}`; None until generated."""

SEGMENT: Fields = {"name": "text", "description": "text", "size": "text"}
LINE: Fields = {"speaker": "text", "dialogue": "text", "start": "number", "end": "number"}
"""One turn of a speaker, with start and end in seconds; None if not reported."""

_SERVICE_TEXTS = frozenset({"error", "message", "stage", "error_message", "decryption_error"})
"""Fields with text from the server, which may contain an API key of a model provider."""


def build_record(fields: Fields, values: Mapping[str, Any]) -> Record:
    """Build a record from response data; API keys in the server's texts are masked."""
    record = {name: values.get(name) for name in fields}
    for name in _SERVICE_TEXTS & record.keys():
        text = record[name]
        if text and isinstance(text, str):
            record[name] = mask(text)
    return record


def require_mapping(answer: Any, what: str) -> Mapping[str, Any]:
    """Return response data that must be a JSON object.

    Raises:
        ServiceError: it is not a JSON object.
    """
    if isinstance(answer, Mapping):
        return answer
    raise ServiceError(f"The notebook service's answer about {what} makes no sense.")


def require_list(answer: Any, what: str) -> list[Mapping[str, Any]]:
    """Return response data that must be a list of JSON objects.

    Raises:
        ServiceError: it is not a list of JSON objects.
    """
    if isinstance(answer, list) and all(isinstance(item, Mapping) for item in answer):
        return answer
    raise ServiceError(f"The notebook service's list of {what} makes no sense.")


def drop_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items whose value is not None."""
    return {key: value for key, value in values.items() if value is not None}


def string_items(answer: Any) -> list[str]:
    """Return the strings in a list of response data; other items are dropped."""
    return [item for item in answer if isinstance(item, str)] if isinstance(answer, list) else []


def parse_record(fields: Fields, answer: Any, what: str) -> Record:
    """Parse a record that must have an identifier.

    Raises:
        ServiceError: the data is not a JSON object, or has no identifier.
    """
    record = build_record(fields, require_mapping(answer, what))
    if isinstance(record["id"], str) and record["id"]:
        return record
    raise ServiceError(f"The notebook service's answer about {what} names no identifier.")


def to_frame(fields: Fields, records: Iterable[Record]) -> pd.DataFrame:
    """Return records of a kind as a typed DataFrame; an empty one has the same columns."""
    from labext.frames import conversion

    columns = [conversion.Column(name, kind) for name, kind in fields.items()]
    return conversion.records_to_frame(records, columns)


SETTING_CHOICES: Mapping[str, tuple[str, ...]] = {
    "default_embedding_option": ("ask", "always", "never"),
    "auto_delete_files": ("yes", "no"),
}
"""Allowed values of the settings that have a fixed set of values."""

COMMAND: Fields = {
    "job_id": "text",
    "status": "category",
    "subject": "text",
    "command": "category",
    "error_message": "text",
    "result": "json",
    "progress": "json",
    **_TIMES,
}
"""A background command; `subject` is the record that it works on."""

COMMAND_KIND: Fields = {"command": "text", "app": "category"}
"""A command that the service offers."""

REBUILD_SUBMISSION: Fields = {"job_id": "text", "total_items": "integer", "message": "text"}
REBUILD: Fields = {
    "job_id": "text",
    "status": "category",
    "processed": "integer",
    "total": "integer",
    "sources": "integer",
    "notes": "integer",
    "insights": "integer",
    "failed": "integer",
    "error_message": "text",
    "started_at": "time",
    "completed_at": "time",
}
"""Progress of a rebuild of vectors, with the counts of processed records by kind."""

EMBEDDING_SUBMISSION: Fields = {
    "job_id": "text",
    "item_id": "text",
    "item_type": "category",
    "message": "text",
}
"""The submission of a source or note for the computation of its vectors."""

SOURCE_CHAT: Fields = {
    "id": "text",
    "title": "text",
    "source_id": "text",
    "model_override": "text",
    "message_count": "integer",
    **_TIMES,
}
"""A chat about one source."""


@dataclass(frozen=True)
class Scope:
    """The sources and notes to consider, by identifier; None means all of a kind.

    If only sources or only notes are named, the other kind is excluded.
    """

    sources: tuple[str, ...] | None = None
    notes: tuple[str, ...] | None = None
    include_sources: bool = True
    include_notes: bool = True

    @property
    def is_empty(self) -> bool:
        """True if neither sources nor notes are included."""
        return not (self.includes("source") or self.includes("note"))

    def holds(self, kind: str, identifier: str) -> bool:
        """Return True if a source or note is in the scope, and for every other kind."""
        if kind not in ("source", "note"):
            return True
        named = self.sources if kind == "source" else self.notes
        return self.includes(kind) and (named is None or identifier in named)

    def includes(self, kind: str) -> bool:
        """Return True if a kind, `source` or `note`, is included."""
        own, other = self.sources, self.notes
        included = self.include_sources
        if kind == "note":
            own, other, included = other, own, self.include_notes
        if own is not None:
            return included and bool(own)
        return included and other is None


@dataclass(frozen=True)
class Query:
    """A search.

    Attributes:
        text: search terms, or a question.
        scope: the sources and notes to search.
        limit: the maximum number of passages; None for the service's default.
        min_similarity: the minimum similarity of a passage found by meaning, from -1 to 1.
    """

    text: str
    scope: Scope = Scope()
    limit: int | None = None
    min_similarity: float | None = None


@dataclass(frozen=True)
class Question(Query):
    """A question to answer from the sources and notes.

    Attributes:
        model_override: the identifier of the model for all three steps.
        strategy_model: the model that plans the searches.
        answer_model: the model that answers from each search.
        final_answer_model: the model that writes the final answer.
    """

    model_override: str | None = None
    strategy_model: str | None = None
    answer_model: str | None = None
    final_answer_model: str | None = None


@dataclass(frozen=True)
class MessageContext:
    """The context of a chat message.

    Attributes:
        context: the context in the format of the service.
        tokens: the number of tokens; None if the service builds the context itself.
    """

    context: Mapping[str, Any]
    tokens: int | None = None


@dataclass(frozen=True)
class Citation:
    """A citation in an answer.

    Attributes:
        id, title: the cited source or note.
        quote: the cited text, verbatim from the passage.
        passage: the text around the quote.
        page: the page number, from 1, in a file with pages.
    """

    id: str
    title: str = ""
    quote: str = ""
    passage: str = ""
    page: int | None = None


@dataclass(frozen=True)
class Answer:
    """An answer from the sources and notes.

    Attributes:
        text: the answer, with citation marks such as `[source:…]` and `[note:…]`.
        citations: the citations; empty if no passage supports an answer.
        question: the question.
        model: the model that answered, if the service reports it.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    question: str = ""
    model: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Search:
    """A search that the model planned for a question."""

    term: str
    instructions: str = ""


@dataclass(frozen=True)
class Strategy:
    """The search strategy for a question."""

    reasoning: str
    searches: tuple[Search, ...] = ()


@dataclass(frozen=True)
class Partial:
    """A partial answer, from the results of one search."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Final:
    """The final answer, the last event of a stream."""

    answer: Answer


AskEvent: TypeAlias = Strategy | Partial | Final
"""An event of a streamed answer."""
