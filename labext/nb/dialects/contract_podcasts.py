"""Podcasts, as the contract's server is asked for them (contract, Endpoints: Podcasts)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects.contract_told import line, progress, segment
from labext.nb.records import (
    EPISODE,
    JOB,
    RETRIED,
    SUBMITTED,
    WHOLE_EPISODE,
    Fields,
    Record,
    made,
)
from labext.transport import Operation, Repeat

GENERATE = Operation(
    "generate an episode",
    "POST",
    "podcasts/generate",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb episodes` before you generate it again: it may be on its way already.",
)
JOB_OF = Operation("look at a podcast's job", "GET", "podcasts/jobs/{job}", Repeat.ALWAYS, "json")
LIST = Operation("list episodes", "GET", "podcasts/episodes", Repeat.ALWAYS, answer="json")
ONE = Operation(
    "look at an episode", "GET", "podcasts/episodes/{episode}", Repeat.ALWAYS, answer="json"
)
AUDIO = Operation("download an episode", "GET", "podcasts/episodes/{episode}/audio", Repeat.ALWAYS)
RETRY = Operation(
    "generate an episode again",
    "POST",
    "podcasts/episodes/{episode}/retry",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb episodes`: it is generated again, or still failed.",
)
DELETE = Operation("delete an episode", "DELETE", "podcasts/episodes/{episode}", Repeat.DELETE)


class PodcastCalls:
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
        before = {each["id"] for each in _episodes((yield Request(LIST)))}
        named = {
            "speaker_profile_ids": None if speaker_profiles is None else list(speaker_profiles),
            "episode_name": name,
            "briefing_suffix": briefing,
        }
        body: dict[str, Any] = {"notebook_id": notebook, "episode_profile_id": episode_profile}
        body |= {key: value for key, value in named.items() if value is not None}
        try:
            answer = yield Request(GENERATE, json=body)
        except OutcomeUnknownError as unknown:
            listed = _episodes((yield Request(LIST)))
            made_since = [
                each
                for each in listed
                if each["id"] not in before
                and each["notebook_id"] == notebook
                and name in (None, each["name"])
            ]
            if len(made_since) != 1:
                raise unknown from None
            return _submitted(made_since[0])
        return made(SUBMITTED, records.mapping(answer, "the episode"))

    def podcast_job(self, job: str) -> Steps[Record]:
        """Look at the job that makes an episode."""
        told = records.mapping((yield Request(JOB_OF, {"job": job})), "the podcast's job")
        record = made(JOB, {"job_id": job, **told})
        record["progress"] = progress(record["progress"])
        record["result"] = record["result"] if isinstance(record["result"], Mapping) else None
        return record

    def episodes(self) -> Steps[list[Record]]:
        """List them all, without what is said in them."""
        return _episodes((yield Request(LIST)))

    def episode(self, episode: str) -> Steps[Record]:
        """Look at one, with its outline and its transcript."""
        return whole((yield Request(ONE, {"episode": episode})))

    def audio(self, episode: str) -> Request:
        """Return the request whose answer is the sound."""
        return Request(AUDIO, {"episode": episode})

    def retry_episode(self, episode: str) -> Steps[Record]:
        """Make a failed one again; a lost answer is settled by what has become of it."""
        try:
            answer = yield Request(RETRY, {"episode": episode})
        except OutcomeUnknownError as unknown:
            record = whole((yield Request(ONE, {"episode": episode})))
            if record["job_status"] == "failed":  # not taken up, or taken up and failed again
                raise unknown from None
            return made(RETRIED, {**record, "episode_id": record["id"]})
        return made(RETRIED, {"episode_id": episode, **records.mapping(answer, "the episode")})

    def delete_episode(self, episode: str) -> Steps[None]:
        """Delete one with its sound; one that is being made is stopped."""
        yield Request(DELETE, {"episode": episode})


def _submitted(record: Record) -> Record:
    """Return of an episode that was found what the answer would have told."""
    return {
        "job_id": record["job_id"],
        "status": record["job_status"],
        "message": None,
        "episode_id": record["id"],
        "episode_name": record["name"],
    }


def _episodes(answer: Any) -> list[Record]:
    return [an_episode(each) for each in records.several(answer, "episodes")]


def whole(answer: Any) -> Record:
    """Return an episode's record with its outline and its transcript."""
    record = an_episode(answer, WHOLE_EPISODE)
    for key, within, read in (
        ("outline", "segments", segment),
        ("transcript", "transcript", line),
    ):
        told = record[key]
        found = told.get(within) if isinstance(told, Mapping) else None
        record[key] = {within: [read(each) for each in found]} if isinstance(found, list) else None
    return record


def an_episode(answer: Any, fields: Fields = EPISODE) -> Record:
    """Return an episode's record."""
    record = records.thing(fields, answer, "the episode")
    record["progress"] = progress(record["progress"])
    return record
