"""Views of rows of records: the most informative columns first, empty ones left out.

A row has a dozen fields, most of them empty most of the time, and a terminal of 80 columns or a
notebook has room for five. A single row is displayed as a list of its fields.
"""

from __future__ import annotations

import html
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

from labext import wording
from labext.views import View, clipped, first_count, is_there, width, words

_FIELD = 400  # … of settings in the list of one row's fields
_LEAST = 16  # a text clipped to less says nothing
_GAP = 2  # blanks between two columns of text
_SHARE = 3  # no text takes more than this part of a terminal's line

_SEQUENCE = re.compile(r"[ACGTUNRYSWKMBDHV.*-]+|[acgtunryswkmbdhv.*-]+|[A-Z*.-]+|[().\[\]{}<>-]+")
_SHORTEST_SEQUENCE = 10  # characters; shorter ones may be abbreviations
_LONGEST_CHECKED = 1000  # characters; a genome has millions

_LEFT = "text-align:left"
_MONOSPACED = "font-family:var(--jp-code-font-family, monospace)"
_WRAPPED = "width:max-content;max-width:32em"  # a browser would give prose the least room
_ON_ONE_LINE = "white-space:nowrap"


@dataclass(frozen=True, kw_only=True, eq=False)
class RowView(View):
    """Frames with a row for each record.

    Attributes:
        empty: the message in place of a table without rows.
        first: the columns that come before all others.
        last: the columns that come after all others.
        whole: the columns whose texts are never cut.
        formats: by column, how a cell is written; others as by `labext.views.words`.
        with_empty_columns: True if columns without a value are displayed too.
    """

    empty: str = "There is nothing."
    first: Sequence[str] = ()
    last: Sequence[str] = ()
    whole: Collection[str] = ()
    formats: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    with_empty_columns: bool = False

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns: the first ones, the others, the last ones."""
        return ordered(labels, self.first, self.last)

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True while a row is a record: not for summaries, groups or pivot tables."""
        index = frame.index
        is_count = isinstance(index, pd.RangeIndex) or is_integer_dtype(index.dtype)
        return is_count and index.name is None and frame.columns.nlevels == 1

    def text(self, frame: pd.DataFrame) -> str:
        """Return a table as wide as the terminal, or the list of one row's fields."""
        if not len(frame):
            return self._no_rows(frame)
        if not self._has_values(frame):
            return _nothing(frame)
        return self._list(frame) if len(frame) == 1 else self._table(frame)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table, or the list of one row's fields."""
        if not len(frame):
            return f"<p>{html.escape(self._no_rows(frame))}</p>"
        if not self._has_values(frame):
            return f"<p>{_nothing(frame)}</p>"
        return self._html_list(frame) if len(frame) == 1 else self._html_table(frame)

    def _no_rows(self, frame: pd.DataFrame) -> str:
        count = first_count(frame)
        return f"None of the {wording.count(count, 'row')}." if count else self.empty

    def _has_values(self, frame: pd.DataFrame) -> bool:
        return bool(self._fields(frame) if len(frame) == 1 else self._parts(frame))

    def _parts(self, frame: pd.DataFrame) -> list[_Part]:
        """Return the columns to display."""
        columns = (frame.iloc[:, n] for n in range(frame.shape[1]))
        return [
            _part(words(column.name), column, self.formats.get(str(column.name), words))
            for column in columns
            if self.with_empty_columns or _has_value(column)
        ]

    def _table(self, frame: pd.DataFrame) -> str:
        """Return the columns that fit beside one another, and the names of those that don't."""
        room = width()
        labels = (str(frame.index[row]) for row in _seen(len(frame)))
        left, taken, others = room - max(map(len, labels)), list[_Part](), list[str]()
        for each in self._parts(frame):
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
        size = textwrap.fill(f"[{_size(frame, 'x')}{also}]", room)
        return f"{_text(_made(taken, frame.index))}\n\n{size}"

    def _fields(self, frame: pd.DataFrame) -> list[tuple[str, str]]:
        """Return the fields of one row that hold anything, and what they hold."""
        found = [
            (part.label, f"{text} UTC" if part.kind == "time" else text)
            for part in self._parts(frame)
            if (text := words(part.cells[0]))
        ]
        return [
            (label, text if label in self.whole else clipped(text, _FIELD)) for label, text in found
        ]

    def _list(self, frame: pd.DataFrame) -> str:
        fields = self._fields(frame)
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

    def _html_list(self, frame: pd.DataFrame) -> str:
        fields = self._fields(frame)
        texts = [_html_cell(text, is_sequence=_is_sequence([text])) for _, text in fields]
        index = pd.Index([html.escape(label) for label, _ in fields])
        return _html(pd.DataFrame({0: texts}, index=index), header=False)

    def _html_table(self, frame: pd.DataFrame) -> str:
        parts = self._parts(frame)
        most = pd.get_option("display.max_colwidth") or sys.maxsize
        drawn = []
        for part in parts:
            whole = part.label in self.whole
            cut = part if whole else part.clipped(most)
            label, cells = html.escape(part.label), cut.cells
            if part.kind == "text":
                label = _html_cell(label, escaped=True)
                is_sequence = _is_sequence(part.cells)
                cells = [
                    _html_cell(cell, is_sequence=is_sequence, on_one_line=not whole)
                    for cell in cells
                ]
            elif isinstance(cells, list):
                cells = [
                    f'<span style="{_ON_ONE_LINE}">{html.escape(cell)}</span>' for cell in cells
                ]
            drawn.append(part._replace(label=label, cells=cells))
        index = pd.Index([html.escape(str(label)) for label in frame.index])
        hidden = frame.shape[1] - len(parts)
        also = f", {wording.count(hidden, 'empty one')} not shown" if hidden else ""
        return f"{_html(_made(drawn, index))}<p>{_size(frame, '×', also)}</p>"


