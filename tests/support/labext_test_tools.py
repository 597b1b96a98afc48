"""The job service with the tool of a test module, or with a module that its fork server imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tools import catalogue


class PreloadingService(JobService):
    """The job service whose fork server imports one more module, before all others."""

    def __init__(self, module: str) -> None:
        self._module = module

    @property
    def preload(self) -> Sequence[str]:
        return [self._module, *super().preload]


def service_with_tool(name: str) -> JobService:
    """Add the tool of the module `name`, which is being imported, to the catalogue."""
    module = sys.modules[name]
    # A tool is a module of that name; this one is found wherever this module was imported before.
    sys.modules[f"labext.sandbox.jobs.tools.{module.TOOL.name}"] = module
    catalogue._TOOL_MODULES = (*catalogue._TOOL_MODULES, module)  # type: ignore[assignment]
    return PreloadingService(name)
