"""Create the password, models, transformations and profiles of a new service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import ensure_secret
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import podcast_profiles, settings
from labext.sandbox.nb.middleware import hash_password
from labext.sandbox.nb.podcast_profiles import (
    NewEpisodeProfile,
    NewSpeaker,
    NewSpeakerProfile,
)
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import (
    EpisodeProfile,
    SeedMarker,
    SpeakerProfile,
    Transformation,
)


@dataclass(frozen=True)
class _TransformationSeed:
    name: str
    description: str
    prompt: str
    by_default: bool = False


TRANSFORMATIONS = (
    _TransformationSeed(
        "Key findings",
        "The key findings of a text; created for every new source.",
        "List the key findings of the text: its five most important sentences.",
        by_default=True,
    ),
    _TransformationSeed(
        "Summary",
        "A short summary of a text.",
        "Summarise the text in one paragraph of at most six sentences.",
    ),
    _TransformationSeed(
        "Methods and materials",
        "The reagents, devices and steps, with amounts and conditions.",
        "List every reagent, device and step of the methods, with concentrations, amounts, "
        "temperatures and times.",
    ),
    _TransformationSeed(
        "Open questions",
        "The questions that a text asks or leaves open.",
        "List the open questions: what the text asks, and what it says is unknown, unclear or to "
        "be tested.",
    ),
)


def seed_transformations(session: Session) -> None:
    """Create the initial transformations that were never created before."""
    for seed in TRANSFORMATIONS:
        if mark_seeded(session, SeedMarker, f"transformation {seed.name}"):
            session.add(
                Transformation(
                    name=seed.name,
                    title=seed.name,
                    description=seed.description,
                    prompt=seed.prompt,
                    by_default=seed.by_default,
                )
            )


SPEAKER_PROFILES = (
    NewSpeakerProfile(
        name="host",
        description="Leads through the episode and asks what a listener would ask.",
        speakers=[
            NewSpeaker(
                name="Alex",
                backstory="Has led a science programme for years and has stood at a bench before.",
                personality="Curious and clear; asks one thing at a time and sums up.",
            )
        ],
    ),
    NewSpeakerProfile(
        name="guest",
        description="Has read the material and reports its contents.",
        speakers=[
            NewSpeaker(
                name="Robin",
                backstory="A scientist of the field who knows the notebook's material by heart.",
                personality="Precise and vivid; names numbers, and says what is not known.",
            )
        ],
    ),
    NewSpeakerProfile(
        name="expert",
        description="Explains the material from the ground up.",
        speakers=[
            NewSpeaker(
                name="Morgan",
                backstory="Has taught the subject for a long time and reviewed many papers on it.",
                personality="Patient and exact; goes step by step, from what is known to the new.",
            )
        ],
    ),
    NewSpeakerProfile(
        name="student",
        description="Hears about it for the first time.",
        speakers=[
            NewSpeaker(
                name="Sam",
                backstory="Begins in the laboratory this month.",
                personality="Eager and frank; says when something is not clear.",
            )
        ],
    ),
)

EPISODE_PROFILES = (
    NewEpisodeProfile(
        name="interview",
        description="A host asks a guest about the notebook's material.",
        speaker_profile_ids=["host", "guest"],
        default_briefing=(
            "An interview for colleagues of other fields. The host asks what a listener would ask; "
            "the guest answers from the material, with its numbers, and says how it is known."
        ),
        num_segments=5,
    ),
    NewEpisodeProfile(
        name="lecture",
        description="One expert explains the material.",
        speaker_profile_ids=["expert"],
        default_briefing=(
            "A short lecture for students: what the question is, what was done, what was found, "
            "and what follows from it."
        ),
        num_segments=4,
    ),
    NewEpisodeProfile(
        name="panel",
        description="A host, a guest, an expert and a student talk about the material.",
        speaker_profile_ids=["host", "guest", "expert", "student"],
        default_briefing=(
            "A round of four. The host leads, the guest and the expert look at the material from "
            "two sides, and the student asks what is not clear."
        ),
        num_segments=6,
    ),
)


def seed_profiles(session: Session) -> None:
    """Create the initial profiles that were never created before."""
    for speaker in SPEAKER_PROFILES:
        if mark_seeded(session, SeedMarker, f"speaker profile {speaker.name}"):
            podcast_profiles.create_profile(session, SpeakerProfile, speaker)
    session.flush()
    for episode in EPISODE_PROFILES:
        if mark_seeded(session, SeedMarker, f"episode profile {episode.name}"):
            podcast_profiles.create_profile(session, EpisodeProfile, episode)


def seed_service(site: Site) -> None:
    """Create all initial data that was never created before."""
    with site.database.write() as session:
        if mark_seeded(session, SeedMarker, settings.PASSWORD):
            settings.set_setting(
                session, settings.PASSWORD, hash_password(ensure_secret(password_file(site)))
            )
        registry.seed_models(session)
        seed_transformations(session)
        seed_profiles(session)


def connection_password(site: Site) -> str | None:
    """Return the password handed out with the connection; None if none is configured."""
    with site.database.read() as session:
        configured = settings.get_setting(session, settings.PASSWORD) is not None
    return ensure_secret(password_file(site)) if configured else None


def password_file(site: Site) -> Path:
    """Return the file of the password, readable only by the operator of the sandbox."""
    return site.secrets / "nb_password"
