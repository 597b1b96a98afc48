"""The rules for a job's settings, as the service itself enforces them.

Source: job service contract, Settings rules 1 to 5; rules 6 to 8 (values that stand for files) are
in `references`. The first fault is what a submission answers, and what `/validate-job` returns.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.tool import Parameter, Settings, Tool

INTERNAL = ("submit_method", "monomer_msa", "msa")
"""What the platform sets and nobody may send (rule 2)."""

_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("a string", str),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", int),
    "boolean": ("true or false", bool),
    "array": ("a list", list),
    "pdb": ("a string", str),
    "file": ("a string", str),
}


def settings_fault(
    tool: Tool, settings: Settings, gates: Collection[str], unknown: Collection[str] = ()
) -> str | None:
    """The first fault of `settings` for an organization with the permissions `gates`, or None.

    Args:
        tool: whose settings they are.
        settings: as they were sent.
        gates: the permissions that decide which parameters there are.
        unknown: the settings whose values are not known yet, and not looked at: those that a
            pipeline fills in once it is there. The tool's own check waits for them, but for files,
            which it does not look into.
    """
    visible = {parameter.name: parameter for parameter in tool.visible(gates)}
    waits = any(name in visible and not visible[name].file for name in unknown)
    known = {name: value for name, value in settings.items() if name not in unknown}
    return (
        _surplus(tool, settings, visible)
        or _missing(tool, settings, visible)
        or _values(known, visible)
        or _condition(tool, settings, visible, unknown)
        or (tool.check(settings) if tool.check is not None and not waits else None)
    )


def normalized(tool: Tool, settings: Settings, gates: Collection[str]) -> dict[str, Any]:
    """The echo of `/validate-job`: with defaults and the platform's own field; not to be sent."""
    visible = {parameter.name for parameter in tool.visible(gates)}
    filled = {k: v for k, v in tool.with_defaults(settings).items() if k in visible}
    return {**filled, "submit_method": "api"}


def _surplus(tool: Tool, settings: Settings, visible: dict[str, Parameter]) -> str | None:
    for name in settings:
        if name in INTERNAL:
            return f"Setting {name} is set by the platform and must not be sent."
        if name not in visible:
            known = ", ".join(visible)
            return f"Setting {shown(name)} is unknown to {tool.name}, which takes {known}."
    return None


def _missing(tool: Tool, settings: Settings, visible: dict[str, Parameter]) -> str | None:
    filled = tool.with_defaults(settings)
    for parameter in visible.values():
        needed = parameter.required and parameter.applies(filled)
        if needed and settings.get(parameter.name) is None:
            return f"Setting {parameter.name} is required by {tool.name} and missing."
    return None


def _condition(
    tool: Tool, settings: Settings, visible: dict[str, Parameter], unknown: Collection[str]
) -> str | None:
    filled = tool.with_defaults(settings)
    for name in settings:
        parameter = visible[name]
        if parameter.when is None or parameter.when[0] in unknown:
            continue
        if not parameter.applies(filled):
            other, values = parameter.when
            return f"Setting {name} applies only where {other} is {' or '.join(values)}."
    return None


def _values(settings: Settings, visible: dict[str, Parameter]) -> str | None:
    for name, value in settings.items():
        if fault := _value(visible[name], value):
            return f"Setting {name} {fault}."
    return None


def _value(parameter: Parameter, value: object) -> str | None:
    if value is None:
        return "is null"
    if parameter.type is not None:
        expected, types = _TYPES[parameter.type]
        boolean = isinstance(value, bool) and parameter.type != "boolean"
        whole = parameter.type == "integer" and isinstance(value, float) and value.is_integer()
        if boolean or not (whole or isinstance(value, types)):
            return f"is not {expected}: {shown(value)}"
        if isinstance(value, float) and not math.isfinite(value):
            return "is not a finite number"
        if parameter.file and not value:
            return "is empty"
    if parameter.options is not None and value not in parameter.options:
        return f"is none of {', '.join(parameter.options)}: {shown(value)}"
    return None
