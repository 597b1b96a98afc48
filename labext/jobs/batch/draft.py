"""Draft of a batch from a DataFrame or mapping, with the errors of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import Action, parameter
from labext.errors import InputError, InvalidJobsError
from labext.jobs import frames, identity
from labext.jobs.batch.merge_parts import refuse_part_name
from labext.jobs.batch.plan import BatchLimits, BatchPlan, max_job_name_length, named_settings
from labext.jobs.identity import adapt_names
from labext.jobs.tools import Tool, ToolCatalogue
from labext.sanitize import strip_control

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
    room: int = identity.MAX_NAME_LENGTH,
) -> TableRows:
    """Return the rows of a frame as jobs.

    Args:
        frame: one row per job.
        tool: the tool, for the names of its parameters.
        name_column: holds the jobs' names, which are adapted (`labext.jobs.identity`); without it
            they are numbered.
        mapping: for each setting the column that holds it; without it every other column must be a
            setting's name.
        constants: settings that all jobs share.
        room: maximum length of a job's name.

    Raises:
        InputError: no rows; a column that is missing, duplicate or not a setting; a duplicate name.
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
        for name, parameter in tool.parameters.items()
        if parameter.required and name in mapping
    ]
    needed = [*dict.fromkeys([*named, *mapping.values()])]
    empty = _empty_cells(frame, columns, needed, {*named, *filled})
    if name_column is None:
        job_names = identity.numbered_names(len(frame))
    else:
        job_names = _job_names(frame, columns, name_column, set(empty.get(name_column, ())), room)
    by_setting = {name: _column_values(frame, columns, column) for name, column in mapping.items()}
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


def _job_names(
    frame: pd.DataFrame, columns: list[str], name_column: str, unnamed: set[int], room: int
) -> list[str]:
    """Return the jobs' own names; empty for the rows of `unnamed`."""
    values = _column_values(frame, columns, name_column)
    originals = {row: _cell_text(value) for row, value in enumerate(values) if row not in unnamed}
    _check_repeats(frame, columns, name_column, [*originals.values()])
    own = dict(zip(originals, adapt_names([*originals.values()], room), strict=True))
    identity.check_job_names([*own.values()], (), "the batch")
    return [own.get(row, "") for row in range(len(values))]


def _all_columns(columns: list[str], name_column: str | None, tool: Tool) -> dict[str, str]:
    others = [column for column in columns if column != name_column]
    strange = [column for column in others if column not in tool.parameters]
    if strange or not others:
        are = "is not a setting" if len(strange) == 1 else "are not settings"
        hint = messages.did_you_mean(strange[0], tool.parameters) if strange else ""
        message = (
            f"{messages.join_words(strange)} {are} of {tool.name}{hint}"
            if strange
            else f"No column is a setting of {tool.name}"
        )
        raise InputError(
            f"{message}.",
            f"Name the columns that hold settings: {parameter('mapping', 'setting=column')}.",
        )
    return {column: column for column in others}


def _check_column(column: str, columns: list[str], use: str) -> None:
    if column not in columns:
        raise InputError(
            f'There is no column "{column}" for {use}{messages.did_you_mean(column, columns)}.',
            f"The columns are {messages.join_words(columns)}.",
        )
    if columns.count(column) > 1:
        raise InputError(
            f'The frame has {columns.count(column)} columns called "{column}".', "Rename them."
        )


def _empty_cells(
    frame: pd.DataFrame, columns: list[str], needed: list[str], filled: set[str]
) -> dict[str, list[int]]:
    """Return the positions of the rows without a value, by column.

    In the columns of `filled` a text without a letter counts as missing too.
    """
    empty: dict[str, list[int]] = {}
    for column in needed:
        values = frame.iloc[:, columns.index(column)]
        missing = values.isna().to_numpy()
        if column in filled:
            missing = missing | values.astype(object).map(_is_empty).to_numpy(dtype=bool)
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
        words.append(f'column "{column}" has {cells} ({which} {messages.join_words(labels)})')
    blank = {
        column
        for column, rows in empty.items()
        if any(_is_empty(frame.iloc[row, columns.index(column)]) for row in rows)
    }
    one = sum(map(len, empty.values())) == 1
    fill = "Fill it, or leave the row out" if one else "Fill them, or leave the rows out"
    return InputError(
        f"{messages.capitalize_first('; '.join(words))}.", f"{fill}: {_dropna_code(needed, blank)}."
    )


