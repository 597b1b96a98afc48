"""Episode and speaker profiles, as a server of the contract is asked for them.

The contract names them by the prefixes of their identifiers alone (Resources); their routes are
those of the real services, section nb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import EPISODE_PROFILE, SPEAKER, SPEAKER_PROFILE, Fields, Record, made
from labext.transport import Operation, Repeat


class _Kind:
    """The operations on one of the two kinds of profiles."""

    def __init__(self, noun: str, path: str, fields: Fields) -> None:
        self.fields = fields
        self.noun = noun
        article = "an" if noun[0] in "aeiou" else "a"
        see = "See `%nb profiles` before you {} it again: it may be there already."
        self.listed = Operation(f"list {noun}s", "GET", path, Repeat.ALWAYS, answer="json")
        self.new = Operation(
            f"make {article} {noun}", "POST", path, Repeat.UNSENT, "json", see.format("make")
        )
        one = f"{path}/{{profile}}"
        self.one = Operation(f"look at {article} {noun}", "GET", one, Repeat.ALWAYS, answer="json")
        self.change = Operation(
            f"change {article} {noun}", "PUT", one, Repeat.ALWAYS, answer="json"
        )
        self.delete = Operation(f"delete {article} {noun}", "DELETE", one, Repeat.DELETE)
        self.copy = Operation(
            f"copy {article} {noun}",
            "POST",
            f"{one}/duplicate",
            Repeat.UNSENT,
            "json",
            see.format("copy"),
        )

    def record(self, answer: Any) -> Record:
        record = records.thing(self.fields, answer, f"the {self.noun}")
        if self.fields is SPEAKER_PROFILE:
            speakers = records.several(record["speakers"] or [], "speakers")
            record["speakers"] = [made(SPEAKER, each) for each in speakers]
        return record

    def records(self, answer: Any) -> list[Record]:
        return [self.record(each) for each in records.several(answer, f"{self.noun}s")]


EPISODES = _Kind("episode profile", "episode-profiles", EPISODE_PROFILE)
SPEAKERS = _Kind("speaker profile", "speaker-profiles", SPEAKER_PROFILE)


class ProfileCalls:
    """Six operations on each kind of profiles."""

    def episode_profiles(self) -> Steps[list[Record]]:
        """List them all."""
        return _all(EPISODES)

    def episode_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return _one(EPISODES, profile)

    def new_episode_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one of `name` and what else of the record is given."""
        return _new(EPISODES, given)

    def change_episode_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; what is not among them stays."""
        return _changed(EPISODES, profile, changes)

    def delete_episode_profile(self, profile: str) -> Steps[None]:
        """Delete one; the episodes made by it keep what it was."""
        return _deleted(EPISODES, profile)

    def copy_episode_profile(self, profile: str) -> Steps[Record]:
        """Make another one like it, under a name that the service gives."""
        return _copied(EPISODES, profile)

    def speaker_profiles(self) -> Steps[list[Record]]:
        """List them all."""
        return _all(SPEAKERS)

    def speaker_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return _one(SPEAKERS, profile)

    def new_speaker_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one of `name`, `speakers` and what else of the record is given."""
        return _new(SPEAKERS, given)

    def change_speaker_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; what is not among them stays."""
        return _changed(SPEAKERS, profile, changes)

    def delete_speaker_profile(self, profile: str) -> Steps[None]:
        """Delete one; the episodes made with it keep what it was."""
        return _deleted(SPEAKERS, profile)

    def copy_speaker_profile(self, profile: str) -> Steps[Record]:
        """Make another one like it, under a name that the service gives."""
        return _copied(SPEAKERS, profile)


def _all(kind: _Kind) -> Steps[list[Record]]:
    return kind.records((yield Request(kind.listed)))


def _one(kind: _Kind, profile: str) -> Steps[Record]:
    return kind.record((yield Request(kind.one, {"profile": profile})))


def _new(kind: _Kind, given: Mapping[str, Any]) -> Steps[Record]:
    """Make one; names are unique, so that a lost answer is settled by looking for it."""
    try:
        return kind.record((yield Request(kind.new, json=dict(given))))
    except OutcomeUnknownError as unknown:
        listed = kind.records((yield Request(kind.listed)))
        found = [each for each in listed if _is(each, given)]
        if len(found) != 1:
            raise unknown from None
        return found[0]


def _is(record: Record, given: Mapping[str, Any]) -> bool:
    """Say whether a profile is of that name, and what else was given of words and numbers."""
    return all(record[key] == value for key, value in given.items() if not isinstance(value, list))


def _changed(kind: _Kind, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
    return kind.record((yield Request(kind.change, {"profile": profile}, json=dict(changes))))


def _deleted(kind: _Kind, profile: str) -> Steps[None]:
    yield Request(kind.delete, {"profile": profile})


def _copied(kind: _Kind, profile: str) -> Steps[Record]:
    return kind.record((yield Request(kind.copy, {"profile": profile})))
