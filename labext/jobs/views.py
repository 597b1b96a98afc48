"""IPython display of frames of jobs, tools and parameters."""

from __future__ import annotations

import html
import textwrap
from typing import Any

import pandas as pd

from labext.frames.views import (
    RowView,
    cell_text,
    column_order,
    display_width,
    has_content,
    truncate,
)
from labext.jobs.records import REASON_FIELDS

_SENTENCES = (*REASON_FIELDS, "QueueReason")
_FIRST = ("JobName", "Type", "JobStatus", "batchStatus", *_SENTENCES, "Stage", "statuses")
_LAST = (
    "Created",
    "Started",
    "Completed",
    "WeightedHours",
    "Settings",
    "Structures",
    "Folder",
    "Part",
)
_KNOWN = {*_FIRST, *_LAST}

_MAX_LINE_LENGTH = 300
_CLASSES = "labext tex2jax_ignore mathjax_ignore"
_LINE_STYLE = "text-align:left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"


class JobView(RowView):
    """View of a frame with one row per job, batch or pipeline."""

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns, with `Name` first in frames of a batch's jobs."""
        if "Name" not in labels:
            return super().order(labels)
        # `frames.concat_input_rows` inserts original names as the third column; show them second.
        original = [label for label in labels[2:3] if label not in _KNOWN]
        return column_order(labels, ("Name", *original, *self.first[1:]), (*self.last, "JobName"))


class SubmittedView(JobView):
    """View of the row of a new submission in one line.

    The line has the name, the tool, the state, the stage and one of: the reason for a failure, the
    score, the settings.
    """

    def text(self, frame: pd.DataFrame) -> str:
        """Return the line, truncated to the width of the terminal."""
        return (
            truncate(_submitted_line(frame), display_width())
            if len(frame) == 1
            else super().text(frame)
        )

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return the line."""
        if len(frame) != 1:
            return super().html(frame)
        line = html.escape(_submitted_line(frame))
        return f'<div class="{_CLASSES}" style="{_LINE_STYLE}">{line}</div>'


def _submitted_line(frame: pd.DataFrame) -> str:
    state = _first_value(frame, "batchStatus", "JobStatus")
    details = _first_value(frame, *REASON_FIELDS, "Score", "Settings")
    name, kind, stage = (_first_value(frame, column) for column in ("JobName", "Type", "Stage"))
    return truncate(" · ".join(filter(None, (name, kind, state, stage, details))), _MAX_LINE_LENGTH)


def _first_value(frame: pd.DataFrame, *columns: str) -> str:
    """Return the first non-empty cell as text."""
    cells = (cell_text(frame[name].iloc[0]) for name in columns if name in frame.columns)
    return next(filter(None, cells), "")


JOBS = JobView(name="jobs", empty="There are no jobs.", first=_FIRST, last=_LAST, whole=_SENTENCES)
MATCHING_JOBS = JobView(
    name="matching jobs", empty="No job matches.", first=_FIRST, last=_LAST, whole=_SENTENCES
)
SUBMITTED = SubmittedView(name="submitted job", first=_FIRST, last=_LAST, whole=_SENTENCES)
WORKERS = RowView(
    name="workers", empty="No worker is connected.", first=("name", "state"), last=("address",)
)
UNFINISHED = RowView(
    name="unfinished batches",
    empty="No unfinished batches were sent from this machine.",
)
REFUSED = RowView(
    name="rejected jobs", empty="No rows were rejected.", first=("Name", "Error"), whole=("Error",)
)


_PARAGRAPH_WIDTH = 88


class ToolView(RowView):
    """View of a frame with the columns `name` and `description`."""

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return whether the frame has a column `name`."""
        return "name" in frame.columns and super().applies_to(frame)

    def text(self, frame: pd.DataFrame) -> str:
        """Return one paragraph per row."""
        if not len(frame):
            return super().text(frame)
        return "\n".join(_format_paragraph(dict(row)) for row in frame.to_dict("records"))

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table with all non-empty columns, also for a single row."""
        if not len(frame):
            return super().html(frame)
        with pd.option_context("display.max_columns", None):
            return self._html_table(frame)


_WHOLE = ("name", "description", "required", "optional", "default", "options")

TOOLS = ToolView(name="tools", empty="No tools match.", whole=_WHOLE)
PARAMETERS = ToolView(name="parameters", empty="The tool has no settings.", whole=_WHOLE)


def _format_paragraph(row: dict[Any, Any]) -> str:
    """Return a row as a paragraph: name, short fields, description."""
    name, description = str(row.pop("name")), row.pop("description", None)
    fields = [part for key, value in row.items() if (part := _format_field(str(key), value))]
    texts = ["; ".join(fields), str(description) if has_content(description) else ""]
    lines = [
        textwrap.fill(text, _PARAGRAPH_WIDTH, initial_indent="    ", subsequent_indent="    ")
        for text in texts
        if text
    ]
    return "\n".join([name, *lines])


def _format_field(key: str, value: Any) -> str:
    if key == "required" and isinstance(value, bool):
        return "required" if value else ""
    if not has_content(value):
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{key} {text}"
