"""Draft of a batch from a DataFrame or a mapping, with the errors of each row."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from labext import messages
from labext.actions import Action, parameter
from labext.errors import InputError, InvalidJobsError
from labext.jobs import frames, identity
from labext.jobs.batch.merge_parts import refuse_part_name
from labext.jobs.batch.plan import (
    MAX_JOBS,
    BatchLimits,
    BatchPlan,
    max_job_name_length,
    named_settings,
)
from labext.jobs.identity import adapt_names
from labext.jobs.tools import Tool, ToolCatalogue, widen_floats
from labext.sanitize import strip_control


def draft_from_frame(
    name: str,
    tool: Tool,
    limits: BatchLimits,
    frame: pd.DataFrame,
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    constants: Mapping[str, Any],
) -> BatchDraft:
    """Return the draft of a batch from the rows of a frame, with faults for empty cells.

    A missing value (None, NaN, NA) of an optional setting leaves it to the default. The names in
    `name_column` are adapted if they are invalid (`labext.jobs.identity`); without it the jobs are
    numbered. `mapping` has the column of each setting; without it each remaining column is the
    setting of the same name. `constants` are settings shared by all jobs.
    """
    if not len(frame):
        raise InputError("The frame has no rows.", "A batch needs at least one job.")
    columns = [str(column) for column in frame.columns]
    if name_column is not None:
        _check_column(name_column, frame, "the jobs' names", tool)
    if mapping is None:
        mapping = _all_columns(columns, name_column, tool)
    for setting, column in mapping.items():
        _check_column(column, frame, setting, tool)
    duplicates = [setting for setting in mapping if setting in constants]
    if duplicates:
        raise InputError(
            f"{', '.join(duplicates)} is set both for all jobs and by a column.",
            "Set it in one place.",
        )
    required = [] if name_column is None else [name_column]
    required += [
        mapping[setting]
        for setting, item in tool.parameters.items()
        if item.required and setting in mapping
    ]
    empty = _empty_cells(frame, columns, [*dict.fromkeys(required)])
    if name_column is None:
        job_names = identity.numbered_names(len(frame))
    else:
        unnamed, max_length = set(empty.get(name_column, ())), max_job_name_length(name, len(frame))
        job_names = _job_names(frame, columns, name_column, unnamed, max_length)
    settings = [dict(constants) for _ in range(len(frame))]
    for setting, column in mapping.items():
        values = frame.iloc[:, columns.index(column)]
        cells = widen_floats(values).tolist()
        for job, value, missing in zip(settings, cells, values.isna(), strict=True):
            if not missing:
                job[setting] = value
    faults: dict[int, list[str]] = {}
    for column, rows in empty.items():
        for row in rows:
            faults.setdefault(row, []).append(f'column "{column}" is empty')
    draft = BatchDraft(name, tool.name, limits, job_names, settings, frame, name_column)
    draft.add_faults({row: ["; ".join(texts)] for row, texts in faults.items()})
    if empty:
        draft.errors[frozenset(faults)] = _empty_error(frame, columns, required, empty)
    return draft


def _job_names(
    frame: pd.DataFrame, columns: list[str], name_column: str, unnamed: set[int], max_length: int
) -> list[str]:
    """Return the names of the jobs, adapted if invalid; empty strings for the `unnamed` rows."""
    values = frame.iloc[:, columns.index(name_column)].tolist()
    originals = {
        row: identity.name_text(value) for row, value in enumerate(values) if row not in unnamed
    }
    _check_repeats(name_column, [*originals.values()])
    adapted = dict(zip(originals, adapt_names([*originals.values()], max_length), strict=True))
    identity.check_job_names([*adapted.values()], (), "the batch")
    return [adapted.get(row, "") for row in range(len(values))]


def _all_columns(columns: list[str], name_column: str | None, tool: Tool) -> dict[str, str]:
    others = [column for column in columns if column != name_column]
    unknown = [column for column in others if column not in tool.parameters]
    if unknown or not others:
        verb = "is not a setting" if len(unknown) == 1 else "are not settings"
        hint = messages.did_you_mean(unknown[0], tool.parameters) if unknown else ""
        message = (
            f"{messages.join_words(unknown)} {verb} of {tool.name}{hint}"
            if unknown
            else f"No column is a setting of {tool.name}"
        )
        setting = next((name for name, p in tool.parameters.items() if p.required), "setting")
        step = f"Name the columns with settings: {parameter('mapping', {setting: 'column'})}."
        if len(unknown) == 1 and name_column is None and not hint:
            step = f"Add {parameter('name_column', unknown[0])} if it names the jobs. {step}"
        raise InputError(f"{message}.", step)
    return {column: column for column in others}


def _check_column(column: str, frame: pd.DataFrame, use: str, tool: Tool) -> None:
    columns = [str(name) for name in frame.columns]
    if column not in columns:
        hint = messages.did_you_mean(column, columns)
        step = frames.index_hint(frame, column)
        step = step or f"The columns are {messages.join_words(columns)}."
        first, _, others = column.partition(",")
        pairs = [pair.strip().split("=") for pair in others.split(",")]
        if first in columns and all(len(pair) == 2 for pair in pairs):
            options = [parameter("mapping", {s: c}) for s, c in [(use, first), *pairs]]
            step = f"Give each setting alone: {' '.join(options)}."
        elif use in columns and column in tool.parameters and not hint:
            step += f" Write the setting first: {parameter('mapping', {column: use})}."
        raise InputError(f'There is no column "{column}" for {use}{hint}.', step)
    if columns.count(column) > 1:
        raise InputError(
            f'The frame has {columns.count(column)} columns called "{column}".', "Rename them."
        )


def _empty_cells(
    frame: pd.DataFrame, columns: list[str], required: list[str]
) -> dict[str, list[int]]:
    """Return the positions of the rows with a missing value or blank text, by required column."""
    empty: dict[str, list[int]] = {}
    for column in required:
        values = frame.iloc[:, columns.index(column)]
        missing = values.isna() | values.astype(object).map(_is_empty)
        if missing.any():
            empty[column] = [int(row) for row in missing.to_numpy().nonzero()[0]]
    return empty


def _empty_error(
    frame: pd.DataFrame, columns: list[str], required: list[str], empty: Mapping[str, list[int]]
) -> InputError:
    """Return the error that lists empty cells, with code that drops their rows."""
    parts = []
    for column, rows in empty.items():
        labels = [str(frame.index[row]) for row in rows]
        cells = "an empty cell" if len(labels) == 1 else f"{len(labels):,} empty cells"
        which = "row" if len(labels) == 1 else "rows"
        parts.append(f'column "{column}" has {cells} ({which} {messages.join_words(labels)})')
    blank = {
        column
        for column, rows in empty.items()
        if any(_is_empty(frame.iloc[row, columns.index(column)]) for row in rows)
    }
    single = sum(map(len, empty.values())) == 1
    fill = "Fill it, or drop the row" if single else "Fill them, or drop the rows"
    return InputError(
        f"{messages.capitalize_first('; '.join(parts))}.",
        f"{fill}: {_dropna_code(required, blank)}.",
    )


def _is_empty(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.strip()


def _dropna_code(required: list[str], blank: set[str]) -> str:
    """Return code that drops the rows with an empty cell."""
    if not blank:
        return f"frame.dropna(subset={required!r})"
    conditions = [f'(frame["{column}"].str.strip() != "")' for column in sorted(blank)]
    return f"frame[{' & '.join(conditions)}].dropna(subset={required!r})"


def _check_repeats(name_column: str, originals: list[str]) -> None:
    duplicates = [name for name, times in Counter(originals).items() if times > 1]
    if duplicates:
        names = messages.join_words((messages.truncate(name, 60) for name in duplicates), 3)
        raise InputError(
            f'Column "{name_column}" has {messages.pluralize(len(duplicates), "name")} more than '
            f"once: {names}.",
            f"Give each job a unique name, or omit {parameter('name_column', name_column)}: the "
            "jobs are then numbered.",
        )


_MAX_SHOWN = 20
"""Maximum number of faults, and of rows per fault, listed in a message."""


@dataclass
class BatchDraft:
    """A batch whose rows may be invalid.

    Attributes:
        names: the names of the jobs, in the order of the input; an empty string if missing.
        settings: the settings to send, in the same order.
        frame: the input rows; None if the input was not a frame.
        faults: descriptions of the faults of each invalid row, by row position.
        errors: more specific errors by set of invalid rows, used instead of a list of faults.
        unused: columns that a mapping leaves out, by the setting that they have the name of.
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
    unused: dict[str, str] = field(default_factory=dict)
    _rejected_by_service: bool = False

    @property
    def valid_rows(self) -> list[int]:
        """The positions of the valid rows."""
        return [row for row in range(len(self.names)) if row not in self.faults]

    @property
    def unused_message(self) -> str:
        """A sentence about the columns in `unused`; empty if there are none."""
        if not self.unused:
            return ""
        one = len(self.unused) == 1
        columns = messages.join_all([*self.unused.values()], "and")
        settings = messages.join_all([*self.unused], "and")
        options = [parameter("mapping", {name: column}) for name, column in self.unused.items()]
        return (
            f"The {'column' if one else 'columns'} {columns} {'was' if one else 'were'} not used, "
            f"although {self.type} has {'a setting' if one else 'settings'} {settings}; "
            f"{messages.join_all(options, 'and')} {'uses it' if one else 'use them'}."
        )

    def add_faults(self, faults: Mapping[int, list[str]]) -> None:
        """Add the faults of rows that were valid so far; ignore other rows."""
        self.faults |= {row: texts for row, texts in faults.items() if row not in self.faults}

    def add_rejections(self, rejected: Mapping[str, str]) -> None:
        """Add the service's error messages of rejected jobs, by job name."""
        rows = {name: row for row, name in enumerate(self.names)}
        self.add_faults({rows[job]: [message] for job, message in rejected.items()})
        self._rejected_by_service = self._rejected_by_service or bool(rejected)

    def plan(self) -> BatchPlan:
        """Return the plan of the valid rows; raise InvalidJobsError if no row is valid."""
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

    def rejected_rows(self) -> pd.DataFrame:
        """Return the invalid rows: Name, Error, and the input columns or Settings.

        The column with the original names is included only if some names were adapted.
        """
        rows = sorted(self.faults)
        cells = [
            (self.names[row] or None, strip_control("; ".join(self.faults[row]))) for row in rows
        ]
        frame = pd.DataFrame(cells, columns=["Name", "Error"], index=range(len(rows)))
        if self.frame is not None:
            input_rows = self.frame.iloc[rows]
            if self.name_column is not None:
                names = [self.names[row] for row in rows]
                input_rows = frames.drop_equal_names(input_rows, self.name_column, names)
            return frames.REFUSED.show(frames.concat_input_rows(frame, input_rows))
        settings = pd.Series([self.settings[row] for row in rows], dtype=object)
        return frames.REFUSED.show(frame.assign(Settings=settings))

    def error(self) -> InvalidJobsError:
        """Return the error that lists all invalid rows."""
        specific = self.errors.get(frozenset(self.faults))
        if specific is not None:
            message, step, action = specific.message, specific.next_step, specific.action
        else:
            message = messages.end_sentence(f"{self._summary()}: {'; '.join(self.fault_lines())}")
            action = Action.show_tool(self.type)
            step = action.sentence()
        if valid := len(self.valid_rows):
            jobs = "job" if valid == 1 else f"{valid:,} jobs"
            step += f" {parameter('skip_invalid')} submits the other {jobs}."
        return InvalidJobsError(message, step, refused=self.rejected_rows, action=action)

    def _summary(self) -> str:
        if not self._rejected_by_service:
            return f"The settings of {self.type} are invalid"
        jobs = messages.pluralize(len(self.names), "job")
        if len(self.faults) == len(self.names):
            return f"The service would reject {jobs} of {self.name}"
        return f"The service would reject {len(self.faults):,} of {jobs} of {self.name}"

    def fault_lines(self) -> list[str]:
        """Return each fault once, with the names of its jobs."""
        grouped: dict[str, list[str]] = {}
        for row, faults in sorted(self.faults.items()):
            job = self.names[row] or f"row {row + 1}"
            for fault in faults:
                grouped.setdefault(fault.rstrip("."), []).append(job)
        lines = [
            fault
            if len(jobs) == len(self.names)
            else f"{fault} (in {messages.join_words(jobs, _MAX_SHOWN)})"
            for fault, jobs in grouped.items()
        ]
        if len(lines) > _MAX_SHOWN:
            return [*lines[:_MAX_SHOWN], f"{len(lines) - _MAX_SHOWN:,} more errors"]
        return lines


