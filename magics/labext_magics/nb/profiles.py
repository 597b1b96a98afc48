"""`%nb profiles`: episode profiles and speaker profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from labext import messages
from labext.errors import ConflictError, InputError, NotFoundError
from labext_magics.core import cell_body, output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record

KindName = Literal["episode", "speaker"]
PROFILE_KINDS: tuple[KindName, ...] = ("episode", "speaker")


def profiles_client(call: Call, kind: KindName) -> Any:
    """Return the client's resource for profiles of a kind."""
    return call.nb.episode_profiles if kind == "episode" else call.nb.speaker_profiles


def find_profile(call: Call, profile: str, kind: KindName | None) -> tuple[KindName, Record]:
    """Return a profile by its name or ID, with its kind.

    Raises:
        NotFoundError: the profile does not exist; the error suggests a similar name.
        ConflictError: `kind` is None, and profiles of both kinds have this name.
    """
    kinds = PROFILE_KINDS if kind is None else (kind,)
    matches: list[tuple[KindName, Record]] = [
        (profile_kind, record)
        for profile_kind in kinds
        for record in profiles_client(call, profile_kind).iter()
        if profile in (str(record["id"]), str(record["name"]))
    ]
    if len(matches) > 1:
        raise ConflictError(
            f"There are both an episode profile and a speaker profile {profile}.",
            f"Add `--kind {' or `--kind '.join(f'{name}`' for name in PROFILE_KINDS)}.",
        )
    if not matches:
        kind_word = "" if kind is None else f"{kind} "
        names = [
            name for profile_kind in kinds for name in profiles_client(call, profile_kind).names()
        ]
        raise NotFoundError(
            f"There is no {kind_word}profile "
            f"{messages.quote_value(profile)}{messages.did_you_mean(profile, names)}.",
            "`%nb profiles` lists the profiles.",
        )
    return matches[0]


def profile_row(call: Call, kind: KindName, record: Record) -> pd.DataFrame:
    """Return the row of one profile with all fields."""
    from labext_magics.nb import profile_frames

    return profile_frames.profile_frame(call.nb, kind, record)


KIND = Parameter(
    "kind", value_types.choice(*PROFILE_KINDS), "the kind of profile, if two have this name"
)


_EPISODE_FIELDS = {
    "speakers": "speaker_profile_ids",
    "segments": "num_segments",
    "briefing": "default_briefing",
    "language": "language",
    "outline_model": "outline_llm",
    "transcript_model": "transcript_llm",
    "max_tokens": "max_tokens",
}
"""The fields of an episode profile by option."""

_SPEAKER_PROFILE_FIELDS = {"voice_model": "voice_model"}
_SPEAKER_FIELDS = {
    "speaker": "name",
    "voice": "voice_id",
    "backstory": "backstory",
    "personality": "personality",
}
"""The fields of the single speaker of a speaker profile by option."""

MODELS: Mapping[KindName, Mapping[str, str]] = {
    "episode": {"outline_llm": "llm", "transcript_llm": "llm"},
    "speaker": {"voice_model": "tts"},
}
"""The fields with models by kind of profile, each with the model's type."""


def kind_of(call: Call, kind: KindName | None, values: Mapping[str, Any]) -> KindName:
    """Return the kind of profile that the options apply to.

    Raises:
        InputError: the options apply to both kinds or to another kind, or the kind is unknown.
    """
    used = [key for key, value in values.items() if value is not None]
    episode_options = [key for key in used if key in _EPISODE_FIELDS]
    speaker_options = [key for key in used if key not in _EPISODE_FIELDS]
    has_body = bool(call.text)
    is_speaker = kind == "speaker"
    conflicts = episode_options if is_speaker else speaker_options
    if conflicts and (kind or episode_options):
        actual, required = (
            ("a speaker", "an episode") if is_speaker else ("an episode", "a speaker")
        )
        raise InputError(
            f"`--{conflicts[0].replace('_', '-')}` is for {required} profile, but this is "
            f"{actual} profile.",
            "Create two profiles, and set the speakers of the episode profile with `--speakers`.",
        )
    if has_body and (kind == "episode" or episode_options):
        raise InputError(
            "The cell body lists speakers, but this is an episode profile.",
            "Create the speaker profile in a separate cell, and refer to it with `--speakers`.",
        )
    if kind is None and not used and not has_body:
        raise InputError(
            "The kind of profile is unknown.", "Add `--kind episode` or `--kind speaker`."
        )
    return kind or ("episode" if episode_options else "speaker")


