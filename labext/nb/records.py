"""Types that the client returns: records, scopes, questions, answers and citations.

Each constant in capitals is a kind of record: its keys, which are the columns of a DataFrame of
such records, with the types of the columns. In a record, a `time` is a text in ISO 8601 and `json`
a list or a dictionary; values that the service does not report are None.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from labext import messages
from labext.errors import ServiceError
from labext.redaction import mask

if TYPE_CHECKING:
    import pandas as pd

    from labext.frames.conversion import Kind

Record: TypeAlias = dict[str, Any]

Fields: TypeAlias = "dict[str, Kind]"
"""Keys of a kind of record, with the column type of each."""


def _fields(keys: str) -> Fields:
    """Return the fields for `key:type …`; a key without a type is text."""
    pairs = (key.partition(":")[::2] for key in keys.split())
    return {key: cast("Kind", kind or "text") for key, kind in pairs}


NOTEBOOK = _fields(
    "id name description archived:boolean source_count:integer note_count:integer "
    "created_at:time updated_at:time"
)
SOURCE = _fields(
    "id title topic status:category stage error kind:category file_name size:integer url "
    "notebooks:json passages:integer insights_count:integer transcribed_by confidence:number "
    "created_at:time updated_at:time"
)
SOURCE_ITEM = SOURCE | _fields("remark")
"""The fields of a source in a list; a frame of sources has no remarks."""

SOURCE_DETAIL = SOURCE | _fields("full_text remark")
STATUS = _fields(
    "status:category stage error message remark started_at:time completed_at:time changed_at:time"
)
INSIGHT = _fields(
    "id source_id source_title insight_type:category content created_at:time updated_at:time"
)
NOTE = _fields("id title note_type:category content notebook_id created_at:time updated_at:time")
SESSION = _fields(
    "id title notebook_id model_override message_count:integer created_at:time updated_at:time"
)
MESSAGE = _fields("type:category content citations:json model created_at:time")
HIT = _fields(
    "id kind:category title match page:integer similarity:number relevance:number "
    "table_header transcript:boolean confidence:number"
)
"""The fields of a search hit.

`table_header`: the first row of the table that the passage continues.
`transcript`: the text was recognized in speech, so that its words may be wrong; `confidence` is
their mean probability then, if it is known.
"""

EVALUATION = _fields(
    "question kind:category right:boolean cited_right:boolean refused_right:boolean rank:integer "
    "seconds:number tokens:integer answer citations:json note error"
)
"""The columns of an evaluation; a row is one question.