def _is_empty(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.strip()


def _dropna_code(needed: list[str], blank: set[str]) -> str:
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
            if column != name_column and _is_unique_text(frame.iloc[:, n])
        ),
        None,
    )
    else_by = (
        ""
        if other is None
        else f", or name them by another column: {parameter('name_column', other)}"
    )
    raise InputError(
        f'Column "{name_column}" has {messages.pluralize(len(twice), "name")} more than once: '
        f"{messages.join_words(twice, 3)}.",
        f"Give each job a unique name{else_by}.",
    )


def _is_unique_text(column: pd.Series[Any]) -> bool:
    """Return whether a column has a short, unique text in each row."""
    cells = column.tolist()
    return all(isinstance(c, str) and 0 < len(c) <= identity.MAX_NAME_LENGTH for c in cells) and (
        len(set(cells)) == len(cells)
    )


def _column_values(frame: pd.DataFrame, columns: list[str], column: str) -> list[Any]:
    values: list[Any] = frame.iloc[:, columns.index(column)].tolist()
    return values


def _cell_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


_MAX_SHOWN = 20
"""Faults, and rows of one fault, that a message names."""


@dataclass
class BatchDraft:
    """A batch whose rows may have faults.

    Attributes:
        name: the batch's name.
        type: the tool.
        limits: the time limit of each job, and the budget.
        names: the jobs' own names, in the input's order; empty where a row has none.
        settings: the settings to send, in the same order.
        frame: the input's rows, if they came in a frame.
        name_column: the column of `frame` that holds the jobs' names.
        faults: the fault of each faulty row, by its position.
        errors: the error for a set of faulty rows, if there is a better one than a list of their
            faults.
    """

    name: str
    type: str
    limits: BatchLimits
    names: list[str]
    settings: list[dict[str, Any]]
    frame: pd.DataFrame | None = None
    name_column: str | None = None
    faults: dict[int, list[str]] = field(default_factory=dict)
    errors: dict[frozenset[int], InputError] = field(default_factory=dict)
    _by_service: bool = False

    @property
    def valid_rows(self) -> list[int]:
        """The positions of the rows without a fault."""
        return [row for row in range(len(self.names)) if row not in self.faults]

    def add_faults(self, faults: Mapping[int, list[str]]) -> None:
        """Add faults to rows that have none."""
        self.faults |= {row: words for row, words in faults.items() if row not in self.faults}

    def add_refusals(self, refused: Mapping[str, str]) -> None:
        """Add the service's messages about the jobs that it would refuse, by their own names."""
        rows = {name: row for row, name in enumerate(self.names)}
        self.add_faults({rows[job]: [words] for job, words in refused.items()})
        self._by_service = self._by_service or bool(refused)

    def plan(self) -> BatchPlan:
        """Return the plan of the rows without a fault.

        Raises:
            InvalidJobsError: there are none.
        """
        rows = self.valid_rows
        if not rows:
            raise self.error()
        frame = self.frame
        if frame is not None and self.faults:
            frame = frame.iloc[rows].reset_index(drop=True)
        jobs = {self.names[row]: self.settings[row] for row in rows}
        plan = BatchPlan(self.name, self.type, jobs, self.limits, frame, self.name_column)
        stored = [f"{part.name}-{job}" for part in plan.parts for job in part.jobs]
        identity.check_job_names(list(plan.jobs), stored, self.name)
        return plan

    def refused(self) -> pd.DataFrame:
        """Return the rows with a fault: Name, Error, and the input's columns or Settings.

        The column of the names is included only if some were adapted.
        """
        import pandas as pd

        from labext.jobs.views import REFUSED

        rows = sorted(self.faults)
        cells = [
            (self.names[row] or None, strip_control("; ".join(self.faults[row]))) for row in rows
        ]
        frame = pd.DataFrame(cells, columns=["Name", "Error"], index=range(len(rows)))
        if self.frame is not None:
            beside = self.frame.iloc[rows]
            if (
                self.name_column is not None
                and [self.names[row] for row in rows]
                == beside[self.name_column].astype(str).tolist()
            ):
                beside = beside.drop(columns=self.name_column)
            return REFUSED.show(frames.concat_input_rows(frame, beside))
        settings = pd.Series([self.settings[row] for row in rows], dtype=object)
        return REFUSED.show(frame.assign(Settings=settings))

    def error(self) -> InvalidJobsError:
        """Return the error that names every faulty row."""
        better = self.errors.get(frozenset(self.faults))
        if better is not None:
            message, step, action = better.message, better.next_step, better.action
        else:
            message = f"{self._summary()}: {'; '.join(self.fault_lines())}."
            action = Action.show_tool(self.type)
            step = action.sentence()
        if others := len(self.valid_rows):
            rest = messages.pluralize(others, "job")
            step += f" {parameter('skip_invalid')} submits the other {rest}."
        return InvalidJobsError(message, step, refused=self.refused, action=action)

    def _summary(self) -> str:
        if not self._by_service:
            return f"These settings of {self.type} can't be used"
        jobs = messages.pluralize(len(self.names), "job")
        if len(self.faults) == len(self.names):
            return f"The service would reject {jobs} of {self.name}"
        return f"The service would reject {len(self.faults):,} of {jobs} of {self.name}"

    def fault_lines(self) -> list[str]:
        """Return each fault once, with the jobs that have it."""
        grouped: dict[str, list[str]] = {}
        for row, faults in sorted(self.faults.items()):
            job = self.names[row] or f"row {row + 1}"
            for fault in faults:
                grouped.setdefault(fault.rstrip("."), []).append(job)
        words = [
            fault
            if len(jobs) == len(self.names)
            else f"{fault} (in {messages.join_words(jobs, _MAX_SHOWN)})"
            for fault, jobs in grouped.items()
        ]
        if len(words) > _MAX_SHOWN:
            return [*words[:_MAX_SHOWN], f"{len(words) - _MAX_SHOWN:,} more errors"]
        return words


