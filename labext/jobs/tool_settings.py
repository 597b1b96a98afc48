"""Check settings against the parameters of their tool."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError
from labext.jobs.api import JobsApi
from labext.jobs.identity import INTERNAL_FIELDS
from labext.jobs.schema import Parameter, Tool, cast

_ACCOUNT = re.compile(r"[^/\s]*@[^/\s]+/\S+")
_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{1,6}")
_MAX_DEPTH = 100
_PATH = re.compile(r"(?P<head>[^\s/]+)/(?P<rest>[^\r\n]+)")


def normalize_settings(
    tool: Tool, settings: Mapping[str, Any], passed: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings to send, and every fault found in them.

    The values become plain JSON ones (no numpy scalars, no NaN); text for a parameter that takes a
    number or a boolean is converted. Nothing is added.

    Args:
        tool: the tool.
        settings: the settings.
        passed: the placeholder for the output of a pipeline's previous stage; any parameter may
            have it.
    """
    faults: list[str] = []
    sent: dict[str, Any] = {}
    for name, raw in settings.items():
        if _is_pipe_value(tool, str(name), raw, passed):
            sent[str(name)] = passed
            continue
        fault, value = _clean_one(tool, str(name), raw)
        if fault:
            faults.append(fault)
        else:
            sent[str(name)] = value
    faults += [
        f"{parameter.name} is missing"
        for parameter in tool.parameters.values()
        if parameter.required and parameter.name not in settings
    ]
    return sent, faults


def settings_error(tool: Tool, faults: list[str], step: str | None = None) -> InputError:
    """Return the error that names every fault, and another next step than the tool's page."""
    action = None if step else Action.show_tool(tool.name)
    return InputError(
        f"These settings of {tool.name} can't be used: {'; '.join(faults)}.", step, action=action
    )


def to_json_types(value: Any, depth: int = 0) -> Any:
    """Return a value as plain JSON types; `depth` is its nesting depth.

    Raises:
        ValueError: it has no JSON form; the message is the end of a sentence.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(f"is nested more than {_MAX_DEPTH} deep")
    if value is None or isinstance(value, str | bool | int):
        return _to_builtin(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("is not a number (NaN or infinite)")
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_types(item, depth + 1) for item in value]
    if isinstance(value, PurePath):
        raise ValueError(f"is a path; upload the file and give its name, {value.name}")
    if hasattr(value, "tolist"):  # numpy and pandas: scalars and arrays
        return to_json_types(value.tolist(), depth + 1)
    if type(value).__name__ in ("NAType", "NaTType"):
        raise ValueError("is missing (NA)")
    raise ValueError(f"is a {type(value).__name__}, which JSON has no form for")


def file_values(tool: Tool, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the one-line text values of parameters that take a file."""
    return {
        name: value
        for name, value in settings.items()
        if isinstance(value, str)
        and "\n" not in value
        and name in tool.parameters
        and tool.parameters[name].is_file
    }


def looks_like_file_name(value: str) -> bool:
    """Return whether a value is a bare file name, as of an uploaded file."""
    return _FILE_NAME.fullmatch(value) is not None


def split_file_path(value: str) -> tuple[str, str] | None:
    """Return the parts of a path: a job or a folder, and the rest; None for any other value."""
    path = _PATH.fullmatch(value)
    return None if path is None else (path["head"], path["rest"])


def _is_pipe_value(tool: Tool, name: str, given: Any, passed: str | None) -> bool:
    if passed is None or name not in tool.parameters or name in INTERNAL_FIELDS:
        return False
    return isinstance(given, str) and given == passed


def _clean_one(tool: Tool, name: str, value: Any) -> tuple[str | None, Any]:
    if name in INTERNAL_FIELDS:
        return f"{name} is set by the service itself and can't be sent", None
    parameter = tool.parameters.get(name)
    if parameter is None:
        return f"{name} is no setting{messages.did_you_mean(name, tool.parameters)}", None
    try:
        value = to_json_types(value)
    except ValueError as error:
        return f"{name} {error}", None
    if value is None:
        return f"{name} has no value; leave it out instead", None
    if isinstance(value, float) and value.is_integer() and parameter.kind == "integer":
        value = int(value)
    if isinstance(value, str) and parameter.kind in ("integer", "number", "boolean"):
        try:
            value = cast(parameter, value)
        except InputError as error:
            return error.message.rstrip("."), None
    if parameter.is_file and isinstance(value, str) and _ACCOUNT.fullmatch(value):
        bare = value.rpartition("/")[2]
        return f"{name} names an account; an uploaded file goes by its bare name, {bare}", None
    return _option_fault(parameter, value), value


def _option_fault(parameter: Parameter, value: Any) -> str | None:
    if not parameter.options:
        return None
    options = {str(option) for option in parameter.options}
    values = value if isinstance(value, list) else [value]
    for item in values:
        if item in parameter.options or str(item) in options:
            continue
        meant = messages.closest_match(str(item), options)
        choice = (
            f'did you mean "{meant}"?'
            if meant
            else f"one of {', '.join(map(str, parameter.options[:12]))}"
        )
        return f"{parameter.name} can't be {messages.quote_value(item)} ({choice})"
    return None


def _to_builtin(value: Any) -> Any:
    """Return a subclass's value as its JSON base type (an enum, a numpy string)."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


class ToolCatalogue:
    """The service's tools, remembered."""

    def __init__(self, service: JobsApi) -> None:
        self._service = service
        self._tools: dict[str, Tool] = {}

    def read(self) -> dict[str, Tool]:
        """Read the catalogue anew; return the tools by name, in the service's order."""
        tools = map(Tool, self._service.tools())
        self._tools = {tool.name: tool for tool in tools}
        return self._tools

    def cached_tools(self) -> dict[str, Tool]:
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
        tool = self._tools.get(type)
        if tool is not None:
            try:
                return _clean_job(tool, settings)
            except InputError:
                self._tools = {}
        return _clean_job(self._read(type), settings)

    def clean_all(
        self, type: str, jobs: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
        """Return the settings of each job as they are to be sent, and the faults by position.

        Raises:
            InputError: the tool is unknown.
        """
        tool = self._tools.get(type)
        if tool is not None:
            cleaned, faults = _clean_jobs(tool, jobs)
            if not faults:
                return cleaned, faults
            self._tools = {}
        return _clean_jobs(self._read(type), jobs)

    def _read(self, name: str) -> Tool:
        tools = self.read()
        if name not in tools:
            raise InputError(
                f'The service has no tool "{name}"{messages.did_you_mean(name, tools)}.',
                action=Action.list_tools(),
            )
        return tools[name]


def _clean_job(tool: Tool, settings: Mapping[str, Any]) -> dict[str, Any]:
    sent, faults = normalize_settings(tool, settings)
    if faults:
        raise settings_error(tool, faults)
    return sent


def _clean_jobs(
    tool: Tool, jobs: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
    cleaned: list[dict[str, Any]] = []
    faults: dict[int, list[str]] = {}
    for row, settings in enumerate(jobs):
        clean_settings, job_faults = normalize_settings(tool, settings)
        cleaned.append(clean_settings)
        if job_faults:
            faults[row] = job_faults
    return cleaned, faults
