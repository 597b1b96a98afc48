"""How tools and their parameters are shown: with nothing cut, in a terminal as paragraphs.

A table of pandas cuts each text after 50 characters and leaves columns out where the terminal is
narrow; what a parameter means is then what can't be read.
"""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd

from labext.views import Shown, is_there, plain

WIDTH = 88

_ROOM = '<div style="min-width:21em;text-align:left">'


class Described(Shown):
    """A DataFrame whose rows are things with a `name` and a `description`."""

    def _repr_html_(self) -> str | None:
        with pd.option_context("display.max_colwidth", None, "display.max_columns", None):
            html: str | None = super()._repr_html_()  # type: ignore[misc]  # the stubs leave it out
        if html is None or "description" not in self.columns:
            return html
        return _widened(html, list(self.columns).index("description"))

    def __repr__(self) -> str:
        if "name" not in self or self.empty:
            return repr(plain(self))
        return "\n".join(_paragraph(dict(row)) for row in self.to_dict("records"))


def _widened(html: str, place: int) -> str:
    """Return a table with room for the words of one column, from 0; a browser gives it least."""
    rows = html.split("<tr>")
    for number, row in enumerate(rows):
        cells = row.split("<td>")  # the cells' own words are escaped
        if len(cells) > place + 1:
            cells[place + 1] = _ROOM + cells[place + 1].replace("</td>", "</div></td>", 1)
            rows[number] = "<td>".join(cells)
    return "<tr>".join(rows)


def _paragraph(row: dict[Any, Any]) -> str:
    """Return a row as text: its name and short fields in the first lines, then the description."""
    name, description = str(row.pop("name")), row.pop("description", None)
    told = [part for key, value in row.items() if (part := _field(str(key), value))]
    texts = ["; ".join(told), str(description) if is_there(description) else ""]
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
