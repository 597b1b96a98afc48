"""`labext sandbox start|stop|status|reset|backup|restore|lab|jobs|nb`.

`--json` prints addresses and keys, for scripts and other clients; without it no secret is printed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from labext.cli.commands import Function, Group, data_dir
from labext.errors import InputError

sandbox = Group("sandbox", "Run and administer the local services.")
sandbox.modules = {name: f"labext.cli.{name}" for name in ("lab", "jobs", "nb")}

_backup_file = click.argument("file", type=click.Path(path_type=Path))


def _shared_options(function: Function) -> Function:
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, keys included.")
    return data_dir(as_json(function))


def _show(record: dict[str, Any], text: str, as_json: bool) -> None:
    print(json.dumps(record, indent=2) if as_json else text)


@sandbox.command()
@click.option("--rate", type=click.Choice(["named", "off"]), help="Rate limits of the services.")
@click.option(
    "--sequences",
    type=click.IntRange(min=0),
    metavar="N",
    help="Fill the laboratory platform up to N sequences, with fragments and mutants of its own.",
)
@click.option(
    "--adopt-empty",
    is_flag=True,
    help="Start although the database is empty or damaged; its files are moved to quarantine.",
)
@_shared_options
def start(
    rate: Literal["named", "off"] | None,
    sequences: int | None,
    adopt_empty: bool,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Start the services, unless they run."""
    from labext.sandbox import Sandbox

    sandbox = Sandbox(data_dir, rate=rate, sequences=sequences, adopt_empty=adopt_empty)
    status = sandbox.start()
    for notice in status.notices:
        print(f"labext: {notice}", file=sys.stderr)
    lines = [*_addresses(status.addresses), f"The data are in {status.data_dir}."]
    _show(sandbox.connection() if as_json else {}, "\n".join(lines), as_json)


@sandbox.command()
@_shared_options
def stop(data_dir: Path | None, as_json: bool) -> None:
    """Stop the services; their data are kept."""
    from labext.sandbox import Sandbox

    sandbox = Sandbox(data_dir)
    stopped = sandbox.stop()
    text = (
        f"The sandbox is stopped; its data are kept in {sandbox.data_dir}."
        if stopped
        else f"The sandbox in {sandbox.data_dir} was not running."
    )
    _show({"stopped": stopped, "data_dir": str(sandbox.data_dir)}, text, as_json)


@sandbox.command()
@_shared_options
def status(data_dir: Path | None, as_json: bool) -> None:
    """Show whether the services run, and where."""
    from labext.sandbox import Sandbox

    sandbox = Sandbox(data_dir)
    status = sandbox.status()
    connection = sandbox.connection() if as_json and status.running else {}
    record = {"state": status.state, "data_dir": str(status.data_dir), **connection}
    state = f"The sandbox in {status.data_dir} is {status.state}."
    _show(record, "\n".join([state, *_addresses(status.addresses), *status.notices]), as_json)


@sandbox.command()
@click.option("--yes", is_flag=True, help="Confirm the deletion.")
@_shared_options
def reset(yes: bool, data_dir: Path | None, as_json: bool) -> None:
    """Stop the services and delete their data."""
    from labext.sandbox import Sandbox

    sandbox = Sandbox(data_dir)
    if not yes:
        raise InputError(
            f"This would stop the sandbox and delete {sandbox.data_dir} with every job, result, "
            "sequence, notebook, uploaded file and key in it.",
            "Add `--yes` to do it.",
        )
    erased = sandbox.reset()
    text = (
        f"The sandbox is reset; {sandbox.data_dir} is gone."
        if erased
        else f"There was no sandbox in {sandbox.data_dir}."
    )
    _show({"erased": erased, "data_dir": str(sandbox.data_dir)}, text, as_json)


@sandbox.command()
@_backup_file
@_shared_options
def backup(file: Path, data_dir: Path | None, as_json: bool) -> None:
    """Back up all data into a new file, also while the services run."""
    from labext import sizes, wording
    from labext.sandbox import Sandbox

    made = Sandbox(data_dir).backup(file)
    size = sizes.shown(made.bytes)
    lines = [
        f"Backed up {wording.count(made.files, 'file')} ({size}) to {made.file}.",
        "It holds keys and passwords: keep it where only you can read it.",
    ]
    if made.skipped:
        skipped = wording.listed(made.skipped)
        lines.append(f"Not backed up, because they cannot be read: {skipped}.")
    _show({**asdict(made), "file": str(made.file)}, "\n".join(lines), as_json)


@sandbox.command()
@_backup_file
@click.option(
    "--yes",
    is_flag=True,
    help="Stop the services and replace their data, which are moved to quarantine.",
)
@_shared_options
def restore(file: Path, yes: bool, data_dir: Path | None, as_json: bool) -> None:
    """Restore a backup."""
    from labext import wording
    from labext.sandbox import Sandbox

    sandbox = Sandbox(data_dir)
    done = sandbox.restore(file, replace=yes)
    previous = None if done.previous is None else str(done.previous)
    lines = [
        f"Restored {wording.count(done.files, 'file')} to {sandbox.data_dir}, from a backup of "
        f"{done.created}."
    ]
    if previous is not None:
        lines.append(
            f"The previous data are in {previous}. Delete that folder if you do not need them."
        )
    lines.append(f"Start the sandbox with `{sandbox.command('start')}`.")
    record = {**asdict(done), "previous": previous, "data_dir": str(sandbox.data_dir)}
    _show(record, "\n".join(lines), as_json)


def _addresses(addresses: dict[str, str]) -> list[str]:
    return [f"The {service} service answers at {url}." for service, url in addresses.items()]
