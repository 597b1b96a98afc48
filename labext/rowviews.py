"""How rows of a service are shown: what tells most comes first, and what is empty isn't there.

A row has a dozen fields, most of them empty most of the time, and a terminal of 80 columns or a
notebook has room for five: a table of pandas would fill it with what says nothing. One row alone
is a list of its fields.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from labext import wording
from labext.views import Shown, clipped, is_there, width, words

_CELL = 60  # characters of a text in a table of HTML
_FIELD = 400  # … of settings in the list of one row's fields
_LEAST = 16  # a text clipped to less says nothing
_GAP = 2  # blanks between two columns of text
_SHARE = 3  # no text takes more than this part of a terminal's line


class Rows(Shown):
    """A DataFrame with a row for each thing of a service; a kind of thing has a class of its own.

    Attributes:
        _none: said in place of no rows.
        _always: the columns that are shown also where all their cells are empty.
        _whole: the columns whose texts are never cut.
        _told: by column, what its cells read as; others by `labext.views.words`.
    """

    _none = "There is nothing."
    _always: ClassVar[Collection[str]] = ()
    _whole: ClassVar[Collection[str]] = ()
    _told: ClassVar[Mapping[str, Callable[[Any], str]]] = {}

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the columns that come before all others, and those that come after them."""
        return (), ()

    def __repr__(self) -> str:
        if not len(self):
            return self._none
        if not _is_told(self):
            return _nothing(self)
        return _list(self) if len(self) == 1 else _table(self)

    def _repr_html_(self) -> str | None:
        if not pd.get_option("display.notebook_repr_html"):
            return None
        if not len(self):
            return f"<p>{html.escape(self._none)}</p>"
        if not _is_told(self):
            return f"<p>{_nothing(self)}</p>"
        return _html_list(self) if len(self) == 1 else _html_table(self)


class _Part(NamedTuple):
    """A column as it is shown.

    Attributes:
        label: its name.
        cells: its values; as texts, but for a column of numbers without gaps. Of a long frame
            those of the rows that pandas leaves out are empty.
        kind: what the cells are; only a text can be clipped.
    """

    label: str
    cells: Any
    kind: Literal["text", "number", "time"]

    def clipped(self, most: int) -> _Part:
        """Return it with no text longer than `most`, unless it can't be clipped."""
        if self.kind != "text":
            return self
        return self._replace(cells=[clipped(cell, most) for cell in self.cells])


def _nothing(frame: Rows) -> str:
    return f"[{_size(frame, 'x')}, all of them empty]"


def _is_told(frame: Rows) -> bool:
    """Say whether there is anything to show."""
    return bool(_fields(frame) if len(frame) == 1 else _parts(frame))


def _parts(frame: Rows) -> list[_Part]:
    """Return the columns that say anything, what tells most first."""
    labels = [str(label) for label in frame.columns]
    first, last = frame._ends()
    rank = {label: n - len(first) for n, label in enumerate(first)}
    rank |= {label: n + 1 for n, label in enumerate(last)}
    said = [
        n for n, label in enumerate(labels) if label in frame._always or _says(frame.iloc[:, n])
    ]
    order = sorted(said, key=lambda n: rank.get(labels[n], 0))
    return [
        _part(words(frame.columns[n]), frame.iloc[:, n], frame._told.get(labels[n], words))
        for n in order
    ]


def _says(column: pd.Series[Any]) -> bool:
    there = column.notna()
    if is_datetime64_any_dtype(column.dtype) or is_numeric_dtype(column.dtype):
        return bool(there.any())
    return any(map(is_there, column[there]))


def _part(label: str, column: pd.Series[Any], told: Callable[[Any], str]) -> _Part:
    is_number = is_numeric_dtype(column.dtype)
    if is_number and not column.hasnans:
        return _Part(label, column.array, "number")
    cells = [""] * len(column)
    for row in _seen(len(column)):
        cells[row] = told(column.iloc[row])
    is_time = is_datetime64_any_dtype(column.dtype)
    return _Part(label, cells, "number" if is_number else "time" if is_time else "text")


def _seen(count: int) -> Iterable[int]:
    """Return the rows of which pandas shows some."""
    most = pd.get_option("display.max_rows") or count
    return range(count) if count <= most else [*range(most), *range(count - most, count)]


