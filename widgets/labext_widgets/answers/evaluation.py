"""Summary of an evaluation of answers, as a table by kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext_widgets.core.display import display_html
from labext_widgets.core.markup import GOOD, TRACK, color, escape, percentage, plain, view_html

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {
    "right": "right",
    "cited_right": "rightly cited",
    "refused_right": "rightly refused",
    "reciprocal_rank": "mean reciprocal rank",
    "seconds": "seconds",
    "tokens": "tokens",
}
_CELL = "padding:3px 10px;text-align:left;white-space:nowrap"
_BAR = "display:inline-block;vertical-align:middle;width:90px;height:8px;margin-right:8px"


def show_summary(summary: pd.DataFrame) -> None:
    """Display the summary of an evaluation; without rows nothing is shown.

    Args:
        summary: the result of `labext.nb.evaluation.summary_frame`.
    """
    if len(summary):
        display_html(summary_html(summary), summary_text(summary))


def summary_html(summary: pd.DataFrame) -> str:
    """Return the summary as an HTML table with a bar for the share of correct answers."""
    columns = _used_columns(summary)
    names = ["kind", "questions", *(_COLUMNS[column] for column in columns)]
    header = "".join(
        f'<th scope="col" style="{_CELL};font-weight:600">{escape(name)}</th>' for name in names
    )
    rows = []
    for row in summary.to_dict("records"):
        cells = [escape(row["kind"]), str(row["questions"])]
        for column in columns:
            text = _format(column, row[column])
            cells.append(_bar(row[column]) + text if column == "right" and text else text)
        is_total = row["kind"] == "all" and len(summary) > 1
        style = f"{_CELL};font-weight:600" if is_total else _CELL
        rows.append("".join(f'<td style="{style}">{cell}</td>' for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = (
        f'<table style="border-collapse:collapse;font-size:13px"><thead><tr>{header}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return view_html(table)


def summary_text(summary: pd.DataFrame) -> str:
    """Return the summary as aligned text."""
    columns = _used_columns(summary)
    lines = [["kind", "questions", *(_COLUMNS[column] for column in columns)]]
    for row in summary.to_dict("records"):
        cells = (_format(column, row[column]) for column in columns)
        lines.append([plain(row["kind"]), str(row["questions"]), *cells])
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    aligned = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def _used_columns(summary: pd.DataFrame) -> list[str]:
    return [column for column in _COLUMNS if summary[column].notna().any()]


def _format(column: str, value: Any) -> str:
    if value is None or value != value:
        return ""
    try:
        number = float(value)
    except TypeError:  # pandas.NA
        return ""
    if column == "tokens":
        return f"{number:,.0f}"
    return f"{number:.2f}" if column in ("reciprocal_rank", "seconds") else percentage(number)


def _bar(share: Any) -> str:
    percent = 100 * min(max(float(share), 0), 1)
    filled = f"display:block;height:8px;width:{percent:.0f}%;{color('background-color', *GOOD)}"
    return f'<span style="{_BAR};{TRACK}"><span style="{filled}"></span></span>'
