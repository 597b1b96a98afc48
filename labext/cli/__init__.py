"""The command `labext`."""

from __future__ import annotations

import io
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import click

from labext.actions import Action, Style, python_call, shell_option, use_style
from labext.cli import sandbox, server
from labext.cli.groups import Group, data_dir, program
from labext.config import cache_dir, sandbox_dir, server_dir
from labext.errors import LabextError, SetupError
from labext.extras import DISTRIBUTION, install_line, installed_version, missing_packages
from labext.storage import storage_errors

labext = Group("labext", "Laboratory services in notebooks, and a local sandbox of these services.")
labext.context_settings = {"help_option_names": ["-h", "--help"]}
click.version_option(package_name="labext-jupyter", message="%(prog)s %(version)s")(labext)


_VERBS = {"start_sandbox": "start", "stop_sandbox": "stop"}
"""Verbs of actions that are shell commands; the others are shown as Python."""


def _shell_command(action: Action) -> str:
    verb = _VERBS.get(action.kind)
    return f"{program()} {verb}" if verb else python_call(action)


@use_style(Style(_shell_command, shell_option))
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Returns:
        0, 1 after an error, 2 without a command, 130 after an interrupt, or the code of a command
            that has its own.

    Raises:
        SystemExit: 2 for wrong usage, 0 if only help or the version was requested.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # of a locale that lacks some characters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = labext.main(arguments, "labext", standalone_mode=False)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "labext"
        print(f"labext: {error.format_message()} See `{command} --help`.", file=sys.stderr)
        sys.exit(error.exit_code)
    except LabextError as error:
        print(f"labext: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"labext: {error}.", file=sys.stderr)
        return 1
    except click.Abort:
        print("labext: interrupted.", file=sys.stderr)
        return 130
    if code == 0:  # of an option such as --help; commands return nothing, or another code
        sys.exit(0)
    return code or 0


@labext.command()
@click.option("--run", is_flag=True, help="Execute jobs.ipynb without a browser.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("labext-demo"),
    show_default=True,
    metavar="DIR",
    help="Folder of the notebooks.",
)
@data_dir
@click.option("--port", type=int, metavar="N", help="Port of JupyterLab.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def demo(
    run: bool, folder: Path, data_dir: Path | None, port: int | None, no_browser: bool
) -> None:
    """Open the example notebooks, with the local services running.

    Start the local services, copy the example notebooks into a folder and open JupyterLab with
    them. Files that you have changed are kept.
    """
    from labext.cli import examples

    placed, sandbox = examples.start_demo(folder, data_dir)
    existing = len(placed.same) + len(placed.kept)
    print(f"Notebooks: {placed.folder} ({len(placed.written)} files copied, {existing} existed).")
    for name in placed.kept:
        print(f"Not replaced, since you have changed it: {placed.folder / name}")
    print(f"Sandbox: {sandbox.jobs.base_url} (`{sandbox.command('stop')}` stops it).")
    if not run:
        examples.open_lab(folder, data_dir, port=port, browser=not no_browser)
    sys.stdout.flush()
    summary = examples.run_notebook(folder, sandbox, data_dir)
    print(
        f"Run: {summary.cells} cells in {summary.seconds:.0f} s; {summary.complete} jobs complete."
    )
    print(f"Executed: {summary.executed}")
    print(f"Results: {folder / 'out'}")


labext.add_command(sandbox.sandbox)
labext.modules["worker"] = "labext.cli.server"
labext.add_command(server.server)


@labext.command()
def doctor() -> None:
    """Show what is installed, what is missing and what runs."""
    print("\n".join(report_lines()))


@labext.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to build into, instead of the user's cache.",
)
@click.option("--no-browser", is_flag=True, help="Only print the path.")
def docs(output: Path | None, no_browser: bool) -> None:
    """Open the reference of the magics and the Python API.

    It is built once per version and works without a network.
    """
    page = reference_page(output)
    print(page)
    if not no_browser:
        import webbrowser

        webbrowser.open(page.as_uri())


