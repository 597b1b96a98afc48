"""Who speaks in an episode, and by which model and voice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.extras import install_line
from labext.sandbox.nb import faults
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts.profile_bodies import MOST_SPEAKERS
from labext.sandbox.nb.podcasts.script import Speaker
from labext.sandbox.nb.podcasts.speaker_profiles import check_names
from labext.sandbox.nb.speech.casting import Wanted
from labext.sandbox.nb.store import Model


def speakers(profiles: Sequence[Mapping[str, Any]]) -> list[Speaker]:
    """Who speaks, profile after profile.

    Raises:
        HTTPException: 400, nobody, too many, or two of one name.
    """
    every = [each for profile in profiles for each in profile["speakers"]]
    if not every:
        raise faults.invalid(
            "Nobody is to speak. Name speaker profiles, or give the episode profile some."
        )
    if len(every) > MOST_SPEAKERS:
        raise faults.invalid(
            f"{len(every)} speakers are too many: an episode has at most {MOST_SPEAKERS}. Name "
            "fewer speaker profiles."
        )
    check_names([each["name"] for each in every])
    return [Speaker(each["name"], each["backstory"], each["personality"]) for each in every]


def voices(session: Session, profiles: Sequence[Mapping[str, Any]]) -> Wanted:
    """By which model and voice each speaks.

    Raises:
        HTTPException: 422, nothing is there that could speak; 404, the model is gone.
    """
    found: dict[str, tuple[Model, str | None]] = {}
    for profile in profiles:
        model = _model(session, profile["voice_model"])
        found |= {each["name"]: (model, each["voice_id"]) for each in profile["speakers"]}
    return found


def _model(session: Session, wanted: str | None) -> Model:
    if wanted is None and registry.default(session, "text_to_speech") is None:
        speaks = select(Model.id).where(Model.kind == registry.TTS).limit(1)
        if session.scalar(speaks) is None:
            raise faults.unconfigured(
                f"Nothing that speaks is installed. Install it: `{install_line('speech')}`, then "
                "restart the sandbox; or add a model of type tts."
            )
    return registry.chosen(session, "text_to_speech", wanted)
