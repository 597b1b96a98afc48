"""What is answered about episodes and their jobs (real services, section nb: podcasts)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.nb import faults
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.podcasts import files
from labext.sandbox.nb.podcasts.script import STAGES
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.store import COMPLETED, RUNNING
from labext.sandbox.service import Site

_WHOLE = (undefer(Episode.outline), undefer(Episode.transcript))


def found(session: Session, identifier: str, *, whole: bool = False) -> Episode:
    """An episode; with `whole`, its outline and transcript too.

    Raises:
        HTTPException: 404.
    """
    episode = session.get(Episode, identifier, options=_WHOLE if whole else ())
    if episode is None:
        raise faults.absent("episode", identifier)
    return episode


def one(site: Site, identifier: str) -> dict[str, Any]:
    """An episode with what is said in it.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        episode = found(session, identifier, whole=True)
    return _record(episode) | _said(episode)


def several(site: Site) -> list[dict[str, Any]]:
    """All episodes, the newest first, without what is said in them."""
    newest = select(Episode).order_by(Episode.created.desc(), Episode.id)
    with site.database.read() as session:
        return [_record(each) for each in session.scalars(newest)]


def job(site: Site, identifier: str) -> dict[str, Any]:
    """How far a job is. The one before a retry is no longer known.

    Raises:
        HTTPException: 404.
    """
    wanted = select(Episode).where(Episode.job_id == identifier).options(*_WHOLE)
    with site.database.read() as session:
        episode = session.scalar(wanted)
    if episode is None:
        raise faults.absent("podcast job", identifier)
    return {
        "job_id": episode.job_id,
        "status": episode.status,
        "stage": stage(episode),
        "progress": _progress(episode),
        "result": _result(episode),
        "error_message": episode.reason,
        "created_at": moment(episode.ordered),
        "updated_at": moment(episode.changed),
    }


def stage(episode: Episode) -> str:
    """What is being done, in words: `speech, 12 of 40`; empty unless it runs."""
    if episode.status != RUNNING:
        return ""
    counted = f", {episode.done:,} of {episode.total:,}" if episode.total else ""
    return f"{episode.stage}{counted}"


def _record(episode: Episode) -> dict[str, Any]:
    there = episode.status == COMPLETED
    return {
        "id": episode.id,
        "name": episode.name,
        "notebook_id": episode.notebook_id,
        "job_id": episode.job_id,
        "job_status": episode.status,
        "stage": stage(episode),
        "progress": _progress(episode),
        "error_message": episode.reason,
        "episode_profile": episode.profile,
        "speaker_profiles": episode.speakers,
        "briefing": episode.briefing,
        "duration": episode.duration,
        "audio_file": files.name(episode.id) if there else None,
        "audio_url": f"/api/podcasts/episodes/{episode.id}/audio" if there else None,
        "audio_bytes": episode.size,
        "created_at": moment(episode.created),
        "updated_at": moment(episode.changed),
    }


def _said(episode: Episode) -> dict[str, Any]:
    outline, turns = episode.outline, episode.transcript
    return {
        "outline": None if outline is None else {"segments": outline},
        "transcript": None if turns is None else {"transcript": turns},
    }


def _progress(episode: Episode) -> dict[str, Any] | None:
    if episode.status != RUNNING:
        return None
    return {
        "stage": episode.stage,
        "done": episode.done,
        "total": episode.total,
        "stages": [*STAGES],
    }


def _result(episode: Episode) -> dict[str, Any] | None:
    if episode.status != COMPLETED:
        return None
    return {
        "episode_id": episode.id,
        "audio_file_path": files.name(episode.id),
        "processing_time": (episode.ended or 0.0) - (episode.started or 0.0),
        **_said(episode),
    }
