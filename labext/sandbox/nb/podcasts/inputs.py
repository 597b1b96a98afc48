"""Collect the texts, speakers and voices of an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from labext.extras import install_line
from labext.sandbox.nb import errors
from labext.sandbox.nb.podcasts.script import Material, Speaker, Text
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.speech.voices import VoiceRequests
from labext.sandbox.nb.tables import (
    COMPLETED,
    NEW,
    RUNNING,
    Model,
    Note,
    Notebook,
    NotebookSource,
    Source,
)

MAX_SPEAKERS = 4
"""Maximum number of speakers of an episode."""

MAX_CHARACTERS = 2_000_000
"""Maximum number of a notebook's characters that an episode is made from."""


def check_material(session: Session, notebook_id: str) -> None:
    """Check that a notebook has text for an episode."""
    notebook = load(session, Notebook, notebook_id)
    if any(_text_lengths(session, notebook_id)):
        return
    waiting = _linked_sources(notebook_id).where(Source.status.in_((NEW, RUNNING))).limit(1)
    if session.scalar(waiting) is not None:
        raise errors.bad_request(
            f"The sources of the notebook {notebook.name} are still being processed. Wait for them."
        )
    raise errors.bad_request(f"The notebook {notebook.name} has no text. Add a source or a note.")


def gather_material(session: Session, notebook_id: str) -> Material:
    """Return the texts of the completed sources and of the notes, the oldest first.

    If they exceed `MAX_CHARACTERS`, long texts are cut to an equal share.
    """
    check_material(session, notebook_id)
    limit = fair_share(_text_lengths(session, notebook_id), MAX_CHARACTERS)
    sources = (
        _completed_sources(notebook_id)
        .with_only_columns(Source.title, func.substr(Source.full_text, 1, limit))
        .order_by(Source.created, Source.id)
    )
    notes = (
        select(Note.title, func.substr(Note.content, 1, limit))
        .where(Note.notebook_id == notebook_id)
        .order_by(Note.created, Note.id)
    )
    rows = [*session.execute(sources), *session.execute(notes)]
    texts = [Text(title or "", text) for title, text in rows if text and text.strip()]
    return Material(load(session, Notebook, notebook_id).name, texts)


def fair_share(lengths: Sequence[int], limit: int) -> int:
    """Return the length to which texts are cut so that their total is at most `limit`.

    Texts shorter than their share leave the rest to the longer ones.
    """
    remaining = limit
    for index, length in enumerate(ordered := sorted(lengths)):
        share = remaining // (len(ordered) - index)
        if length > share:
            return share
        remaining -= length
    return limit


def _text_lengths(session: Session, notebook_id: str) -> list[int]:
    sources = _completed_sources(notebook_id).with_only_columns(func.length(Source.full_text))
    notes = select(func.length(Note.content)).where(Note.notebook_id == notebook_id)
    return [length or 0 for length in (*session.scalars(sources), *session.scalars(notes))]


def _completed_sources(notebook_id: str) -> Select[Any]:
    """Select the completed sources of a notebook."""
    return _linked_sources(notebook_id).where(Source.status == COMPLETED)


def _linked_sources(notebook_id: str) -> Select[Any]:
    return select(Source.id).join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)


def episode_speakers(profiles: Sequence[Mapping[str, Any]]) -> list[Speaker]:
    """Return the speakers of several speaker profiles, in order."""
    speakers = [speaker for profile in profiles for speaker in profile["speakers"]]
    if not speakers:
        raise errors.bad_request(
            "The episode has no speakers. Name speaker profiles, or add some to its profile."
        )
    if len(speakers) > MAX_SPEAKERS:
        raise errors.bad_request(
            f"{len(speakers)} speakers are too many: an episode has at most {MAX_SPEAKERS}. Name "
            "fewer speaker profiles."
        )
    check_speaker_names([speaker["name"] for speaker in speakers])
    return [
        Speaker(speaker["name"], speaker["backstory"], speaker["personality"])
        for speaker in speakers
    ]


def requested_voices(session: Session, profiles: Sequence[Mapping[str, Any]]) -> VoiceRequests:
    """Return the model and the requested voice of each speaker."""
    requests: dict[str, tuple[Model, str | None]] = {}
    for profile in profiles:
        model = _voice_model(session, profile["voice_model"])
        requests |= {
            speaker["name"]: (model, speaker["voice_id"]) for speaker in profile["speakers"]
        }
    return requests


def _voice_model(session: Session, requested: str | None) -> Model:
    if requested is None and registry.get_default_model(session, "text_to_speech") is None:
        speech_models = select(Model.id).where(Model.kind == registry.TTS).limit(1)
        if session.scalar(speech_models) is None:
            raise errors.not_configured(
                f"No speech model is installed. Install one: `{install_line('speech')}`, then "
                "restart the sandbox; or add a model of type tts."
            )
    return registry.select_model(session, "text_to_speech", requested)


def check_speaker_names(names: Sequence[str]) -> None:
    """Check that speaker names are unique, else raise a 400."""
    folded = [name.casefold() for name in names]
    for number, name in enumerate(names):
        if folded.index(name.casefold()) < number:
            raise errors.bad_request(
                f"Two speakers are called {name}. Give one of them another name."
            )
