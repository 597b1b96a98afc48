"""Optional dependencies of the distribution and how to install them."""

from __future__ import annotations

import re
import sys
from importlib import metadata

DISTRIBUTION = "labext-jupyter"

_REQUIREMENT = re.compile(
    r"""(?P<name>[A-Za-z0-9._-]+)[^;]*(;.*extra\s*==\s*['"](?P<extra>[^'"]+))?"""
)


def missing_packages() -> dict[str, list[str]]:
    """Return the missing packages of each extra by its name; the core is the empty name."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires(DISTRIBUTION) or []:
        requirement = _REQUIREMENT.match(line)
        if requirement is None or requirement["extra"] == "dev":
            continue
        if requirement["name"] == DISTRIBUTION:  # an extra that includes other extras
            continue
        absent = extras.setdefault(requirement["extra"] or "", [])
        if installed_version(requirement["name"]) is None:
            absent.append(requirement["name"])
    return extras


def install_line(extra: str) -> str:
    """Return the command that installs an extra into this environment."""
    requirement = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    return f'{sys.executable} -m pip install "{requirement}"'


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
