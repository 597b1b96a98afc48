"""`labext sandbox`: start, stop, reset, back up and restore the local services."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext import messages
from labext.cli.groups import Function, Result, VerbGroup
from labext.errors import InputError

if TYPE_CHECKING:
    from labext.sandbox import Sandbox
    from labext.sandbox.status import SandboxStatus


NOT_RUNNING, NOT_HEALTHY = 3, 4
"""Exit codes of `status`."""

SETTINGS = ("rate", "sequences", "executor", "certificates", "allow_plaintext", "adopt_empty")
"""Options of `start` that are settings of a sandbox."""


class SandboxGroup(VerbGroup):
    """The commands on a sandbox as a whole."""

    def call(self, function: Function, data_dir: Path | None, arguments: dict[str, Any]) -> Result:
        """Call a command's function with the sandbox in a folder."""
        from labext.sandbox import Sandbox

        settings = {name: arguments.pop(name) for name in SETTINGS if name in arguments}
        result: Result = function(Sandbox(data_dir, **settings), **arguments)
        return result


sandbox = SandboxGroup("sandbox", "Run and administer the local services.")
sandbox.modules = {name: f"labext.cli.{name}" for name in ("lab", "jobs", "nb")}

_file = click.argument("file", type=click.Path(path_type=Path))


def executor_options(command: Any) -> Any:
    """Add the options that say where jobs run."""
    path = click.Path(path_type=Path, file_okay=False)
    for declare in (
        click.option("--allow-plaintext", is_flag=True, help="Allow tcp:// to other machines."),
        click.option(
            "--certificates", type=path, metavar="DIR", help="The cluster's certificates."
        ),
        click.option(
            "--executor",
            metavar="ADDRESS",
            help="Where jobs run: local, dask (workers that connect here), or tls://HOST:PORT.",
        ),
    ):
        command = declare(command)
    return command


@sandbox.verb("start")
@executor_options
@click.option("--rate", type=click.Choice(["named", "off"]), help="Rate limits (default: named).")
@click.option(
    "--sequences",
    type=click.IntRange(min=0),
    metavar="N",
    help="Fill the laboratory platform up to N sequences, with generated fragments and mutants.",
)
@click.option(
    "--adopt-empty",
    is_flag=True,
    help="Start although the database is empty or damaged (its files are moved to quarantine), or "
    "its files are missing.",
)
def start(sandbox: Sandbox) -> Result:
    """Start the services, unless they run.

    With --json, the addresses and keys are printed.
    """
    status = sandbox.start()
    for notice in status.notices:
        print(f"labext: {notice}", file=sys.stderr)
    lines = [*_addresses(status.addresses), f"The data are in {status.data_dir}."]
    lines += worker_lines(status)
    return _connection(sandbox), "\n".join(lines)


@sandbox.verb("stop")
def stop(sandbox: Sandbox) -> Result:
    """Stop the services; their data are kept."""
    stopped, folder = sandbox.stop(), sandbox.data_dir
    text = (
        f"The {sandbox.kind} is stopped; its data are kept in {folder}."
        if stopped
        else f"The {sandbox.kind} in {folder} was not running."
    )
    return {"stopped": stopped, "data_dir": str(folder)}, text


@sandbox.verb("status")
def status(sandbox: Sandbox) -> Result:
    """Show whether the services run and are healthy, and where.

    With --json also their keys. Exits with 3 if they do not run, 4 if one is not healthy.
    """
    status = sandbox.status()
    problems = sandbox.health()
    connection = _connection(sandbox) if status.running else {}
    state = f"The {sandbox.kind} in {status.data_dir} is {status.state}."
    lines = [state, *_addresses(status.addresses), *worker_lines(status), *status.notices]
    lines += problem_lines(problems)
    record = {"state": status.state, "data_dir": str(status.data_dir), **connection}
    if status.worker_command is not None:
        record["workers"] = [*status.cluster]
    return record, "\n".join(lines), exit_code(status, problems)


@sandbox.verb("reset")
@click.option("--yes", is_flag=True, help="Confirm the deletion.")
def reset(sandbox: Sandbox, yes: bool) -> Result:
    """Stop the services and delete their data."""
    folder = sandbox.data_dir
    if not yes:
        raise InputError(
            f"This would stop the sandbox and delete {folder} with every job, result, sequence, "
            "notebook, uploaded file and key in it.",
            "Add `--yes` to do it.",
        )
    erased = sandbox.reset()
    text = (
        f"The sandbox is reset; {folder} is gone."
        if erased
        else f"There was no sandbox in {folder}."
    )
    return {"erased": erased, "data_dir": str(folder)}, text


@sandbox.verb("backup")
@_file
def backup(sandbox: Sandbox, file: Path) -> Result:
    """Back up all data into a new file, also while the services run."""
    archive = sandbox.backup(file)
    size = messages.format_size(archive.bytes)
    lines = [
        f"Backed up {messages.pluralize(archive.files, 'file')} ({size}) to {archive.file}.",
        "It holds keys and passwords: keep it where only you can read it.",
    ]
    if archive.skipped:
        skipped = messages.join_words(archive.skipped)
        lines.append(f"Not backed up, because they cannot be read: {skipped}.")
    return {**asdict(archive), "file": str(archive.file)}, "\n".join(lines)


def restore_options(command: Any) -> Any:
    """Add the file of a restore, and the confirmation that it replaces data."""
    about = "Stop the services and replace their data, which are moved to quarantine."
    return _file(click.option("--yes", is_flag=True, help=about)(command))


@sandbox.verb("restore")
@restore_options
def restore(sandbox: Sandbox, file: Path, yes: bool) -> Result:
    """Restore a backup."""
    done = sandbox.restore(file, replace=yes)
    previous = None if done.previous is None else str(done.previous)
    lines = [
        f"Restored {messages.pluralize(done.files, 'file')} to {sandbox.data_dir}, from a "
        "backup of "
        f"{done.created}."
    ]
    if previous is not None:
        lines.append(
            f"The previous data are in {previous}. Delete that folder if you do not need them."
        )
    lines.append(f"Start the {sandbox.kind} with `{sandbox.command('start')}`.")
    record = {**asdict(done), "previous": previous, "data_dir": str(sandbox.data_dir)}
    return record, "\n".join(lines)


def _connection(sandbox: Sandbox) -> dict[str, Any]:
    """Return addresses and keys, if they are to be printed."""
    return sandbox.connection() if click.get_current_context().params["as_json"] else {}


def worker_lines(status: SandboxStatus) -> list[str]:
    """Return the workers on other machines as lines, and the command that connects one."""
    if status.worker_command is None:
        return []
    lines = [
        f"The worker {worker['name']} is {worker['state']}: {worker['busy']} of "
        f"{messages.pluralize(worker['slots'], 'slot')} busy. {worker['note']}".strip()
        for worker in status.cluster
    ]
    return [
        *(lines or ["No worker is connected."]),
        f"Workers connect with `{status.worker_command}`.",
    ]


def problem_lines(problems: dict[str, str]) -> list[str]:
    """Return why services are not healthy, as lines."""
    return [f"{name} is not healthy: {reason}" for name, reason in problems.items() if reason]


def exit_code(status: SandboxStatus, problems: dict[str, str]) -> int:
    """Return the exit code of `status`; 3 is that of `systemctl status`, too."""
    if not status.running:
        return NOT_RUNNING
    return NOT_HEALTHY if any(problems.values()) else 0


def _addresses(addresses: dict[str, str]) -> list[str]:
    return [f"The {service} service answers at {url}." for service, url in addresses.items()]
