"""The job service with a tool `keep_journal` that writes to an external file while it runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tools import catalogue
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


class Service(JobService):
    @property
    def preload(self) -> Sequence[str]:
        return [__name__, *super().preload]


# A tool is a module of that name; this one is found if this module was imported before.
sys.modules[f"labext.sandbox.jobs.tools.{TOOL.name}"] = sys.modules[__name__]
catalogue._TOOL_MODULES = (*catalogue._TOOL_MODULES, sys.modules[__name__])  # type: ignore[assignment]
service = Service()
