"""The catalogue and a tool's parameters as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from labext.jobs.schema import MISSING, Tool
from labext.steering import tamed

if TYPE_CHECKING:
    import pandas as pd


def catalogue(tools: Iterable[Tool]) -> pd.DataFrame:
    """Return a row a tool."""
    from labext.frames import Column, frame
    from labext.jobs.toolviews import TOOLS

    columns = ("name", "displayName", "description", "required", "optional", "paper", "github")
    records = [
        {
            **{name: tool.record.get(name) for name in columns},
            "required": _listed(tool, required=True),
            "optional": _listed(tool, required=False),
        }
        for tool in tools
    ]
    return TOOLS.show(frame(records, [Column(name, "text") for name in columns]))


def parameters(tool: Tool) -> pd.DataFrame:
    """Return a row a parameter; `.attrs` holds the tool's other fields."""
    import pandas as pd

    from labext.frames import Column, frame
    from labext.jobs.toolviews import PARAMETERS

    columns = [
        Column("name", "text"),
        Column("required", "boolean"),
        Column("type", "text"),
        Column("default", "json"),
        Column("options", "json"),
        Column("description", "text"),
    ]
    records: list[dict[str, Any]] = [
        {
            "name": parameter.name,
            "required": parameter.required,
            "type": parameter.type_name,
            "default": None if parameter.default is MISSING else parameter.default,
            "options": list(parameter.options) or None,
            "description": parameter.description,
        }
        for parameter in tool.parameters.values()
    ]
    table = frame(records, columns)
    # Whatever a default is, also text that could be read as JSON.
    table["default"] = pd.Series([tamed(record["default"]) for record in records], dtype=object)
    table.attrs = {key: value for key, value in tool.record.items() if key != "settings"}
    return PARAMETERS.show(table)


def _listed(tool: Tool, *, required: bool) -> str:
    return ", ".join(p.name for p in tool.parameters.values() if p.required is required)
