"""The table of a batch's jobs to plot: settings, scores, run times and input columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

RUN_TIME = "RunTime"


def job_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a list of jobs with a column for each setting, and the run time in seconds.

    Args:
        jobs: as `JobsClient.jobs(batch=…, scores=True)` returns it.
    """
    import pandas as pd

    from labext.frames.conversion import spread_column

    table = spread_column(jobs, "Settings", "setting") if "Settings" in jobs else jobs.copy()
    if {"Started", "Completed"} <= set(table.columns):
        started, completed = (
            pd.to_datetime(table[column], utc=True) for column in ("Started", "Completed")
        )
        table[RUN_TIME] = (completed - started).dt.total_seconds()
    table.attrs = {}
    return table


def job_names(table: pd.DataFrame) -> list[str]:
    """Return the names of the jobs in a table, without that of their batch."""
    column = "Name" if "Name" in table else "JobName"
    return [] if column not in table else ["" if n != n else str(n) for n in table[column]]


def tools_of(table: pd.DataFrame) -> set[str]:
    """Return the tools of the jobs in a table."""
    return set(table["Type"].dropna().astype(str)) if "Type" in table else set()
