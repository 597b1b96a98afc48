"""The job service with a tool `cut_loose` that starts detached processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import labext_test_entries
from labext_test_tools import service_with_tool

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


service = service_with_tool(__name__)
