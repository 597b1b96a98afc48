"""The tables of podcasts: who speaks, how an episode is made, and the episodes.

Times are seconds since the epoch.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from labext.sandbox.nb.store import NEW, Base


class SpeakerProfile(Base):
    """Who speaks; its name is its own.

    Attributes:
        voice_model: a model of type `tts`; None is the slot `text_to_speech`'s.
        speakers: one to four, each with `name`, `voice_id` (None: one that no other has),
            `backstory` and `personality`.
    """

    __tablename__ = "nb_speaker_profiles"

    id: Mapped[str] = mapped_column(String(60), primary_key=True)
    name: Mapped[str] = mapped_column(Text, unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    voice_model: Mapped[str | None] = mapped_column(ForeignKey("nb_models.id", ondelete="SET NULL"))
    speakers: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    created: Mapped[float] = mapped_column(default=time.time)
    updated: Mapped[float] = mapped_column(default=time.time)


class EpisodeProfile(Base):
    """How an episode is made; its name is its own.

    Attributes:
        speaker_profile_ids: who speaks where nobody is named.
        outline_llm, transcript_llm: models of type `llm`; None is the slot `podcast`'s.
        segments: into how many parts an episode falls.
    """

    __tablename__ = "nb_episode_profiles"

    id: Mapped[str] = mapped_column(String(60), primary_key=True)
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
    created: Mapped[float] = mapped_column(default=time.time)
    updated: Mapped[float] = mapped_column(default=time.time)


class Episode(Base):
    """An episode, from the order on; its sound is `episodes/<the id's last part>.mp3`.

    Attributes:
        job_id: of the generation, the last one if there were several.
        status: `NEW`, `RUNNING`, `COMPLETED` or `FAILED`; completed only with its sound.
        stage: what is being done while it runs: `outline`, `dialogue`, `speech` or `encoding`.
        done, total: how much of that stage.
        reason: why it failed.
        profile, speakers: the profiles as they were when it was ordered.
        outline: `name`, `description` and `size` of each segment.
        transcript: `speaker`, `dialogue`, `start` and `end` of each turn, in seconds.
        duration: seconds.
        size: bytes of the sound.
        ordered: when its job was put in.
        changed: when its status, stage or count changed last.
    """

    __tablename__ = "nb_episodes"
    __table_args__ = (Index("nb_episodes_job", "job_id"),)

    id: Mapped[str] = mapped_column(String(60), primary_key=True)
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
    ordered: Mapped[float] = mapped_column(default=time.time)
    started: Mapped[float | None]
    ended: Mapped[float | None]
    changed: Mapped[float] = mapped_column(default=time.time)
    created: Mapped[float] = mapped_column(default=time.time)
    updated: Mapped[float] = mapped_column(default=time.time)
