"""Requests for episodes, episode profiles and speaker profiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import OutcomeUnknownError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import Request, Steps
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
)
from labext.redaction import mask


def parse_progress(told: Any) -> Record | None:
    """Return how far a job is, as `records.PROGRESS`; None where it tells no stage."""
    if not isinstance(told, Mapping) or not _as_text(told.get("stage")):
        return None
    stages = told.get("stages")
    return {
        "stage": mask(_as_text(told["stage"])),
        "done": _as_count(told.get("done")),
        "total": _as_count(told.get("total")),
        "stages": [_as_text(each) for each in stages] if isinstance(stages, list) else [],
    }


def parse_segment(told: Any) -> Record:
    """Return a part of an outline."""
    return {key: _as_text(_get(told, key)) for key in SEGMENT}


def parse_line(told: Any) -> Record:
    """Return what one speaker says at once, and when."""
    start, end = _as_seconds(_get(told, "start")), _as_seconds(_get(told, "end"))
    record = {key: _as_text(_get(told, key)) for key in LINE}
    return {**record, "start": start, "end": None if start is None else end}


def _get(told: Any, key: str) -> Any:
    return told.get(key) if isinstance(told, Mapping) else None


def _as_text(told: Any) -> str:
    return told if isinstance(told, str) else ""


def _as_count(told: Any) -> int | None:
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else None


def _as_seconds(told: Any) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return float(told) if math.isfinite(told) and told >= 0 else None


class _ProfileKind:
    """The operations on one of the two kinds of profiles."""

    def __init__(self, noun: str, path: str, fields: Fields) -> None:
        self.fields = fields
        self.noun = noun
        article = "an" if noun[0] in "aeiou" else "a"
        see = "See `%nb profiles` before you {} it again: it may be there already."
        self.listed = Operation(f"list {noun}s", "GET", path, RetryMode.ALWAYS, answer="json")
        self.new = Operation(
            f"make {article} {noun}", "POST", path, RetryMode.UNSENT, "json", see.format("make")
        )
        one = f"{path}/{{profile}}"
        self.one = Operation(
            f"look at {article} {noun}", "GET", one, RetryMode.ALWAYS, answer="json"
        )
        self.change = Operation(
            f"change {article} {noun}", "PUT", one, RetryMode.ALWAYS, answer="json"
        )
        self.delete = Operation(f"delete {article} {noun}", "DELETE", one, RetryMode.DELETE)
        self.copy = Operation(
            f"copy {article} {noun}",
            "POST",
            f"{one}/duplicate",
            RetryMode.UNSENT,
            "json",
            see.format("copy"),
        )

    def record(self, answer: Any) -> Record:
        record = records.parse_record(self.fields, answer, f"the {self.noun}")
        if self.fields is SPEAKER_PROFILE:
            speakers = records.require_list(record["speakers"] or [], "speakers")
            record["speakers"] = [build_record(SPEAKER, each) for each in speakers]
        return record

    def records(self, answer: Any) -> list[Record]:
        return [self.record(each) for each in records.require_list(answer, f"{self.noun}s")]


EPISODE_PROFILES = _ProfileKind("episode profile", "episode-profiles", EPISODE_PROFILE)
SPEAKER_PROFILES = _ProfileKind("speaker profile", "speaker-profiles", SPEAKER_PROFILE)


class ProfileRequests:
    """Six operations on each kind of profiles."""

    def episode_profiles(self) -> Steps[list[Record]]:
        """List them all."""
        return _list_profiles(EPISODE_PROFILES)

    def episode_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return _get_profile(EPISODE_PROFILES, profile)

    def new_episode_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one of `name` and what else of the record is given."""
        return _create_profile(EPISODE_PROFILES, given)

    def change_episode_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; what is not among them stays."""
        return _update_profile(EPISODE_PROFILES, profile, changes)

    def delete_episode_profile(self, profile: str) -> Steps[None]:
        """Delete one; the episodes made by it keep what it was."""
        return _delete_profile(EPISODE_PROFILES, profile)

    def copy_episode_profile(self, profile: str) -> Steps[Record]:
        """Make another one like it, under a name that the service gives."""
        return _copy_profile(EPISODE_PROFILES, profile)

    def speaker_profiles(self) -> Steps[list[Record]]:
        """List them all."""
        return _list_profiles(SPEAKER_PROFILES)

    def speaker_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return _get_profile(SPEAKER_PROFILES, profile)

    def new_speaker_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one of `name`, `speakers` and what else of the record is given."""
        return _create_profile(SPEAKER_PROFILES, given)

    def change_speaker_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; what is not among them stays."""
        return _update_profile(SPEAKER_PROFILES, profile, changes)

    def delete_speaker_profile(self, profile: str) -> Steps[None]:
        """Delete one; the episodes made with it keep what it was."""
        return _delete_profile(SPEAKER_PROFILES, profile)

    def copy_speaker_profile(self, profile: str) -> Steps[Record]:
        """Make another one like it, under a name that the service gives."""
        return _copy_profile(SPEAKER_PROFILES, profile)


def _list_profiles(kind: _ProfileKind) -> Steps[list[Record]]:
    return kind.records((yield Request(kind.listed)))


def _get_profile(kind: _ProfileKind, profile: str) -> Steps[Record]:
    return kind.record((yield Request(kind.one, {"profile": profile})))


def _create_profile(kind: _ProfileKind, given: Mapping[str, Any]) -> Steps[Record]:
    """Make one; names are unique, so that a lost answer is settled by looking for it."""
    try:
        return kind.record((yield Request(kind.new, json=dict(given))))
    except OutcomeUnknownError as unknown:
        listed = kind.records((yield Request(kind.listed)))
        found = [each for each in listed if _matches_fields(each, given)]
        if len(found) != 1:
            raise unknown from None
        return found[0]


def _matches_fields(record: Record, given: Mapping[str, Any]) -> bool:
    """Say whether a profile is of that name, and what else was given of words and numbers."""
    return all(record[key] == value for key, value in given.items() if not isinstance(value, list))


def _update_profile(kind: _ProfileKind, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
    return kind.record((yield Request(kind.change, {"profile": profile}, json=dict(changes))))


def _delete_profile(kind: _ProfileKind, profile: str) -> Steps[None]:
    yield Request(kind.delete, {"profile": profile})


def _copy_profile(kind: _ProfileKind, profile: str) -> Steps[Record]:
    return kind.record((yield Request(kind.copy, {"profile": profile})))


GENERATE_EPISODE = Operation(
    "generate an episode",
    "POST",
    "podcasts/generate",
    RetryMode.UNSENT,
    answer="json",
    find_out="See `%nb episodes` before you generate it again: it may be on its way already.",
)
GET_PODCAST_JOB = Operation(
    "look at a podcast's job", "GET", "podcasts/jobs/{job}", RetryMode.ALWAYS, "json"
)
LIST_EPISODES = Operation(
    "list episodes", "GET", "podcasts/episodes", RetryMode.ALWAYS, answer="json"
)
GET_EPISODE = Operation(
    "look at an episode", "GET", "podcasts/episodes/{episode}", RetryMode.ALWAYS, answer="json"
)
DOWNLOAD_AUDIO = Operation(
    "download an episode", "GET", "podcasts/episodes/{episode}/audio", RetryMode.ALWAYS
)
RETRY_EPISODE = Operation(
    "generate an episode again",
    "POST",
    "podcasts/episodes/{episode}/retry",
    RetryMode.UNSENT,
    answer="json",
    find_out="See `%nb episodes`: it is generated again, or still failed.",
)
DELETE_EPISODE = Operation(
    "delete an episode", "DELETE", "podcasts/episodes/{episode}", RetryMode.DELETE
)


class PodcastRequests:
    """The seven operations on podcasts."""

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speaker_profiles: Sequence[str] | None,
        name: str | None,
        briefing: str | None,
    ) -> Steps[Record]:
        """Have an episode made of a notebook.

        Two episodes may have one name, so that a lost answer is settled by what has come since:
        those that were there before are asked for first.
        """
        before = {each["id"] for each in _episode_records((yield Request(LIST_EPISODES)))}
        named = {
            "speaker_profile_ids": None if speaker_profiles is None else list(speaker_profiles),
            "episode_name": name,
            "briefing_suffix": briefing,
        }
        body: dict[str, Any] = {"notebook_id": notebook, "episode_profile_id": episode_profile}
        body |= {key: value for key, value in named.items() if value is not None}
        try:
            answer = yield Request(GENERATE_EPISODE, json=body)
        except OutcomeUnknownError as unknown:
            listed = _episode_records((yield Request(LIST_EPISODES)))
            made_since = [
                each
                for each in listed
                if each["id"] not in before
                and each["notebook_id"] == notebook
                and name in (None, each["name"])
            ]
            if len(made_since) != 1:
                raise unknown from None
            return _submission_record(made_since[0])
        return build_record(EPISODE_SUBMISSION, records.require_mapping(answer, "the episode"))

    def podcast_job(self, job: str) -> Steps[Record]:
        """Look at the job that makes an episode."""
        told = records.require_mapping(
            (yield Request(GET_PODCAST_JOB, {"job": job})), "the podcast's job"
        )
        record = build_record(JOB, {"job_id": job, **told})
        record["progress"] = parse_progress(record["progress"])
        record["result"] = record["result"] if isinstance(record["result"], Mapping) else None
        return record

    def episodes(self) -> Steps[list[Record]]:
        """List them all, without what is said in them."""
        return _episode_records((yield Request(LIST_EPISODES)))

    def episode(self, episode: str) -> Steps[Record]:
        """Look at one, with its outline and its transcript."""
        return episode_detail((yield Request(GET_EPISODE, {"episode": episode})))

    def audio(self, episode: str) -> Request:
        """Return the request whose answer is the sound."""
        return Request(DOWNLOAD_AUDIO, {"episode": episode})

    def retry_episode(self, episode: str) -> Steps[Record]:
        """Make a failed one again; a lost answer is settled by what has become of it."""
        try:
            answer = yield Request(RETRY_EPISODE, {"episode": episode})
        except OutcomeUnknownError as unknown:
            record = episode_detail((yield Request(GET_EPISODE, {"episode": episode})))
            if record["job_status"] == "failed":  # not taken up, or taken up and failed again
                raise unknown from None
            return build_record(EPISODE_RETRY, {**record, "episode_id": record["id"]})
        return build_record(
            EPISODE_RETRY, {"episode_id": episode, **records.require_mapping(answer, "the episode")}
        )

    def delete_episode(self, episode: str) -> Steps[None]:
        """Delete one with its sound; one that is being made is stopped."""
        yield Request(DELETE_EPISODE, {"episode": episode})


def _submission_record(record: Record) -> Record:
    """Return of an episode that was found what the answer would have told."""
    return {
        "job_id": record["job_id"],
        "status": record["job_status"],
        "message": None,
        "episode_id": record["id"],
        "episode_name": record["name"],
    }


def _episode_records(answer: Any) -> list[Record]:
    return [episode_record(each) for each in records.require_list(answer, "episodes")]


def episode_detail(answer: Any) -> Record:
    """Return an episode's record with its outline and its transcript."""
    record = episode_record(answer, EPISODE_DETAIL)
    for key, within, read in (
        ("outline", "segments", parse_segment),
        ("transcript", "transcript", parse_line),
    ):
        told = record[key]
        found = told.get(within) if isinstance(told, Mapping) else None
        record[key] = {within: [read(each) for each in found]} if isinstance(found, list) else None
    return record


def episode_record(answer: Any, fields: Fields = EPISODE) -> Record:
    """Return an episode's record."""
    record = records.parse_record(fields, answer, "the episode")
    record["progress"] = parse_progress(record["progress"])
    return record
