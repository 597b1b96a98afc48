"""Display DataFrames of records in IPython as text and HTML."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

from labext import messages
from labext.sanitize import strip_control

VIEW_ATTRIBUTE = "labext"
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
        frame.attrs[VIEW_ATTRIBUTE] = {"view": self.name, "rows": len(frame)}
        _register_formatters()
        return frame

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns in the order in which they belong."""
        return list(range(len(labels)))

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if a derived frame still shows the view's subject."""
        raise NotImplementedError

    def text(self, frame: pd.DataFrame) -> str:
        """Return a frame as plain text."""
        raise NotImplementedError

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a frame as HTML; None leaves it to the text."""
        raise NotImplementedError


def frame_text(frame: pd.DataFrame) -> str:
    """Return a frame as IPython displays it in a terminal."""
    view = _view_of(frame)
    return view.text(frame) if view else repr(frame)


def frame_html(frame: pd.DataFrame) -> str | None:
    """Return a frame as IPython displays it in a notebook."""
    view = _view_of(frame)
    if view and pd.get_option("display.notebook_repr_html") and not _is_html_configured():
        return view.html(frame)
    return frame._repr_html_()  # type: ignore[operator, no-any-return]


def _view_of(frame: pd.DataFrame) -> View | None:
    mark = frame.attrs.get(VIEW_ATTRIBUTE)
    name = mark.get("view") if isinstance(mark, dict) else None
    view = View._known.get(name) if isinstance(name, str) else None
    return view if view and view.applies_to(frame) else None


def original_row_count(frame: pd.DataFrame) -> int:
    """Return how many rows the frame had before it was filtered."""
    mark = frame.attrs.get(VIEW_ATTRIBUTE)
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
    for mime, printer in (("text/html", frame_html), ("text/plain", _pretty)):
        formatter = formatters.get(mime)
        if formatter is None:
            continue
        try:
            formatter.lookup_by_type(pd.DataFrame)
        except KeyError:
            formatter.for_type(pd.DataFrame, printer)


def _pretty(frame: pd.DataFrame, printer: Any, _cycle: bool) -> None:
    with printer.group():
        for number, line in enumerate(frame_text(frame).splitlines()):
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


def facts_frame(values: Mapping[str, str], of: str) -> pd.DataFrame:
    """Return facts about one object as a frame with the column `value`, indexed by property."""
    index = pd.Index(list(values), name=of)
    return _FACTS.show(pd.DataFrame({"value": [*map(strip_control, values.values())]}, index=index))


def display_width() -> int:
    """Return the width of text output: the terminal's, or else the default of pandas."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return pd.get_option("display.width") or 80


def has_content(cell: Any) -> bool:
    """Return whether a cell has content to show."""
    if isinstance(cell, list | dict | tuple):
        return bool(cell)
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return False
    if isinstance(cell, str):
        return bool(cell.strip())
    return bool(cell == cell)


