"""`%nb podcast`, `%nb episodes` and `%nb play`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import ConflictError, InputError, JobFailedError, NotReadyError
from labext.progress import Outcome, Progress
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, OVERWRITE, PREVIEW, YES
from labext_magics.core.session import NotebookInUse
from labext_magics.nb import options, processing, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def watch_episode(
    call: Call, identifier: str, name: str, *, background: bool = False
) -> pd.DataFrame | None:
    """Show the progress of an episode until it ends, and return its row; None in the background.

    While the episode is unknown, the identifier is that of its job.

    Raises:
        JobFailedError: the generation failed.
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    import labext_widgets
    from labext.nb.episode_generation import parse_command_id
    from labext_widgets.core.front_end import FrontEnd, front_end

    podcasts, reason = call.nb.podcasts, ""
    is_text = not background and front_end() is not FrontEnd.INTERACTIVE

    def snapshots() -> Iterator[Progress]:
        nonlocal reason
        for progress in podcasts.watch(identifier):
            reason = progress.reason
            if is_text and progress.outcome is Outcome.FAILED:
                progress = replace(progress, reason="")  # the error has it, on the next line
            yield replace(progress, subject=name)  # a job has no name

    def retry() -> Iterator[Progress]:
        nonlocal identifier
        # The service may not report the episode of a failed job, so look it up by name.
        episode = name if parse_command_id(identifier) else identifier
        identifier = watch_id(podcasts.retry(episode))
        return snapshots()

    last = labext_widgets.follow_podcast(
        snapshots(),
        again=f"%nb episodes wait {quote(name)}",
        retry=retry,
        result=lambda: (podcasts.episode(identifier), lambda: podcasts.sound(identifier)),
        background=background,
    )
    if last is None or last.outcome is None:
        return None
    if last.outcome is Outcome.COMPLETE:
        return episode_row(podcasts.episode(identifier))
    raise episode_failed(name, reason, is_kept=name in podcasts.names())


def show_existing_episode(call: Call, record: Record) -> None:
    """Show the player of an existing episode in an interactive front end."""
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    if front_end() is FrontEnd.INTERACTIVE:
        podcasts, identifier = call.nb.podcasts, str(record["id"])
        labext_widgets.show_player(podcasts.episode(identifier), lambda: podcasts.sound(identifier))


def watch_id(record: Record) -> str:
    """Return the ID to watch after a request: the episode's or its job's."""
    return str(record["episode_id"] or record["job_id"])


def episode_failed(name: str, reason: str | None, *, is_kept: bool = True) -> JobFailedError:
    """Return the error for a failed episode, which can be retried if the service has kept it."""
    suffix = f": {reason.rstrip('.')}" if reason else ""
    next_step = (
        f"Fix the cause, then `%nb episodes retry {quote(name)}` generates it again."
        if is_kept
        else "The service has not kept the episode: fix the cause, then run `%nb podcast` again."
    )
    return JobFailedError(f"The episode {name} failed{suffix}.", next_step)


