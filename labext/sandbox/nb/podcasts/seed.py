"""The profiles that are there from the start; what was deleted stays away."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.nb.podcasts import episode_profiles, speaker_profiles
from labext.sandbox.nb.podcasts.profile_bodies import (
    NewEpisodeProfile,
    NewSpeaker,
    NewSpeakerProfile,
)
from labext.sandbox.nb.store import Seeded
from labext.sandbox.seeding import once

SPEAKERS = (
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
        description="Has read the material and tells what is in it.",
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

EPISODES = (
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


def seed(session: Session) -> None:
    """Make the profiles that were never made."""
    for speaker in SPEAKERS:
        if once(session, Seeded, f"speaker profile {speaker.name}"):
            session.add(speaker_profiles.new(speaker))
    session.flush()
    for episode in EPISODES:
        if once(session, Seeded, f"episode profile {episode.name}"):
            episode_profiles.new(session, episode)