def _made(parts: Sequence[_Part], index: pd.Index[Any]) -> pd.DataFrame:
    made = pd.DataFrame({n: part.cells for n, part in enumerate(parts)}, index=index)
    return made.set_axis([part.label for part in parts], axis=1)


def _table(frame: Rows) -> str:
    """Return the columns that fit beside one another, and the names of those that don't."""
    room = width()
    labels = (str(frame.index[row]) for row in _seen(len(frame)))
    left, taken, others = room - max(map(len, labels)), list[_Part](), list[str]()
    for each in _parts(frame):
        part = each.clipped(room // _SHARE)
        needed = _across(part, frame.index)
        if part.kind == "text" and needed > left >= max(_LEAST, len(part.label)) + _GAP:
            part, needed = part.clipped(left - _GAP), left
        if needed <= left or not taken:
            left -= needed
            taken.append(part)
        else:
            others.append(part.label)
    also = f"; not shown: {wording.listed(others)}" if others else ""
    told = textwrap.fill(f"[{_size(frame, 'x')}{also}]", room)
    return f"{_text(_made(taken, frame.index))}\n\n{told}"


def _across(part: _Part, index: pd.Index[Any]) -> int:
    """Return how many characters of a line a column takes, with what parts it from the next."""
    lines = _text(_made([part], index), index=False).splitlines()
    return max(map(len, lines)) + _GAP


def _text(frame: pd.DataFrame, *, index: bool = True) -> str:
    return frame.to_string(
        index=index,
        max_rows=pd.get_option("display.max_rows"),
        min_rows=pd.get_option("display.min_rows"),
        show_dimensions=False,
    )


def _size(frame: Rows, by: str) -> str:
    """Return what the frame has in all, and in which zone its times are."""
    times = any(is_datetime64_any_dtype(dtype) for dtype in frame.dtypes)
    rows, columns = wording.count(len(frame), "row"), wording.count(frame.shape[1], "column")
    return f"{rows} {by} {columns}{'; times in UTC' if times else ''}"


def _fields(frame: Rows) -> list[tuple[str, str]]:
    """Return the fields of one row that hold anything, and what they hold."""
    found = [
        (part.label, f"{text} UTC" if part.kind == "time" else text)
        for part in _parts(frame)
        if (text := words(part.cells[0]))
    ]
    return [
        (label, text if label in frame._whole else clipped(text, _FIELD)) for label, text in found
    ]


def _list(frame: Rows) -> str:
    fields = _fields(frame)
    indent = max(len(label) for label, _ in fields) + _GAP
    return "\n".join(
        textwrap.fill(
            text,
            max(width(), indent + _LEAST),
            initial_indent=label.ljust(indent),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
        for label, text in fields
    )


def _html_list(frame: Rows) -> str:
    fields = _fields(frame)
    texts = [f'<div style="text-align:left">{html.escape(text)}</div>' for _, text in fields]
    index = pd.Index([html.escape(label) for label, _ in fields])
    return _html(pd.DataFrame({0: texts}, index=index), header=False)


def _html_table(frame: Rows) -> str:
    parts = []
    for each in _parts(frame):
        whole = each.label in frame._whole
        part = each if whole else each.clipped(_CELL)
        cells = part.cells
        if isinstance(cells, list):
            cells = [_escaped(cell, on_one_line=not whole) for cell in cells]
        parts.append(part._replace(label=html.escape(part.label), cells=cells))
    index = pd.Index([html.escape(str(label)) for label in frame.index])
    return f"{_html(_made(parts, index))}<p>{_size(frame, '×')}</p>"


def _escaped(cell: str, *, on_one_line: bool) -> str:
    """Return a cell as HTML; a table of many columns would break its words into a tower."""
    text = html.escape(cell)
    may_break = bool(text) and not text.isalnum()
    kept = on_one_line and may_break
    return f'<span style="white-space:nowrap">{text}</span>' if kept else text


def _html(frame: pd.DataFrame, *, header: bool = True) -> str:
    """Return a frame, whose texts are HTML already, as pandas shows it in a notebook."""
    most, fewer = pd.get_option("display.max_rows"), pd.get_option("display.min_rows")
    with pd.option_context("display.max_colwidth", None):
        return frame.to_html(
            header=header,
            escape=False,
            notebook=True,
            max_rows=(fewer or most) if most and len(frame) > most else most,
            max_cols=pd.get_option("display.max_columns"),
            show_dimensions=False,
        )