def episode_row(record: Record) -> pd.DataFrame:
    """Return the row of one episode, without its outline and transcript."""
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

    An identical episode is kept, and watched if it is unfinished.
    """
    if wait and background:
        raise InputError("`--background` and `--wait` exclude each other.", "Keep one of them.")
    target = scope.notebook_of(call, notebook)
    profile_id = call.nb.episode_profiles.find(profile)
    speaker_ids = _speakers(call, profile_id, speakers)
    with scope.creation_lock(call, "episode", target.id, name):
        existing = _existing_episode(call, name, target, profile_id, speaker_ids, briefing)
        if existing is None:
            processing.wait_for_text(
                call,
                target,
                wait=not background,
                option="--background",
                outcome="the podcast was not started",
            )
            started = call.nb.podcasts.generate(
                target.id, profile_id, speaker_ids if speakers else None, name, briefing
            )
    if existing is not None:
        return _reuse_episode(call, existing, background=background)
    return watch_episode(call, watch_id(started), name, background=background)


def _speakers(call: Call, profile: str, speakers: list[str] | None) -> list[str]:
    """Return the IDs of the requested speaker profiles, or those of the episode profile."""
    if speakers is not None:
        return [call.nb.speaker_profiles.find(speaker) for speaker in speakers]
    return [
        str(identifier)
        for identifier in call.nb.episode_profiles.get(profile)["speaker_profile_ids"] or ()
    ]


def _existing_episode(
    call: Call,
    name: str,
    target: NotebookInUse,
    profile: str,
    speakers: list[str],
    briefing: str | None,
) -> Record | None:
    """Return the episode with this name or None; raise ConflictError if its settings differ."""
    differences: list[str] = []
    for record in [episode for episode in call.nb.podcasts.iter() if episode["name"] == name]:
        comparison = {
            "about another notebook": not _is_about(call, record, target),
            "with another profile": _id(record["episode_profile"]) != profile,
            "with other speakers": list(map(_id, record["speaker_profiles"] or ())) != speakers,
            "with another briefing": (briefing or "").strip() not in (record["briefing"] or ""),
        }
        differences = [difference for difference, differs in comparison.items() if differs]
        if not differences:
            return record
    if differences:
        raise ConflictError(
            f"An episode {name} already exists, {messages.join_words(differences)}.",
            f"Use another name, or delete it first: `%nb episodes delete {quote(name)} --yes`.",
        )
    return None


def _is_about(call: Call, record: Record, target: NotebookInUse) -> bool:
    """Return True if an episode is about a notebook.

    If the service does not report the notebook, any notebook older than the episode matches.
    """
    if record["notebook_id"] is not None:
        return bool(record["notebook_id"] == target.id)
    created = call.nb.notebooks.get(target.id)["created_at"] or ""
    return bool(created <= (record["created_at"] or ""))


def _id(profile: Record | None) -> str:
    return str((profile or {}).get("id"))


def _reuse_episode(call: Call, record: Record, *, background: bool) -> pd.DataFrame | None:
    """Return the row of an existing episode, after watching an unfinished one."""
    name = str(record["name"])
    if record["job_status"] == "failed":
        raise episode_failed(name, record["error_message"])
    if record["job_status"] != "completed":
        output.print_message(f"{name} is already being generated.")
        return watch_episode(call, str(record["id"]), name, background=background)
    output.print_message(
        f"{name} already exists and was kept; to generate it again, first run "
        f"`%nb episodes delete {quote(name)} --yes`."
    )
    show_existing_episode(call, record)
    return episode_row(record)


def list_(call: Call, *, notebook: str | None) -> pd.DataFrame:
    """Return one row per episode, of all notebooks or of one notebook."""
    if notebook is None:
        return call.nb.podcasts.episodes()
    from labext.nb.views import episode_frame

    target = scope.find_notebook(call, notebook).id
    episodes = list(call.nb.podcasts.iter(target))
    if count := sum(episode["notebook_id"] is None for episode in episodes):
        unlisted = messages.pluralize(count, "episode")
        output.print_message(
            f"The service does not report the notebook of {unlisted}; `%nb episodes` lists all "
            "episodes."
        )
    return episode_frame(episode for episode in episodes if episode["notebook_id"] == target)


def show(call: Call, *, episode: str, transcript: bool) -> pd.DataFrame:
    """Return the row of an episode, or one row per line of its transcript."""
    from labext.frames.views import ROWS
    from labext.nb.records import LINE, to_frame

    record = call.nb.podcasts.episode(episode)
    if not transcript:
        return episode_row(record)
    turns = (record["transcript"] or {}).get("transcript") or ()
    return ROWS.show(to_frame(LINE, [{name: turn.get(name) for name in LINE} for turn in turns]))


def wait(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Watch an episode until it is generated, and return its row."""
    record = call.nb.podcasts.episode(episode)
    return watch_episode(call, record["id"], _name(record), background=background)


def retry(call: Call, *, episode: str, background: bool) -> pd.DataFrame | None:
    """Retry a failed episode, show the progress, and return its row."""
    before = call.nb.podcasts.episode(episode)
    _check_failed(before)
    started = call.nb.podcasts.retry(before["id"])
    return watch_episode(call, watch_id(started), _name(before), background=background)


