"""`%nb commands`: background commands of the service."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.progress import Outcome, Progress
from labext_magics.core import output, value_types
from labext_magics.core.cell_body import merge_pairs, untyped
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from labext.nb.records import Record


def list_(
    call: Call, *, command: str | None, status: str | None, limit: int | None
) -> pd.DataFrame:
    """Return one row per command."""
    return call.nb.commands.list(command, status, limit)


def show(call: Call, *, job: str) -> pd.DataFrame:
    """Return the state of a command."""
    return _row(call.nb.commands.get(job))


def wait(call: Call, *, job: str) -> pd.DataFrame:
    """Show the progress of a command until it ends, and return its row."""
    watch_snapshots(call.nb.commands.watch(job), f"%nb commands wait {job}")
    return _row(call.nb.commands.get(job))


def cancel(call: Call, *, job: str, yes: bool, preview: bool) -> pd.DataFrame | None:
    """Request the cancellation of a command, and return its row."""
    record = call.nb.commands.get(job)
    if not output.confirm_destruction(
        "cancel", [f"the command {record['job_id']}"], yes=yes, preview=preview
    ):
        return None
    record = call.nb.commands.cancel(job)
    if record["status"] in ("canceled", "cancelled"):
        output.print_message(f"Canceled the command {job}.")
    else:
        output.print_message(
            f"The service accepted the request, but the command {job} is still "
            f"{record['status']}; `%nb commands wait {job}` watches it."
        )
    return _row(record)


def run(call: Call, *, command: str, set: list[dict[str, Any]], app: str | None) -> pd.DataFrame:
    """Start a command, and return its row."""
    arguments = untyped(merge_pairs(set))
    app = app or call.nb.commands.find_app(command)
    if not arguments:
        raise InputError(
            f"The command {command} has no input.",
            f"Set it: `%nb commands run {command} --set NAME=VALUE`.",
        )
    started = call.nb.commands.run(command, arguments, app)
    job = started["job_id"]
    output.print_message(f"Started the command {command}; `%nb commands wait {job}` watches it.")
    return _row(started)


def list_available(call: Call) -> pd.DataFrame:
    """Return the commands that the service supports."""
    return call.nb.commands.kinds()


def watch_snapshots(snapshots: Iterator[Progress], again: str) -> None:
    """Show progress until the command ends.

    Raises:
        JobFailedError: the command failed or was canceled.
        WatchInterrupted: the kernel was interrupted; the command continues.
    """
    from labext.nb.commands import command_error

    last = output.watch(snapshots, again=again)
    if last is not None and last.outcome not in (None, Outcome.COMPLETE):
        raise command_error(last)


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.views import command_frame

    return command_frame([record])


_ONE = Parameter("JOB", value_types.text_type("JOB", "commands"), "a command's id", required=True)
_KIND = value_types.text_type("COMMAND", "command_kinds")
_STATUS = value_types.text_type("STATUS", "command_states")

COMMANDS = (
    Command(
        "commands",
        "List background commands of the service.",
        list_,
        options=[
            Parameter("command", _KIND, "list only commands of this kind"),
            Parameter("status", _STATUS, "list only commands in this state"),
            options.LIMIT,
            OUT,
        ],
        details="Open Notebook lists only commands that process sources; other commands can be "
        "shown by their id, which is printed when they start.",
    ),
    Command("commands show", "Show the progress of a command.", show, [_ONE], [OUT]),
    Command(
        "commands wait",
        "Watch a command until it ends; interrupting stops only the watch.",
        wait,
        [_ONE],
        [OUT],
    ),
    Command(
        "commands cancel",
        "Request the cancellation of a command.",
        cancel,
        [_ONE],
        [
            replace(YES, help="confirm the cancellation"),
            replace(PREVIEW, help="only show what would be canceled"),
            OUT,
        ],
    ),
    Command(
        "commands run",
        "Start a command; `%nb commands kinds` lists them.",
        run,
        [Parameter("COMMAND", _KIND, "the command", required=True)],
        [
            Parameter(
                "set",
                replace(value_types.SETTING, metavar="NAME=VALUE", names=""),
                "an input of the command",
                many=True,
            ),
            Parameter(
                "app",
                value_types.text_type("APP"),
                "the app of the command, if the service does not report it",
            ),
            OUT,
        ],
        examples=["%nb commands run embed_note --set note_id=note:abc123"],
    ),
    Command("commands kinds", "List the available commands.", list_available, options=[OUT]),
)
