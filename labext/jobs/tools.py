"""Tools and their parameters, and validation of settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal

from labext import messages
from labext.actions import Action
from labext.config import is_sandbox
from labext.errors import InputError
from labext.jobs.api import JobsApi
from labext.jobs.identity import INTERNAL_FIELDS

ParameterKind = Literal["integer", "number", "boolean", "list", "object", "text", "file"]


class _Missing:
    def __repr__(self) -> str:
        return "no default"

    def __reduce__(self) -> str:
        return "MISSING"  # there is one object, also after pickling


MISSING: Any = _Missing()
"""Marks a parameter without a default; None may be a default."""

_KINDS: dict[str, ParameterKind] = {
    "int": "integer",
    "integer": "integer",
    "number": "number",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "checkbox": "boolean",
    "list": "list",
    "array": "list",
    "object": "object",
    "dict": "object",
    "json": "object",
    "str": "text",
    "string": "text",
    "text": "text",
    "sequence": "text",
    "smiles": "text",
    "enum": "text",
    "file": "file",
    "pdb": "file",
    "cif": "file",
    "sdf": "file",
    "fasta": "file",
    "csv": "file",
}
_TYPE_NAMES: dict[ParameterKind | None, str] = {
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "list",
    "object": "object",
    "text": "string",
}
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        name: the name of the setting.
        required: True if a job must set it.
        type, description: as the service returns them; None if missing.
        default: the default, or `MISSING`.
        options: the allowed values; empty if any value is allowed.
    """

    name: str
    required: bool = False
    type: str | None = None
    default: Any = MISSING
    options: tuple[Any, ...] = ()
    description: str | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Parameter:
        """Return the parameter in a record of the service."""
        options = record.get("options")
        return cls(
            name=str(record["name"]),
            required=record.get("required") is True,
            type=record["type"] if isinstance(record.get("type"), str) else None,
            default=record.get("default", MISSING),
            options=tuple(map(_option_value, options if isinstance(options, list) else ())),
            description=record.get("description"),
        )

    @cached_property
    def kind(self) -> ParameterKind | None:
        """The kind of value, inferred from type, default or options; None if unknown."""
        if self.type is not None:
            word = self.type.strip().casefold()
            if word.endswith("[]") or word.startswith(("list", "array")):
                return "list"
            return _KINDS.get(word, "file" if "file" in word else None)
        if self.default is not MISSING and self.default is not None:
            return _kind_of_value(self.default)
        kinds = {_kind_of_value(option) for option in self.options}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def type_name(self) -> str | None:
        """The type as the service names it, or inferred from options, default or name."""
        if self.type is not None:
            return self.type
        if self.options:
            return "enum"
        return "file" if self.is_file else _TYPE_NAMES.get(self.kind)

    @property
    def is_file(self) -> bool:
        """True if the value is a file: content, name of an uploaded file, or output of a job."""
        if self.type is not None:
            return self.kind == "file"
        return self.name.lower().endswith(("file", "_pdb"))