def delete(call: Call, *, episodes: list[str], yes: bool, preview: bool) -> None:
    """Delete episodes with their audio after checking that all of them exist."""
    matches = (call.nb.podcasts.episode(episode) for episode in dict.fromkeys(episodes))
    records = {record["id"]: record for record in matches}
    affected = [_describe_episode(record) for record in records.values()]
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return
    for identifier, record in records.items():
        call.nb.podcasts.delete(identifier)
        output.print_message(f"Deleted the episode {_name(record)}.")


def download(call: Call, *, episode: str, to: str | None, overwrite: bool) -> None:
    """Download an episode's audio as an MP3 file, by default to the current folder."""
    import labext_widgets

    record = call.nb.podcasts.episode(episode)
    name = _name(record)
    with labext_widgets.Transfer(name, "episode", call.line) as transfer:
        written = call.nb.podcasts.audio(record["id"], to, transfer.bytes, overwrite=overwrite)
        transfer.end(f"Saved {name} to {written}.")


def play(call: Call, *, episode: str, embed: bool) -> None:
    """Show a player with the transcript, or only the transcript in a terminal."""
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    podcasts = call.nb.podcasts
    record = podcasts.episode(episode)
    name = _name(record)
    if record["job_status"] == "failed":
        raise episode_failed(name, record["error_message"])
    if record["job_status"] != "completed":
        raise NotReadyError(
            f"The episode {name} is not complete yet ({record['job_status']}).",
            f"`%nb episodes wait {quote(name)}` shows the progress.",
        )
    labext_widgets.show_player(record, lambda: podcasts.sound(record["id"]), embed=embed)
    if front_end() is FrontEnd.TERMINAL:
        line = f"%nb episodes download {quote(name)}"
        output.print_message(f"To listen, run `{line}`: it saves the audio as an MP3 file.")


def _check_failed(record: Record) -> None:
    """Check that an episode has failed, else raise ConflictError."""
    name, status = _name(record), record["job_status"]
    if status in ("failed", None):  # the service checks an unknown status
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


def _name(record: Record) -> str:
    return str(record["name"] or record["id"])


def _describe_episode(record: Record) -> str:
    """Return an episode's name with the duration of its audio or its state."""
    state, seconds = record["job_status"], record["duration"]
    if state == "completed" and seconds:
        return (
            f"the episode {_name(record)}, {messages.pluralize(round(seconds), 'second')} of audio"
        )
    return f"the episode {_name(record)}" + ("" if state == "completed" else f" ({state})")


SHORTCUTS = (
    Command(
        "podcast",
        "Generate a podcast episode about the notebook in use, and watch the progress.",
        podcast,
        options=[
            Parameter("name", value_types.text_type("NAME"), "the episode's name", required=True),
            Parameter(
                "profile",
                value_types.EPISODE_PROFILE,
                "an episode profile, which defines the structure, models and speakers",
                required=True,
            ),
            options.SPEAKERS,
            options.IN_NOTEBOOK,
            Parameter("briefing", value_types.text_type(), "additional instructions"),
            WAIT,
            BACKGROUND,
            OUT,
        ],
        details="Writes an outline and a dialogue from the notebook's sources and notes, and "
        "generates the audio. `%nb profiles` lists the profiles and speakers; by "
        "default the speakers of the profile are used. An identical episode is kept. "
        "Interrupting stops only the watch.",
        examples=['%nb podcast --name "Episode 1" --profile interview --speakers host,guest'],
    ),
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
        [Parameter("transcript", None, "return the transcript, one row per turn"), OUT],
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
        [Parameter("to", value_types.FILE_OR_FOLDER, "a file, or a folder: `FOLDER/`"), OVERWRITE],
    ),
    Command(
        "episodes delete",
        "Delete episodes and their audio.",
        delete,
        [options.SOME_EPISODES],
        [YES, PREVIEW],
    ),
)
