"""The tools that the service has, and the check of settings against them.

The catalogue changes often (job service contract): what is remembered is enough to accept settings,
but is read anew before any are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.settings import clean, refuse


class Catalogue:
    """The service's tools, remembered."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tools: dict[str, Tool] = {}

    def read(self) -> dict[str, Tool]:
        """Read the catalogue anew; return the tools by name, in the service's order."""
        tools = map(Tool, self._service.tools())
        self._tools = {tool.name: tool for tool in tools}
        return self._tools

    def known(self) -> dict[str, Tool]:
        """Return the tools by name as they are remembered; read if none are."""
        return self._tools or self.read()

    def tool(self, name: str) -> Tool:
        """Return a tool.

        Raises:
            InputError: the service has none of that name.
        """
        return self._tools.get(name) or self._read(name)

    def check(self, type: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings as they are to be sent.

        Raises:
            InputError: the tool is unknown, or the settings have faults; each is named.
        """
        known = self._tools.get(type)
        if known is not None:
            try:
                return _one(known, settings)
            except InputError:
                self._tools = {}
        return _one(self._read(type), settings)

    def clean_all(
        self, type: str, jobs: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
        """Return the settings of each job as they are to be sent, and the faults by position.

        Raises:
            InputError: the tool is unknown.
        """
        known = self._tools.get(type)
        if known is not None:
            cleaned, faults = _all(known, jobs)
            if not faults:
                return cleaned, faults
            self._tools = {}
        return _all(self._read(type), jobs)

    def _read(self, name: str) -> Tool:
        tools = self.read()
        if name not in tools:
            raise InputError(
                f'The service has no tool "{name}"{wording.did_you_mean(name, tools)}.',
                "See `%jobs tools`.",
            )
        return tools[name]


def _one(tool: Tool, settings: Mapping[str, Any]) -> dict[str, Any]:
    sent, faults = clean(tool, settings)
    if faults:
        raise refuse(tool, faults)
    return sent


def _all(
    tool: Tool, jobs: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
    cleaned: list[dict[str, Any]] = []
    faults: dict[int, list[str]] = {}
    for row, settings in enumerate(jobs):
        clean_settings, found = clean(tool, settings)
        cleaned.append(clean_settings)
        if found:
            faults[row] = found
    return cleaned, faults
