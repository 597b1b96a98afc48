"""`%nb commands`: what the service does in the background."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.progress import Outcome, Progress
from labext_magics import kinds, nb_options, output
from labext_magics.casting import merged
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.kinds import Typed
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from labext.nb.records import Record


def list_(
    call: Call, *, command: str | None, status: str | None, limit: int | None
) -> pd.DataFrame:
    """Return a row for each command that the service tells of."""
    return call.nb.commands.list(command, status, limit)


def show(call: Call, *, job: str) -> pd.DataFrame:
    """Return how far a command is."""
    return _row(call.nb.commands.get(job))


def wait(call: Call, *, job: str) -> pd.DataFrame:
    """Draw a command until it is over, and return its row.

    Raises:
        JobFailedError: it has failed, or was canceled.
        WatchInterrupted: the kernel was interrupted; it goes on.
    """
    follow(call.nb.commands.watch(job), f"%nb commands wait {job}")
    return _row(call.nb.commands.get(job))


def cancel(call: Call, *, job: str, yes: bool, preview: bool) -> pd.DataFrame | None:
    """Ask for a command to be canceled, and say what has become of it."""
    now = call.nb.commands.get(job)
    if not output.confirmed("cancel", [f"the command {now['job_id']}"], yes=yes, preview=preview):
        return None
    after = call.nb.commands.cancel(job)
    if after["status"] in ("canceled", "cancelled"):
        output.say(f"The command {job} is canceled.")
    else:
        output.say(
            f"The service takes the wish, and the command {job} is {after['status']} still; "
            f"`%nb commands wait {job}` looks what becomes of it."
        )
    return _row(after)


def run(call: Call, *, command: str, set: list[dict[str, Any]], app: str | None) -> pd.DataFrame:
    """Begin a command, and return its row."""
    given = {
        name: value.meaning if isinstance(value, Typed) else value
        for name, value in merged(set).items()
    }
    if not given:
        raise InputError(
            f"The command {command} is given nothing to work with.",
            f"Name it: `%nb commands run {command} --set NAME=VALUE`.",
        )
    begun = call.nb.commands.run(command, given, app)
    job = begun["job_id"]
    output.say(f"The command {command} begins; `%nb commands wait {job}` looks at it.")
    return _row(begun)


def commands_there_are(call: Call) -> pd.DataFrame:
    """Return the commands that the service knows."""
    return call.nb.commands.kinds()


def follow(snapshots: Iterator[Progress], again: str) -> None:
    """Draw something until it is over.

    Raises:
        JobFailedError: it has failed, or was canceled.
        WatchInterrupted: the kernel was interrupted; it goes on.
    """
    import labext_widgets
    from labext.nb.beyond.following import failed

    last = labext_widgets.watch(snapshots, again=again)
    if last is not None and last.outcome not in (None, Outcome.COMPLETE):
        raise failed(last)


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.beyond.views import commands

    return commands([record])


_ONE = Parameter("JOB", kinds.text("JOB", "commands"), "a command's id", required=True)
_KIND = kinds.text("COMMAND", "command_kinds")
_STATUS = kinds.text("STATUS", "command_states")

COMMANDS = (
    Command(
        "commands",
        "List what the service does in the background, as far as it tells.",
        list_,
        options=[
            Parameter("command", _KIND, "only of this kind"),
            Parameter("status", _STATUS, "only in this state"),
            nb_options.LIMIT,
            OUT,
        ],
        details="Open Notebook tells only of those that process sources; any other is known by "
        "the id that the line told which began it.",
    ),
    Command("commands show", "Show how far a command is.", show, [_ONE], [OUT]),
    Command(
        "commands wait",
        "Watch a command until it is over; interrupting ends the watching only.",
        wait,
        [_ONE],
        [OUT],
    ),
    Command(
        "commands cancel",
        "Ask for a command to be canceled.",
        cancel,
        [_ONE],
        [YES, PREVIEW, OUT],
    ),
    Command(
        "commands run",
        "Begin a command; `%nb commands kinds` lists those there are.",
        run,
        [Parameter("COMMAND", _KIND, "which one", required=True)],
        [
            Parameter(
                "set",
                replace(kinds.SETTING, metavar="NAME=VALUE", live=""),
                "what it works with, as the service wants it",
                many=True,
            ),
            Parameter("app", kinds.text("APP"), "whose it is, if the service doesn't say"),
            OUT,
        ],
        examples=["%nb commands run embed_note --set note_id=note:abc123"],
    ),
    Command("commands kinds", "List the commands there are.", commands_there_are, options=[OUT]),
)
