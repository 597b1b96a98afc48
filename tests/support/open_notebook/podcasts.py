"""Podcasts: profiles, jobs and episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from open_notebook.answering import Call, route
from open_notebook.answers import known, now, refuse
from open_notebook.facts import like, recordings
from open_notebook.state import Fields, State

SOUND = b"ID3\x04" + bytes(91781)
"""The recorded number of bytes of an episode."""


@dataclass(frozen=True)
class ProfileKind:
    """Episode or speaker profiles: their noun, and the recordings of refusals and deletions."""

    noun: str
    missing: str
    deleted: Fields
    save: Callable[[Call, str], Fields]

    @classmethod
    def of(cls, call: Call) -> ProfileKind:
        """Return the kind of a request."""
        if call.path.startswith("/api/episode"):
            deleted = like("episode_profiles.delete")
            return cls("episode", "episode_profiles.get_by_id_404", deleted, _save_episode_profile)
        deleted = {"message": "Speaker profile deleted successfully"}
        return cls("speaker", "speaker_profiles.get_missing", deleted, _save_speaker_profile)

    def table(self, call: Call) -> dict[str, Fields]:
        """Return the profiles by identifier; the predefined ones have no models."""
        profiles: dict[str, Fields] = getattr(call.state, f"{self.noun}_profiles")
        return profiles


@route("GET", "/api/episode-profiles")
@route("GET", "/api/speaker-profiles")
def profiles(call: Call) -> Any:
    return list(ProfileKind.of(call).table(call).values())


@route("GET", "/api/episode-profiles/{profile_name}")
@route("GET", "/api/speaker-profiles/{profile_name}")
def profile(call: Call, name: str) -> Any:
    """Return a profile by name; identifiers are not accepted."""
    kind = ProfileKind.of(call)
    matches = [row for row in kind.table(call).values() if row["name"] == name]
    return matches[0] if matches else refuse(kind.missing)


@route("POST", "/api/episode-profiles")
@route("POST", "/api/speaker-profiles")
def new_profile(call: Call) -> Any:
    """Create a profile."""
    kind = ProfileKind.of(call)
    return kind.save(call, call.state.new(f"{kind.noun}_profile"))


@route("PUT", "/api/episode-profiles/{profile_id}")
@route("PUT", "/api/speaker-profiles/{profile_id}")
def put_profile(call: Call, identifier: str) -> Any:
    """Replace a profile."""
    kind = ProfileKind.of(call)
    known(kind.table(call), identifier, kind.missing)
    return kind.save(call, identifier)


@route("DELETE", "/api/episode-profiles/{profile_id}")
@route("DELETE", "/api/speaker-profiles/{profile_id}")
def delete_profile(call: Call, identifier: str) -> Any:
    kind = ProfileKind.of(call)
    known(kind.table(call), identifier, kind.missing)
    del kind.table(call)[identifier]
    return kind.deleted


@route("POST", "/api/podcasts/generate")
def generate(call: Call) -> Any:
    """Accept every request; errors are in the job's status."""
    state, body = call.state, call.body
    profiles, speakers = _by_name(state.episode_profiles), _by_name(state.speaker_profiles)
    if body["episode_profile"] not in profiles or body["speaker_profile"] not in speakers:
        refuse("podcasts.generate_unknown_profile")
    if not body.get("notebook_id") and not body.get("content"):
        refuse("podcasts.generate_no_content")
    names = body["episode_name"], body["episode_profile"], body["speaker_profile"]
    job = _queue(state, *names, body.get("briefing_suffix") or "")
    reply = like("podcasts.generate", job_id=job, episode_name=body["episode_name"])
    return reply | {
        "message": f"Podcast generation started for episode '{body['episode_name']}'",
        "episode_profile": body["episode_profile"],
    }


@route("GET", "/api/podcasts/jobs/{job_id}")
def job(call: Call, identifier: str) -> Any:
    """Return a job's status and advance the job; no progress is reported."""
    state = call.state
    job_row = known(state.jobs, identifier, "podcasts.job_missing")
    _step(state, identifier, job_row)
    names = {"completed": "podcasts.job_completed", "failed": "podcasts.job_failed"}
    reply = like(names.get(job_row["status"], "podcasts.job_running"), job_id=identifier)
    reply["status"] = job_row["status"]
    if job_row["status"] == "completed":
        reply["result"]["episode_id"] = job_row["episode"]
    if job_row["status"] == "failed":
        reply["error_message"] = job_row["reason"]
    return reply


@route("GET", "/api/podcasts/episodes")
def episodes(call: Call) -> Any:
    """Return the episodes, newest first."""
    return list(call.state.episodes.values())[::-1]


