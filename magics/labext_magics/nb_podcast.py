"""`%nb podcast`: an episode about a notebook, made once however often the line is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ConflictError, InputError
from labext_magics import kinds, nb_following, nb_options, nb_processing, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT
from labext_magics.session import NotebookInUse

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def podcast(
    call: Call,
    *,
    name: str,
    profile: str,
    speakers: list[str] | None,
    notebook: str | None,
    briefing: str | None,
    wait: bool,
    background: bool,
) -> pd.DataFrame | None:
    """Have an episode made, watch that, and return the episode's row.

    An episode of this name that is made alike is kept, and watched while it is being made.

    Raises:
        ConflictError: there is another episode of this name.
        JobFailedError: it has failed, now or before.
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    if wait and background:
        raise InputError("`--background` doesn't wait, and `--wait` does.", "Keep one of the two.")
    about = nb_scope.notebook_of(call, notebook)
    made_by = call.nb.episode_profiles.find(profile)
    spoken_by = _speakers(call, made_by, speakers)
    there = _there(call, name, about, made_by, spoken_by, briefing)
    if there is not None:
        return _again(call, there, background=background)
    nb_processing.wait_for_text(call, about, wait=not background, option="--background")
    sent = call.nb.podcasts.generate(
        about.id, made_by, spoken_by if speakers else None, name, briefing
    )
    return nb_following.follow(call, nb_following.begun(sent), name, background=background)


def _speakers(call: Call, profile: str, named: list[str] | None) -> list[str]:
    """Return the identifiers of the speaker profiles that speak."""
    if named is not None:
        return [call.nb.speaker_profiles.find(each) for each in named]
    return [
        str(each) for each in call.nb.episode_profiles.get(profile)["speaker_profile_ids"] or ()
    ]


def _there(
    call: Call,
    name: str,
    about: NotebookInUse,
    profile: str,
    speakers: list[str],
    briefing: str | None,
) -> Record | None:
    """Return the episode of this name that is made alike.

    Raises ConflictError for another one of the name: by it neither could be named.
    """
    differing: list[str] = []
    for record in [each for each in call.nb.podcasts.iter() if each["name"] == name]:
        differs = {
            "about another notebook": not _is_about(call, record, about),
            "by another profile": _id(record["episode_profile"]) != profile,
            "with other speakers": list(map(_id, record["speaker_profiles"] or ())) != speakers,
            "with another briefing": (briefing or "").strip() not in (record["briefing"] or ""),
        }
        differing = [how for how, does in differs.items() if does]
        if not differing:
            return record
    if differing:
        raise ConflictError(
            f"There is an episode {name} already, {wording.listed(differing)}.",
            f"Take another name, or delete it first: `%nb episodes delete {quote(name)} --yes`.",
        )
    return None


def _is_about(call: Call, record: Record, about: NotebookInUse) -> bool:
    """Say whether an episode is about a notebook.

    One whose notebook is deleted, or which isn't told, may be about any that is older than it.
    """
    if record["notebook_id"] is not None:
        return bool(record["notebook_id"] == about.id)
    begun = call.nb.notebooks.get(about.id)["created_at"] or ""
    return bool(begun <= (record["created_at"] or ""))


def _id(profile: Record | None) -> str:
    return str((profile or {}).get("id"))


def _again(call: Call, record: Record, *, background: bool) -> pd.DataFrame | None:
    """Return the row of an episode that is there; watch one that is being made."""
    name = str(record["name"])
    if record["job_status"] == "failed":
        raise nb_following.failed(name, record["error_message"])
    if record["job_status"] != "completed":
        output.say(f"{name} is being made already.")
        return nb_following.follow(call, str(record["id"]), name, background=background)
    output.say(
        f"{name} is there already, and was kept; after `%nb episodes delete {quote(name)} --yes` "
        "it is made anew."
    )
    nb_following.shown_again(call, record)
    return nb_following.row(record)


SHORTCUTS = (
    Command(
        "podcast",
        "Have an episode made about the notebook in use, and watch that.",
        podcast,
        options=[
            Parameter("name", kinds.text("NAME"), "what the episode is called", required=True),
            Parameter(
                "profile",
                kinds.EPISODE_PROFILE,
                "how it is made: an episode profile",
                required=True,
            ),
            nb_options.SPEAKERS,
            Parameter("notebook", kinds.NOTEBOOK, "about this notebook, not the one in use"),
            Parameter("briefing", kinds.text(), "what it should mind, beside the profile's word"),
            nb_following.WAIT,
            nb_following.BACKGROUND,
            OUT,
        ],
        details="The outline and the dialogue are made of the notebook's sources and notes, then "
        "spoken and encoded. `%nb profiles` lists the profiles and speakers; without --speakers "
        "the profile's own speak. The same again is kept. Interrupting ends the watching only.",
        examples=['%nb podcast --name "Episode 1" --profile interview --speakers host,guest'],
    ),
)
