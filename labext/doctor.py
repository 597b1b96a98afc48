"""`labext doctor`: what is installed, what is missing with the line that installs it, what runs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata

from labext.extras import DISTRIBUTION, install_line, installed, missing_packages

SHOWN = ("ipython", "ipykernel", "jupyterlab", "notebook", "ipywidgets", "anywidget", "pandas")
"""Packages whose versions explain most of what a notebook shows."""


def report() -> Iterator[str]:
    """The lines of the report."""
    yield f"labext {metadata.version(DISTRIBUTION)}, Python {platform.python_version()}"
    yield f"{platform.platform()}, {sys.executable}"
    yield ", ".join(f"{name} {installed(name) or 'absent'}" for name in SHOWN)
    yield from _extras()
    yield from _tools()
    yield _sandbox()


def _extras() -> Iterator[str]:
    for extra, absent in missing_packages().items():
        name = f"extra {extra}" if extra else "core"
        if absent:
            yield f"{name}: missing {', '.join(absent)}: {install_line(extra)}"
        else:
            yield f"{name}: installed"


def _tools() -> Iterator[str]:
    from labext.sandbox.jobs import catalogue

    yield f"tools of the local job service: {', '.join(catalogue.catalogue()) or 'none'}"
    for tool in catalogue.every_tool():
        if tool.absent():
            yield f"tool {tool.name}: absent: {install_line(tool.extra)}"


def _sandbox() -> str:
    from labext.sandbox import Sandbox

    status = Sandbox().status()
    addresses = ", ".join(f"{name} {address}" for name, address in status.addresses.items())
    return f"sandbox in {status.data_dir}: {status.state}{addresses and ': ' + addresses}"
