"""`%nb podcast`, `%nb episodes` and `%nb play`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import ConflictError, InputError, JobFailedError, LabextError, NotReadyError
from labext.progress import Outcome, Progress
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.core.session import NotebookInUse
from labext_magics.nb import options, processing, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def watch_episode(
    call: Call, what: str, name: str, *, background: bool = False
) -> pd.DataFrame | None:
    """Show the progress of an episode until it ends, and return its row; None in the background.

    Args:
        call: the context of the command.
        what: the episode's identifier, since names may be ambiguous; or its job's, if the episode
            is not known yet.
        name: the episode's name.
        background: return at once, and keep updating the progress bar.

    Raises:
        JobFailedError: it failed.
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    import labext_widgets
    from labext.nb.episode_generation import parse_command_id

    podcasts = call.nb.podcasts

    def watched() -> Iterator[Progress]:
        for progress in podcasts.watch(what):  # a job has no name
            yield replace(progress, subject=name)

    def retry() -> Iterator[Progress]:
        nonlocal what
        # The service may not report the episode of a failed job, so look it up by name.
        what = snapshots_of(podcasts.retry(name if parse_command_id(what) else what))
        return watched()

    last = labext_widgets.follow_podcast(
        watched(),
        again=f"%nb episodes wait {quote(name)}",
        retry=retry,
        result=lambda: (podcasts.episode(what), lambda: podcasts.sound(what)),
        background=background,
    )
    if last is None or last.outcome is None:
        return None
    if last.outcome is Outcome.COMPLETE:
        return episode_row(podcasts.episode(what))
    if name in podcasts.names():
        raise episode_failed(name, last.reason)
    raise _episode_lost(name, last.reason)


def show_player_again(call: Call, record: Record) -> None:
    """Show the player of an existing episode, as after its generation."""
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    if front_end() is FrontEnd.INTERACTIVE:
        podcasts, what = call.nb.podcasts, str(record["id"])
        labext_widgets.show_player(podcasts.episode(what), lambda: podcasts.sound(what))


def snapshots_of(record: Record) -> str:
    """Return the identifier to watch after a request: the episode's, else its job's."""
    return str(record["episode_id"] or record["job_id"])


def episode_failed(name: str, reason: str | None) -> JobFailedError:
    """Return the error for a failed episode, with its reason and the retry command."""
    return JobFailedError(
        _reason_text(name, reason),
        f"Fix the cause, then `%nb episodes retry {quote(name)}` generates it again.",
    )


def _episode_lost(name: str, reason: str | None) -> JobFailedError:
    """Return the error for an episode that failed or was deleted and cannot be retried."""
    return JobFailedError(
        _reason_text(name, reason),
        "The service kept no episode to retry: fix the cause, then run `%nb podcast` again.",
    )


def _reason_text(name: str, reason: str | None) -> str:
    because = f": {reason.rstrip('.')}" if reason else ""
    return f"The episode {name} failed{because}."


def episode_row(record: Record) -> pd.DataFrame:
    """Return one episode as a frame, without its outline and transcript."""
    from labext.nb.views import episode_frame

    short = {key: value for key, value in record.items() if key not in ("outline", "transcript")}
    return episode_frame([short])


