"""`labext sandbox start|stop|status|reset|backup|restore|lab|jobs|nb`: the sandbox from a shell.

`--json` prints addresses and keys, for scripts and other clients; without it no secret is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labext import sizes, wording
from labext.cli import jobs, lab, nb
from labext.cli.nouns import Lazy
from labext.errors import InputError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs to the command line."""
    sandbox = commands.add_parser("sandbox", help="the local services")
    verbs = sandbox.add_subparsers(title="verbs", required=True, metavar="VERB", parser_class=Lazy)
    shared = Lazy(add_help=False)
    shared.add_argument("--data-dir", type=Path, metavar="DIR", help="where the sandbox lives")
    shared.add_argument("--json", action="store_true", help="as JSON, keys included")
    start = verbs.add_parser("start", parents=[shared], help="start it, unless it runs")
    start.add_argument("--rate", choices=["named", "off"], help="the services' rate limits")
    start.add_argument(
        "--sequences",
        type=_count,
        metavar="N",
        help="fill the laboratory platform up to so many, with fragments and mutants of its own",
    )
    start.add_argument(
        "--adopt-empty",
        action="store_true",
        help="start although the database is empty or damaged; its files are moved to quarantine",
    )
    start.set_defaults(run=_start)
    stop = verbs.add_parser("stop", parents=[shared], help="stop it; its data are kept")
    stop.set_defaults(run=_stop)
    status = verbs.add_parser("status", parents=[shared], help="whether it runs, and where")
    status.set_defaults(run=_status)
    reset = verbs.add_parser("reset", parents=[shared], help="stop it and delete its data")
    reset.add_argument("--yes", action="store_true", help="do it")
    reset.set_defaults(run=_reset)
    backup = verbs.add_parser(
        "backup", parents=[shared], help="back it up into one file, also while it runs"
    )
    backup.add_argument("file", type=Path, metavar="FILE", help="a new file")
    backup.set_defaults(run=_backup)
    restore = verbs.add_parser("restore", parents=[shared], help="restore a backup")
    restore.add_argument("file", type=Path, metavar="FILE", help="a backup")
    restore.add_argument(
        "--yes",
        action="store_true",
        help="stop it, and replace its data; these are moved to quarantine",
    )
    restore.set_defaults(run=_restore)
    for service in (lab, jobs, nb):
        service.add(verbs)


def _count(text: str) -> int:
    """A whole number from 0."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is below 0")
    return number


def _start(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    sandbox = Sandbox(
        options.data_dir,
        rate=options.rate,
        sequences=options.sequences,
        adopt_empty=options.adopt_empty,
    )
    status = sandbox.start()
    for notice in status.notices:
        print(f"labext: {notice}", file=sys.stderr)
    if options.json:
        _print_json(sandbox.connection())
        return
    for service, address in status.addresses.items():
        print(f"The {service} service answers at {address}.")
    print(f"The data are in {status.data_dir}.")


def _stop(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    sandbox = Sandbox(options.data_dir)
    stopped = sandbox.stop()
    if options.json:
        _print_json({"stopped": stopped, "data_dir": str(sandbox.data_dir)})
    elif stopped:
        print(f"The sandbox is stopped; its data are kept in {sandbox.data_dir}.")
    else:
        print(f"The sandbox in {sandbox.data_dir} was not running.")


def _status(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    sandbox = Sandbox(options.data_dir)
    status = sandbox.status()
    if options.json:
        connection = sandbox.connection() if status.running else {}
        _print_json({"state": status.state, "data_dir": str(status.data_dir), **connection})
        return
    print(f"The sandbox in {status.data_dir} is {status.state}.")
    for service, address in status.addresses.items():
        print(f"The {service} service answers at {address}.")
    for notice in status.notices:
        print(notice)


def _reset(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    sandbox = Sandbox(options.data_dir)
    if not options.yes:
        raise InputError(
            f"This would stop the sandbox and delete {sandbox.data_dir} with every job, result, "
            "sequence, notebook, uploaded file and key in it.",
            "Add `--yes` to do it.",
        )
    erased = sandbox.reset()
    if options.json:
        _print_json({"erased": erased, "data_dir": str(sandbox.data_dir)})
    elif erased:
        print(f"The sandbox is reset; {sandbox.data_dir} is gone.")
    else:
        print(f"There was no sandbox in {sandbox.data_dir}.")


def _backup(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    made = Sandbox(options.data_dir).backup(options.file)
    if options.json:
        _print_json({**asdict(made), "file": str(made.file)})
        return
    print(
        f"Backed up {wording.count(made.files, 'file')} ({sizes.shown(made.bytes)}) to {made.file}."
    )
    print("It holds keys and passwords: keep it where only you can read it.")
    if made.skipped:
        print(f"Not backed up, because they cannot be read: {wording.listed(made.skipped)}.")


def _restore(options: argparse.Namespace) -> None:
    from labext.sandbox import Sandbox

    sandbox = Sandbox(options.data_dir)
    done = sandbox.restore(options.file, replace=options.yes)
    previous = None if done.previous is None else str(done.previous)
    if options.json:
        _print_json({**asdict(done), "previous": previous, "data_dir": str(sandbox.data_dir)})
        return
    print(
        f"Restored {wording.count(done.files, 'file')} to {sandbox.data_dir}, from a backup of "
        f"{done.created}."
    )
    if previous is not None:
        print(f"The previous data are in {previous}. Delete that folder if you do not need them.")
    print(f"Start the sandbox with `{sandbox.command('start')}`.")


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2))
