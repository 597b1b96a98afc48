"""The tables of the notebook service, and new identifiers."""

from __future__ import annotations

import secrets
import string
import time
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    func,
    select,
)
from sqlalchemy.orm import (
    DeclarativeBase,
    InstrumentedAttribute,
    Mapped,
    column_property,
    mapped_column,
    relationship,
)

from labext.sandbox.core.database import cascading_key

NEW, RUNNING, COMPLETED, FAILED = "new", "running", "completed", "failed"
"""The statuses of a source or an episode (NB-88)."""


class Base(DeclarativeBase):
    """The service's tables."""


class Entity(Base):
    """Base of the objects with an identifier and the times of creation and last change.

    Attributes:
        noun: the name of the kind of object in messages.
        id_prefix: the part of an identifier before the colon; by default from the noun.
    """

    __abstract__ = True
    noun: ClassVar[str]
    id_prefix: ClassVar[str] = ""

    id: Mapped[str] = mapped_column(String(60), primary_key=True)
    created: Mapped[float]
    updated: Mapped[float]

    def __init__(self, **values: Any) -> None:
        now = time.time()
        id = new_identifier(self.id_prefix or self.noun.replace(" ", "_"))
        super().__init__(**{"id": id, "created": now, "updated": now} | values)

    def change(self, **values: Any) -> None:
        """Set columns and, if there are any, the time of the last change."""
        for name, value in values.items():
            setattr(self, name, value)
        if values:
            self.updated = time.time()


_ID_LETTERS = string.ascii_lowercase + string.digits
_ID_LENGTH = 20


def new_identifier(prefix: str) -> str:
    """Return a new unique identifier, such as `note:2v1h6nnjbp70uur02d4q`."""
    return f"{prefix}:{''.join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))}"


class Notebook(Entity):
    """A notebook, which groups sources and notes."""

    __tablename__ = "nb_notebooks"
    noun = "notebook"

    name: Mapped[str] = mapped_column(Text)
    description: Mapped[str] = mapped_column(Text, default="")
    archived: Mapped[bool] = mapped_column(default=False)


class Source(Entity):
    """Research material: a file, a page or a text.

    Attributes:
        kind: `upload`, `link` or `text`.
        file_name: an upload's name; its bytes are `originals/<the id's last part>`.
        full_text: the extracted text; None until it is processed.
        status: `NEW`, `RUNNING`, `COMPLETED` or `FAILED`.
        stage: the current processing stage, in one or two words.
        remark: text that may be wrong or is missing, and insights that could not be created,
            although it is completed.
        changed: the time of the last change of status or stage.
        transcribed_by: the name of the model that recognized the text in speech; None for others.
    """

    __tablename__ = "nb_sources"
    noun = "source"
    __table_args__ = (Index("nb_sources_updated", "updated"),)

    kind: Mapped[str] = mapped_column(String(10))
    title: Mapped[str] = mapped_column(Text, default="")
    topic: Mapped[str] = mapped_column(Text, default="")
    file_name: Mapped[str | None] = mapped_column(Text)
    media_type: Mapped[str | None] = mapped_column(String(200))
    size: Mapped[int | None]
    url: Mapped[str | None] = mapped_column(Text)
    full_text: Mapped[str | None] = mapped_column(Text, deferred=True)
    status: Mapped[str] = mapped_column(String(20), default=NEW)
    stage: Mapped[str] = mapped_column(String(100), default="")
    reason: Mapped[str | None] = mapped_column(Text)
    remark: Mapped[str | None] = mapped_column(Text)
    started: Mapped[float | None]
    ended: Mapped[float | None]
    changed: Mapped[float] = mapped_column(default=time.time)
    transcribed_by: Mapped[str | None] = mapped_column(Text)


class NotebookSource(Base):
    """The link of a source to a notebook."""

    __tablename__ = "nb_links"
    __table_args__ = (Index("nb_links_source", "source_id"),)

    notebook_id: Mapped[str] = cascading_key("nb_notebooks.id", primary_key=True)
    source_id: Mapped[str] = cascading_key("nb_sources.id", primary_key=True)


class Note(Entity):
    """A note of a notebook; `kind` is `human` or `ai`."""

    __tablename__ = "nb_notes"
    noun = "note"
    __table_args__ = (Index("nb_notes_notebook", "notebook_id"),)

    notebook_id: Mapped[str | None] = cascading_key("nb_notebooks.id")
    title: Mapped[str | None] = mapped_column(Text)
    content: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(10))


class Insight(Entity):
    """A model's output about a source; `kind` is the title of the transformation."""

    __tablename__ = "nb_insights"
    noun = "insight"
    id_prefix = "source_insight"
    __table_args__ = (Index("nb_insights_source", "source_id"),)

    source_id: Mapped[str] = cascading_key("nb_sources.id")
    kind: Mapped[str] = mapped_column(Text)
    content: Mapped[str] = mapped_column(Text)


