"""The tools that the service has, and settings held against them.

The catalogue changes often (job service contract): what is remembered is enough to accept, but is
read anew before anything is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from labext import wording
from labext.errors import InputError
from labext.jobs.schema import Tool
from labext.jobs.service import Service
from labext.jobs.settings import clean, refuse

Jobs = Mapping[str, Mapping[str, Any]]
T = TypeVar("T")
_SHOWN = 5


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
        return self._checked(type, lambda tool: _one(tool, settings))

    def check_all(self, type: str, jobs: Jobs) -> dict[str, dict[str, Any]]:
        """Return the settings of each job as they are to be sent.

        Raises:
            InputError: the tool is unknown, or settings have faults; each is named once, with the
                jobs that have it.
        """
        return self._checked(type, lambda tool: _all(tool, jobs))

    def _checked(self, type: str, check: Callable[[Tool], T]) -> T:
        known = self._tools.get(type)
        if known is not None:
            try:
                return check(known)
            except InputError:
                self._tools = {}
        return check(self._read(type))

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


def _all(tool: Tool, jobs: Jobs) -> dict[str, dict[str, Any]]:
    cleaned: dict[str, dict[str, Any]] = {}
    found: dict[str, list[str]] = {}
    for job, settings in jobs.items():
        cleaned[job], faults = clean(tool, settings)
        for fault in faults:
            found.setdefault(fault, []).append(job)
    if not found:
        return cleaned
    listed = [_where(fault, of, len(jobs)) for fault, of in list(found.items())[:_SHOWN]]
    if len(found) > _SHOWN:
        listed.append(f"{len(found) - _SHOWN} faults more")
    raise refuse(tool, listed)


def _where(fault: str, jobs: list[str], total: int) -> str:
    if len(jobs) == total:
        return fault
    return f"{fault} (in {wording.listed(jobs, 3)})"
