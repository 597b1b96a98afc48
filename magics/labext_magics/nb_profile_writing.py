"""`%nb profiles new` and `edit`: what an episode or a speaker profile is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import ConflictError, InputError
from labext_magics import body, kinds, nb_options, nb_profile_kinds, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.nb_profile_kinds import KIND, KindName
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

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

_MODELS = ("outline_llm", "transcript_llm", "voice_model")


def new(
    call: Call, *, name: str, kind: KindName | None, description: str | None, **given: Any
) -> pd.DataFrame:
    """Make a profile, of the kind that its options are for; the same again is kept.

    Raises:
        ConflictError: there is another profile of this kind and name.
    """
    of = _kind(call, kind, given)
    fields = _fields(call, of, description, given)
    if of == "speaker":
        fields.setdefault("speakers", [{"name": name}])
        fields["speakers"] = [{"name": name, **each} for each in fields["speakers"]]
    group = nb_profile_kinds.group(call, of)
    same_name = [each for each in group.iter() if each["name"] == name]
    if same_name:
        (record,) = same_name
        if not all(_holds(record[field], value) for field, value in fields.items()):
            raise ConflictError(
                f"There is {wording.article(of)} profile {name} already, and it is another one.",
                f"`%nb profiles edit {quote(name)} …` changes it; or take another name.",
            )
        output.say(f"The {of} profile {name} is there already, and was kept.")
    else:
        record = group.create(name, **_sent(fields))
        output.say(f"The {of} profile {name} is new.")
    return nb_profile_kinds.row(call, of, record)


def edit(
    call: Call,
    *,
    profile: str,
    kind: KindName | None,
    name: str | None,
    description: str | None,
    **given: Any,
) -> pd.DataFrame:
    """Change a profile; what isn't named stays as it is."""
    used = any(value is not None for value in given.values()) or bool(_body(call))
    of, record = nb_profile_kinds.found(
        call, profile, kind or (_kind(call, None, given) if used else None)
    )
    fields = _fields(call, of, description, given, record)
    if name is not None:
        fields["name"] = name
    if not fields:
        raise InputError(
            "Nothing to change was given.", "`%nb profiles edit --help` lists what there is."
        )
    changed = nb_profile_kinds.group(call, of).update(record["id"], **_sent(fields))
    output.say(f"The {of} profile {changed['name']} is changed.")
    return nb_profile_kinds.row(call, of, changed)


def _kind(call: Call, kind: KindName | None, given: Mapping[str, Any]) -> KindName:
    """Return the kind of profile that the options are for.

    Raises InputError where they are for both, for the other one, or for none.
    """
    named = [key for key, value in given.items() if value is not None]
    of_episodes = [key for key in named if key in _OF_EPISODES]
    of_speakers = [key for key in named if key not in _OF_EPISODES]
    has_body = bool(_body(call))
    wrong = of_speakers if kind == "episode" else of_episodes
    if (kind and wrong) or (of_episodes and of_speakers):
        other = "a speaker" if wrong is of_speakers or not kind else "an episode"
        option = f"--{(wrong or of_speakers)[0].replace('_', '-')}"
        raise InputError(
            f"`{option}` is for {other} profile, and this is "
            f"{'an episode' if other == 'a speaker' else 'a speaker'} profile.",
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


def _fields(
    call: Call,
    kind: KindName,
    description: str | None,
    given: Mapping[str, Any],
    record: Record | None = None,
) -> dict[str, Any]:
    """Return the fields of a profile that the line and the cell's body name."""
    named = {key: value for key, value in given.items() if value is not None}
    table = _OF_EPISODES if kind == "episode" else _OF_SPEAKERS
    fields = {table[key]: value for key, value in named.items() if key in table}
    if description is not None:
        fields["description"] = description
    for key in [key for key in fields if key in _MODELS]:
        fields[key] = call.nb.models.find(fields[key])
    if "speaker_profile_ids" in fields:
        find = call.nb.speaker_profiles.find
        fields["speaker_profile_ids"] = [find(each) for each in fields["speaker_profile_ids"]]
    one = {_OF_ONE_SPEAKER[key]: value for key, value in named.items() if key in _OF_ONE_SPEAKER}
    several = _body(call)
    if one and several:
        raise InputError(
            "The speakers are on the line and below it.", "Keep them in one of the two places."
        )
    if several:
        fields["speakers"] = _listed(several)
    elif one:
        fields["speakers"] = [{**_only(record), **one}]
    return fields


def _sent(fields: Mapping[str, Any]) -> dict[str, Any]:
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


def _body(call: Call) -> str:
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


def _holds(there: Any, wanted: Any) -> bool:
    """Say whether a field has what is wanted; of a speaker what the line names of it counts."""
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        there = there or ()
        return len(there) == len(wanted) and all(map(_holds, there, wanted))
    if isinstance(wanted, Mapping):
        return all(there.get(key) == value for key, value in wanted.items())
    return bool(there == wanted)


_FIELDS = [
    KIND,
    nb_options.DESCRIPTION,
    nb_options.SPEAKERS,
    Parameter("segments", kinds.WHOLE, "in how many parts an episode is"),
    Parameter("briefing", kinds.text(), "what an episode should mind"),
    Parameter("language", kinds.text("LANGUAGE"), "the language that is spoken"),
    Parameter("outline-model", kinds.MODEL, "the model that writes the outline"),
    Parameter("transcript-model", kinds.MODEL, "the model that writes the dialogue"),
    Parameter("max-tokens", kinds.WHOLE, "how much a model may write at once"),
    Parameter("speaker", kinds.text("NAME"), "what the speaker is called; else as the profile"),
    Parameter("voice", kinds.text("VOICE"), "the voice; else one that nobody else has"),
    Parameter("backstory", kinds.text(), "where the speaker comes from"),
    Parameter("personality", kinds.text(), "how the speaker is"),
    Parameter("voice-model", kinds.MODEL, "the model that speaks"),
    OUT,
]
_BODY = "the speakers of a speaker profile, one a line: `- {name: Ada, voice_id: en-us}`."

COMMANDS = (
    Command(
        "profiles new",
        "Make a profile of an episode or of a speaker.",
        new,
        [Parameter("NAME", kinds.text("NAME"), "what it is called", required=True)],
        _FIELDS,
        body=_BODY,
        details="--speakers, --segments, --briefing, --language and the models that write are for "
        "an episode profile; --speaker, --voice, --backstory, --personality and --voice-model for "
        "a speaker profile. A model that isn't named is the default's. The same again is kept.",
        examples=["%nb profiles new short --speakers host,guest --segments 2"],
    ),
    Command(
        "profiles edit",
        "Change a profile.",
        edit,
        [nb_options.ONE_PROFILE],
        [Parameter("name", kinds.text("NAME"), "its new name"), *_FIELDS],
        body=_BODY,
    ),
)
