"""`%nb profiles`: how episodes are made, and who speaks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext_magics import kinds, nb_options, nb_profile_kinds, nb_profile_writing, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.nb_profile_kinds import KIND, KindName
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd


def list_(call: Call, *, kind: KindName | None) -> pd.DataFrame:
    """Return a row for each profile, of both kinds or of one."""
    from labext_magics import nb_profile_rows

    return nb_profile_rows.told(call.nb, kind)


def show(call: Call, *, profile: str, kind: KindName | None) -> pd.DataFrame:
    """Return what is known of one profile, a value a row."""
    return nb_profile_kinds.row(call, *nb_profile_kinds.found(call, profile, kind))


def duplicate(call: Call, *, profile: str, name: str | None, kind: KindName | None) -> pd.DataFrame:
    """Make a copy of a profile, to be changed."""
    of, record = nb_profile_kinds.found(call, profile, kind)
    group = nb_profile_kinds.group(call, of)
    if name is not None:
        nb_profile_kinds.check_free(call, of, name)
    copy = group.duplicate(record["id"])
    if name is not None:
        copy = group.update(copy["id"], name=name)
    output.say(f"The {of} profile {copy['name']} is a copy of {record['name']}.")
    return nb_profile_kinds.row(call, of, copy)


def delete(
    call: Call, *, profiles: list[str], kind: KindName | None, yes: bool, preview: bool
) -> None:
    """Delete profiles, once all of them are known to be there; episodes made by them stay."""
    every = [nb_profile_kinds.found(call, each, kind) for each in dict.fromkeys(profiles)]
    would_go = [f"the {of} profile {record['name']}" for of, record in every]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for of, record in every:
        nb_profile_kinds.group(call, of).delete(record["id"])
        output.say(f"The {of} profile {record['name']} is deleted.")


COMMANDS = (
    Command(
        "profiles",
        "List the profiles: how episodes are made, and who speaks in them.",
        list_,
        options=[KIND, OUT],
        details="An episode profile says how an episode is made: in how many parts, by which "
        "models, and who speaks. A speaker profile says who speaks, with which voice.",
    ),
    Command("profiles show", "Show one profile.", show, [nb_options.ONE_PROFILE], [KIND, OUT]),
    *nb_profile_writing.COMMANDS,
    Command(
        "profiles duplicate",
        "Make a copy of a profile, to be changed.",
        duplicate,
        [nb_options.ONE_PROFILE],
        [Parameter("name", kinds.text("NAME"), "what the copy is called"), KIND, OUT],
    ),
    Command(
        "profiles delete",
        "Delete profiles; what was made by them stays.",
        delete,
        [nb_options.SOME_PROFILES],
        [KIND, YES, PREVIEW],
    ),
)
