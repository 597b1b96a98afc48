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
"""The seven default slots, and the type of the model in each (contract, Resources)."""

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
"""Without the key itself, which no read returns (contract, Rules)."""

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

EPISODE_DETAIL: Fields = {**EPISODE, "outline": "json", "transcript": "json"}
"""`outline` is `{"segments": […]}`, `transcript` `{"transcript": […]}`; None until it is made."""

SEGMENT: Fields = {"name": "text", "description": "text", "size": "text"}
LINE: Fields = {"speaker": "text", "dialogue": "text", "start": "number", "end": "number"}
"""What one speaker says at once, and from when to when: seconds; None where it is not told."""

_SERVICE_TEXTS = frozenset({"error", "message", "stage", "error_message", "decryption_error"})
"""What a server says of itself, in which it may have put a key of a model's provider."""


def build_record(fields: Fields, values: Mapping[str, Any]) -> Record:
    """Return a record of a kind out of what a server told; a key in its own words is masked."""
    record = {name: values.get(name) for name in fields}
    for name in _SERVICE_TEXTS & record.keys():
        text = record[name]
        if text and isinstance(text, str):
            record[name] = mask(text)
    return record


def require_mapping(answer: Any, what: str) -> Mapping[str, Any]:
    """Return an answer that has to be one thing.

    Raises:
        ServiceError: it is none.
    """
    if isinstance(answer, Mapping):
        return answer
    raise ServiceError(f"The notebook service's answer about {what} makes no sense.")


def require_list(answer: Any, what: str) -> list[Mapping[str, Any]]:
    """Return an answer that has to be a list of things.

    Raises:
        ServiceError: it is none.
    """
    if isinstance(answer, list) and all(isinstance(item, Mapping) for item in answer):
        return answer
    raise ServiceError(f"The notebook service's list of {what} makes no sense.")


def string_items(answer: Any) -> list[str]:
    """Return the words of a list in an answer; whatever else there is in it is left out."""
    return [item for item in answer if isinstance(item, str)] if isinstance(answer, list) else []


def parse_record(fields: Fields, answer: Any, what: str) -> Record:
    """Return the record of one thing that has an identifier.

    Raises:
        ServiceError: the answer is none, or names none.
    """
    record = build_record(fields, require_mapping(answer, what))
    if isinstance(record["id"], str) and record["id"]:
        return record
    raise ServiceError(f"The notebook service's answer about {what} names no identifier.")


def parse_records(fields: Fields, answer: Any, what: str) -> list[Record]:
    """Return the records of a list of things that have identifiers.

    Raises:
        ServiceError: the answer is none.
    """
    return [parse_record(fields, item, what) for item in require_list(answer, what)]


def to_frame(fields: Fields, records: Iterable[Record]) -> pd.DataFrame:
    """Return records of a kind as a typed DataFrame; an empty one has the same columns."""
    from labext.frames import conversion

    columns = [conversion.Column(name, kind) for name, kind in fields.items()]
    return conversion.records_to_frame(records, columns)


SETTING_CHOICES: Mapping[str, tuple[str, ...]] = {
    "default_embedding_option": ("ask", "always", "never"),
    "auto_delete_files": ("yes", "no"),
}
"""The settings that take one of a few words, and these."""

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
"""Something that the service does in the background; `subject` is what it is done with."""

COMMAND_KIND: Fields = {"command": "text", "app": "category"}
"""A command that the service knows."""

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
"""How far vectors are computed again: how many things are through, and of which kinds."""

EMBEDDING_SUBMISSION: Fields = {
    "job_id": "text",
    "item_id": "text",
    "item_type": "category",
    "message": "text",
}
"""That vectors of one source or note are being computed."""

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
    """Sources and notes by identifier, None for every one; and whether either kind counts at all.

    Where only sources or only notes are named, nothing of the other kind counts.
    """

    sources: tuple[str, ...] | None = None
    notes: tuple[str, ...] | None = None
    include_sources: bool = True
    include_notes: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.includes("source") or self.includes("note"))

    def holds(self, kind: str, identifier: str) -> bool:
        """Say whether something of a kind is in it; of another kind nobody knows."""
        if kind not in ("source", "note"):
            return True
        named = self.sources if kind == "source" else self.notes
        return self.includes(kind) and (named is None or identifier in named)

    def includes(self, kind: str) -> bool:
        """Say whether anything of a kind, `source` or `note`, counts."""
        own, other = self.sources, self.notes
        included = self.include_sources
        if kind == "note":
            own, other, included = other, own, self.include_notes
        if own is not None:
            return included and bool(own)
        return included and other is None


@dataclass(frozen=True)
class Question:
    """A question, what it is answered from, and by which models (identifiers)."""

    text: str
    scope: Scope
    limit: int | None = None
    min_similarity: float | None = None
    model_override: str | None = None
    strategy_model: str | None = None
    answer_model: str | None = None
    final_answer_model: str | None = None


@dataclass(frozen=True)
class MessageContext:
    """What goes with a message of a chat.

    Attributes:
        context: as the service wants it.
        tokens: how large that is for a model; None where the service gathers it by itself.
    """

    context: Mapping[str, Any]
    tokens: int | None = None


@dataclass(frozen=True)
class Citation:
    """Where an answer has something from.

    Attributes:
        id, title: of the source or the note.
        quote: what is cited; it stands word for word in the passage.
        passage: the piece of the source's or note's text around it.
        page: of a file that has pages, from 1.
    """

    id: str
    title: str = ""
    quote: str = ""
    passage: str = ""
    page: int | None = None


@dataclass(frozen=True)
class Answer:
    """An answer out of the knowledge base.

    Attributes:
        text: the answer; it marks what it cites as `[source:…]` or `[note:…]`.
        citations: where it has it from; none where nothing supports an answer.
        question: what was asked.
        model: which model has answered, where the service tells.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    question: str = ""
    model: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Search:
    """What is looked for on the way to an answer."""

    term: str
    instructions: str = ""


@dataclass(frozen=True)
class Strategy:
    """How the service goes about a question."""

    reasoning: str
    searches: tuple[Search, ...] = ()


@dataclass(frozen=True)
class Partial:
    """What one of the searches says to the question."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Final:
    """The answer; nothing comes after it."""

    answer: Answer


AskEvent: TypeAlias = Strategy | Partial | Final
"""One step of an answer that is read as it comes."""