class _Part(NamedTuple):
    """A column as it is displayed.

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


def ordered(labels: Sequence[Any], first: Sequence[str], last: Sequence[str]) -> list[int]:
    """Return the positions of labels: the first ones, all others as they are, the last ones."""
    rank = {label: n - len(first) for n, label in enumerate(first)}
    rank |= {label: n + 1 for n, label in enumerate(last)}
    return sorted(range(len(labels)), key=lambda n: rank.get(str(labels[n]), 0))


ROWS = RowView(name="rows")
"""Rows of any kind, in the order in which their columns are."""


def _nothing(frame: pd.DataFrame) -> str:
    return f"[{_size(frame, 'x')}, all of them empty]"


def _has_value(column: pd.Series[Any]) -> bool:
    there = column.notna()
    if is_datetime64_any_dtype(column.dtype) or is_numeric_dtype(column.dtype):
        return bool(there.any())
    return any(map(is_there, column[there]))


def _part(label: str, column: pd.Series[Any], format: Callable[[Any], str]) -> _Part:
    is_number = is_numeric_dtype(column.dtype)
    if is_number and not column.hasnans:
        return _Part(label, column.array, "number")
    cells = [""] * len(column)
    for row in _seen(len(column)):
        cells[row] = format(column.iloc[row])
    is_time = is_datetime64_any_dtype(column.dtype)
    return _Part(label, cells, "number" if is_number else "time" if is_time else "text")


def _is_sequence(cells: Iterable[str]) -> bool:
    """Return True if all texts are sequences of residues, or the pairs of a folded one."""
    texts = [cell for cell in cells if cell]
    longest = max(map(len, texts), default=0)
    return longest >= _SHORTEST_SEQUENCE and all(
        _SEQUENCE.fullmatch(text[:_LONGEST_CHECKED]) for text in texts
    )


def _seen(count: int) -> Iterable[int]:
    """Return the rows of which pandas shows some."""
    most = pd.get_option("display.max_rows") or count
    return range(count) if count <= most else [*range(most), *range(count - most, count)]


def _made(parts: Sequence[_Part], index: pd.Index[Any]) -> pd.DataFrame:
    made = pd.DataFrame({n: part.cells for n, part in enumerate(parts)}, index=index)
    return made.set_axis([part.label for part in parts], axis=1)


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


def _size(frame: pd.DataFrame, by: str, also: str = "") -> str:
    """Return what the frame has in all, and in which zone its times are."""
    times = any(is_datetime64_any_dtype(dtype) for dtype in frame.dtypes)
    rows, columns = wording.count(len(frame), "row"), wording.count(frame.shape[1], "column")
    return f"{rows} {by} {columns}{also}{'; times in UTC' if times else ''}"


def _html_cell(
    text: str,
    *,
    escaped: bool = False,
    is_sequence: bool = False,
    on_one_line: bool | None = None,
) -> str:
    """Return a text as HTML, on one line, or wrapped after 32 characters or so in a table."""
    styles = [_LEFT, _MONOSPACED if is_sequence else ""]
    if on_one_line is not None:
        styles.append(_ON_ONE_LINE if on_one_line else _WRAPPED)
    if is_sequence and not on_one_line:
        styles.append("overflow-wrap:anywhere")
    content = text if escaped else html.escape(text)
    return f'<div style="{";".join(filter(None, styles))}">{content}</div>'


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
