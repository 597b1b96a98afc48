"""Job frames beside the rows that the jobs came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SUFFIX = ".input"
"""Added to an input column whose name the job frame has too."""

_BEHIND = 2  # Name and JobName, which every frame of a batch's jobs begins with


def original_names(rows: pd.DataFrame, name_column: str) -> list[str]:
    """Return the names in a column of the input's rows, as they are there.

    Raises:
        InputError: `rows` has no such column, or a name twice.
    """
    columns = [str(column) for column in rows.columns]
    if name_column not in columns:
        raise InputError(
            f'The rows have no column "{name_column}"{wording.did_you_mean(name_column, columns)}.',
            "Name the column that holds the jobs' names.",
        )
    named = [str(name) for name in rows.iloc[:, columns.index(name_column)]]
    if len(set(named)) < len(named):
        twice = next(name for n, name in enumerate(named) if name in named[:n])
        raise InputError(
            f'The rows hold the name "{twice}" more than once.', "Give each row a name of its own."
        )
    return named


def without(rows: pd.DataFrame, name_column: str) -> pd.DataFrame:
    """Return the rows' other columns."""
    return rows.iloc[:, [n for n, name in enumerate(rows.columns) if str(name) != name_column]]


def join(
    jobs: pd.DataFrame,
    key: str,
    order: Sequence[str],
    rows: pd.DataFrame | None,
    *,
    name_column: str | None = None,
    missing: bool = True,
) -> pd.DataFrame:
    """Return the jobs in the order of their input, with the input's rows beside them.

    Args:
        jobs: a row a job.
        key: the column of `jobs` that holds the names.
        order: the names, in the input's order.
        rows: the input's row for each name; None to have the order alone.
        name_column: the column of `rows` with the original names, if it is among them.
        missing: whether a name without a job stays, its job columns empty.

    Returns:
        Jobs that the input does not name come last.
    """
    there = {name: n for n, name in enumerate(jobs[key])}
    wanted = [(there.get(name, -1), n) for n, name in enumerate(order)]
    if not missing:
        wanted = [(place, n) for place, n in wanted if place >= 0]
    known = set(order)
    wanted += [(place, -1) for name, place in there.items() if name not in known]
    ordered = take(jobs, [place for place, _ in wanted])
    if any(place < 0 for place, _ in wanted):
        ordered[key] = [order[n] if n >= 0 else jobs[key].iloc[place] for place, n in wanted]
        ordered[key] = ordered[key].astype(jobs[key].dtype)
    if rows is None:
        return ordered
    return beside(ordered, take(rows, [n for _, n in wanted]), name_column)


def beside(jobs: pd.DataFrame, rows: pd.DataFrame, name_column: str | None = None) -> pd.DataFrame:
    """Return the rows' columns to the right of the jobs', row by row.

    Original names, in the column `name_column` of `rows`, stand behind the jobs'.
    """
    import pandas as pd

    taken, given = set(jobs.columns), list(map(str, rows.columns))
    renamed = [f"{name}{SUFFIX}" if name in taken else name for name in given]
    right = rows.set_axis(pd.Index(renamed), axis=1).reset_index(drop=True)
    both = pd.concat([jobs.reset_index(drop=True), right], axis=1)
    if name_column not in given:
        return both
    order = list(range(both.shape[1]))
    order.insert(_BEHIND, order.pop(jobs.shape[1] + given.index(name_column)))
    return both.iloc[:, order]


def take(frame: pd.DataFrame, place: Sequence[int]) -> pd.DataFrame:
    """Return the frame's rows at `place`, numbered anew; an empty row for -1."""
    import numpy as np

    at = np.asarray(place, dtype=np.intp)
    if (at >= 0).all():
        return frame.iloc[at].reset_index(drop=True)
    numbered = frame.reset_index(drop=True)
    # An empty cell makes numbers of whole ones, and objects of truth values, but for these types.
    holding = {"i": "Int64", "b": "boolean"}
    kinds = {name: getattr(dtype, "kind", "") for name, dtype in numbered.dtypes.items()}
    plain = {name: holding[kind] for name, kind in kinds.items() if kind in holding}
    numbered = numbered.astype(plain)
    return numbered.reindex(np.where(at < 0, len(frame), at)).reset_index(drop=True)