`right`: the answer contains every expected fact, or refuses rightly. `cited_right`: every expected
source is cited, with the expected facts in the cited passages. `refused_right`: for a question
without an answer in the sources. `rank`: the position, from 1, of the first right passage.
`note`: what the service states about the searches, such as a failed embedding model.
"""

EVALUATION_SUMMARY = _fields(
    "kind questions:integer right:number cited_right:number refused_right:number "
    "reciprocal_rank:number seconds:number tokens:integer"
)
"""The columns of a summary, with shares from 0 to 1; the last row is of all questions."""

PREVIEW = _fields(
    "id name note_count:integer exclusive_source_count:integer shared_source_count:integer "
    "session_count:integer"
)
NOTEBOOK_DELETION = _fields(
    "id deleted_notes:integer deleted_sources:integer unlinked_sources:integer "
    "deleted_chat_sessions:integer"
)
CONTEXT = _fields("sources:json notes:json token_count:integer char_count:integer")

TRANSFORMATION = _fields(
    "id name title description prompt apply_default:boolean model_id created_at:time "
    "updated_at:time"
)
OUTPUT = _fields("output transformation_id model_id usage:json")
MODEL = _fields(
    "id name provider:category type:category credential created_at:time updated_at:time"
)
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

TEST_RESULT = _fields("success:boolean message details:json")
PROVIDER = _fields("provider:category available:boolean types:json")
DISCOVERED_MODEL = _fields("name provider:category model_type:category description")
SYNC_RESULT = _fields("provider:category discovered:integer new:integer existing:integer error")
MODEL_COUNT = _fields("provider:category counts:json total:integer")
CREDENTIAL = _fields(
    "id name provider:category base_url has_api_key:boolean model_count:integer decryption_error "
    "options:json created_at:time updated_at:time"
)
"""Without the key, which no read returns; `options` has the set ones of `CREDENTIAL_OPTIONS`."""

CREDENTIAL_OPTIONS = (
    *("modalities", "endpoint", "api_version", "endpoint_llm", "endpoint_embedding"),
    *("endpoint_stt", "endpoint_tts", "project", "location", "credentials_path", "num_ctx"),
)
"""The fields of a credential besides its name, key and address."""

CREDENTIAL_DELETION = _fields("id deleted_models:integer")
MODEL_REGISTRATION = _fields("created:integer existing:integer")
CREDENTIAL_STATUS = _fields("provider:category configured:boolean source:category")
SPEAKER = _fields("name voice_id backstory personality")
SPEAKER_PROFILE = _fields(
    "id name description voice_model speakers:json created_at:time updated_at:time"
)
EPISODE_PROFILE = _fields(
    "id name description speaker_profile_ids:json outline_llm transcript_llm language "
    "default_briefing num_segments:integer max_tokens:integer created_at:time updated_at:time"
)
EPISODE_SUBMISSION = _fields("job_id status:category message episode_id episode_name")
EPISODE_RETRY = _fields("job_id message episode_id")
JOB = _fields(
    "job_id status:category stage progress:json result:json error_message created_at:time "
    "updated_at:time"
)
PROGRESS = _fields("stage done:integer total:integer stages:json")
"""Progress of a job: the current one of its `stages` and its counts; None if not reported."""

EPISODE = _fields(
    "id name notebook_id job_id job_status:category stage progress:json error_message "
    "duration:number audio_file audio_url audio_bytes:integer episode_profile:json "
    "speaker_profiles:json briefing created_at:time updated_at:time"
)
"""`duration` is in seconds; the profiles are as they were when it was generated."""

EPISODE_DETAIL = EPISODE | _fields("outline:json transcript:json")
"""`outline` is `{"segments": […]}`, `transcript` `{"transcript": […]}`; None until generated."""

SEGMENT = _fields("name description size")
LINE = _fields("speaker dialogue start:number end:number")
"""One turn of a speaker, with start and end in seconds; None if not reported."""

_SERVICE_TEXTS = frozenset(
    {"error", "message", "remark", "stage", "error_message", "decryption_error"}
)
"""Fields with text from the server, which may contain an API key of a model provider."""


def build_record(fields: Fields, values: Mapping[str, Any]) -> Record:
    """Build a record from response data; API keys in the server's texts are masked."""
    record = {name: values.get(name) for name in fields}
    for name in _SERVICE_TEXTS & record.keys():
        text = record[name]
        if text and isinstance(text, str):
            record[name] = mask(text)
    return record


def require_mapping(response: Any, noun: str) -> Mapping[str, Any]:
    """Return response data that must be a JSON object.

    Raises:
        ServiceError: it is not a JSON object.
    """
    if isinstance(response, Mapping):
        return response
    raise ServiceError(f"The notebook service's response about {noun} is invalid.")


def require_list(response: Any, noun: str) -> list[Mapping[str, Any]]:
    """Return response data that must be a list of JSON objects.

    Raises:
        ServiceError: it is not a list of JSON objects.
    """
    if isinstance(response, list) and all(isinstance(item, Mapping) for item in response):
        return response
    raise ServiceError(f"The notebook service's list of {noun} is invalid.")


def drop_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items whose value is not None."""
    return {key: value for key, value in values.items() if value is not None}


def as_number(value: Any) -> float | None:
    """Return a value of response data as a float; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def string_items(response: Any) -> list[str]:
    """Return the strings in a list of response data; other items are dropped."""
    return (
        [item for item in response if isinstance(item, str)] if isinstance(response, list) else []
    )


def parse_record(fields: Fields, response: Any, noun: str) -> Record:
    """Parse a record that must have an identifier.

    Raises:
        ServiceError: the data is not a JSON object, or has no identifier.
    """
    record = build_record(fields, require_mapping(response, noun))
    if isinstance(record["id"], str) and record["id"]:
        return record
    raise ServiceError(f"The notebook service's response about {noun} has no identifier.")


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

COMMAND = _fields(
    "job_id status:category subject command:category error_message result:json progress:json "
    "created_at:time updated_at:time"
)
"""A background command; `subject` is the record that it works on."""

