"""The job service with a tool `cut_loose` that starts detached processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import labext_test_entries

from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.tool import Parameter, Tool

TOOL = Tool(
    name="cut_loose",
    display_name="Cut loose",
    description="Starts processes that try to outlive it, then waits.",
    github="https://example.invalid/",
    paper="https://example.invalid/",
    parameters=(Parameter("seconds", required=True, type="number"), Parameter("label")),
)


def run(settings: Mapping[str, Any], _inputs: Mapping[str, Path], out: Path) -> dict[str, Any]:
    """Write the processes' IDs to `pids`, and wait."""
    labext_test_entries.escape(out, {"seconds": 0})
    labext_test_entries.descend(out.parent, {"seconds": settings["seconds"]})
    return {}


class Service(JobService):
    @property
    def preload(self) -> Sequence[str]:
        return [__name__, *super().preload]


# A tool is a module of that name; this one is found if this module was imported before.
sys.modules[f"labext.sandbox.jobs.tools.{TOOL.name}"] = sys.modules[__name__]
catalogue._TOOL_MODULES = (*catalogue._TOOL_MODULES, sys.modules[__name__])  # type: ignore[assignment]
service = Service()