def cell_text(cell: Any) -> str:
    """Return a cell as one line of text; a missing one as none.

    Times are in UTC, to the second. Settings and scores read `residues: 20, atoms: 168`.
    """
    if not has_content(cell):
        return ""
    if isinstance(cell, pd.Timestamp):
        return str(cell.tz_convert("UTC") if cell.tzinfo else cell)[:19]
    if isinstance(cell, dict):
        return ", ".join(f"{cell_text(key)}: {_nested_text(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple):
        return ", ".join(map(_nested_text, cell))
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return strip_control(" ".join(str(cell).split()))


def truncate(text: str, most: int) -> str:
    """Return a text cut after `most` characters, at the least one."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def _nested_text(value: Any) -> str:
    """Return a nested value as text: a text or a number unchanged, others as JSON."""
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return cell_text(json.dumps(value, ensure_ascii=False, default=str))
    return cell_text(value)


_MAX_FIELD_LENGTH = 400  # … of settings in the list of one row's fields
_MIN_WIDTH = 16  # a text clipped to less says nothing
_COLUMN_GAP = 2  # blanks between two columns of text
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
        formats: by column, how a cell is written; others as by `labext.frames.views.cell_text`.
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
        return column_order(labels, self.first, self.last)

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
            return _empty_message(frame)
        return self._list(frame) if len(frame) == 1 else self._table(frame)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table, or the list of one row's fields."""
        if not len(frame):
            return f"<p>{html.escape(self._no_rows(frame))}</p>"
        if not self._has_values(frame):
            return f"<p>{_empty_message(frame)}</p>"
        return self._html_list(frame) if len(frame) == 1 else self._html_table(frame)

    def _no_rows(self, frame: pd.DataFrame) -> str:
        count = original_row_count(frame)
        return f"None of the {messages.pluralize(count, 'row')}." if count else self.empty

    def _has_values(self, frame: pd.DataFrame) -> bool:
        return bool(self._fields(frame) if len(frame) == 1 else self._parts(frame))

    def _parts(self, frame: pd.DataFrame) -> list[_DisplayColumn]:
        """Return the columns to display."""
        columns = (frame.iloc[:, n] for n in range(frame.shape[1]))
        return [
            _display_column(
                cell_text(column.name), column, self.formats.get(str(column.name), cell_text)
            )
            for column in columns
            if self.with_empty_columns or _has_value(column)
        ]

    def _table(self, frame: pd.DataFrame) -> str:
        """Return the columns that fit beside one another, and the names of those that don't."""
        room = display_width()
        labels = (str(frame.index[row]) for row in _visible_rows(len(frame)))
        left, fitting, others = room - max(map(len, labels)), list[_DisplayColumn](), list[str]()
        for column in self._parts(frame):
            part = column.clipped(room // _SHARE)
            needed = _column_width(part, frame.index)
            if (
                part.kind == "text"
                and needed > left >= max(_MIN_WIDTH, len(part.label)) + _COLUMN_GAP
            ):
                part, needed = part.clipped(left - _COLUMN_GAP), left
            if needed <= left or not fitting:
                left -= needed
                fitting.append(part)
            else:
                others.append(part.label)
        note = f"; not shown: {messages.join_words(others)}" if others else ""
        size = textwrap.fill(f"[{_frame_summary(frame, 'x')}{note}]", room)
        return f"{_frame_as_text(_joined_columns(fitting, frame.index))}\n\n{size}"

    def _fields(self, frame: pd.DataFrame) -> list[tuple[str, str]]:
        """Return the non-empty fields of one row, as labels and values."""
        fields = [
            (part.label, f"{text} UTC" if part.kind == "time" else text)
            for part in self._parts(frame)
            if (text := cell_text(part.cells[0]))
        ]
        return [
            (label, text if label in self.whole else truncate(text, _MAX_FIELD_LENGTH))
            for label, text in fields
        ]

    def _list(self, frame: pd.DataFrame) -> str:
        fields = self._fields(frame)
        indent = max(len(label) for label, _ in fields) + _COLUMN_GAP
        return "\n".join(
            textwrap.fill(
                text,
                max(display_width(), indent + _MIN_WIDTH),
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
        return _frame_as_html(pd.DataFrame({0: texts}, index=index), header=False)

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
        note = f", {messages.pluralize(hidden, 'empty one')} not shown" if hidden else ""
        table = _frame_as_html(_joined_columns(drawn, index))
        return f"{table}<p>{_frame_summary(frame, '×', note)}</p>"


class _DisplayColumn(NamedTuple):
    """A column as it is displayed.

    Attributes:
        label: its name.
        cells: its values; as texts, except for a column of numbers without gaps. In a long frame,
            the cells of rows that pandas leaves out are empty.
        kind: the kind of its cells; only text can be clipped.
    """

    label: str
    cells: Any
    kind: Literal["text", "number", "time"]

    def clipped(self, most: int) -> _DisplayColumn:
        """Return it with no text longer than `most`, unless it can't be clipped."""
        if self.kind != "text":
            return self
        return self._replace(cells=[truncate(cell, most) for cell in self.cells])


def column_order(labels: Sequence[Any], first: Sequence[str], last: Sequence[str]) -> list[int]:
    """Return the positions of labels: the first ones, all others as they are, the last ones."""
    rank = {label: n - len(first) for n, label in enumerate(first)}
    rank |= {label: n + 1 for n, label in enumerate(last)}
    return sorted(range(len(labels)), key=lambda n: rank.get(str(labels[n]), 0))


ROWS = RowView(name="rows")
"""Rows of any kind, in the order in which their columns are."""


def _empty_message(frame: pd.DataFrame) -> str:
    return f"[{_frame_summary(frame, 'x')}, all of them empty]"


def _has_value(column: pd.Series[Any]) -> bool:
    present = column.notna()
    if is_datetime64_any_dtype(column.dtype) or is_numeric_dtype(column.dtype):
        return bool(present.any())
    return any(map(has_content, column[present]))


def _display_column(
    label: str, column: pd.Series[Any], format: Callable[[Any], str]
) -> _DisplayColumn:
    is_number = is_numeric_dtype(column.dtype)
    if is_number and not column.hasnans:
        return _DisplayColumn(label, column.array, "number")
    cells = [""] * len(column)
    for row in _visible_rows(len(column)):
        cells[row] = format(column.iloc[row])
    is_time = is_datetime64_any_dtype(column.dtype)
    return _DisplayColumn(label, cells, "number" if is_number else "time" if is_time else "text")


def _is_sequence(cells: Iterable[str]) -> bool:
    """Return True if all texts are sequences of residues, or the pairs of a folded one."""
    texts = [cell for cell in cells if cell]
    longest = max(map(len, texts), default=0)
    return longest >= _SHORTEST_SEQUENCE and all(
        _SEQUENCE.fullmatch(text[:_LONGEST_CHECKED]) for text in texts
    )


def _visible_rows(count: int) -> Iterable[int]:
    """Return the rows of which pandas shows some."""
    most = pd.get_option("display.max_rows") or count
    return range(count) if count <= most else [*range(most), *range(count - most, count)]


def _joined_columns(parts: Sequence[_DisplayColumn], index: pd.Index[Any]) -> pd.DataFrame:
    joined = pd.DataFrame({n: part.cells for n, part in enumerate(parts)}, index=index)
    return joined.set_axis([part.label for part in parts], axis=1)


def _column_width(part: _DisplayColumn, index: pd.Index[Any]) -> int:
    """Return a column's width in characters, including the gap to the next column."""
    lines = _frame_as_text(_joined_columns([part], index), index=False).splitlines()
    return max(map(len, lines)) + _COLUMN_GAP


def _frame_as_text(frame: pd.DataFrame, *, index: bool = True) -> str:
    return frame.to_string(
        index=index,
        max_rows=pd.get_option("display.max_rows"),
        min_rows=pd.get_option("display.min_rows"),
        show_dimensions=False,
    )


def _frame_summary(frame: pd.DataFrame, by: str, note: str = "") -> str:
    """Return a summary of the frame: number of rows, and the time zone of its times."""
    times = any(is_datetime64_any_dtype(dtype) for dtype in frame.dtypes)
    rows, columns = (
        messages.pluralize(len(frame), "row"),
        messages.pluralize(frame.shape[1], "column"),
    )
    return f"{rows} {by} {columns}{note}{'; times in UTC' if times else ''}"


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


def _frame_as_html(frame: pd.DataFrame, *, header: bool = True) -> str:
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