COMMAND_KIND = _fields("command app:category")
"""A command that the service offers."""

REBUILD_SUBMISSION = _fields("job_id total_items:integer message")
REBUILD = _fields(
    "job_id status:category processed:integer total:integer sources:integer notes:integer "
    "insights:integer failed:integer error_message started_at:time completed_at:time"
)
"""Progress of a rebuild of vectors, with the counts of processed records by kind."""

EMBEDDING_SUBMISSION = _fields("job_id item_id item_type:category message")
"""The submission of a source or note for the computation of its vectors."""

SOURCE_CHAT = _fields(
    "id title source_id model_override message_count:integer created_at:time updated_at:time"
)
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
        identifiers = self.sources if kind == "source" else self.notes
        return self.includes(kind) and (identifiers is None or identifier in identifiers)

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
        rewrite: whether a language model writes the searches; None for the service's default.
        rerank: whether a language model orders the passages found.
    """

    text: str
    scope: Scope = Scope()
    limit: int | None = None
    min_similarity: float | None = None
    rewrite: bool | None = None
    rerank: bool | None = None


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


class Hits(list[Record]):
    """The hits of a search, the best first.

    Attributes:
        note: what the service states about the search, such as a failed embedding model.
    """

    def __init__(self, hits: Iterable[Record], note: str | None = None) -> None:
        super().__init__(hits)
        self.note = note


def parse_note(data: Mapping[str, Any]) -> str | None:
    """Parse the note of a search or an answer; API keys in it are masked."""
    note = data.get("note")
    return mask(note) if isinstance(note, str) and note else None


@dataclass(frozen=True)
class Citation:
    """A citation in an answer.

    Attributes:
        id, title: the cited source or note.
        quote: the cited text, verbatim from the passage.
        passage: the text around the quote.
        page: the page number, from 1, in a file with pages.
        transcript: whether the quote was recognized in speech, so that its words may be wrong.
        confidence: the mean probability of its words then, from 0 to 1, if it is known.
        table_header: the first row of the table that the passage continues; empty if there is none.
    """

    id: str
    title: str = ""
    quote: str = ""
    passage: str = ""
    page: int | None = None
    transcript: bool = False
    confidence: float | None = None
    table_header: str = ""


@dataclass(frozen=True)
class Usage:
    """The tokens and the cost of an answer, as far as the provider states them.

    Attributes:
        input_tokens: the tokens sent to the models.
        output_tokens: the tokens written by the models.
        cost: in US dollars.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", ${messages.format_number(self.cost, 4)}"
        return f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out{cost}"


def parse_usage(data: Any) -> Usage | None:
    """Parse the usage of an answer; None if the service does not report it."""
    if not isinstance(data, Mapping):
        return None
    tokens_in, tokens_out = data.get("input_tokens"), data.get("output_tokens")
    return Usage(
        tokens_in if isinstance(tokens_in, int) else 0,
        tokens_out if isinstance(tokens_out, int) else 0,
        as_number(data.get("cost")),
    )


@dataclass(frozen=True)
class Answer:
    """An answer from the sources and notes.

    Attributes:
        text: the answer, with citation marks such as `[source:…]` and `[note:…]`.
        citations: the citations; empty if no passage supports an answer.
        question: the question.
        model: the model that answered, if the service reports it.
        usage: the tokens and the cost, if the service reports them.
        note: what the service states about its searches, such as a failed embedding model.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    question: str = ""
    model: str | None = None
    usage: Usage | None = None
    note: str | None = None

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.note}" if self.note else self.text


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
class Words:
    """The next words of an answer that is being written, without citation marks."""

    words: str


@dataclass(frozen=True)
class Partial:
    """A partial answer, from the results of one search."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Final:
    """The final answer, the last event of a stream."""

    answer: Answer


AskEvent: TypeAlias = Strategy | Words | Partial | Final
"""An event of a streamed answer."""


def has_number_suffix(stored: str, name: str) -> bool:
    """Return True if `stored` is `name` with a number that a server added: `protocol (1).docx`."""
    stem, suffix = os.path.splitext(name)
    return re.fullmatch(rf"{re.escape(stem)} \(\d+\){re.escape(suffix)}", stored) is not None
