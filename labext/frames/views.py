"""Display DataFrames of records in IPython as text and HTML."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import pandas as pd
from pandas.api.types import (
    is_datetime64_any_dtype,
    is_datetime64_dtype,
    is_integer_dtype,
    is_list_like,
    is_numeric_dtype,
)

from labext import messages
from labext.sanitize import strip_control

VIEW_ATTRIBUTE = "labext"
"""The key in `frame.attrs` for the name of the view and the original number of rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """The display of DataFrames of one kind.

    Attributes:
        name: identifies the view in `frame.attrs`.
    """

    name: str
    _known: ClassVar[dict[str, View]] = {}

    def __post_init__(self) -> None:
        self._known[self.name] = self

    def show(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with its columns in the view's order, and mark it for this view."""
        labels = list(frame.columns)
        order = self.order(labels)
        if order != list(range(len(labels))):
            frame = frame.iloc[:, order]
        frame.attrs[VIEW_ATTRIBUTE] = {"view": self.name, "rows": len(frame)}
        _register_formatters()
        return frame

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns in display order."""
        return list(range(len(labels)))

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if a frame derived from a marked one can be displayed by this view."""
        raise NotImplementedError

    def text(self, frame: pd.DataFrame) -> str:
        """Return a frame as plain text."""
        raise NotImplementedError

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a frame as HTML; None to display plain text."""
        raise NotImplementedError


def frame_text(frame: pd.DataFrame) -> str:
    """Return the text that IPython displays for a frame in a terminal."""
    view = _view_of(frame)
    return view.text(frame) if view else repr(frame)


def frame_html(frame: pd.DataFrame) -> str | None:
    """Return the HTML that IPython displays for a frame in a notebook.

    In labext's own frames, a `$` in a name or a text is a dollar, not a formula of MathJax.
    """
    view = _view_of(frame)
    if view and pd.get_option("display.notebook_repr_html") and not _is_html_configured():
        with pd.option_context("display.html.use_mathjax", False):
            return view.html(frame)
    return frame._repr_html_()  # type: ignore[operator, no-any-return]


def _view_of(frame: pd.DataFrame) -> View | None:
    attributes = frame.attrs.get(VIEW_ATTRIBUTE)
    name = attributes.get("view") if isinstance(attributes, dict) else None
    view = View._known.get(name) if isinstance(name, str) else None
    return view if view and view.applies_to(frame) else None


def original_row_count(frame: pd.DataFrame) -> int:
    """Return the number of rows before the frame was filtered."""
    attributes = frame.attrs.get(VIEW_ATTRIBUTE)
    rows = attributes.get("rows") if isinstance(attributes, dict) else None
    return len(frame) if rows is None else int(rows)


def _is_html_configured() -> bool:
    """Return True if another package has replaced the HTML display of DataFrames."""
    method = vars(pd.DataFrame).get("_repr_html_")
    return not str(getattr(method, "__module__", "")).startswith("pandas.")


def _register_formatters() -> None:
    """Register formatters with a running IPython unless DataFrames already have formatters."""
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


class _PropertiesView(View):
    """Properties of one object, one per row, never truncated."""

    def applies_to(self, frame: pd.DataFrame) -> bool:
        return list(frame.columns) == ["value"] and len(frame) > 0

    def text(self, frame: pd.DataFrame) -> str:
        return _fields_as_text(self._fields(frame))

    def html(self, frame: pd.DataFrame) -> str | None:
        return _fields_as_html(self._fields(frame))

    def _fields(self, frame: pd.DataFrame) -> list[tuple[str, str]]:
        return [(str(label), cell_text(value)) for label, value in frame["value"].items()]


_PROPERTIES = _PropertiesView(name="properties")


def properties_frame(values: Mapping[str, str], title: str) -> pd.DataFrame:
    """Return a DataFrame with the column `value`, indexed by property; the index has the title."""
    index = pd.Index(list(values), name=title)
    frame = pd.DataFrame({"value": [*map(strip_control, values.values())]}, index=index)
    return _PROPERTIES.show(frame)


def display_width() -> int:
    """Return the width of text output in characters: the terminal's, or the default of pandas."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return pd.get_option("display.width") or 80


def has_content(cell: Any) -> bool:
    """Return False if a cell is missing, blank or an empty collection."""
    if isinstance(cell, Sized) and is_list_like(cell):  # also an array or a Series
        return len(cell) > 0
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return False
    if isinstance(cell, str):
        return bool(cell.strip())
    return bool(cell == cell)


def cell_text(cell: Any) -> str:
    """Format a cell as one line of text; a missing cell is an empty string.

    Times are in UTC, to the second. Dictionaries are formatted as `residues: 20, atoms: 168`.
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
        return f"{cell + 0:.0f}" if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.6g}"
    return strip_control(" ".join(str(cell).split()))


def _nested_text(value: Any) -> str:
    """Format a nested value: texts and numbers as `cell_text`, other values as JSON."""
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return cell_text(json.dumps(value, ensure_ascii=False, default=str))
    return cell_text(value)


_MAX_FIELD_LENGTH = 400  # characters of a field when a single row is displayed
_MIN_WIDTH = 16  # characters; shorter texts are not readable
_COLUMN_GAP = 2  # spaces between two columns of text
_MAX_PARAGRAPHS = 5  # texts of a column below a table
_MAX_SHARE = 3  # a text column takes at most 1/3 of a terminal line

_SEQUENCE = re.compile(r"[ACGTUNRYSWKMBDHV.*-]+|[acgtunryswkmbdhv.*-]+|[A-Z*.-]+|[().\[\]{}<>-]+")
_MIN_SEQUENCE_LENGTH = 10  # characters; shorter texts may be abbreviations
_MAX_CHECKED_LENGTH = 1000  # characters, since a genome has millions

_LEFT = "text-align:left"
_MONOSPACED = "font-family:var(--jp-code-font-family, monospace)"
_WRAPPED = "width:max-content;max-width:32em"  # browsers make columns of prose too narrow
_ON_ONE_LINE = "white-space:nowrap"


@dataclass(frozen=True, kw_only=True, eq=False)
class RowView(View):
    """The display of DataFrames with one row per record.

    Attributes:
        empty: the message for a DataFrame without rows.
        first: the leading columns.
        last: the trailing columns.
        whole: the columns whose texts are shown in full; in plain text below the table.
        formats: formatting functions per column; the default is `cell_text`.
        with_empty_columns: True to display columns without values too.
    """

    empty: str = "No rows."
    first: Sequence[str] = ()
    last: Sequence[str] = ()
    whole: Collection[str] = ()
    formats: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    with_empty_columns: bool = False

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the leading, the other and the trailing columns."""
        return column_order(labels, self.first, self.last)

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if each row is a record; False for summaries, groups and pivot tables."""
        index = frame.index
        is_numbered = isinstance(index, pd.RangeIndex) or is_integer_dtype(index.dtype)
        return is_numbered and index.name is None and frame.columns.nlevels == 1

    def text(self, frame: pd.DataFrame) -> str:
        """Return a table that fits the terminal, or the fields of a single row as a list."""
        if not len(frame):
            return self._no_rows(frame)
        if not self._has_values(frame):
            return _empty_message(frame)
        return _fields_as_text(self._fields(frame)) if len(frame) == 1 else self._table(frame)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table, or the fields of a single row as a list."""
        if not len(frame):
            return f"<p>{html.escape(self._no_rows(frame))}</p>"
        if not self._has_values(frame):
            return f"<p>{_empty_message(frame)}</p>"
        return _fields_as_html(self._fields(frame)) if len(frame) == 1 else self._html_table(frame)

    def _no_rows(self, frame: pd.DataFrame) -> str:
        count = original_row_count(frame)
        return f"None of the {messages.pluralize(count, 'row')} matches." if count else self.empty

    def _has_values(self, frame: pd.DataFrame) -> bool:
        return bool(self._fields(frame) if len(frame) == 1 else self._display_columns(frame))

    def _display_columns(self, frame: pd.DataFrame) -> list[_DisplayColumn]:
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
        """Return the columns that fit the terminal, and the names of the omitted columns."""
        width = display_width()
        labels = (str(frame.index[row]) for row in _visible_rows(len(frame)))
        remaining = width - max(map(len, labels))
        fitting, omitted = list[_DisplayColumn](), list[str]()
        paragraphs = list[str]()
        for full_column in self._display_columns(frame):
            column = full_column.truncated(width // _MAX_SHARE)
            required = _column_width(column, frame.index)
            if (
                column.kind == "text"
                and required > remaining >= max(_MIN_WIDTH, len(column.label)) + _COLUMN_GAP
            ):
                column, required = column.truncated(remaining - _COLUMN_GAP), remaining
            if required <= remaining or not fitting:
                remaining -= required
                fitting.append(column)
            else:
                omitted.append(column.label)
                column = column.truncated(0)
            if full_column.label in self.whole:
                paragraphs += _truncated_texts(full_column, column, frame.index)
        note = f"; not shown: {messages.join_words(omitted)}" if omitted else ""
        paragraphs.append(f"[{_frame_summary(frame, 'x')}{note}]")
        table = _frame_as_text(_joined_columns(fitting, frame.index))
        return "\n\n".join([table, *(textwrap.fill(text, width) for text in paragraphs)])

    def _fields(self, frame: pd.DataFrame) -> list[tuple[str, str]]:
        """Return the labels and values of the non-empty fields of a single row."""
        fields = [
            (column.label, f"{text} UTC" if column.kind == "UTC" else text)
            for column in self._display_columns(frame)
            if (text := cell_text(column.cells[0]))
        ]
        return [
            (label, text if label in self.whole else messages.truncate(text, _MAX_FIELD_LENGTH))
            for label, text in fields
        ]

    def _html_table(self, frame: pd.DataFrame) -> str:
        columns = self._display_columns(frame)
        max_length = pd.get_option("display.max_colwidth") or sys.maxsize
        rendered = []
        for column in columns:
            whole = column.label in self.whole
            label = html.escape(column.label)
            cells = column.cells if whole else column.truncated(max_length).cells
            if column.kind == "text":
                label = _html_cell(label, escaped=True)
                is_sequence = _is_sequence(column.cells)
                cells = [
                    _html_cell(cell, is_sequence=is_sequence, on_one_line=not whole)
                    for cell in cells
                ]
            elif isinstance(cells, list):
                cells = [
                    f'<span style="{_ON_ONE_LINE}">{html.escape(cell)}</span>' for cell in cells
                ]
            rendered.append(column._replace(label=label, cells=cells))
        index = pd.Index([html.escape(str(label)) for label in frame.index])
        hidden = frame.shape[1] - len(columns)
        note = f", {messages.pluralize(hidden, 'empty one')} not shown" if hidden else ""
        table = _frame_as_html(_joined_columns(rendered, index))
        return f"{_scrollable(table)}<p>{_frame_summary(frame, '×', note)}</p>"


class _DisplayColumn(NamedTuple):
    """A column prepared for display.

    Attributes:
        label: the column's name.
        cells: numbers if the column is numeric without missing values, else texts. In a long frame,
            the cells of rows that pandas omits are empty.
        kind: the kind of the cells: `time` without a time zone, `UTC` with one. Only texts can be
            truncated.
    """

    label: str
    cells: Any
    kind: Literal["text", "number", "time", "UTC"]

    def truncated(self, max_length: int) -> _DisplayColumn:
        """Return the column with texts truncated to `max_length` characters."""
        if self.kind != "text":
            return self
        return self._replace(cells=[messages.truncate(cell, max_length) for cell in self.cells])


def column_order(labels: Sequence[Any], first: Sequence[str], last: Sequence[str]) -> list[int]:
    """Return the positions of labels: leading ones, others in their order, trailing ones."""
    rank = {label: n - len(first) for n, label in enumerate(first)}
    rank |= {label: n + 1 for n, label in enumerate(last)}
    return sorted(range(len(labels)), key=lambda n: rank.get(str(labels[n]), 0))


ROWS = RowView(name="rows")
"""The view of records of any kind, with the columns in their original order."""


def _empty_message(frame: pd.DataFrame) -> str:
    return f"[{_frame_summary(frame, 'x')}, all empty]"


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
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return _DisplayColumn(label, cells, "UTC")
    is_time = is_datetime64_any_dtype(column.dtype)
    return _DisplayColumn(label, cells, "number" if is_number else "time" if is_time else "text")


def _is_sequence(cells: Iterable[str]) -> bool:
    """Return True if all texts are sequences of residues or dot-bracket structures."""
    texts = [cell for cell in cells if cell]
    max_length = max(map(len, texts), default=0)
    return max_length >= _MIN_SEQUENCE_LENGTH and all(
        _SEQUENCE.fullmatch(text[:_MAX_CHECKED_LENGTH]) for text in texts
    )


def _visible_rows(count: int) -> Iterable[int]:
    """Return the positions of the rows that pandas may display in a long frame."""
    limit = pd.get_option("display.max_rows") or count
    return range(count) if count <= limit else [*range(limit), *range(count - limit, count)]


def _truncated_texts(
    column: _DisplayColumn, displayed: _DisplayColumn, index: pd.Index[Any]
) -> Iterator[str]:
    """Yield the first truncated texts of a column, each with the rows that have it."""
    rows = defaultdict[str, list[str]](list)
    for label, text, cell in zip(index, column.cells, displayed.cells, strict=True):
        if text != cell:
            rows[text].append(str(label))
    for text, labels in itertools.islice(rows.items(), _MAX_PARAGRAPHS):
        noun = "row" if len(labels) == 1 else "rows"
        yield f"{column.label} of {noun} {messages.join_words(labels)}: {text}"


def _joined_columns(columns: Sequence[_DisplayColumn], index: pd.Index[Any]) -> pd.DataFrame:
    frame = pd.DataFrame({n: column.cells for n, column in enumerate(columns)}, index=index)
    return frame.set_axis([column.label for column in columns], axis=1)


def _column_width(column: _DisplayColumn, index: pd.Index[Any]) -> int:
    """Return a column's width in characters, including the gap to the next column."""
    lines = _frame_as_text(_joined_columns([column], index), index=False).splitlines()
    return max(map(len, lines)) + _COLUMN_GAP


def _frame_as_text(frame: pd.DataFrame, *, index: bool = True) -> str:
    return frame.to_string(
        index=index,
        max_rows=pd.get_option("display.max_rows"),
        min_rows=pd.get_option("display.min_rows"),
        show_dimensions=False,
    )


def _frame_summary(frame: pd.DataFrame, by: str, note: str = "") -> str:
    """Return the number of rows and columns, and which columns have times in UTC."""
    zone = ""
    if any(isinstance(dtype, pd.DatetimeTZDtype) for dtype in frame.dtypes):
        # Times of the user's own may lack a time zone.
        others = [
            cell_text(label) for label, dtype in frame.dtypes.items() if is_datetime64_dtype(dtype)
        ]
        zone = "; times in UTC"
        if others:
            zone += f", except {messages.join_words(others)}"
    rows, columns = (
        messages.pluralize(len(frame), "row"),
        messages.pluralize(frame.shape[1], "column"),
    )
    return f"{rows} {by} {columns}{note}{zone}"


def _html_cell(
    text: str, *, escaped: bool = False, is_sequence: bool = False, on_one_line: bool | None = None
) -> str:
    """Return an HTML block for a cell's text.

    Args:
        text: the text of the cell.
        escaped: True if the text is already HTML.
        is_sequence: True for a monospaced font.
        on_one_line: True to prevent wrapping, False to wrap at 32 em; None for no rule.
    """
    styles = [_LEFT, _MONOSPACED if is_sequence else ""]
    if on_one_line is not None:
        styles.append(_ON_ONE_LINE if on_one_line else _WRAPPED)
    if not (escaped or on_one_line):
        styles.append("overflow-wrap:anywhere")
    content = text if escaped else html.escape(text)
    return f'<div style="{";".join(filter(None, styles))}">{content}</div>'


def _scrollable(table: str) -> str:
    """Return a table that can be scrolled by keyboard where it is too wide."""
    attributes = 'style="overflow-x:auto" tabindex="0" role="region" aria-label="Table"'
    return f"<div {attributes}>{table}</div>"


def _fields_as_text(fields: Sequence[tuple[str, str]]) -> str:
    """Return labels and values as lines, wrapped to the width of the terminal."""
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


def _fields_as_html(fields: Sequence[tuple[str, str]]) -> str:
    """Return labels and values as rows of a table without a header."""
    texts = [_html_cell(text, is_sequence=_is_sequence([text])) for _, text in fields]
    index = pd.Index([html.escape(label) for label, _ in fields])
    return _frame_as_html(pd.DataFrame({0: texts}, index=index), header=False)


def _frame_as_html(frame: pd.DataFrame, *, header: bool = True) -> str:
    """Return pandas' notebook HTML for a frame whose texts are already HTML."""
    max_rows, min_rows = pd.get_option("display.max_rows"), pd.get_option("display.min_rows")
    with pd.option_context("display.max_colwidth", None):
        return frame.to_html(
            header=header,
            escape=False,
            notebook=True,
            max_rows=(min_rows or max_rows) if max_rows and len(frame) > max_rows else max_rows,
            max_cols=pd.get_option("display.max_columns"),
            show_dimensions=False,
        )
