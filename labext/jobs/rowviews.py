"""Views of jobs, batches and pipelines."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd

from labext.jobs.rows import REASONS
from labext.rowviews import RowView, ordered
from labext.views import clipped, width, words

_FIRST = ("JobName", "Type", "JobStatus", "batchStatus", *REASONS, "Stage", "statuses")
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

_LONGEST_LINE = 300
_CLASSES = "labext tex2jax_ignore mathjax_ignore"
_LINE = "text-align:left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"


class JobView(RowView):
    """Frames with a row for each job, batch or pipeline."""

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns; a job of a batch is known by its own `Name`."""
        if "Name" not in labels:
            return super().order(labels)
        # `joining.beside` puts original names behind the two names; they stay beside the first.
        original = [label for label in labels[2:3] if label not in _KNOWN]
        return ordered(labels, ("Name", *original, *self.first[1:]), (*self.last, "JobName"))


class SubmittedView(JobView):
    """A frame with the row of what was just submitted, displayed in one line.

    The line has the name, the tool, the state and what tells most of it: why it was stopped, its
    score, or its settings.
    """

    def text(self, frame: pd.DataFrame) -> str:
        """Return the line, cut to the width of the terminal."""
        return clipped(_line(frame), width()) if len(frame) == 1 else super().text(frame)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return the line."""
        if len(frame) != 1:
            return super().html(frame)
        return f'<div class="{_CLASSES}" style="{_LINE}">{html.escape(_line(frame))}</div>'


def _line(frame: pd.DataFrame) -> str:
    state = _first(frame, "batchStatus", "JobStatus")
    details = _first(frame, *REASONS, "Score", "Settings")
    name, kind, stage = (_first(frame, column) for column in ("JobName", "Type", "Stage"))
    return clipped(" · ".join(filter(None, (name, kind, state, stage, details))), _LONGEST_LINE)


def _first(frame: pd.DataFrame, *columns: str) -> str:
    """Return the first of these cells that holds anything, as text."""
    cells = (words(frame[name].iloc[0]) for name in columns if name in frame.columns)
    return next(filter(None, cells), "")


JOBS = JobView(name="jobs", empty="There are no jobs.", first=_FIRST, last=_LAST, whole=REASONS)
MATCHING_JOBS = JobView(
    name="matching jobs", empty="No job matches.", first=_FIRST, last=_LAST, whole=REASONS
)
SUBMITTED = SubmittedView(name="submitted job", first=_FIRST, last=_LAST, whole=REASONS)
UNFINISHED = RowView(
    name="unfinished batches",
    empty="No batch that was sent from this machine is unfinished.",
)
REFUSED = RowView(
    name="refused jobs", empty="No row was refused.", first=("Name", "Error"), whole=("Error",)
)
