"""Views of tools and their parameters: nothing is cut, in a terminal they are paragraphs.

A table cuts texts and leaves columns out where the terminal is narrow; the meaning of a parameter
would be what is missing.
"""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd

from labext.rowviews import RowView
from labext.views import is_there

WIDTH = 88


class ToolView(RowView):
    """Frames whose rows have a `name` and a `description`."""

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True while each row has a name."""
        return "name" in frame.columns and super().applies_to(frame)

    def text(self, frame: pd.DataFrame) -> str:
        """Return a paragraph for each row."""
        if not len(frame):
            return super().text(frame)
        return "\n".join(_paragraph(dict(row)) for row in frame.to_dict("records"))

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table with all columns that hold anything, also of one row."""
        if not len(frame):
            return super().html(frame)
        with pd.option_context("display.max_columns", None):
            return self._html_table(frame)


_WHOLE = ("name", "description", "required", "optional", "default", "options")

TOOLS = ToolView(name="tools", empty="There are no such tools.", whole=_WHOLE)
PARAMETERS = ToolView(name="parameters", empty="The tool has no settings.", whole=_WHOLE)


def _paragraph(row: dict[Any, Any]) -> str:
    """Return a row as text: its name and short fields in the first lines, then the description."""
    name, description = str(row.pop("name")), row.pop("description", None)
    fields = [part for key, value in row.items() if (part := _field(str(key), value))]
    texts = ["; ".join(fields), str(description) if is_there(description) else ""]
    lines = [
        textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
        for text in texts
        if text
    ]
    return "\n".join([name, *lines])


def _field(key: str, value: Any) -> str:
    if key == "required" and isinstance(value, bool):
        return "required" if value else ""
    if not is_there(value):
        return ""
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{key} {shown}"
