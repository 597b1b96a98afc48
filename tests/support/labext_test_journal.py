"""The job service with a tool `keep_journal` that writes to an external file while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import short_intervals
from labext_test_tools import service_with_tool

from labext.sandbox.jobs.tools.tool import Parameter, Tool

TOOL = Tool(
    name="keep_journal",
    display_name="Keep a journal",
    description="Writes its label, its process and the time to a file while it runs.",
    github="https://example.invalid/",
    paper="https://example.invalid/",
    parameters=(
        Parameter("journal", required=True),
        Parameter("label", required=True),
        Parameter("seconds", required=True, type="number"),
    ),
)


def run(settings: Mapping[str, Any], _inputs: Mapping[str, Path], out: Path) -> dict[str, Any]:
    """Write a line every 0.1 s."""
    end = time.monotonic() + settings["seconds"]
    while time.monotonic() < end:
        with Path(settings["journal"]).open("a") as file:
            file.write(f"{settings['label']} {os.getpid()} {time.monotonic()}\n")
        time.sleep(0.1)
    (out / "label.txt").write_text(settings["label"])
    return {}


short_intervals.use_in_host()  # in every host and worker, which import this module
service = service_with_tool(__name__)