class Passage(Base):
    """A piece of a source's or note's text, the unit of search and citation.

    Identifiers are never reused, so that stored citations never refer to another passage, and they
    increase with time.

    Attributes:
        parent_id: the identifier of the source or note.
        position: its index among its parent's passages.
        page: the page number from 1, for files with pages.
        heading: the headings above it, which are searched as well.
        confidence: the mean probability of its words, if it is recognized speech.
    """

    __tablename__ = "nb_passages"
    __table_args__ = (
        Index("nb_passages_parent", "parent_id", "position"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    parent_id: Mapped[str] = mapped_column(String(60))
    position: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    page: Mapped[int | None]
    heading: Mapped[str] = mapped_column(Text, default="")
    confidence: Mapped[float | None]


class Vector(Base):
    """The embedding of a passage; never changed, and its identifier is never reused.

    A passage has one per embedding model in use: two while the default model is being replaced.

    Attributes:
        space: the identifier of the embedding model; only vectors of one space are comparable.
        vector: float32 values with norm 1.
    """

    __tablename__ = "nb_vectors"
    __table_args__ = (
        UniqueConstraint("passage_id", "space"),
        Index("nb_vectors_space", "space"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    passage_id: Mapped[int] = cascading_key("nb_passages.id")
    space: Mapped[str] = mapped_column(String(120))
    vector: Mapped[bytes] = mapped_column(LargeBinary)


class TokenSigns(Base):
    """The signs of a passage's token states (`embedding.token_signs`), by the built-in model."""

    __tablename__ = "nb_token_signs"

    passage_id: Mapped[int] = cascading_key("nb_passages.id", primary_key=True)
    signs: Mapped[bytes] = mapped_column(LargeBinary)


class ChatSession(Entity):
    """A conversation about a notebook."""

    __tablename__ = "nb_sessions"
    noun = "chat session"
    __table_args__ = (Index("nb_sessions_notebook", "notebook_id"),)

    notebook_id: Mapped[str] = cascading_key("nb_notebooks.id")
    title: Mapped[str] = mapped_column(Text)
    model_override: Mapped[str | None] = mapped_column(String(100))
    messages: Mapped[list[Message]] = relationship(
        order_by="Message.id", cascade="all, delete-orphan", passive_deletes=True
    )


class Message(Base):
    """One message of a conversation; `kind` is `human` or `ai`."""

    __tablename__ = "nb_messages"
    __table_args__ = (Index("nb_messages_session", "session_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[str] = cascading_key("nb_sessions.id")
    kind: Mapped[str] = mapped_column(String(10))
    content: Mapped[str] = mapped_column(Text)
    citations: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    model: Mapped[str | None] = mapped_column(String(100))
    usage: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    created: Mapped[float] = mapped_column(default=time.time)


class Credential(Entity):
    """The address and key of a model provider; `key` is encrypted.

    Attributes:
        options: the other fields by name, such as `api_version`; see `credentials.service`.
    """

    __tablename__ = "nb_credentials"
    noun = "credential"

    provider: Mapped[str] = mapped_column(String(60))
    name: Mapped[str] = mapped_column(Text)
    base_url: Mapped[str | None] = mapped_column(Text)
    key: Mapped[bytes | None] = mapped_column(LargeBinary)
    options: Mapped[dict[str, Any] | None] = mapped_column(JSON)

    def option(self, name: str) -> Any:
        """Return one of the other fields, or None."""
        return (self.options or {}).get(name)

    def address(self, kind: str | None = None) -> str | None:
        """Return the address for models of a type; None for the provider's own."""
        specific = self.option(f"endpoint_{kind}") if kind else None
        return specific or self.base_url or self.option("endpoint")


class Model(Entity):
    """A model: `kind` is `llm`, `embedding`, `stt` or `tts`; the credential is optional."""

    __tablename__ = "nb_models"
    noun = "model"

    name: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(20))
    provider: Mapped[str] = mapped_column(String(60))
    credential_id: Mapped[str | None] = cascading_key("nb_credentials.id")


class Transformation(Entity):
    """A prompt that a model applies to a text.

    Attributes:
        by_default: whether it is run on every new source, creating an insight.
        model_id: the model that runs it; None for that of the slot `transformation`.
    """

    __tablename__ = "nb_transformations"
    noun = "transformation"

    name: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    description: Mapped[str] = mapped_column(Text, default="")
    prompt: Mapped[str] = mapped_column(Text)
    by_default: Mapped[bool] = mapped_column(default=False)
    model_id: Mapped[str | None] = mapped_column(ForeignKey("nb_models.id", ondelete="SET NULL"))


class DefaultModel(Base):
    """The model of a slot; a slot without a row has none.

    Attributes:
        slot: `chat`, `transformation`, `embedding`, `speech_to_text`, `text_to_speech`, `podcast`
            or `summary`.
    """

    __tablename__ = "nb_defaults"

    slot: Mapped[str] = mapped_column(String(30), primary_key=True)
    model_id: Mapped[str] = cascading_key("nb_models.id")


class Setting(Base):
    """A setting made by the operator of the service.

    The password's hash, whether pages of this machine and its network may be fetched, and the
    default prompt of transformations.
    """

    __tablename__ = "nb_settings"

    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Limit(Base):
    """A limit changed from its default."""

    __tablename__ = "nb_limits"

    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    value: Mapped[int]


class SeedMarker(Base):
    """A marker that an initial object was created, so that it is not created again."""

    __tablename__ = "nb_seeded"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)


class SpeakerProfile(Entity):
    """A set of speakers; names are unique.

    Attributes:
        voice_model: a model of type `tts`; None for that of the slot `text_to_speech`.
        speakers: one to four, each with `name`, `voice_id` (None for any unused voice),
            `backstory` and `personality`.
    """

    __tablename__ = "nb_speaker_profiles"
    noun = "speaker profile"
    id_prefix = "speaker"

    name: Mapped[str] = mapped_column(Text, unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    voice_model: Mapped[str | None] = mapped_column(ForeignKey("nb_models.id", ondelete="SET NULL"))
    speakers: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


class EpisodeProfile(Entity):
    """The settings for making an episode; names are unique.

    Attributes:
        speaker_profile_ids: the default speaker profiles.
        outline_llm, transcript_llm: models of type `llm`; None for that of the slot `podcast`.
        segments: the number of segments of an episode.
    """

    __tablename__ = "nb_episode_profiles"
    noun = "episode profile"

    name: Mapped[str] = mapped_column(Text, unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    speaker_profile_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    outline_llm: Mapped[str | None] = mapped_column(ForeignKey("nb_models.id", ondelete="SET NULL"))
    transcript_llm: Mapped[str | None] = mapped_column(
        ForeignKey("nb_models.id", ondelete="SET NULL")
    )
    language: Mapped[str | None] = mapped_column(Text)
    briefing: Mapped[str] = mapped_column(Text, default="")
    segments: Mapped[int] = mapped_column(default=5)
    max_tokens: Mapped[int | None]


class Episode(Entity):
    """An episode, from its request on; its audio is `episodes/<the id's last part>.mp3`.

    Attributes:
        job_id: the identifier of the last job that made it.
        status: `NEW`, `RUNNING`, `COMPLETED` or `FAILED`; completed only with its audio.
        stage: the current stage: `outline`, `dialogue`, `speech` or `encoding`.
        done, total: the progress of that stage.
        profile, speakers: copies of the profiles made at the request.
        outline: `name`, `description` and `size` of each segment.
        transcript: `speaker`, `dialogue`, `start` and `end` of each turn, in seconds.
        requested: the time at which its job was requested.
        changed: the time of the last change of status, stage or progress.
    """

    __tablename__ = "nb_episodes"
    noun = "episode"
    __table_args__ = (Index("nb_episodes_job", "job_id"),)

    name: Mapped[str] = mapped_column(Text)
    notebook_id: Mapped[str | None] = mapped_column(
        ForeignKey("nb_notebooks.id", ondelete="SET NULL")
    )
    job_id: Mapped[str] = mapped_column(String(60))
    status: Mapped[str] = mapped_column(String(20), default=NEW)
    stage: Mapped[str] = mapped_column(String(100), default="")
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str | None] = mapped_column(Text)
    profile: Mapped[dict[str, Any]] = mapped_column(JSON)
    speakers: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    briefing: Mapped[str] = mapped_column(Text, default="")
    outline: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON, deferred=True)
    transcript: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON, deferred=True)
    duration: Mapped[float | None]
    size: Mapped[int | None]
    requested: Mapped[float] = mapped_column(default=time.time)
    started: Mapped[float | None]
    ended: Mapped[float | None]
    changed: Mapped[float] = mapped_column(default=time.time)


def _count(column: InstrumentedAttribute[Any], parent: type[Entity]) -> Any:
    """Return an attribute of `parent`: the number of rows whose `column` refers to it."""
    rows = select(func.count()).where(column == parent.id).correlate_except(column.class_)
    return column_property(rows.scalar_subquery())


Notebook.source_count = _count(NotebookSource.notebook_id, Notebook)
Notebook.note_count = _count(Note.notebook_id, Notebook)
ChatSession.message_count = _count(Message.session_id, ChatSession)
