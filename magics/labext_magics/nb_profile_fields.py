"""What a line of `%nb profiles new` or `edit`, and the text below it, say of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext_magics import body
from labext_magics.dispatch import Call
from labext_magics.nb_profile_kinds import KindName

if TYPE_CHECKING:
    from labext.nb.records import Record

_OF_EPISODES = {
    "speakers": "speaker_profile_ids",
    "segments": "num_segments",
    "briefing": "default_briefing",
    "language": "language",
    "outline_model": "outline_llm",
    "transcript_model": "transcript_llm",
    "max_tokens": "max_tokens",
}
"""By option the field of an episode profile."""

_OF_SPEAKERS = {"voice_model": "voice_model"}
_OF_ONE_SPEAKER = {
    "speaker": "name",
    "voice": "voice_id",
    "backstory": "backstory",
    "personality": "personality",
}
"""By option the field of a speaker profile's one speaker."""

MODELS: Mapping[KindName, Mapping[str, str]] = {
    "episode": {"outline_llm": "llm", "transcript_llm": "llm"},
    "speaker": {"voice_model": "tts"},
}
"""By kind of profile the fields that name a model, and the model's type."""


def kind_of(call: Call, kind: KindName | None, given: Mapping[str, Any]) -> KindName:
    """Return the kind of profile that the options are for.

    Raises InputError where they are for both, for the other one, or for none.
    """
    named = [key for key, value in given.items() if value is not None]
    of_episodes = [key for key in named if key in _OF_EPISODES]
    of_speakers = [key for key in named if key not in _OF_EPISODES]
    has_body = bool(listed_below(call))
    wrong, whose = (of_episodes, "an episode") if kind == "speaker" else (of_speakers, "a speaker")
    if wrong and (kind or of_episodes):
        other = "a speaker" if kind == "speaker" else "an episode"
        raise InputError(
            f"`--{wrong[0].replace('_', '-')}` is for {whose} profile, and this is {other} "
            "profile.",
            "Make two profiles of it: the episode profile names its speakers by `--speakers`.",
        )
    if has_body and (kind == "episode" or of_episodes):
        raise InputError(
            "The text below the line lists speakers, and this is an episode profile.",
            "Make the speaker profile in a cell of its own, and name it by `--speakers`.",
        )
    if kind is None and not named and not has_body:
        raise InputError(
            "Nothing says which kind of profile it is.",
            "Add `--kind episode` or `--kind speaker`.",
        )
    return kind or ("episode" if of_episodes else "speaker")


def named(
    call: Call,
    kind: KindName,
    description: str | None,
    given: Mapping[str, Any],
    record: Record | None = None,
) -> dict[str, Any]:
    """Return the fields of a profile that the line and the cell's body name."""
    told = {key: value for key, value in given.items() if value is not None}
    table = _OF_EPISODES if kind == "episode" else _OF_SPEAKERS
    fields = {table[key]: value for key, value in told.items() if key in table}
    if description is not None:
        fields["description"] = description
    for key in fields.keys() & MODELS[kind].keys():
        fields[key] = call.nb.models.find(fields[key], MODELS[kind][key])
    if "speaker_profile_ids" in fields:
        find = call.nb.speaker_profiles.find
        fields["speaker_profile_ids"] = [find(each) for each in fields["speaker_profile_ids"]]
    one = {_OF_ONE_SPEAKER[key]: value for key, value in told.items() if key in _OF_ONE_SPEAKER}
    several = listed_below(call)
    if one and several:
        raise InputError(
            "The speakers are on the line and below it.", "Keep them in one of the two places."
        )
    if several:
        fields["speakers"] = _listed(several)
    elif one:
        fields["speakers"] = [{**_only(record), **one}]
    return fields


def sent(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by the names that the client's methods have for them."""
    return {"speakers" if k == "speaker_profile_ids" else k: v for k, v in fields.items()}


def _only(record: Record | None) -> Mapping[str, Any]:
    """Return the speaker that a line changes: that of a profile with one."""
    speakers = () if record is None else record["speakers"] or ()
    if len(speakers) > 1:
        raise InputError(
            f"{record and record['name']} has {len(speakers)} speakers, and a line changes one.",
            "List them all below `%%nb profiles edit …`: `- {name: Ada, voice_id: en-us}`.",
        )
    return speakers[0] if speakers else {}


def listed_below(call: Call) -> str:
    """Return the body of the cell, which lists speakers."""
    return (call.body or "").strip()


def _listed(text: str) -> list[dict[str, Any]]:
    """Return the speakers that a cell's body lists."""
    read = body.read(text)
    speakers = read.get("speakers") if isinstance(read, Mapping) else read
    if not isinstance(speakers, list) or not all(isinstance(each, Mapping) for each in speakers):
        raise InputError(
            "The cell's body is no list of speakers.",
            "Write one a line: `- {name: Ada, voice_id: en-us}`.",
        )
    return [{key: body.words(value) for key, value in each.items()} for each in speakers]
