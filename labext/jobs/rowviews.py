"""How rows of jobs, batches and pipelines are shown: which of their fields tell most."""

from __future__ import annotations

from collections.abc import Sequence

from labext.jobs.rows import REASONS
from labext.rowviews import Rows

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


class JobRows(Rows):
    """A DataFrame with a row a job, batch or pipeline."""

    _none = "There are no jobs."
    _always = ("Name", "JobName", "Type", "JobStatus")
    _whole = REASONS

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        if "Name" in self.columns:  # its JobName is that of the batch with it
            return ("Name", *_FIRST[1:]), (*_LAST, "JobName")
        return _FIRST, _LAST


class Unfinished(JobRows):
    """A DataFrame with a row for each batch that was begun from this machine and is not whole."""

    _none = "No batch that was sent from this machine is unfinished."