class Tool:
    """A tool of the catalogue, with its record and its parameters by name."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = dict(record)
        self.name = str(record.get("name"))
        settings = record.get("settings")
        self.parameters = {
            str(item["name"]): Parameter.from_record(item)
            for item in (settings if isinstance(settings, list) else ())
            if isinstance(item, Mapping) and "name" in item
        }

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {', '.join(self.parameters)})"


def cast(parameter: Parameter, text: str) -> Any:
    """Convert the text of a setting to the type of the parameter.

    Lists are parsed as JSON or as comma-separated values, objects as JSON. If the type is unknown,
    JSON lists and objects are parsed, and any other text is returned unchanged.

    Raises:
        InputError: the text can't be converted to the type of the parameter.
    """
    kind = parameter.kind
    if parameter.options and kind not in ("list", "boolean"):
        for option in parameter.options:
            if text == option or text == str(option):
                return option
    if kind == "boolean":
        word = text.strip().casefold()
        if word not in _TRUE | _FALSE:
            raise _cast_error(parameter, text, "true or false")
        return word in _TRUE
    if kind in ("integer", "number"):
        return _cast_number(parameter, text, whole=kind == "integer")
    if kind == "list":
        return _cast_list(parameter, text)
    if kind == "object" or (kind is None and text[:1] in ("[", "{")):
        try:
            return json.loads(text)
        except ValueError:
            if kind == "object":
                raise _cast_error(parameter, text, "JSON") from None
    return text


def _cast_number(parameter: Parameter, text: str, *, whole: bool) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise _cast_error(parameter, text, "a whole number" if whole else "a number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise _cast_error(parameter, text, "a number")
    if whole:
        if not number.is_integer():
            raise _cast_error(parameter, text, "a whole number")
        return int(number)
    return number


def _cast_list(parameter: Parameter, text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        try:
            value = json.loads(text)
        except ValueError:
            raise _cast_error(parameter, text, "a list") from None
        if isinstance(value, list):
            return value
    items = [item.strip() for item in text.split(",")] if text.strip() else []
    kind = _kind_of_items(parameter)
    if kind in ("integer", "number"):
        return [_cast_number(parameter, item, whole=kind == "integer") for item in items]
    return items


def _cast_error(parameter: Parameter, text: str, expected: str) -> InputError:
    return InputError(
        f"{parameter.name} takes {expected}, not {messages.quote_value(text)}.",
        f"Give {expected} for {parameter.name}.",
    )


def _kind_of_value(value: Any) -> ParameterKind | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list):
        return "list"
    if isinstance(value, Mapping):
        return "object"
    return "text" if isinstance(value, str) else None


def _kind_of_items(parameter: Parameter) -> ParameterKind | None:
    """Return the kind of the elements of a list, inferred from type, default or options."""
    type_name = (parameter.type or "").casefold()
    for number_type in ("number", "float", "integer", "int", "double"):
        if number_type in type_name:
            return _KINDS[number_type]
    default: Sequence[Any] = parameter.default if isinstance(parameter.default, list) else ()
    kinds = {_kind_of_value(item) for item in [*default, *parameter.options]}
    return kinds.pop() if len(kinds) == 1 else None


def _option_value(option: Any) -> Any:
    if isinstance(option, Mapping):
        return next((option[key] for key in ("value", "name", "label") if key in option), option)
    return option


_ACCOUNT = re.compile(r"[^/\s]*@[^/\s]+/\S+")
_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{1,6}")
_MAX_DEPTH = 100
_PATH = re.compile(r"(?P<head>[^\s/]+)/(?P<rest>[^\r\n]+)")


def normalize_settings(
    tool: Tool, settings: Mapping[str, Any], placeholder: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings to send, and descriptions of all faults.

    Values are converted to JSON types, and text to numbers or booleans if the parameter requires
    them. Missing values in a row of a frame are left out; defaults are not added. `placeholder`
    stands for an output of the previous stage of a pipeline; it is valid for every parameter.
    """
    if not hasattr(settings, "items"):  # a row of a frame has them, too
        return {}, [f"they are a {type(settings).__name__}, not a mapping of names to values"]
    if hasattr(settings, "dropna"):  # such a row
        settings = settings.dropna()
    faults: list[str] = []
    cleaned: dict[str, Any] = {}
    for name, raw in settings.items():
        if _is_placeholder(tool, str(name), raw, placeholder):
            cleaned[str(name)] = placeholder
            continue
        fault, value = _clean_one(tool, str(name), raw)
        if fault:
            faults.append(fault)
        else:
            cleaned[str(name)] = value
    faults += [
        f"{parameter.name} is missing"
        for parameter in tool.parameters.values()
        if parameter.required and parameter.name not in settings
    ]
    return cleaned, faults


def settings_error(tool: Tool, faults: list[str], step: str | None = None) -> InputError:
    """Return the error that lists all faults; the default `step` is to show the tool."""
    action = None if step else Action.show_tool(tool.name)
    return InputError(
        f"The settings of {tool.name} are invalid: {'; '.join(faults)}.", step, action=action
    )


def widen_floats(values: Any) -> Any:
    """Return floats of half or single precision as doubles with the same shortest digits.

    A direct conversion turns 0.1 into 0.10000000149011612. Values are scalars or arrays of NumPy,
    Series or other arrays; those of other types are returned unchanged.
    """
    dtype: Any = getattr(values, "dtype", None)
    size = getattr(dtype, "itemsize", 8)  # sparse arrays have none
    if getattr(dtype, "kind", None) != "f" or size >= 8:
        return values
    if hasattr(values, "to_numpy"):  # missing values of a Series may be NA
        values = values.to_numpy(dtype=f"f{size}", na_value=math.nan)
    return values.astype(str).astype(float)


