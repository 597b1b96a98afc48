"""A DataFrame's rows as the jobs of a batch: one column names them, others are their settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext.jobs import names
from labext.jobs.adapting import adapted
from labext.jobs.schema import Tool

if TYPE_CHECKING:
    import pandas as pd


def named_settings(
    frame: pd.DataFrame,
    tool: Tool,
    *,
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    constants: Mapping[str, Any],
    room: int = names.LONGEST,
) -> dict[str, dict[str, Any]]:
    """Return settings by job name, in the frame's order.

    Args:
        frame: a row a job.
        tool: the tool, for what its parameters are called.
        name_column: holds the jobs' names, which are adapted (`labext.jobs.adapting`); without it
            they are numbered.
        mapping: for each setting the column that holds it; without it every other column must be
            a setting's name.
        constants: settings that all jobs share.
        room: how long a job's name may be.

    Raises:
        InputError: no rows; a column that is not there, is there twice or is no setting; a cell
            that is missing, or empty where the tool needs something; a name that is there twice.
    """
    if not len(frame):
        raise InputError("The frame has no rows.", "A batch needs at least one job.")
    columns = [str(column) for column in frame.columns]
    if name_column is not None:
        _check_column(name_column, columns, "the jobs' names")
    if mapping is None:
        mapping = _all_columns(columns, name_column, tool)
    for setting, column in mapping.items():
        _check_column(column, columns, setting)
    both = [setting for setting in mapping if setting in constants]
    if both:
        raise InputError(
            f"{', '.join(both)} is given both for all jobs and by a column.", "Give one of them."
        )
    named = [] if name_column is None else [name_column]
    filled = [
        mapping[name]
        for name, known in tool.parameters.items()
        if known.required and name in mapping
    ]
    _check_cells(frame, columns, [*named, *mapping.values()], {*named, *filled})
    if name_column is None:
        job_names = names.numbered(len(frame))
    else:
        originals = [_text(value) for value in _values(frame, columns, name_column)]
        _check_repeats(frame, columns, name_column, originals)
        job_names = adapted(originals, room)
    names.check_jobs(job_names, (), "the batch")
    by_setting = {name: _values(frame, columns, column) for name, column in mapping.items()}
    return {
        job: {**constants, **{name: values[row] for name, values in by_setting.items()}}
        for row, job in enumerate(job_names)
    }


def _all_columns(columns: list[str], name_column: str | None, tool: Tool) -> dict[str, str]:
    others = [column for column in columns if column != name_column]
    strange = [column for column in others if column not in tool.parameters]
    if strange or not others:
        are = "is no setting" if len(strange) == 1 else "are no settings"
        hint = wording.did_you_mean(strange[0], tool.parameters) if strange else ""
        what = (
            f"{wording.listed(strange)} {are} of {tool.name}{hint}"
            if strange
            else f"No column is a setting of {tool.name}"
        )
        raise InputError(
            f"{what}.", "Say which columns are settings: `--map setting=column`, or mapping={…}."
        )
    return {column: column for column in others}


def _check_column(column: str, columns: list[str], use: str) -> None:
    if column not in columns:
        raise InputError(
            f'There is no column "{column}" for {use}{wording.did_you_mean(column, columns)}.',
            f"The columns are {wording.listed(columns)}.",
        )
    if columns.count(column) > 1:
        raise InputError(
            f'The frame has {columns.count(column)} columns called "{column}".', "Rename them."
        )


def _check_cells(
    frame: pd.DataFrame, columns: list[str], needed: list[str], filled: set[str]
) -> None:
    """Refuse cells without a value, and in the columns of `filled` also texts without a letter."""
    faults, empty, blank = [], 0, set[str]()
    for column in dict.fromkeys(needed):
        values = frame.iloc[:, columns.index(column)]
        missing = values.isna().to_numpy()
        if column in filled:
            blanks = values.astype(object).map(_is_blank).to_numpy(dtype=bool)
            blank |= {column} if blanks.any() else set()
            missing = missing | blanks
        if missing.any():
            labels = [str(label) for label in frame.index[missing]]
            cells = "an empty cell" if len(labels) == 1 else f"{len(labels):,} empty cells"
            rows = "row" if len(labels) == 1 else "rows"
            faults.append(f'column "{column}" has {cells} ({rows} {wording.listed(labels)})')
            empty += len(labels)
    if faults:
        said = "; ".join(faults)
        fill = "Fill it, or leave the row out" if empty == 1 else "Fill them, or leave the rows out"
        raise InputError(
            f"{wording.sentence(said)}.",
            f"{fill}: {_without(needed, blank)}.",
        )


def _is_blank(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.strip()


def _without(needed: list[str], blank: set[str]) -> str:
    """Return the code that leaves out the rows with an empty cell."""
    if not blank:
        return f"frame.dropna(subset={needed!r})"
    filled = [f'(frame["{column}"].str.strip() != "")' for column in sorted(blank)]
    return f"frame[{' & '.join(filled)}].dropna(subset={needed!r})"


def _check_repeats(
    frame: pd.DataFrame, columns: list[str], name_column: str, originals: list[str]
) -> None:
    twice = [name for name, times in Counter(originals).items() if times > 1]
    if not twice:
        return
    other = next(
        (
            column
            for n, column in enumerate(columns)
            if column != name_column and _tells_apart(frame.iloc[:, n])
        ),
        None,
    )
    else_by = "" if other is None else f", or name them by another column: `--name-column {other}`"
    raise InputError(
        f'Column "{name_column}" has {wording.count(len(twice), "name")} more than once: '
        f"{wording.listed(twice, 3)}.",
        f"Give each job a name of its own{else_by}.",
    )


def _tells_apart(column: pd.Series[Any]) -> bool:
    """Say whether a column has a short text of its own for each row."""
    cells = column.tolist()
    return all(isinstance(c, str) and 0 < len(c) <= names.LONGEST for c in cells) and (
        len(set(cells)) == len(cells)
    )


def _values(frame: pd.DataFrame, columns: list[str], column: str) -> list[Any]:
    values: list[Any] = frame.iloc[:, columns.index(column)].tolist()
    return values


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
