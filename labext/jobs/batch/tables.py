"""Read the rows of a DataFrame as the jobs of a batch.

One column names the jobs, others are their settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext.jobs import names
from labext.jobs.adapting import adapted
from labext.jobs.schema import Tool

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableRows:
    """The rows of a frame as jobs, in the frame's order.

    Attributes:
        names: the jobs' own names; empty for a row whose name is missing.
        settings: the settings of each.
        faults: the rows with an empty cell, by position: which columns are empty.
        error: the error that names the empty cells by column and row; None if there are none.
    """

    names: list[str]
    settings: list[dict[str, Any]]
    faults: dict[int, str]
    error: InputError | None


def read_rows(
    frame: pd.DataFrame,
    tool: Tool,
    *,
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    constants: Mapping[str, Any],
    room: int = names.LONGEST,
) -> TableRows:
    """Return the rows of a frame as jobs.

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
        InputError: no rows; a column that is not there, is there twice or is no setting; a name
            that is there twice.
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
    needed = [*dict.fromkeys([*named, *mapping.values()])]
    empty = _empty_cells(frame, columns, needed, {*named, *filled})
    if name_column is None:
        job_names = names.numbered(len(frame))
    else:
        job_names = _names(frame, columns, name_column, set(empty.get(name_column, ())), room)
    by_setting = {name: _values(frame, columns, column) for name, column in mapping.items()}
    without = {name: set(empty.get(column, ())) for name, column in mapping.items()}
    settings = [
        {
            **constants,
            **{
                name: values[row] for name, values in by_setting.items() if row not in without[name]
            },
        }
        for row in range(len(frame))
    ]
    faults: dict[int, list[str]] = {}
    for column, rows in empty.items():
        for row in rows:
            faults.setdefault(row, []).append(f'column "{column}" is empty')
    error = _empty_error(frame, columns, needed, empty) if empty else None
    return TableRows(
        job_names, settings, {row: "; ".join(words) for row, words in faults.items()}, error
    )


def _names(
    frame: pd.DataFrame, columns: list[str], name_column: str, unnamed: set[int], room: int
) -> list[str]:
    """Return the jobs' own names; empty for the rows of `unnamed`."""
    values = _values(frame, columns, name_column)
    originals = {row: _text(value) for row, value in enumerate(values) if row not in unnamed}
    _check_repeats(frame, columns, name_column, [*originals.values()])
    own = dict(zip(originals, adapted([*originals.values()], room), strict=True))
    names.check_jobs([*own.values()], (), "the batch")
    return [own.get(row, "") for row in range(len(values))]


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


def _empty_cells(
    frame: pd.DataFrame, columns: list[str], needed: list[str], filled: set[str]
) -> dict[str, list[int]]:
    """Return the positions of the rows without a value, by column.

    In the columns of `filled` a text without a letter is no value either.
    """
    empty: dict[str, list[int]] = {}
    for column in needed:
        values = frame.iloc[:, columns.index(column)]
        missing = values.isna().to_numpy()
        if column in filled:
            missing = missing | values.astype(object).map(_is_blank).to_numpy(dtype=bool)
        if missing.any():
            empty[column] = [int(row) for row in missing.nonzero()[0]]
    return empty


def _empty_error(
    frame: pd.DataFrame, columns: list[str], needed: list[str], empty: Mapping[str, list[int]]
) -> InputError:
    """Return the error that names empty cells, with the code that leaves their rows out."""
    words = []
    for column, rows in empty.items():
        labels = [str(frame.index[row]) for row in rows]
        cells = "an empty cell" if len(labels) == 1 else f"{len(labels):,} empty cells"
        which = "row" if len(labels) == 1 else "rows"
        words.append(f'column "{column}" has {cells} ({which} {wording.listed(labels)})')
    blank = {
        column
        for column, rows in empty.items()
        if any(_is_blank(frame.iloc[row, columns.index(column)]) for row in rows)
    }
    one = sum(map(len, empty.values())) == 1
    fill = "Fill it, or leave the row out" if one else "Fill them, or leave the rows out"
    return InputError(
        f"{wording.sentence('; '.join(words))}.", f"{fill}: {_without(needed, blank)}."
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
