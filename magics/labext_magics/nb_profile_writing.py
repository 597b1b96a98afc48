"""`%nb profiles new` and `edit`: what an episode or a speaker profile is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import ConflictError, InputError
from labext_magics import kinds, nb_options, nb_profile_kinds, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.nb_profile_fields import MODELS, kind_of, listed_below, named, sent
from labext_magics.nb_profile_kinds import KIND, KindName
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def new(
    call: Call, *, name: str, kind: KindName | None, description: str | None, **given: Any
) -> pd.DataFrame:
    """Make a profile, of the kind that its options are for; the same again is kept.

    Raises:
        ConflictError: there is another profile of this kind and name.
    """
    of = kind_of(call, kind, given)
    fields = named(call, of, description, given)
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
        record = group.create(name, **sent(fields))
        output.say(f"The {of} profile {name} is new.")
    return nb_profile_kinds.row(call, of, record)


def edit(
    call: Call,
    *,
    profile: str,
    kind: KindName | None,
    name: str | None,
    description: str | None,
    no_models: bool,
    no_language: bool,
    **given: Any,
) -> pd.DataFrame:
    """Change a profile; what isn't named stays as it is."""
    if no_language:
        if given["language"] is not None:
            raise InputError("The line names a language and takes it away.", "Keep one of the two.")
        given["language"] = ""
    used = any(value is not None for value in given.values()) or bool(listed_below(call))
    meant = kind_of(call, kind, given) if used else kind
    of, record = nb_profile_kinds.found(call, profile, meant)
    fields = named(call, of, description, given, record)
    if no_models:
        fields = dict.fromkeys(MODELS[of], "") | fields
    if name is not None:
        fields["name"] = name
    if not fields:
        raise InputError(
            "Nothing to change was given.", "`%nb profiles edit --help` lists what there is."
        )
    changed = nb_profile_kinds.group(call, of).update(record["id"], **sent(fields))
    output.say(f"The {of} profile {changed['name']} is changed.")
    return nb_profile_kinds.row(call, of, changed)


def _holds(there: Any, wanted: Any) -> bool:
    """Say whether a field has what is wanted; of a speaker what the line names of it counts."""
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        there = there or ()
        return len(there) == len(wanted) and all(map(_holds, there, wanted))
    if isinstance(wanted, Mapping):
        return all(there.get(key) == value for key, value in wanted.items())
    return bool(there == wanted)


_FIELDS = [
    replace(KIND, help="which kind it is, where nothing else says so"),
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
]
_WHOSE = (
    "--speakers, --segments, --briefing, --language, --max-tokens and the models that write are "
    "for an episode profile; --speaker, --voice, --backstory, --personality and --voice-model for "
    "a speaker profile."
)
_BODY = "the speakers of a speaker profile, one a line: `- {name: Ada, voice_id: en-us}`."

COMMANDS = (
    Command(
        "profiles new",
        "Make a profile of an episode or of a speaker.",
        new,
        [Parameter("NAME", kinds.text("NAME"), "what it is called", required=True)],
        [*_FIELDS, OUT],
        body=_BODY,
        details=f"{_WHOSE} A model that isn't named is that of the default slot. The same again is "
        "kept.",
        examples=["%nb profiles new short --speakers host,guest --segments 2"],
    ),
    Command(
        "profiles edit",
        "Change a profile.",
        edit,
        [nb_options.ONE_PROFILE],
        [
            Parameter("name", kinds.text("NAME"), "its new name"),
            *_FIELDS,
            Parameter("no-models", None, "the models of the default slots again"),
            Parameter("no-language", None, "no language of its own any more"),
            OUT,
        ],
        body=_BODY,
        details=_WHOSE,
        examples=["%nb profiles edit interview --segments 3"],
    ),
)
