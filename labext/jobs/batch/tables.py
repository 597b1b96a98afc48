"""A DataFrame's rows as the jobs of a batch: one column names them, others are their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext.jobs import names
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
) -> dict[str, dict[str, Any]]:
    """Return settings by job name, in the frame's order.

    Args:
        frame: a row a job.
        tool: the tool, for what its parameters are called.
        name_column: holds the jobs' names; without it they are numbered.
        mapping: for each setting the column that holds it; without it every other column must be
            a setting's name.
        constants: settings that all jobs share.

    Raises:
        InputError: no rows; a column that is not there, is there twice or is no setting; a cell
            that is missing; names that break the rule.
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
    needed = [*([] if name_column is None else [name_column]), *mapping.values()]
    _check_cells(frame, columns, needed)
    job_names = (
        names.numbered(len(frame))
        if name_column is None
        else [_text(value) for value in _values(frame, columns, name_column)]
    )
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


def _check_cells(frame: pd.DataFrame, columns: list[str], needed: list[str]) -> None:
    faults, empty = [], 0
    for column in dict.fromkeys(needed):
        missing = frame.iloc[:, columns.index(column)].isna().to_numpy()
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
            f"{said[0].upper()}{said[1:]}.",
            f"{fill}: frame.dropna(subset={needed!r}).",
        )


def _values(frame: pd.DataFrame, columns: list[str], column: str) -> list[Any]:
    values: list[Any] = frame.iloc[:, columns.index(column)].tolist()
    return values


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
