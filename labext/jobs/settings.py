"""Settings before they are sent: made plain, and held against the tool's parameters.

The rules are the job service contract's, Settings rules 1 to 8. Every fault is found, not the
first alone, and named with its parameter and what was probably meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.jobs.identity import INTERNAL
from labext.jobs.schema import Parameter, Tool, cast

_ACCOUNT = re.compile(r"[^/\s]*@[^/\s]+/\S+")
_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{1,6}")
_DEEPEST = 100
_PATH = re.compile(r"(?P<head>[^\s/]+)/(?P<rest>[^\r\n]+)")


def clean(
    tool: Tool, settings: Mapping[str, Any], passed: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings to send, and every fault that was found in them.

    The values become plain JSON ones (no numpy scalars, no NaN); text for a parameter that takes
    a number or a truth value becomes that. Nothing is added.

    Args:
        tool: the tool.
        settings: what it is given.
        passed: the word that stands for what a pipeline's stage before has made; any parameter
            may have it.
    """
    faults: list[str] = []
    sent: dict[str, Any] = {}
    for name, given in settings.items():
        if _is_passed(tool, str(name), given, passed):
            sent[str(name)] = passed
            continue
        fault, value = _clean_one(tool, str(name), given)
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


def refuse(tool: Tool, faults: list[str], step: str | None = None) -> InputError:
    """Return the error that names every fault, and another next step than the tool's page."""
    return InputError(
        f"These settings of {tool.name} can't be used: {'; '.join(faults)}.",
        step or f"See `%jobs tool {tool.name}`.",
    )


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as plain JSON types; `depth` is how deep it stands in others.

    Raises:
        ValueError: it can't be one; the message says why, as the end of a sentence.
    """
    if depth > _DEEPEST:
        raise ValueError(f"is nested more than {_DEEPEST} deep")
    if value is None or isinstance(value, str | bool | int):
        return _bare(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("is not a number (NaN or infinite)")
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, PurePath):
        raise ValueError(f"is a path; upload the file and give its name, {value.name}")
    if hasattr(value, "tolist"):  # numpy and pandas: scalars and arrays
        return plain(value.tolist(), depth + 1)
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


def looks_like_a_file(value: str) -> bool:
    """Say whether a value is a bare file name, as of an uploaded file."""
    return _FILE_NAME.fullmatch(value) is not None


def file_path(value: str) -> tuple[str, str] | None:
    """Return the parts of a path: a job or a folder, and the rest; None for any other value."""
    path = _PATH.fullmatch(value)
    return None if path is None else (path["head"], path["rest"])


def _is_passed(tool: Tool, name: str, given: Any, passed: str | None) -> bool:
    if passed is None or name not in tool.parameters or name in INTERNAL:
        return False
    return isinstance(given, str) and given == passed


def _clean_one(tool: Tool, name: str, value: Any) -> tuple[str | None, Any]:
    if name in INTERNAL:
        return f"{name} is set by the service itself and can't be sent", None
    parameter = tool.parameters.get(name)
    if parameter is None:
        return f"{name} is no setting{wording.did_you_mean(name, tool.parameters)}", None
    try:
        value = plain(value)
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
            return error.what.rstrip("."), None
    if parameter.is_file and isinstance(value, str) and _ACCOUNT.fullmatch(value):
        bare = value.rpartition("/")[2]
        return f"{name} names an account; an uploaded file goes by its bare name, {bare}", None
    return _not_an_option(parameter, value), value


def _not_an_option(parameter: Parameter, value: Any) -> str | None:
    if not parameter.options:
        return None
    known = {str(option) for option in parameter.options}
    given = value if isinstance(value, list) else [value]
    for item in given:
        if item in parameter.options or str(item) in known:
            continue
        meant = wording.near(str(item), known)
        choice = (
            f'did you mean "{meant}"?'
            if meant
            else f"one of {', '.join(map(str, parameter.options[:12]))}"
        )
        return f"{parameter.name} can't be {wording.shown(item)} ({choice})"
    return None


def _bare(value: Any) -> Any:
    """Return a subclass's value as the JSON type it stands for (an enum, a numpy string)."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
