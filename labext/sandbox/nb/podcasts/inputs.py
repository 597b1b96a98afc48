"""Collect the texts, speakers and voices of an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from labext.extras import install_line
from labext.sandbox.nb import errors
from labext.sandbox.nb.podcast_profiles.schemas import MAX_SPEAKERS
from labext.sandbox.nb.podcast_profiles.service import check_speaker_names
from labext.sandbox.nb.podcasts.script import Material, Speaker, Text
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.queries import get_notebook
from labext.sandbox.nb.speech.voices import VoiceRequests
from labext.sandbox.nb.tables import COMPLETED, NEW, RUNNING, Model, Note, NotebookSource, Source

MAX_CHARACTERS = 2_000_000
"""Characters of a notebook that an episode is made from."""


def check_material(session: Session, notebook_id: str) -> None:
    """See that there is something to talk about.

    Raises:
        HTTPException: 404, there is no such notebook; 400, it is empty, or nothing is read yet.
    """
    found = get_notebook(session, notebook_id)
    if any(_text_lengths(session, notebook_id)):
        return
    waiting = _linked_sources(notebook_id).where(Source.status.in_((NEW, RUNNING))).limit(1)
    if session.scalar(waiting) is not None:
        raise errors.bad_request(
            f"The sources of the notebook {found.name} are still being processed. Wait for them."
        )
    raise errors.bad_request(
        f"The notebook {found.name} has nothing to talk about. Add a source that can be read, or a "
        "note."
    )


def gather_material(session: Session, notebook_id: str) -> Material:
    """The texts of the sources that are read, and the notes; the oldest first.

    Of more than `MOST` characters each text gives its beginning, and the long ones give way to the
    short.

    Raises:
        HTTPException: as `check`.
    """
    check_material(session, notebook_id)
    most = fair_share(_text_lengths(session, notebook_id), MAX_CHARACTERS)
    sources = (
        _completed_sources(notebook_id)
        .with_only_columns(Source.title, func.substr(Source.full_text, 1, most))
        .order_by(Source.created, Source.id)
    )
    notes = (
        select(Note.title, func.substr(Note.content, 1, most))
        .where(Note.notebook_id == notebook_id)
        .order_by(Note.created, Note.id)
    )
    rows = [*session.execute(sources), *session.execute(notes)]
    texts = [Text(title or "", text) for title, text in rows if text and text.strip()]
    return Material(get_notebook(session, notebook_id).name, texts)


def fair_share(lengths: Sequence[int], most: int) -> int:
    """The length to which each of several texts is cut, so that they have at most so many together.

    The short ones leave what they don't need to the long ones.
    """
    left = most
    for place, length in enumerate(ordered := sorted(lengths)):
        each = left // (len(ordered) - place)
        if length > each:
            return each
        left -= length
    return most


def _text_lengths(session: Session, notebook_id: str) -> list[int]:
    sources = _completed_sources(notebook_id).with_only_columns(func.length(Source.full_text))
    notes = select(func.length(Note.content)).where(Note.notebook_id == notebook_id)
    return [length or 0 for length in (*session.scalars(sources), *session.scalars(notes))]


def _completed_sources(notebook_id: str) -> Select[Any]:
    """The sources of a notebook that are read."""
    return _linked_sources(notebook_id).where(Source.status == COMPLETED)


def _linked_sources(notebook_id: str) -> Select[Any]:
    return select(Source.id).join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)


def episode_speakers(profiles: Sequence[Mapping[str, Any]]) -> list[Speaker]:
    """Who speaks, profile after profile.

    Raises:
        HTTPException: 400, nobody, too many, or two of one name.
    """
    every = [each for profile in profiles for each in profile["speakers"]]
    if not every:
        raise errors.bad_request(
            "Nobody is to speak. Name speaker profiles, or give the episode profile some."
        )
    if len(every) > MAX_SPEAKERS:
        raise errors.bad_request(
            f"{len(every)} speakers are too many: an episode has at most {MAX_SPEAKERS}. Name "
            "fewer speaker profiles."
        )
    check_speaker_names([each["name"] for each in every])
    return [Speaker(each["name"], each["backstory"], each["personality"]) for each in every]


def requested_voices(session: Session, profiles: Sequence[Mapping[str, Any]]) -> VoiceRequests:
    """By which model and voice each speaks.

    Raises:
        HTTPException: 422, nothing is there that could speak; 404, the model is gone.
    """
    found: dict[str, tuple[Model, str | None]] = {}
    for profile in profiles:
        model = _voice_model(session, profile["voice_model"])
        found |= {each["name"]: (model, each["voice_id"]) for each in profile["speakers"]}
    return found


def _voice_model(session: Session, wanted: str | None) -> Model:
    if wanted is None and registry.get_default_model(session, "text_to_speech") is None:
        speaks = select(Model.id).where(Model.kind == registry.TTS).limit(1)
        if session.scalar(speaks) is None:
            raise errors.not_configured(
                f"Nothing that speaks is installed. Install it: `{install_line('speech')}`, then "
                "restart the sandbox; or add a model of type tts."
            )
    return registry.select_model(session, "text_to_speech", wanted)