def profile_fields(
    call: Call,
    kind: KindName,
    description: str | None,
    values: Mapping[str, Any],
    record: Record | None = None,
) -> dict[str, Any]:
    """Return the fields of a profile from the line and the cell body."""
    present = {key: value for key, value in values.items() if value is not None}
    table = _EPISODE_FIELDS if kind == "episode" else _SPEAKER_PROFILE_FIELDS
    fields = {table[key]: value for key, value in present.items() if key in table}
    if description is not None:
        fields["description"] = description
    for key in fields.keys() & MODELS[kind].keys():
        fields[key] = call.nb.models.find(fields[key], MODELS[kind][key])
    if "speaker_profile_ids" in fields:
        find = call.nb.speaker_profiles.find
        fields["speaker_profile_ids"] = [find(name) for name in fields["speaker_profile_ids"]]
    speaker = {
        _SPEAKER_FIELDS[key]: value for key, value in present.items() if key in _SPEAKER_FIELDS
    }
    body = call.text
    if speaker and body:
        raise InputError(
            "Speakers are given both on the line and in the cell body.", "Keep one of them."
        )
    if body:
        fields["speakers"] = _parse_speakers(body)
    elif speaker:
        fields["speakers"] = [{**_single_speaker(record), **speaker}]
    return fields


