"""Has an episode made, or made again after it failed.

Whatever can be known is looked at before the job: an order that is taken fails only by what
happens while it is worked on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from labext.sandbox.database import counted
from labext.sandbox.nb import faults, identifiers, limits
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.podcasts import (
    cast,
    episode_profiles,
    material,
    profiles,
    records,
    speaker_profiles,
    tasks,
    writing,
)
from labext.sandbox.nb.podcasts.bodies import Order
from labext.sandbox.nb.podcasts.store import Episode, EpisodeProfile, SpeakerProfile
from labext.sandbox.nb.speech import casting
from labext.sandbox.nb.store import FAILED, NEW
from labext.sandbox.service import Site

Record = dict[str, Any]


def generate(site: Site, order: Order) -> Record:
    """Order an episode; two orders are two episodes, also under one name.

    Raises:
        HTTPException: 404, there is no such notebook, profile or model; 400, the notebook has
            nothing to talk about, or these can't speak; 422, a model is not set or not installed;
            413, the briefing is too long.
    """
    with site.database.read() as session:
        profile, speakers = _profiles(session, order)
        briefing = "\n\n".join(filter(None, (profile["default_briefing"], order.briefing_suffix)))
        limits.check_text(session, briefing)
    _check(site, order.notebook_id, profile, speakers)
    now = time.time()
    with site.database.write() as session:
        notebook(session, order.notebook_id)
        number = 1 + counted(session, Episode, Episode.notebook_id == order.notebook_id)
        episode = Episode(
            id=identifiers.new("episode"),
            name=order.episode_name or f"Episode {number}",
            notebook_id=order.notebook_id,
            job_id=identifiers.new("command"),
            profile=profile,
            speakers=speakers,
            briefing=briefing,
            ordered=now,
            changed=now,
            created=now,
            updated=now,
        )
        session.add(episode)
        session.flush()
        tasks.put(session, site, episode)
    return {
        "job_id": episode.job_id,
        "status": "submitted",
        "message": f"The episode {episode.name} is being made.",
        "episode_id": episode.id,
        "episode_name": episode.name,
    }


def retry(site: Site, identifier: str) -> Record:
    """Have a failed episode made again (contract, States and transitions), by a new job.

    By the profiles as they are now, where they are still there: what made it fail may have been
    put right in them. Its briefing stays.

    Raises:
        HTTPException: 400, it has not failed, or its notebook is deleted; else as `generate`.
    """
    with site.database.read() as session:
        episode = _failed(session, identifier)
        notebook_id = episode.notebook_id
        if notebook_id is None:
            raise faults.invalid(
                f"The notebook of the episode {episode.name} is deleted. Order another episode."
            )
        profile, speakers = _renewed(session, episode)
    _check(site, notebook_id, profile, speakers)
    with site.database.write() as session:
        episode = _failed(session, identifier)
        episode.job_id = identifiers.new("command")
        episode.profile, episode.speakers = profile, speakers
        episode.status, episode.reason = NEW, None
        episode.outline = episode.transcript = None
        episode.duration = episode.size = None
        episode.started = episode.ended = None
        episode.ordered = episode.changed = episode.updated = time.time()
        tasks.put(session, site, episode)
    return {
        "job_id": episode.job_id,
        "message": f"The episode {episode.name} is being made again.",
        "episode_id": episode.id,
    }


def _profiles(session: Session, order: Order) -> tuple[Record, list[Record]]:
    """The profiles of an order, as the episode keeps them."""
    profile = profiles.found(session, EpisodeProfile, order.episode_profile_id)
    named = order.speaker_profile_ids or profile.speaker_profile_ids
    speakers = [profiles.found(session, SpeakerProfile, each) for each in named]
    return episode_profiles.record(profile), [speaker_profiles.record(each) for each in speakers]


def _renewed(session: Session, episode: Episode) -> tuple[Record, list[Record]]:
    """An episode's profiles as they are now, and as they were where they are gone."""
    profile = session.get(EpisodeProfile, episode.profile["id"])
    speakers = []
    for kept in episode.speakers:
        now = session.get(SpeakerProfile, kept["id"])
        speakers.append(kept if now is None else speaker_profiles.record(now))
    return episode.profile if profile is None else episode_profiles.record(profile), speakers


def _failed(session: Session, identifier: str) -> Episode:
    episode = records.found(session, identifier)
    if episode.status != FAILED:
        raise faults.invalid(f"Only a failed episode is retried; this one is {episode.status}.")
    return episode


def _check(
    site: Site,
    notebook_id: str,
    profile: Mapping[str, Any],
    speakers: Sequence[Mapping[str, Any]],
) -> None:
    """See that an episode can be made, as far as that can be known."""
    with site.database.read() as session:
        material.check(session, notebook_id)
        cast.speakers(speakers)
        for model in (profile["outline_llm"], profile["transcript_llm"]):
            writing.check(registry.chosen(session, "podcast", model), profile["language"])
        voices = cast.voices(session, speakers)
    casting.cast(site, voices, profile["language"])
