"""Tool and parameter definitions, and validation of a job's settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.jobs.names import quote_value

Settings = Mapping[str, Any]
"""A job's settings, parsed from JSON."""

Score = dict[str, float | int | str]
"""Summary of a tool's result: numbers and short strings by name."""

ParameterType = Literal["string", "number", "integer", "boolean", "array", "pdb", "file"]
"""Types of parameters. The value of `pdb` and `file` is the name of an uploaded file, the path of
an output of an earlier job, or the content itself (JOBS-39 to JOBS-50)."""


class ToolError(TaskError):
    """Invalid settings or files; the message is one sentence that names the parameter."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool.

    Attributes:
        required: True if it must be sent whenever it applies.
        type: the type checked by the service; None if the tool accepts several forms.
        description: one or two sentences, including unit and condition.
        when: the condition `(other parameter, values)`; the parameter applies, and may be sent,
            only if the other parameter has one of the values (JOBS-34).
        gate: the required permission; accounts without it can't see or send the parameter
            (JOBS-29, JOBS-35).
        content: the kinds of content that a pipeline may pass to it, such as `DNA` or `protein
            structure`; `{molecule}` stands for the value of the setting `molecule`. Empty if any
            content is accepted. Not listed by `GET /tools`.
    """

    name: str
    required: bool = False
    type: ParameterType | None = None
    default: Any = None
    description: str | None = None
    options: tuple[str, ...] | None = None
    when: tuple[str, tuple[str, ...]] | None = None
    gate: str | None = None
    content: tuple[str, ...] = ()

    @property
    def file(self) -> bool:
        """True if the value refers to a file."""
        return self.type in ("pdb", "file")

    def applies(self, settings: Settings) -> bool:
        """Return whether `settings`, with defaults filled in, meet the condition."""
        return self.when is None or settings.get(self.when[0]) in self.when[1]

    def record(self) -> dict[str, Any]:
        """Return the parameter as listed by `GET /tools`, without null values (JOBS-28)."""
        names = ("name", "required", "type", "default", "description")
        values = {name: getattr(self, name) for name in names}
        values["options"] = self.options and list(self.options)
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Tool:
    """A tool of the catalogue.

    Attributes:
        name: the `type` of its jobs, and the name of its module.
        display_name, description, github, paper: fields of `GET /tools` (JOBS-27).
        requires: the third-party modules that `run` imports.
        preload: the modules that a fork server imports in advance.
        extra: the extra of labext-jupyter that installs the required modules.
        seconds: a time limit for jobs below that of the service, or None.
        passes: glob patterns, relative to the output folder, of the files that a pipeline passes to
            `"pipe"` settings of the next stage. A setting that is not a file gets the sequence of a
            FASTA file, or the text of another file.
        passes_content: the kind of content of these files, as in `Parameter.content`; empty if
            unknown.
        memory: the memory to reserve for a job in bytes; None for the memory limit of the service.
        figures: the CSV outputs that clients draw as figures, in order (JOBS-196).
        read: parses settings, with or without defaults, and raises ToolError for the first error.
            Values of files are the sent names or contents; uploaded files are read by `run` only.
    """

    name: str
    display_name: str
    description: str
    github: str
    paper: str
    parameters: tuple[Parameter, ...]
    requires: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    extra: str = "sandbox"
    seconds: float | None = None
    passes: tuple[str, ...] = ()
    passes_content: str = ""
    figures: tuple[str, ...] = ()
    cores: int = 1
    memory: int | None = None
    read: Callable[[Settings], object] | None = None

    def visible(self, gates: Collection[str]) -> tuple[Parameter, ...]:
        """Return the parameters that are available with the permissions `gates`."""
        return tuple(p for p in self.parameters if p.gate is None or p.gate in gates)

    def with_defaults(self, settings: Settings) -> dict[str, Any]:
        """Return `settings` with the defaults of the parameters that apply and were not sent."""
        filled = dict(settings)
        # Unconditional parameters first, since a condition may refer to a default.
        for parameter in sorted(self.parameters, key=lambda p: p.when is not None):
            if (
                parameter.default is not None
                and parameter.name not in filled
                and parameter.applies(filled)
            ):
                filled[parameter.name] = parameter.default
        return filled

    def record(self, gates: Collection[str] = ()) -> dict[str, Any]:
        """Return the tool as listed by `GET /tools`, with the permissions `gates`."""
        record: dict[str, Any] = {
            "name": self.name,
            "displayName": self.display_name,
            "description": self.description,
            "github": self.github,
            "paper": self.paper,
            "settings": [parameter.record() for parameter in self.visible(gates)],
        }
        if self.figures:
            record["figures"] = list(self.figures)
        return record

    def check(self, settings: Settings) -> str | None:
        """Return the first error of settings that `read` finds, as one sentence."""
        try:
            if self.read is not None:
                self.read(settings)
        except ToolError as error:
            return str(error)
        return None

    def missing_modules(self) -> list[str]:
        """Return the required modules that are not installed, without importing any."""
        return [module for module in self.requires if find_spec(module) is None]