@route("GET", "/api/podcasts/episodes/{episode_id}")
def episode(call: Call, identifier: str) -> Any:
    return known(call.state.episodes, identifier, "podcasts.episode_missing")


@route("DELETE", "/api/podcasts/episodes/{episode_id}")
def delete_episode(call: Call, identifier: str) -> Any:
    """Delete an episode and its audio."""
    known(call.state.episodes, identifier, "podcasts.delete_missing")
    del call.state.episodes[identifier]
    return like("podcasts.delete", episode_id=identifier)


@route("GET", "/api/podcasts/episodes/{episode_id}/audio")
def audio(call: Call, identifier: str) -> Any:
    known(call.state.episodes, identifier, "podcasts.audio_missing")
    headers = recordings()["podcasts.audio"].response_headers
    etag = {"etag": headers["etag"], "accept-ranges": "bytes"}
    return Response(SOUND, headers=etag, media_type="audio/mpeg")


@route("POST", "/api/podcasts/episodes/{episode_id}/retry")
def retry(call: Call, identifier: str) -> Any:
    """Replace a failed episode by a new one. The response is not recorded."""
    state = call.state
    result = known(state.episodes, identifier, "podcasts.episode_missing")
    if result["job_status"] != "failed":
        refuse("podcasts.retry_completed")
    del state.episodes[identifier]
    profile, speakers = result["episode_profile"]["name"], result["speaker_profile"]["name"]
    job = _queue(state, result["name"], profile, speakers, result["briefing"])
    return {"job_id": job, "message": "Retry submitted successfully"}


def _by_name(profiles: dict[str, Fields]) -> dict[str, Fields]:
    return {row["name"]: row for row in profiles.values()}


def _queue(state: State, name: str, profile: str, speakers: str, briefing: str) -> str:
    """Queue a job that records an episode; return its identifier."""
    job = state.new("command")
    state.jobs[job] = {
        "status": "new",
        "name": name,
        "profile": _by_name(state.episode_profiles)[profile],
        "speakers": _by_name(state.speaker_profiles)[speakers],
        "briefing": briefing,
    }
    return job


def _save_episode_profile(call: Call, identifier: str) -> Fields:
    body = call.body
    if not 3 <= int(body.get("num_segments", 5)) <= 20:
        refuse("episode_profiles.create_bad_segments")
    named = {row["name"]: row["id"] for row in call.state.speaker_profiles.values()}
    config = body["speaker_config"]
    speakers = named.get(config, config)
    names = {identifier: name for name, identifier in named.items()}
    optional = ("description", "outline_llm", "transcript_llm", "language", "max_tokens")
    profile = like(
        "episode_profiles.create",
        id=identifier,
        name=body["name"],
        speaker_config=speakers,
        speaker_config_name=names.get(speakers),
        default_briefing=body["default_briefing"],
        num_segments=body.get("num_segments", 5),
        **{name: body.get(name) for name in optional},
    )
    call.state.episode_profiles[identifier] = profile
    return profile


def _save_speaker_profile(call: Call, identifier: str) -> Fields:
    body = call.body
    needed = {"name", "voice_id", "backstory", "personality"}
    if any(not needed <= speaker.keys() for speaker in body["speakers"]):
        refuse("speaker_profiles.create_bad")
    fields = ("name", "description", "voice_model", "speakers")
    profile = like(
        "speaker_profiles.get_by_name", id=identifier, **{name: body.get(name) for name in fields}
    )
    call.state.speaker_profiles[identifier] = profile
    return profile


def _step(state: State, identifier: str, record: Fields) -> None:
    """Advance a job; without models it fails and creates no episode."""
    if record["status"] not in ("new", "running") or not state.works:
        return
    if record["status"] == "new":
        record["status"] = "running"
        return
    if not state.moves:
        return
    assert record["profile"]["outline_llm"]
    # The speakers that the episode does not use are validated too.
    assert all(row["voice_model"] for row in state.speaker_profiles.values())
    voice = state.models.get(record["speakers"]["voice_model"], {}).get("name")
    failed = voice == "fail-tts"
    created = like(
        "podcasts.episode_failed" if failed else "podcasts.episode",
        id=state.new("episode"),
        name=record["name"],
        created=now(),
    )
    for name, profile in (("episode_profile", "profile"), ("speaker_profile", "speakers")):
        now_told = record[profile]
        created[name] = {
            key: now_told.get(key, recorded_value) for key, recorded_value in created[name].items()
        }
    if not failed:
        created["audio_url"] = f"/api/podcasts/episodes/{created['id']}/audio"
    state.episodes[created["id"]] = created
    record.update(
        status="failed" if failed else "completed",
        reason=recordings()["podcasts.job_failed"].answer["error_message"],
        episode=created["id"],
    )