PACKAGES = ("ipython", "ipykernel", "jupyterlab", "notebook", "ipywidgets", "anywidget", "pandas")
"""Packages whose versions explain most display problems in notebooks."""


def report_lines() -> Iterator[str]:
    """The lines of the report."""
    yield f"labext {metadata.version(DISTRIBUTION)}, Python {platform.python_version()}"
    yield f"{platform.platform()}, {sys.executable}"
    yield ", ".join(f"{name} {installed_version(name) or 'absent'}" for name in PACKAGES)
    yield from _extra_lines()
    yield from _tool_lines()
    yield from _service_lines()


def _extra_lines() -> Iterator[str]:
    for extra, absent in missing_packages().items():
        name = f"extra {extra}" if extra else "core"
        if absent:
            yield f"{name}: missing {', '.join(absent)}: {install_line(extra)}"
        else:
            yield f"{name}: installed"


def _tool_lines() -> Iterator[str]:
    from labext.sandbox.jobs.tools import catalogue

    yield f"tools of the local job service: {', '.join(catalogue.available_tools()) or 'none'}"
    for tool in catalogue.all_tools():
        if tool.missing_modules():
            yield f"tool {tool.name}: absent: {install_line(tool.extra)}"


def _service_lines() -> Iterator[str]:
    from labext.sandbox import Sandbox
    from labext.sandbox.core.data_folder import DataFolder

    for kind, path in (("sandbox", sandbox_dir()), ("server", server_dir())):
        try:
            box = Sandbox(path)
            if kind == "server" and not DataFolder(path).is_server():
                continue
            status = box.status()
        except LabextError as error:
            yield f"{kind} in {path}: {error.message}"
            continue
        addresses = ", ".join(f"{name} {address}" for name, address in status.addresses.items())
        yield f"{kind} in {path}: {status.state}{addresses and ': ' + addresses}"


FIRST = "index.html"
_GENERATORS = ("pdoc", "nbconvert")


class BuildError(LabextError):
    """The generator of the reference failed."""


def reference_page(output: Path | None) -> Path:
    """Return the first page of the reference, built if necessary.

    Args:
        output: the folder to build into; None for a folder of this version in the user's cache,
            which is built once. From a checkout it is built each time, since its texts change.

    Raises:
        SetupError: the generator is not installed.
        StorageError: the folder can't be written.
    """
    sources, is_checkout = _sources_folder()
    folder = output or cache_dir() / "docs" / metadata.version(DISTRIBUTION)
    page = folder.absolute() / FIRST
    if output is None and page.exists() and not is_checkout:
        return page
    missing = [name for name in _GENERATORS if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"The reference needs {' and '.join(missing)}, not installed here.",
            f"Run `{install_line('docs')}`.",
        )
    with storage_errors(folder):
        _build(sources, folder.absolute())
    return page


def _sources_folder() -> tuple[Path, bool]:
    """Return the folder of the texts and templates, and whether it is part of a checkout.

    Raises:
        SetupError: this installation has no texts.
    """
    package = Path(__file__).parents[1]
    for parent in (package, package.parent):
        if (parent / ".docs" / "templates").is_dir():
            return parent / ".docs", parent != package
    raise SetupError(
        "The reference is not part of this installation.",
        "Install it again with `pip install --force-reinstall labext-jupyter`.",
    )


def _build(sources: Path, folder: Path) -> None:
    """Build the pages and copy them into `folder`; other files there are kept."""
    print("Building the reference …", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as built:
        # In a separate process: rendering imports every documented module and changes some.
        finished = subprocess.run(
            [sys.executable, "-m", "labext_magics.reference", str(sources), built],
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode:
            reason = finished.stderr.strip().splitlines()[-1:] or ["no message"]
            raise BuildError(f"The reference was not built: {reason[0]}.")
        shutil.copytree(built, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(FIRST))
        # Copy the first page last: its presence means that the reference is complete.
        shutil.copy(Path(built) / FIRST, folder)
