"""Show rows of jobs, batches and pipelines: which of their fields come first."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pandas as pd

from labext.jobs.rows import REASONS
from labext.rowviews import Rows
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

_LONGEST_LINE = 300
_CLASSES = "labext tex2jax_ignore mathjax_ignore"
_LINE = "text-align:left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"


class JobRows(Rows):
    """A DataFrame with a row a job, batch or pipeline."""

    _none = "There are no jobs."
    _always = ("Name", "JobName", "Type", "JobStatus")
    _whole = REASONS

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        if "Name" in self.columns:  # its JobName is that of the batch with it
            return ("Name", *_FIRST[1:]), (*_LAST, "JobName")
        return _FIRST, _LAST


class MatchingRows(JobRows):
    """A DataFrame with the rows of a list that match a filter."""

    _none = "No job matches."


class SubmittedRow(JobRows):
    """A DataFrame with the row of what was just submitted, shown in one line.

    The line has the name, the tool, the state and what tells most of it: why it was stopped, its
    score, or its settings.
    """

    def __repr__(self) -> str:
        return clipped(self._line(), width()) if len(self) == 1 else super().__repr__()

    def _repr_html_(self) -> str | None:
        if len(self) != 1 or not pd.get_option("display.notebook_repr_html"):
            return super()._repr_html_()
        return f'<div class="{_CLASSES}" style="{_LINE}">{html.escape(self._line())}</div>'

    def _line(self) -> str:
        state = self._first("batchStatus", "JobStatus")
        details = self._first(*REASONS, "Score", "Settings")
        parts = (self._first("JobName"), self._first("Type"), state, self._first("Stage"), details)
        return clipped(" · ".join(filter(None, parts)), _LONGEST_LINE)

    def _first(self, *columns: str) -> str:
        """Return the first of these cells that holds anything, as text."""
        cells = (words(self[name].iloc[0]) for name in columns if name in self.columns)
        return next(filter(None, cells), "")


class Unfinished(JobRows):
    """A DataFrame with a row for each batch that was begun from this machine and is not whole."""

    _none = "No batch that was sent from this machine is unfinished."


class RefusedRows(Rows):
    """A DataFrame with a row for each job of a batch that was, or would be, refused."""

    _none = "No row was refused."
    _always = ("Name", "Error")
    _whole = ("Error",)

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("Name", "Error"), ()