BACKGROUND = Parameter("background", None, "continue in the background")
WAIT = Parameter("wait", None, "watch until it is complete (default)")


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
    """Generate an episode, show the progress, and return the episode's row.

    An existing episode with the same name and settings is kept, and watched if it is unfinished.

    Raises:
        ConflictError: there is a different episode with this name.
        JobFailedError: the generation failed, now or earlier.
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    if wait and background:
        raise InputError("`--background` and `--wait` exclude each other.", "Keep one of them.")
    about = scope.notebook_of(call, notebook)
    profile_id = call.nb.episode_profiles.find(profile)
    speaker_ids = _speakers(call, profile_id, speakers)
    existing = _existing_episode(call, name, about, profile_id, speaker_ids, briefing)
    if existing is not None:
        return _reuse_episode(call, existing, background=background)
    processing.wait_for_text(call, about, wait=not background, option="--background")
    started = call.nb.podcasts.generate(
        about.id, profile_id, speaker_ids if speakers else None, name, briefing
    )
    return watch_episode(call, snapshots_of(started), name, background=background)


def _speakers(call: Call, profile: str, named: list[str] | None) -> list[str]:
    """Return the identifiers of the speaker profiles in use."""
    if named is not None:
        return [call.nb.speaker_profiles.find(speaker) for speaker in named]
    return [
        str(identifier)
        for identifier in call.nb.episode_profiles.get(profile)["speaker_profile_ids"] or ()
    ]


def _existing_episode(
    call: Call,
    name: str,
    about: NotebookInUse,
    profile: str,
    speakers: list[str],
    briefing: str | None,
) -> Record | None:
    """Return the existing episode with this name and these settings, if any.

    Raises ConflictError for a different episode with the same name, since names identify episodes.
    """
    differing: list[str] = []
    for record in [episode for episode in call.nb.podcasts.iter() if episode["name"] == name]:
        differs = {
            "about another notebook": not _is_about(call, record, about),
            "with another profile": _id(record["episode_profile"]) != profile,
            "with other speakers": list(map(_id, record["speaker_profiles"] or ())) != speakers,
            "with another briefing": (briefing or "").strip() not in (record["briefing"] or ""),
        }
        differing = [how for how, does in differs.items() if does]
        if not differing:
            return record
    if differing:
        raise ConflictError(
            f"An episode {name} already exists, {messages.join_words(differing)}.",
            f"Use another name, or delete it first: `%nb episodes delete {quote(name)} --yes`.",
        )
    return None


def _is_about(call: Call, record: Record, about: NotebookInUse) -> bool:
    """Tell whether an episode is about a notebook.

    If the service does not report the notebook, any notebook older than the episode matches.
    """
    if record["notebook_id"] is not None:
        return bool(record["notebook_id"] == about.id)
    created = call.nb.notebooks.get(about.id)["created_at"] or ""
    return bool(created <= (record["created_at"] or ""))


def _id(profile: Record | None) -> str:
    return str((profile or {}).get("id"))


def _reuse_episode(call: Call, record: Record, *, background: bool) -> pd.DataFrame | None:
    """Return the row of an existing episode; watch it if it is unfinished."""
    name = str(record["name"])
    if record["job_status"] == "failed":
        raise episode_failed(name, record["error_message"])
    if record["job_status"] != "completed":
        output.print_message(f"{name} is already being generated.")
        return watch_episode(call, str(record["id"]), name, background=background)
    output.print_message(
        f"{name} already exists and was kept; `%nb episodes delete {quote(name)} --yes` lets "
        "you generate it again."
    )
    show_player_again(call, record)
    return episode_row(record)


PODCAST_SHORTCUTS = (
    Command(
        "podcast",
        "Generate a podcast episode about the notebook in use, and watch the progress.",
        podcast,
        options=[
            Parameter("name", value_types.text_type("NAME"), "the episode's name", required=True),
            Parameter(
                "profile",
                value_types.EPISODE_PROFILE,
                "an episode profile, which defines how the episode is made",
                required=True,
            ),
            options.SPEAKERS,
            Parameter(
                "notebook", value_types.NOTEBOOK, "use this notebook instead of the one in use"
            ),
            Parameter(
                "briefing",
                value_types.text_type(),
                "additional instructions",
            ),
            WAIT,
            BACKGROUND,
            OUT,
        ],
        details="Writes an outline and a dialogue from the notebook's sources and notes, then "
        "speaks and encodes them. `%nb profiles` lists the profiles and speakers; by "
        "default the profile's own speakers are used. An identical episode is kept. "
        "Interrupting stops only the watch.",
        examples=['%nb podcast --name "Episode 1" --profile interview --speakers host,guest'],
    ),
)


def list_(call: Call, *, notebook: str | None) -> pd.DataFrame:
    """Return a row for each episode, of all notebooks or of one."""
    if notebook is None:
        return call.nb.podcasts.episodes()
    from labext.nb.views import episode_frame

    about = scope.find_notebook(call, notebook).id
    every = list(call.nb.podcasts.iter())
    if untold := sum(episode["notebook_id"] is None for episode in every):
        unlisted = messages.pluralize(untold, "episode")
        output.print_message(
            f"The service does not report the notebook of {unlisted}; `%nb episodes` lists all "
            "episodes."
        )
    return episode_frame(episode for episode in every if episode["notebook_id"] == about)


def show(call: Call, *, episode: str, transcript: bool) -> pd.DataFrame:
    """Return the row of an episode, or a row for each line of its transcript."""
    record = call.nb.podcasts.episode(episode)
    return _turns(record) if transcript else episode_row(record)


def wait(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Watch an episode until it is generated, and return its row.

    Raises:
        JobFailedError: it has failed.
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    record = call.nb.podcasts.episode(episode)
    return watch_episode(call, record["id"], _name(record), background=background)


def retry(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Retry a failed episode, show the progress, and return its row.

    Raises:
        ConflictError: it has not failed.
    """
    before = call.nb.podcasts.episode(episode)
    _check_failed(before)
    started = call.nb.podcasts.retry(before["id"])
    return watch_episode(call, snapshots_of(started), _name(before), background=background)


def delete(call: Call, *, episodes: list[str], yes: bool, preview: bool) -> None:
    """Delete episodes with their audio, after checking that all of them exist."""
    matches = (call.nb.podcasts.episode(episode) for episode in dict.fromkeys(episodes))
    records = {record["id"]: record for record in matches}
    affected = [_describe_episode(record) for record in records.values()]
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return
    for identifier, record in records.items():
        call.nb.podcasts.delete(identifier)
        output.print_message(f"Deleted the episode {_name(record)}.")


