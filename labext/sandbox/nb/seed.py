"""Create the password, models, transformations and profiles of a new service."""

from __future__ import annotations

from pathlib import Path

from labext.sandbox.core.data_folder import ensure_secret
from labext.sandbox.core.database import mark_seeded
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import settings
from labext.sandbox.nb.middleware import hash_password
from labext.sandbox.nb.podcasts.profiles import (
    NewEpisodeProfile,
    NewSpeaker,
    NewSpeakerProfile,
    create_profile,
)
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import EpisodeProfile, SeedMarker, SpeakerProfile
from labext.sandbox.nb.transformations.router import NewTransformation, create_transformation

TRANSFORMATIONS = (
    NewTransformation(
        name="Key findings",
        description="The key findings of a text; created for every new source.",
        prompt="List the key findings of the text: its five most important sentences.",
        apply_default=True,
    ),
    NewTransformation(
        name="Summary",
        description="A short summary of a text.",
        prompt="Summarise the text in one paragraph of at most six sentences.",
    ),
    NewTransformation(
        name="Methods and materials",
        description="The reagents, devices and steps, with amounts and conditions.",
        prompt="List every reagent, device and step of the methods, with concentrations, amounts, "
        "temperatures and times.",
    ),
    NewTransformation(
        name="Open questions",
        description="The questions that a text asks or leaves open.",
        prompt="List the open questions: what the text asks, and what it says is unknown, unclear "
        "or to be tested.",
    ),
)


def _speaker_profile(
    profile: str, description: str, name: str, backstory: str, personality: str
) -> NewSpeakerProfile:
    speaker = NewSpeaker(name=name, backstory=backstory, personality=personality)
    return NewSpeakerProfile(name=profile, description=description, speakers=[speaker])


SPEAKER_PROFILES = (
    _speaker_profile(
        "host",
        "Leads through the episode and asks what a listener would ask.",
        "Alex",
        "Has led a science programme for years and has stood at a bench before.",
        "Curious and clear; asks one thing at a time and sums up.",
    ),
    _speaker_profile(
        "guest",
        "Has read the material and reports its contents.",
        "Robin",
        "A scientist of the field who knows the notebook's material by heart.",
        "Precise and vivid; names numbers, and says what is not known.",
    ),
    _speaker_profile(
        "expert",
        "Explains the material from the ground up.",
        "Morgan",
        "Has taught the subject for a long time and reviewed many papers on it.",
        "Patient and exact; goes step by step, from what is known to the new.",
    ),
    _speaker_profile(
        "student",
        "Hears about it for the first time.",
        "Sam",
        "Begins in the laboratory this month.",
        "Eager and frank; says when something is not clear.",
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


def seed_service(site: Site) -> None:
    """Create all initial data that was never created before."""
    with site.database.write() as session:
        if mark_seeded(session, SeedMarker, settings.PASSWORD):
            settings.set_setting(
                session, settings.PASSWORD, hash_password(ensure_secret(password_file(site)))
            )
        registry.seed_models(session)
        for transformation in TRANSFORMATIONS:
            if mark_seeded(session, SeedMarker, f"transformation {transformation.name}"):
                create_transformation(session, transformation)
        for speaker in SPEAKER_PROFILES:
            if mark_seeded(session, SeedMarker, f"speaker profile {speaker.name}"):
                create_profile(session, SpeakerProfile, speaker)
        session.flush()
        for episode in EPISODE_PROFILES:
            if mark_seeded(session, SeedMarker, f"episode profile {episode.name}"):
                create_profile(session, EpisodeProfile, episode)


def connection_password(site: Site) -> str | None:
    """Return the password handed out with the connection; None if none is configured."""
    with site.database.read() as session:
        configured = settings.get_setting(session, settings.PASSWORD) is not None
    return ensure_secret(password_file(site)) if configured else None


def password_file(site: Site) -> Path:
    """Return the file of the password, readable only by the operator of the sandbox."""
    return site.secrets / "nb_password"