INTERNAL_PARAMETERS = ("submit_method", "monomer_msa", "msa")
"""Parameters that the platform sets and that must not be sent (JOBS-32)."""

_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("a string", str),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", int),
    "boolean": ("true or false", bool),
    "array": ("a list", list),
    "pdb": ("a string", str),
    "file": ("a string", str),
}


def settings_error(
    tool: Tool, settings: Settings, gates: Collection[str], unknown: Collection[str] = ()
) -> str | None:
    """Return the first error of `settings` for an account with the permissions `gates`, or None.

    `unknown` are piped settings, whose values are not checked. `Tool.check` is skipped unless all
    of them are files, which it does not read.
    """
    visible = {parameter.name: parameter for parameter in tool.visible(gates)}
    has_unknown_value = any(name in visible and not visible[name].file for name in unknown)
    known = {name: value for name, value in settings.items() if name not in unknown}
    return (
        _unknown_setting_error(tool, settings, visible)
        or _missing_setting_error(tool, settings, visible)
        or _type_error(known, visible)
        or _condition_error(tool, settings, visible, unknown)
        or (None if has_unknown_value else tool.check(settings))
    )


def normalize_settings(tool: Tool, settings: Settings, gates: Collection[str]) -> dict[str, Any]:
    """Return the settings with defaults and `submit_method`, as echoed by `/validate-job`."""
    visible = {parameter.name for parameter in tool.visible(gates)}
    filled = {k: v for k, v in tool.with_defaults(settings).items() if k in visible}
    return {**filled, "submit_method": "api"}


def _unknown_setting_error(
    tool: Tool, settings: Settings, visible: dict[str, Parameter]
) -> str | None:
    for name in settings:
        if name in INTERNAL_PARAMETERS:
            return f"Setting {name} is set by the platform and must not be sent."
        if name not in visible:
            accepted = ", ".join(visible)
            return f"Setting {quote_value(name)} is unknown to {tool.name}; it has {accepted}."
    return None


def _missing_setting_error(
    tool: Tool, settings: Settings, visible: dict[str, Parameter]
) -> str | None:
    filled = tool.with_defaults(settings)
    for parameter in visible.values():
        is_required = parameter.required and parameter.applies(filled)
        if is_required and settings.get(parameter.name) is None:
            return f"Setting {parameter.name} is required by {tool.name} and missing."
    return None


def _condition_error(
    tool: Tool, settings: Settings, visible: dict[str, Parameter], unknown: Collection[str]
) -> str | None:
    filled = tool.with_defaults(settings)
    for name in settings:
        parameter = visible[name]
        if parameter.when is not None and not parameter.applies(filled):
            controlling, values = parameter.when
            if controlling not in unknown:
                return f"Setting {name} applies only if {controlling} is {' or '.join(values)}."
    return None


def _type_error(settings: Settings, visible: dict[str, Parameter]) -> str | None:
    for name, value in settings.items():
        if error := _value_error(visible[name], value):
            return f"Setting {name} {error}."
    return None


def _value_error(parameter: Parameter, value: object) -> str | None:
    if value is None:
        return "is null"
    if parameter.type is not None:
        expected, types = _TYPES[parameter.type]
        is_bool = isinstance(value, bool) and parameter.type != "boolean"
        is_whole = parameter.type == "integer" and isinstance(value, float) and value.is_integer()
        if is_bool or not (is_whole or isinstance(value, types)):
            return f"is not {expected}: {quote_value(value)}"
        if isinstance(value, float) and not math.isfinite(value):
            return "is not a finite number"
        if parameter.file and not value:
            return "is empty"
    if parameter.options is not None and value not in parameter.options:
        return f"is not one of {', '.join(parameter.options)}: {quote_value(value)}"
    return None
