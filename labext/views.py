"""Views: how IPython displays frames of records.

The frames are plain DataFrames. A view leaves its name in `frame.attrs`, which pandas hands on to
sorted, filtered and copied frames, and formatters that are registered with IPython look it up.
They give way to every other configuration of how DataFrames are displayed: a formatter of another
package, or a replaced `DataFrame._repr_html_` (itables).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labext.steering import tame

ATTRIBUTE = "labext"
"""The key in `frame.attrs`: the name of the view, and how many rows there were at first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """How frames of one kind are displayed.

    Attributes:
        name: identifies the view in `frame.attrs`.
    """

    name: str
    _known: ClassVar[dict[str, View]] = {}

    def __post_init__(self) -> None:
        self._known[self.name] = self

    def show(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with its columns in the view's order, to be displayed by the view."""
        labels = list(frame.columns)
        order = self.order(labels)
        if order != list(range(len(labels))):
            frame = frame.iloc[:, order]
        frame.attrs[ATTRIBUTE] = {"view": self.name, "rows": len(frame)}
        _register_formatters()
        return frame

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns in the order in which they belong."""
        return list(range(len(labels)))

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if a derived frame still is what the view displays."""
        raise NotImplementedError

    def text(self, frame: pd.DataFrame) -> str:
        """Return a frame as plain text."""
        raise NotImplementedError

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a frame as HTML; None leaves it to the text."""
        raise NotImplementedError


def text_of(frame: pd.DataFrame) -> str:
    """Return a frame as IPython displays it in a terminal."""
    view = _view_of(frame)
    return view.text(frame) if view else repr(frame)


def html_of(frame: pd.DataFrame) -> str | None:
    """Return a frame as IPython displays it in a notebook."""
    view = _view_of(frame)
    if view and pd.get_option("display.notebook_repr_html") and not _is_html_configured():
        return view.html(frame)
    return frame._repr_html_()  # type: ignore[operator, no-any-return]


def _view_of(frame: pd.DataFrame) -> View | None:
    mark = frame.attrs.get(ATTRIBUTE)
    name = mark.get("view") if isinstance(mark, dict) else None
    view = View._known.get(name) if isinstance(name, str) else None
    return view if view and view.applies_to(frame) else None


def first_count(frame: pd.DataFrame) -> int:
    """Return how many rows the frame had before it was filtered."""
    mark = frame.attrs.get(ATTRIBUTE)
    return int(mark["rows"]) if isinstance(mark, dict) and "rows" in mark else len(frame)


def _is_html_configured() -> bool:
    """Return True if a package has replaced the HTML of all DataFrames."""
    method = vars(pd.DataFrame).get("_repr_html_")
    return not str(getattr(method, "__module__", "")).startswith("pandas.")


def _register_formatters() -> None:
    """Register with a running IPython, where nothing else formats DataFrames."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    formatters = getattr(getattr(shell, "display_formatter", None), "formatters", {})
    for mime, printer in (("text/html", html_of), ("text/plain", _pretty)):
        formatter = formatters.get(mime)
        if formatter is None:
            continue
        try:
            formatter.lookup_by_type(pd.DataFrame)
        except KeyError:
            formatter.for_type(pd.DataFrame, printer)


def _pretty(frame: pd.DataFrame, printer: Any, _cycle: bool) -> None:
    with printer.group():
        for number, line in enumerate(text_of(frame).splitlines()):
            if number:
                printer.break_()
            printer.text(line)


class _FactsView(View):
    """Facts about one thing: a value a row, none of them cut."""

    def applies_to(self, frame: pd.DataFrame) -> bool:
        return list(frame.columns) == ["value"] and len(frame) > 0

    def text(self, frame: pd.DataFrame) -> str:
        return frame.to_string()

    def html(self, frame: pd.DataFrame) -> str | None:
        with pd.option_context("display.max_colwidth", None):
            return frame._repr_html_()  # type: ignore[operator, no-any-return]


_FACTS = _FactsView(name="facts")


def facts(values: Mapping[str, str], of: str) -> pd.DataFrame:
    """Return facts about one thing as a frame with the column `value`, by what each value is."""
    index = pd.Index(list(values), name=of)
    return _FACTS.show(pd.DataFrame({"value": [*map(tame, values.values())]}, index=index))


def width() -> int:
    """Return how many columns of text there are: the terminal's, elsewhere what pandas takes."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return pd.get_option("display.width") or 80


def is_there(cell: Any) -> bool:
    """Say whether a cell holds anything that could be shown."""
    if isinstance(cell, list | dict | tuple):
        return bool(cell)
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return False
    if isinstance(cell, str):
        return bool(cell.strip())
    return bool(cell == cell)


def words(cell: Any) -> str:
    """Return a cell as one line of text; a missing one as none.

    Times are in UTC, to the second. Settings and scores read `residues: 20, atoms: 168`.
    """
    if not is_there(cell):
        return ""
    if isinstance(cell, pd.Timestamp):
        return str(cell.tz_convert("UTC") if cell.tzinfo else cell)[:19]
    if isinstance(cell, dict):
        return ", ".join(f"{words(key)}: {_inner(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple):
        return ", ".join(map(_inner, cell))
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return tame(" ".join(str(cell).split()))


def clipped(text: str, most: int) -> str:
    """Return a text cut after `most` characters, at the least one."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def _inner(value: Any) -> str:
    """Return a value within another: a text or a number as it is, the rest as JSON."""
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return words(json.dumps(value, ensure_ascii=False, default=str))
    return words(value)