def to_json_types(value: Any, depth: int = 0) -> Any:
    """Return a value converted to JSON types; `depth` is its nesting depth.

    Raises:
        ValueError: JSON can't represent the value; the message is the end of a sentence.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(f"is nested more than {_MAX_DEPTH} deep")
    if value is None or isinstance(value, str | bool | int):
        return _to_builtin(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("is missing (NaN)" if math.isnan(value) else "is infinite")
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_types(item, depth + 1) for item in value]
    if isinstance(value, PurePath):
        raise ValueError(f"is a path; upload the file and give its name, {value.name}")
    if getattr(getattr(value, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError("is a time, which JSON cannot represent; give it as text")
    if hasattr(value, "tolist"):  # numpy and pandas: scalars and arrays
        return to_json_types(widen_floats(value).tolist(), depth + 1)
    if type(value).__name__ in ("NAType", "NaTType"):
        raise ValueError("is missing (NA)")
    raise ValueError(
        f"is {messages.with_article(type(value).__name__)}, which JSON cannot represent"
    )


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
    """Return whether a value looks like a file name without a folder."""
    return _FILE_NAME.fullmatch(value) is not None


def split_file_path(value: str) -> tuple[str, str] | None:
    """Split a path after its first component, a job or folder; None for any other value."""
    path = _PATH.fullmatch(value)
    return None if path is None else (path["head"], path["rest"])


def _is_placeholder(tool: Tool, name: str, value: Any, placeholder: str | None) -> bool:
    if placeholder is None or name not in tool.parameters or name in INTERNAL_FIELDS:
        return False
    return isinstance(value, str) and value == placeholder


def _clean_one(tool: Tool, name: str, value: Any) -> tuple[str | None, Any]:
    if name in INTERNAL_FIELDS:
        return f"{name} is set by the service itself and can't be sent", None
    parameter = tool.parameters.get(name)
    if parameter is None:
        return f"{name} is not a setting{messages.did_you_mean(name, tool.parameters)}", None
    try:
        value = to_json_types(value)
    except ValueError as error:
        return f"{name} {error}", None
    if value is None:
        return f"{name} has no value; omit it instead", None
    if isinstance(value, float) and value.is_integer() and parameter.kind == "integer":
        value = int(value)
    if parameter.kind == "boolean" and isinstance(value, int | float) and value in (0, 1):
        value = bool(value)
    if isinstance(value, str) and parameter.kind in ("integer", "number", "boolean"):
        try:
            value = cast(parameter, value)
        except InputError as error:
            return error.message.rstrip("."), None
    if parameter.is_file and isinstance(value, str) and _ACCOUNT.fullmatch(value):
        file = value.rpartition("/")[2]
        return f"{name} includes an account; use the plain name of the uploaded file, {file}", None
    return _option_fault(parameter, value), value


def _option_fault(parameter: Parameter, value: Any) -> str | None:
    if not parameter.options:
        return None
    options = {str(option) for option in parameter.options}
    values = value if isinstance(value, list) else [value]
    for item in values:
        if item in parameter.options or str(item) in options:
            continue
        suggestion = messages.closest_match(str(item), options)
        hint = (
            f'did you mean "{suggestion}"?'
            if suggestion
            else f"one of {', '.join(map(str, parameter.options[:12]))}"
        )
        return f"{parameter.name} can't be {messages.quote_value(item)} ({hint})"
    return None


def _to_builtin(value: Any) -> Any:
    """Convert a subclass of str or int, such as an enum or NumPy string, to its base type."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


class ToolCatalogue:
    """Cache of the service's tools."""

    def __init__(self, service: JobsApi) -> None:
        self._service = service
        self._tools: dict[str, Tool] = {}

    def read(self) -> dict[str, Tool]:
        """Refresh the cache; return the tools by name, in the service's order."""
        tools = map(Tool, self._service.tools())
        self._tools = {tool.name: tool for tool in tools}
        return self._tools

    def cached_tools(self) -> dict[str, Tool]:
        """Return the cached tools by name; read the catalogue if none are cached."""
        return self._tools or self.read()

    def tool(self, name: str) -> Tool:
        """Return a tool by name; raise InputError if the service has no such tool."""
        return self._cached(name) or self._read(name)

    def check(self, type: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Validate settings; return them as they will be sent.

        The catalogue is read again before settings are rejected.
        """
        cleaned, faults = self.clean_all(type, [settings])
        if faults:
            raise settings_error(self.tool(type), faults[0])
        return cleaned[0]

    def clean_all(
        self, type: str, jobs: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
        """Validate the settings of jobs; return those to send, and faults by position."""
        tool = self._cached(type)
        if tool is not None:
            cleaned, faults = _clean_jobs(tool, jobs)
            if not faults:
                return cleaned, faults
            self._tools = {}
        return _clean_jobs(self._read(type), jobs)

    def _cached(self, name: str) -> Tool | None:
        return self._tools.get(name) if isinstance(name, str) else None

    def _read(self, name: str) -> Tool:
        tools = self.read()
        if not isinstance(name, str) or name not in tools:
            suggestion = messages.did_you_mean(str(name), tools)
            error = InputError(
                f"The service has no tool {messages.quote_value(name)}{suggestion}.",
                action=Action.list_tools(),
            )
            if not suggestion and is_sandbox(self._service.address):
                error = error.with_hint("`labext doctor` shows tools that have to be installed.")
            raise error
        return tools[name]


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
