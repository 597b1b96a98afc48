"""`labext doctor`: what is installed, what is missing with the line that installs it, what runs."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

DISTRIBUTION = "labext-jupyter"
SHOWN = ("ipython", "ipykernel", "jupyterlab", "notebook", "ipywidgets", "anywidget", "pandas")
"""Packages whose versions explain most of what a notebook shows."""

_REQUIREMENT = re.compile(
    r"""(?P<name>[A-Za-z0-9._-]+)(?P<nested>\[[^\]]+\])?[^;]*(;.*extra\s*==\s*['"](?P<extra>[^'"]+))?"""
)


def report() -> Iterator[str]:
    """The lines of the report."""
    yield f"labext {metadata.version(DISTRIBUTION)}, Python {platform.python_version()}"
    yield f"{platform.platform()}, {sys.executable}"
    yield ", ".join(f"{name} {_version(name) or 'absent'}" for name in SHOWN)
    yield from _extras()
    yield from _tools()
    yield _sandbox()


def missing_packages() -> dict[str, list[str]]:
    """For each extra of users the packages it names that are not installed; `` is the core."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires(DISTRIBUTION) or []:
        requirement = _REQUIREMENT.match(line)
        if requirement is None or requirement["nested"] or requirement["extra"] == "dev":
            continue
        absent = extras.setdefault(requirement["extra"] or "", [])
        if _version(requirement["name"]) is None:
            absent.append(requirement["name"])
    return extras


def install_line(extra: str) -> str:
    """The exact line that installs an extra into this environment."""
    wanted = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    return f'{sys.executable} -m pip install "{wanted}"'


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


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