def _comparable(name: str) -> str:
    """Return the name of a column or setting, such that `isCircular` equals `circular`."""
    return name.replace("_", "").lower().removeprefix("is")


def make_draft(
    catalogue: ToolCatalogue,
    name: str,
    type: str,
    jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constants: Mapping[str, Any] | None,
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    limits: BatchLimits,
) -> BatchDraft:
    """Return the draft of a batch, validated locally.

    The arguments are those of `JobsClient.submit_batch`.
    """
    identity.check_name(name, "batch")
    refuse_part_name(name)
    tool = catalogue.tool(type)
    constants = {} if constants is None else constants
    for noun, value, example in (
        ("settings of all jobs", constants, '{"temperature": 30}'),
        ("columns of the settings", {} if mapping is None else mapping, '{"sequence": "bases"}'),
    ):
        if not isinstance(value, Mapping):
            kind = messages.with_article(builtins.type(value).__name__)
            raise InputError(f"The {noun} are {kind}.", f"Give a dictionary, such as {example}.")
    if isinstance(jobs, pd.DataFrame):
        # Labels of columns may be numbers.
        frame = jobs.set_axis(pd.Index([str(column) for column in jobs.columns]), axis=1)
        name_column = None if name_column is None else str(name_column)
        if mapping is not None:
            mapping = {setting: str(column) for setting, column in mapping.items()}
        draft = draft_from_frame(name, tool, limits, frame, name_column, mapping, constants)
        if mapping is not None:
            used = {*mapping, *mapping.values(), *constants, name_column}
            settings = {_comparable(name): name for name in tool.parameters if name not in used}
            draft.unused = {
                settings[_comparable(column)]: column
                for column in frame.columns
                if _comparable(column) in settings and column not in used
            }
    elif name_column is not None or mapping is not None:
        raise InputError(
            "Columns can be named only if the jobs are a DataFrame.", "Omit the columns."
        )
    else:
        by_name = named_settings(jobs, dict(constants))
        draft = BatchDraft(name, type, limits, [*by_name], [*by_name.values()])
    if not draft.names:
        raise InputError("The batch has no jobs.", "A batch needs at least one job.")
    if len(draft.names) > (most := MAX_JOBS * identity.MAX_PARTS):
        raise InputError(
            f"The batch has {len(draft.names):,} jobs, at most {most:,} are allowed.",
            "Submit them in several batches.",
        )
    draft.settings, faults = catalogue.clean_all(type, draft.settings)
    draft.add_faults(faults)
    return draft
