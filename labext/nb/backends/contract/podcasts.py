"""Requests for episodes, episode profiles and speaker profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import OutcomeUnknownError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import RecordParser, Request, Steps, create, delete, get, post, put
from labext.nb.records import (
    EPISODE,
    EPISODE_DETAIL,
    EPISODE_PROFILE,
    EPISODE_RETRY,
    EPISODE_SUBMISSION,
    JOB,
    LINE,
    SEGMENT,
    SPEAKER,
    SPEAKER_PROFILE,
    Fields,
    Record,
    build_record,
    drop_none,
)
from labext.redaction import mask


def parse_progress(data: Any) -> Record | None:
    """Parse the progress of a job as `records.PROGRESS`; None without a stage."""
    if not isinstance(data, Mapping) or not _as_text(data.get("stage")):
        return None
    stages = data.get("stages")
    return {
        "stage": mask(_as_text(data["stage"])),
        "done": _as_count(data.get("done")),
        "total": _as_count(data.get("total")),
        "stages": [_as_text(stage) for stage in stages] if isinstance(stages, list) else [],
    }


def parse_segment(data: Any) -> Record:
    """Parse a segment of an outline."""
    return {key: _as_text(_get(data, key)) for key in SEGMENT}


def parse_line(data: Any) -> Record:
    """Parse one turn of a speaker with its times."""
    start, end = _as_seconds(_get(data, "start")), _as_seconds(_get(data, "end"))
    record = {key: _as_text(_get(data, key)) for key in LINE}
    return {**record, "start": start, "end": None if start is None else end}


def _get(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _as_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _as_seconds(value: Any) -> float | None:
    seconds = records.as_number(value)
    return seconds if seconds is not None and seconds >= 0 else None


class ProfileKind:
    """The operations on one of the two kinds of profiles.

    Attributes:
        noun: the name in messages: `episode profile`.
        fields: the fields of a record.
    """

    def __init__(self, noun: str, path: str, fields: Fields) -> None:
        self.noun = noun
        self.fields = fields
        one = f"{path}/{{profile}}"
        a_noun = messages.with_article(noun)
        profiles = Action.list_profiles()
        self.list = get(f"list {noun}s", path)
        self.create = create(f"create {a_noun}", path, profiles)
        self.get = get(f"get {a_noun}", one)
        self.update = put(f"update {a_noun}", one)
        self.delete = delete(f"delete {a_noun}", one)
        self.copy = create(f"copy {a_noun}", f"{one}/duplicate", profiles)


EPISODE_PROFILES = ProfileKind("episode profile", "episode-profiles", EPISODE_PROFILE)
SPEAKER_PROFILES = ProfileKind("speaker profile", "speaker-profiles", SPEAKER_PROFILE)


class ProfileRequests(RecordParser):
    """Six operations on each kind of profiles."""

    def profiles(self, kind: ProfileKind) -> Steps[list[Record]]:
        """List all profiles of a kind."""
        response = yield Request(kind.list)
        items = records.require_list(response, f"{kind.noun}s")
        return [self.parse_profile(kind, item) for item in items]

    def profile(self, kind: ProfileKind, profile: str) -> Steps[Record]:
        """Return a profile."""
        return self.parse_profile(kind, (yield Request(kind.get, {"profile": profile})))

    def new_profile(self, kind: ProfileKind, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a profile from `name` and other fields of the record.

        Names are unique, so a lost response is resolved by a lookup.
        """
        try:
            return self.parse_profile(kind, (yield Request(kind.create, json=dict(fields))))
        except OutcomeUnknownError as unknown:
            profiles = yield from self.profiles(kind)
            sent = [(key, v) for key, v in fields.items() if not isinstance(v, list)]
            matches = [record for record in profiles if all(record[k] == v for k, v in sent)]
            if len(matches) != 1:
                raise unknown from None
            return matches[0]

    def change_profile(
        self, kind: ProfileKind, profile: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; other fields stay unchanged."""
        request = Request(kind.update, {"profile": profile}, json=dict(changes))
        return self.parse_profile(kind, (yield request))

    def delete_profile(self, kind: ProfileKind, profile: str) -> Steps[None]:
        """Delete a profile; existing episodes keep their copy of it."""
        yield Request(kind.delete, {"profile": profile})

    def copy_profile(self, kind: ProfileKind, profile: str) -> Steps[Record]:
        """Copy a profile under a name chosen by the service."""
        return self.parse_profile(kind, (yield Request(kind.copy, {"profile": profile})))

    def parse_profile(self, kind: ProfileKind, response: Any) -> Record:
        """Parse a profile; each speaker of a speaker profile has all fields of `SPEAKER`."""
        record = self.parse_record(kind.fields, response, f"the {kind.noun}")
        if kind is SPEAKER_PROFILES:
            speakers = records.require_list(record["speakers"] or [], "speakers")
            record["speakers"] = [build_record(SPEAKER, speaker) for speaker in speakers]
        return record


GENERATE_EPISODE = post(
    "generate an episode",
    "podcasts/generate",
    "See {action} before you generate it again: it may have started already.",
    Action.list_episodes(),
)
GET_PODCAST_JOB = get("get a podcast's job", "podcasts/jobs/{job}")
LIST_EPISODES = get("list episodes", "podcasts/episodes")
GET_EPISODE = get("get an episode", "podcasts/episodes/{episode}")
DOWNLOAD_AUDIO = Operation(
    "download an episode", "GET", "podcasts/episodes/{episode}/audio", RetryMode.ALWAYS
)
RETRY_EPISODE = post(
    "generate an episode again",
    "podcasts/episodes/{episode}/retry",
    "See {action}: it is either being generated again or still failed.",
    Action.list_episodes(),
)
DELETE_EPISODE = delete("delete an episode", "podcasts/episodes/{episode}")


class PodcastRequests(RecordParser):
    """The seven operations on podcasts."""

    REPORTS_EPISODE_NOTEBOOKS = True
    """Whether the service reports the notebooks of episodes, except of deleted notebooks."""

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speaker_profiles: Sequence[str] | None,
        name: str | None,
        briefing: str | None,
    ) -> Steps[Record]:
        """Start generating an episode about a notebook.

        Names are not unique, so the episodes are listed first: after a lost response, a new
        episode shows that the request arrived.
        """
        before = {episode["id"] for episode in (yield from self.episodes())}
        fields = {
            "notebook_id": notebook,
            "episode_profile_id": episode_profile,
            "speaker_profile_ids": None if speaker_profiles is None else list(speaker_profiles),
            "episode_name": name,
            "briefing_suffix": briefing,
        }
        try:
            response = yield Request(GENERATE_EPISODE, json=drop_none(fields))
        except OutcomeUnknownError as unknown:
            episodes = yield from self.episodes()
            created = [
                episode
                for episode in episodes
                if episode["id"] not in before
                and episode["notebook_id"] == notebook
                and name in (None, episode["name"])
            ]
            if len(created) != 1:
                raise unknown from None
            record = created[0]
            return {
                "job_id": record["job_id"],
                "status": record["job_status"],
                "message": None,
                "episode_id": record["id"],
                "episode_name": record["name"],
            }
        return build_record(EPISODE_SUBMISSION, records.require_mapping(response, "the episode"))

    def podcast_job(self, job: str) -> Steps[Record]:
        """Return the job that generates an episode."""
        data = records.require_mapping(
            (yield Request(GET_PODCAST_JOB, {"job": job})), "the podcast's job"
        )
        record = build_record(JOB, {"job_id": job, **data})
        record["progress"] = parse_progress(record["progress"])
        record["result"] = record["result"] if isinstance(record["result"], Mapping) else None
        return record

    def episodes(self) -> Steps[list[Record]]:
        """List all episodes, without transcripts."""
        response = yield Request(LIST_EPISODES)
        return [self.parse_episode(item) for item in records.require_list(response, "episodes")]

    def episode(self, episode: str) -> Steps[Record]:
        """Return an episode, with its outline and its transcript."""
        record = self.parse_episode(
            (yield Request(GET_EPISODE, {"episode": episode})), EPISODE_DETAIL
        )
        parts = ("outline", "segments", parse_segment), ("transcript", "transcript", parse_line)
        for field, key, parse in parts:
            data = record[field]
            items = data.get(key) if isinstance(data, Mapping) else None
            record[field] = (
                {key: [parse(item) for item in items]} if isinstance(items, list) else None
            )
        return record

    def audio(self, episode: str) -> Request:
        """Return the request that downloads the audio."""
        return Request(DOWNLOAD_AUDIO, {"episode": episode})

    def retry_episode(self, episode: str) -> Steps[Record]:
        """Retry a failed episode; after a lost response, its status decides the outcome."""
        try:
            response = yield Request(RETRY_EPISODE, {"episode": episode})
        except OutcomeUnknownError as unknown:
            record = yield from self.episode(episode)
            if record["job_status"] == "failed":  # not retried, or failed again
                raise unknown from None
            return build_record(EPISODE_RETRY, {**record, "episode_id": record["id"]})
        return build_record(
            EPISODE_RETRY,
            {"episode_id": episode, **records.require_mapping(response, "the episode")},
        )

    def delete_episode(self, episode: str) -> Steps[None]:
        """Delete an episode and its audio; a generation in progress is stopped."""
        yield Request(DELETE_EPISODE, {"episode": episode})

    def parse_episode(self, response: Any, fields: Fields = EPISODE) -> Record:
        """Parse an episode, by default without its outline and transcript."""
        record = self.parse_record(fields, response, "the episode")
        record["progress"] = parse_progress(record["progress"])
        return record
