"""The command `labext`: the demo, the sandbox, and what is installed.

Every error a user can meet is one line on stderr and exit code 1. `sandbox` has its verbs, `lab`,
`jobs` and `nb` the nouns that administer a service; what these do is in the modules `*_acts`, which
are imported on use. `nouns`, `acts` and `keys` are what the services' commands share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from labext.cli import sandbox
from labext.errors import LabextError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 for an error, 2 for the usage, 130 interrupted."""
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except LabextError as error:
        print(f"labext: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("labext: interrupted.", file=sys.stderr)
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line, with its help."""
    top = argparse.ArgumentParser(
        prog="labext", description="Laboratory services in a notebook, and a local sandbox of them."
    )
    top.add_argument("--version", action="version", version=f"labext {version('labext-jupyter')}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_demo(commands)
    sandbox.add(commands)
    doctor = commands.add_parser("doctor", help="what is installed, what is missing, what runs")
    doctor.set_defaults(run=_doctor)
    return top


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="the example notebooks, with the local services running",
        description="Start the local services, put the example notebooks into a folder and open "
        "JupyterLab on them. Files you have changed are kept.",
    )
    demo.add_argument(
        "--run", dest="execute", action="store_true", help="execute jobs.ipynb without a browser"
    )
    demo.add_argument(
        "--folder",
        type=Path,
        default=Path("labext-demo"),
        metavar="DIR",
        help="where the notebooks go (default: %(default)s)",
    )
    demo.add_argument("--data-dir", type=Path, metavar="DIR", help="where the sandbox lives")
    demo.add_argument("--port", type=int, metavar="N", help="JupyterLab's port")
    demo.add_argument(
        "--no-browser", dest="browser", action="store_false", help="only print the address"
    )
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> None:
    from labext import demo

    placed, sandbox = demo.start(options.folder, options.data_dir)
    there = len(placed.same) + len(placed.kept)
    print(f"Notebooks: {placed.folder} ({len(placed.written)} files put, {there} were there).")
    for name in placed.kept:
        print(f"Kept as you changed it: {placed.folder / name}")
    print(f"Sandbox: {sandbox.jobs.base_url} (`{sandbox.command('stop')}` stops it).")
    if not options.execute:
        demo.open_lab(options.folder, options.data_dir, port=options.port, browser=options.browser)
    sys.stdout.flush()
    done = demo.run(options.folder, sandbox, options.data_dir)
    print(f"Run: {done.cells} cells in {done.seconds:.0f} s; {done.complete} jobs complete.")
    print(f"Executed: {done.executed}")
    print(f"Results: {options.folder / 'out'}")


def _doctor(_: argparse.Namespace) -> None:
    from labext import doctor

    print("\n".join(doctor.report()))
