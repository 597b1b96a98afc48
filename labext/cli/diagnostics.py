"""`labext doctor`: installed and missing packages, tools and the running sandbox."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata

from labext.extras import DISTRIBUTION, install_line, installed_version, missing_packages

PACKAGES = ("ipython", "ipykernel", "jupyterlab", "notebook", "ipywidgets", "anywidget", "pandas")
"""Packages whose versions explain most display problems in notebooks."""


def report_lines() -> Iterator[str]:
    """The lines of the report."""
    yield f"labext {metadata.version(DISTRIBUTION)}, Python {platform.python_version()}"
    yield f"{platform.platform()}, {sys.executable}"
    yield ", ".join(f"{name} {installed_version(name) or 'absent'}" for name in PACKAGES)
    yield from _extra_lines()
    yield from _tool_lines()
    yield _sandbox_line()


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


def _sandbox_line() -> str:
    from labext.sandbox import Sandbox

    status = Sandbox().status()
    addresses = ", ".join(f"{name} {address}" for name, address in status.addresses.items())
    return f"sandbox in {status.data_dir}: {status.state}{addresses and ': ' + addresses}"