def download(call: Call, *, episode: str, to: Path | None) -> None:
    """Download an episode's audio as an MP3, by default next to the notebook.

    The file appears under its name only when it is complete.
    """
    import labext_widgets

    record = call.nb.podcasts.episode(episode)
    name = _name(record)
    to_option = "" if to is None else f" --to {quote(str(to))}"
    again = f"%nb episodes download {quote(name)}{to_option}"
    with labext_widgets.Transfer(name, "episode", again) as transfer:
        written = call.nb.podcasts.audio(record["id"], to, transfer.bytes)
        transfer.end(f"Saved {name} to {written}.")


def play(call: Call, *, episode: str, embed: bool) -> None:
    """Show a player with the transcript; in a terminal only the transcript."""
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    podcasts = call.nb.podcasts
    record = podcasts.episode(episode)
    if record["job_status"] != "completed":
        raise _no_audio_error(record)
    labext_widgets.show_player(record, lambda: podcasts.sound(record["id"]), embed=embed)
    if front_end() is FrontEnd.TERMINAL:
        line = f"%nb episodes download {quote(_name(record))}"
        output.print_message(f"To listen, run `{line}`: it saves the audio as an MP3 file.")


def _no_audio_error(record: Record) -> LabextError:
    """Return the error for an episode that has no audio, because it is unfinished or failed."""
    name = _name(record)
    if record["job_status"] == "failed":
        return episode_failed(name, record["error_message"])
    return NotReadyError(
        f"The episode {name} is not complete yet ({record['job_status']}).",
        f"`%nb episodes wait {quote(name)}` shows the progress.",
    )


def _check_failed(record: Record) -> None:
    """Raise ConflictError, with the next step, unless an episode has failed."""
    name, status = _name(record), record["job_status"]
    if status in ("failed", None):  # an unknown status is checked by the service
        return
    if status == "completed":
        raise ConflictError(
            f"The episode {name} has not failed: it is complete.",
            f"`%nb play {quote(name)}` plays it. To generate it again, delete it with `%nb "
            f"episodes delete {quote(name)} --yes` and run its `%nb podcast` line again.",
        )
    raise ConflictError(
        f"The episode {name} has not failed: it is {status}.",
        f"`%nb episodes wait {quote(name)}` watches it. If it makes no progress, its worker may "
        f"have stopped: run `%nb episodes delete {quote(name)} --yes`, then its `%nb podcast` "
        "line again.",
    )


def _turns(record: Record) -> pd.DataFrame:
    from labext.frames.views import ROWS
    from labext.nb.records import LINE, to_frame

    turns = (record["transcript"] or {}).get("transcript") or ()
    return ROWS.show(to_frame(LINE, [{name: turn.get(name) for name in LINE} for turn in turns]))


def _name(record: Record) -> str:
    return str(record["name"] or record["id"])


def _describe_episode(record: Record) -> str:
    """Return an episode's name with the length of its audio or its state."""
    state, seconds = record["job_status"], record["duration"]
    if state == "completed" and seconds:
        return (
            f"the episode {_name(record)}, {messages.pluralize(round(seconds), 'second')} of audio"
        )
    return f"the episode {_name(record)}" + ("" if state == "completed" else f" ({state})")


SHORTCUTS = (
    Command(
        "play",
        "Play an episode with its transcript.",
        play,
        [options.ONE_EPISODE],
        [Parameter("embed", None, "store the audio in the notebook")],
        examples=['%nb play "Episode 1"'],
    ),
)

COMMANDS = (
    Command(
        "episodes",
        "List the episodes.",
        list_,
        options=[
            Parameter("notebook", value_types.NOTEBOOK, "list only episodes about this notebook"),
            OUT,
        ],
    ),
    Command(
        "episodes show",
        "Show an episode.",
        show,
        [options.ONE_EPISODE],
        [Parameter("transcript", None, "return the transcript, a row per turn"), OUT],
    ),
    Command(
        "episodes wait",
        "Watch an episode until it is complete; interrupting stops only the watch.",
        wait,
        [options.ONE_EPISODE],
        [BACKGROUND, OUT],
    ),
    Command(
        "episodes retry",
        "Retry a failed episode, and watch the progress.",
        retry,
        [options.ONE_EPISODE],
        [BACKGROUND, OUT],
    ),
    Command(
        "episodes download",
        "Download an episode's audio.",
        download,
        [options.ONE_EPISODE],
        [Parameter("to", value_types.PATH, "a file, or an existing folder")],
    ),
    Command(
        "episodes delete",
        "Delete episodes and their audio.",
        delete,
        [options.SOME_EPISODES],
        [YES, PREVIEW],
    ),
)
