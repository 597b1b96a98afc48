"""What a tool is made of, with versions: the first line of a job's log.

Read once, when this module is imported: by the fork server, before any job.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, distribution, version

from labext.sandbox.jobs.catalogue import every_tool
from labext.sandbox.jobs.tool import Tool

_DISTRIBUTIONS = {"Bio": "biopython", "RNA": "ViennaRNA", "primer3": "primer3-py"}
"""The names under which modules are distributed, where they are not their own."""


def line(tool: Tool) -> str:
    """The tool, the packages that do its work, labext and Python: one line for people."""
    packages = [_KNOWN[module] for module in tool.requires if _KNOWN[module]]
    return f"{tool.name} with {', '.join([*packages, *_AROUND])}"


def _package(module: str) -> str:
    """The distribution that brings a module, and its version; empty where it tells neither."""
    try:
        found = distribution(_DISTRIBUTIONS.get(module, module))
    except PackageNotFoundError:
        return ""
    return f"{found.name} {found.version}"


_KNOWN = {module: _package(module) for tool in every_tool() for module in tool.requires}
_AROUND = (f"labext {version('labext-jupyter')}", f"Python {platform.python_version()}")