def make_draft(
    catalogue: ToolCatalogue,
    name: str,
    type: str,
    jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constants: Mapping[str, Any],
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    limits: BatchLimits,
) -> BatchDraft:
    """Return the draft of a batch, checked locally.

    Arguments as for `JobsClient.submit_batch`.

    Raises:
        InputError: the batch's name, a job's name or a column is invalid.
    """
    identity.check_name(name, "batch")
    refuse_part_name(name)
    frame = _to_frame(jobs)
    draft = BatchDraft(name, type, limits, [], [], frame, name_column)
    if frame is not None:
        rows = read_rows(
            frame,
            catalogue.tool(type),
            name_column=name_column,
            mapping=mapping,
            constants=constants,
            room=max_job_name_length(name, len(frame)),
        )
        draft.names, settings = rows.names, rows.settings
        draft.add_faults({row: [words] for row, words in rows.faults.items()})
        if rows.error is not None:
            draft.errors[frozenset(draft.faults)] = rows.error
    elif name_column is not None or mapping is not None:
        raise InputError(
            "Columns were named, but the jobs are not a DataFrame.", "Leave the columns out."
        )
    else:
        by_name = named_settings(jobs, dict(constants))
        draft.names, settings = list(by_name), list(by_name.values())
    if not draft.names:
        raise InputError("The batch has no jobs.", "A batch needs at least one job.")
    draft.settings, faults = catalogue.clean_all(type, settings)
    draft.add_faults(faults)
    return draft


def _to_frame(jobs: Any) -> pd.DataFrame | None:
    if isinstance(jobs, Mapping | list | tuple):
        return None
    import pandas as pd

    if not isinstance(jobs, pd.DataFrame):
        return None
    return jobs.set_axis(pd.Index([str(column) for column in jobs.columns]), axis=1)