def client_arguments(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Rename fields to the parameters of the client's methods."""
    return {"speakers" if k == "speaker_profile_ids" else k: v for k, v in fields.items()}


def _single_speaker(record: Record | None) -> Mapping[str, Any]:
    """Return the speaker of a profile, empty without one; raise InputError if it has several."""
    speakers = () if record is None else record["speakers"] or ()
    if len(speakers) > 1:
        raise InputError(
            f"{record and record['name']} has {len(speakers)} speakers, but the options apply to "
            "only one.",
            "List all speakers below `%%nb profiles edit …`: `- {name: Ada, voice_id: en-us}`.",
        )
    return speakers[0] if speakers else {}


def _parse_speakers(text: str) -> list[dict[str, Any]]:
    """Parse a list of speakers."""
    body = cell_body.parse_body(text)
    speakers = body.get("speakers") if isinstance(body, Mapping) else body
    if not isinstance(speakers, list) or not all(
        isinstance(speaker, Mapping) for speaker in speakers
    ):
        raise InputError(
            "The cell body is not a list of speakers.",
            "Write one per line: `- {name: Ada, voice_id: en-us}`.",
        )
    parsed: list[dict[str, Any]] = cell_body.as_text(speakers)
    return parsed


def new_profile(
    call: Call, *, name: str, kind: KindName | None, description: str | None, **values: Any
) -> pd.DataFrame:
    """Create a profile of the kind that its options apply to; an identical profile is kept."""
    profile_kind = kind_of(call, kind, values)
    fields = profile_fields(call, profile_kind, description, values)
    if profile_kind == "speaker":
        fields.setdefault("speakers", [{"name": name}])
        fields["speakers"] = [{"name": name, **speaker} for speaker in fields["speakers"]]
    group = profiles_client(call, profile_kind)
    with scope.creation_lock(call, f"{profile_kind} profile", name):
        same_name = [profile for profile in group.iter() if profile["name"] == name]
        if same_name:
            (record,) = same_name
            if not all(_matches(record[field], value) for field, value in fields.items()):
                raise ConflictError(
                    f"Another {profile_kind} profile {name} already exists.",
                    f"`%nb profiles edit {quote(name)} …` changes it; or use another name.",
                )
            output.print_message(f"The {profile_kind} profile {name} already exists and was kept.")
        else:
            record = group.create(name, **client_arguments(fields))
            output.print_message(f"Created the {profile_kind} profile {name}.")
    return profile_row(call, profile_kind, record)


def edit_profile(
    call: Call,
    *,
    profile: str,
    kind: KindName | None,
    name: str | None,
    description: str | None,
    no_models: bool,
    no_language: bool,
    **values: Any,
) -> pd.DataFrame:
    """Change the fields of a profile."""
    if no_language:
        if values["language"] is not None:
            raise InputError(
                "`--language` and `--no-language` exclude each other.", "Keep one of them."
            )
        values["language"] = ""
    used = any(value is not None for value in values.values()) or bool(call.text)
    target_kind = kind_of(call, kind, values) if used else kind
    profile_kind, record = find_profile(call, profile, target_kind)
    fields = profile_fields(call, profile_kind, description, values, record)
    if no_models:
        fields = dict.fromkeys(MODELS[profile_kind], "") | fields
    if name is not None:
        fields["name"] = name
    if not fields:
        raise InputError("The line has no change.", "`%nb profiles edit --help` lists the options.")
    changed = profiles_client(call, profile_kind).update(record["id"], **client_arguments(fields))
    output.print_message(f"Changed the {profile_kind} profile {changed['name']}.")
    return profile_row(call, profile_kind, changed)


def _matches(current: Any, expected: Any) -> bool:
    """Return True if a field has the expected value; additional keys of mappings are ignored."""
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        current = current or ()
        return len(current) == len(expected) and all(map(_matches, current, expected))
    if isinstance(expected, Mapping):
        return all(current.get(key) == value for key, value in expected.items())
    return bool(current == expected)


_FIELDS = [
    replace(KIND, help="the kind of profile, if no other option implies it"),
    options.DESCRIPTION,
    options.SPEAKERS,
    Parameter("segments", value_types.INTEGER, "number of segments of an episode"),
    Parameter("briefing", value_types.text_type(), "instructions for every episode"),
    Parameter("language", value_types.text_type("LANGUAGE"), "the spoken language"),
    Parameter("outline-model", value_types.MODEL, "the model that writes the outline"),
    Parameter("transcript-model", value_types.MODEL, "the model that writes the dialogue"),
    Parameter("max-tokens", value_types.INTEGER, "maximum tokens per model response"),
    Parameter(
        "speaker",
        value_types.text_type("NAME"),
        "the speaker's name; by default the profile's name",
    ),
    Parameter("voice", value_types.text_type("VOICE"), "the voice; by default an unused voice"),
    Parameter("backstory", value_types.text_type(), "the speaker's background"),
    Parameter("personality", value_types.text_type(), "the speaker's personality"),
    Parameter("voice-model", value_types.MODEL, "the text-to-speech model"),
]
_OWNER = (
    "--speakers, --segments, --briefing, --language, --max-tokens, --outline-model and "
    "--transcript-model belong to episode profiles; --speaker, --voice, --backstory, "
    "--personality and --voice-model to speaker profiles."
)
_BODY = "the speakers of a speaker profile, one per line: `- {name: Ada, voice_id: en-us}`."


def list_(call: Call, *, kind: KindName | None) -> pd.DataFrame:
    """Return one row per profile, of one kind or both."""
    from labext_magics.nb import profile_frames

    return profile_frames.profiles_frame(call.nb, kind)


def show(call: Call, *, profile: str, kind: KindName | None) -> pd.DataFrame:
    """Return the row of one profile."""
    return profile_row(call, *find_profile(call, profile, kind))


def duplicate(call: Call, *, profile: str, name: str | None, kind: KindName | None) -> pd.DataFrame:
    """Create a copy of a profile."""
    profile_kind, record = find_profile(call, profile, kind)
    group = profiles_client(call, profile_kind)
    if name is not None and name in group.names():
        raise ConflictError(
            f"{messages.capitalize_first(messages.with_article(profile_kind))} profile {name} "
            "already exists.",
            f"Use another name; `%nb profiles show {quote(name)}` shows the existing one.",
        )
    copy = group.duplicate(record["id"])
    if name is not None:
        copy = group.update(copy["id"], name=name)
    output.print_message(f"Copied the {profile_kind} profile {record['name']} to {copy['name']}.")
    return profile_row(call, profile_kind, copy)


def delete(
    call: Call, *, profiles: list[str], kind: KindName | None, yes: bool, preview: bool
) -> None:
    """Delete profiles after checking that all of them exist; their episodes are kept."""
    matches = (find_profile(call, profile, kind) for profile in dict.fromkeys(profiles))
    targets = {record["id"]: (profile_kind, record["name"]) for profile_kind, record in matches}
    output.delete_each(
        {identifier: f"the {kind} profile {name}" for identifier, (kind, name) in targets.items()},
        lambda identifier: profiles_client(call, targets[identifier][0]).delete(identifier),
        yes=yes,
        preview=preview,
    )


COMMANDS = (
    Command(
        "profiles",
        "List the episode profiles and speaker profiles.",
        list_,
        options=[replace(KIND, help="list only profiles of this kind"), OUT],
        details="An episode profile defines the segments, models and speakers of episodes. A "
        "speaker profile defines the speakers and their voices.",
    ),
    Command("profiles show", "Show a profile.", show, [options.ONE_PROFILE], [KIND, OUT]),
    Command(
        "profiles new",
        "Create an episode profile or a speaker profile.",
        new_profile,
        [Parameter("NAME", value_types.text_type("NAME"), "the profile's name", required=True)],
        [*_FIELDS, OUT],
        body=_BODY,
        details=f"{_OWNER} By default, the models of the default slots are used. An identical "
        "profile is kept.",
        examples=["%nb profiles new short --speakers host,guest --segments 2"],
    ),
    Command(
        "profiles edit",
        "Change a profile.",
        edit_profile,
        [options.ONE_PROFILE],
        [
            Parameter("name", value_types.text_type("NAME"), "the new name"),
            *_FIELDS,
            Parameter("no-models", None, "use the models of the default slots"),
            Parameter("no-language", None, "remove the language"),
            OUT,
        ],
        body=_BODY,
        details=_OWNER,
        examples=["%nb profiles edit interview --segments 3"],
    ),
    Command(
        "profiles duplicate",
        "Copy a profile.",
        duplicate,
        [options.ONE_PROFILE],
        [Parameter("name", value_types.text_type("NAME"), "the name of the copy"), KIND, OUT],
    ),
    Command(
        "profiles delete",
        "Delete profiles; existing episodes are kept.",
        delete,
        [options.SOME_PROFILES],
        [KIND, YES, PREVIEW],
    ),
)
