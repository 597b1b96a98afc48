"""`%nb episodes` and `%nb play`: what was spoken about notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ConflictError, LabextError, NotReadyError
from labext_magics import kinds, nb_following, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, notebook: str | None) -> pd.DataFrame:
    """Return a row for each episode, about whichever notebook; or about one."""
    if notebook is None:
        return call.nb.podcasts.episodes()
    from labext.nb.podcastviews import episodes

    about = nb_scope.found(call, notebook).id
    every = list(call.nb.podcasts.iter())
    if untold := sum(each["notebook_id"] is None for each in every):
        of = wording.count(untold, "episode")
        output.say(f"Of {of} the service does not tell the notebook: `%nb episodes` has them.")
    return episodes(each for each in every if each["notebook_id"] == about)


def show(call: Call, *, episode: str, transcript: bool) -> pd.DataFrame:
    """Return what is known of an episode; or a row for each thing that is said in it."""
    record = call.nb.podcasts.episode(episode)
    return _turns(record) if transcript else nb_following.row(record)


def wait(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Watch an episode until it is made, and return its row.

    Raises:
        JobFailedError: it has failed.
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    record = call.nb.podcasts.episode(episode)
    return nb_following.follow(call, record["id"], _name(record), background=background)


def retry(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Have a failed episode made again, watch that, and return its row.

    Raises:
        ConflictError: it has not failed.
    """
    before = call.nb.podcasts.episode(episode)
    _check_failed(before)
    sent = call.nb.podcasts.retry(before["id"])
    return nb_following.follow(call, nb_following.begun(sent), _name(before), background=background)


def delete(call: Call, *, episodes: list[str], yes: bool, preview: bool) -> None:
    """Delete episodes with their sound, once all of them are known to be there."""
    found = (call.nb.podcasts.episode(each) for each in dict.fromkeys(episodes))
    records = {record["id"]: record for record in found}
    would_go = [_described(record) for record in records.values()]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for identifier, record in records.items():
        call.nb.podcasts.delete(identifier)
        output.say(f"The episode {_name(record)} is deleted.")


def download(call: Call, *, episode: str, to: Path | None) -> None:
    """Fetch an episode's sound, an MP3; without `to` it is put beside the notebook.

    A file appears under its name only when it is whole.
    """
    import labext_widgets

    record = call.nb.podcasts.episode(episode)
    name = _name(record)
    where = "" if to is None else f" --to {quote(str(to))}"
    again = f"%nb episodes download {quote(name)}{where}"
    with labext_widgets.Transfer(name, "episode", again) as transfer:
        written = call.nb.podcasts.audio(record["id"], to, transfer.bytes)
        transfer.end(f"{name} is in {written}.")


def play(call: Call, *, episode: str, embed: bool) -> None:
    """Show a player with the transcript beside it; in a terminal the transcript alone."""
    import labext_widgets
    from labext_widgets.front import FrontEnd, front_end

    podcasts = call.nb.podcasts
    record = podcasts.episode(episode)
    if record["job_status"] != "completed":
        raise _unheard(record)
    labext_widgets.player(record, lambda: podcasts.sound(record["id"]), embed=embed)
    if front_end() is FrontEnd.TERMINAL:
        line = f"%nb episodes download {quote(_name(record))}"
        output.say(f"To listen: `{line}` saves the sound as an MP3 file.")


def _unheard(record: Record) -> LabextError:
    """Return the error of an episode that has no sound: not yet, or not at all."""
    name = _name(record)
    if record["job_status"] == "failed":
        return nb_following.failed(name, record["error_message"])
    return NotReadyError(
        f"The episode {name} is still being made ({record['job_status']}).",
        f"`%nb episodes wait {quote(name)}` shows how far it is.",
    )


def _check_failed(record: Record) -> None:
    """Raise ConflictError, with the way out, unless an episode has failed."""
    name, status = _name(record), record["job_status"]
    if status in ("failed", None):  # what is not told is left to the service
        return
    if status == "completed":
        raise ConflictError(
            f"The episode {name} has not failed: it is completed.",
            f"`%nb play {quote(name)}` plays it; to have it made anew, delete it with "
            f"`%nb episodes delete {quote(name)} --yes` and run its `%nb podcast` line again.",
        )
    raise ConflictError(
        f"The episode {name} has not failed: it is {status}.",
        f"`%nb episodes wait {quote(name)}` watches it. If nothing changes for long, its worker "
        f"has probably stopped: `%nb episodes delete {quote(name)} --yes`, then run its "
        "`%nb podcast` line again.",
    )


def _turns(record: Record) -> pd.DataFrame:
    from labext.nb.records import LINE, frame
    from labext.rowviews import ROWS

    turns = (record["transcript"] or {}).get("transcript") or ()
    return ROWS.show(frame(LINE, [{name: turn.get(name) for name in LINE} for turn in turns]))


def _name(record: Record) -> str:
    return str(record["name"] or record["id"])


def _described(record: Record) -> str:
    """Return an episode in words that say how much would be lost."""
    state, seconds = record["job_status"], record["duration"]
    if state == "completed" and seconds:
        return f"the episode {_name(record)}, {wording.count(round(seconds), 'second')} of sound"
    return f"the episode {_name(record)}" + ("" if state == "completed" else f" ({state})")


SHORTCUTS = (
    Command(
        "play",
        "Listen to an episode, and read along.",
        play,
        [nb_options.ONE_EPISODE],
        [Parameter("embed", None, "keep the sound in the notebook too, not the transcript alone")],
        examples=['%nb play "Episode 1"'],
    ),
)

COMMANDS = (
    Command(
        "episodes",
        "List the episodes.",
        list_,
        options=[
            Parameter("notebook", kinds.NOTEBOOK, "those about this notebook alone"),
            OUT,
        ],
    ),
    Command(
        "episodes show",
        "Show one episode.",
        show,
        [nb_options.ONE_EPISODE],
        [Parameter("transcript", None, "who says what, and when, a row each"), OUT],
    ),
    Command(
        "episodes wait",
        "Watch an episode until it is made; interrupting ends the watching only.",
        wait,
        [nb_options.ONE_EPISODE],
        [nb_following.BACKGROUND, OUT],
    ),
    Command(
        "episodes retry",
        "Have a failed episode made again, and watch that.",
        retry,
        [nb_options.ONE_EPISODE],
        [nb_following.BACKGROUND, OUT],
    ),
    Command(
        "episodes download",
        "Fetch an episode's sound.",
        download,
        [nb_options.ONE_EPISODE],
        [Parameter("to", kinds.PATH, "the file, or a folder that is there")],
    ),
    Command(
        "episodes delete",
        "Delete episodes with their sound.",
        delete,
        [nb_options.SOME_EPISODES],
        [YES, PREVIEW],
    ),
)
