"""DataFrames of jobs, their input rows, tools, parameters and usage, and their display."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext import messages
from labext.errors import InputError, ServiceError
from labext.frames.conversion import make_columns, records_to_frame
from labext.frames.views import ROWS, RowView, cell_text, column_order, display_width, has_content
from labext.jobs import identity
from labext.jobs.records import REASON_FIELDS, job_columns
from labext.jobs.tools import MISSING, Tool
from labext.sanitize import strip_control, strip_control_json

_SENTENCES = (*REASON_FIELDS, "QueueReason")
_FIRST = ("JobName", "Type", "JobStatus", "batchStatus", *_SENTENCES, "Stage", "statuses")
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

_MAX_LINE_LENGTH = 300
_CLASSES = "labext tex2jax_ignore mathjax_ignore"
_LINE_STYLE = "text-align:left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"


class JobView(RowView):
    """View of a frame with one row per job, batch or pipeline."""

    def order(self, labels: list[Any]) -> list[int]:
        """Return the positions of the columns, with `Name` first in frames of a batch's jobs."""
        if "Name" not in labels:
            return super().order(labels)
        # `frames.concat_input_rows` inserts original names as the third column; show them second.
        original = [label for label in labels[2:3] if label not in _KNOWN]
        return column_order(labels, ("Name", *original, *self.first[1:]), (*self.last, "JobName"))


class SubmittedView(JobView):
    """View of the row of a new submission in one line.

    The line has the name, the tool, the state, the stage and one of: the reason for a failure, the
    score, the settings.
    """

    def text(self, frame: pd.DataFrame) -> str:
        """Return the line, truncated to the width of the terminal."""
        return (
            messages.truncate(_submitted_line(frame), display_width())
            if len(frame) == 1
            else super().text(frame)
        )

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return the line."""
        if len(frame) != 1:
            return super().html(frame)
        line = html.escape(_submitted_line(frame))
        return f'<div class="{_CLASSES}" style="{_LINE_STYLE}">{line}</div>'


def _submitted_line(frame: pd.DataFrame) -> str:
    state = _first_value(frame, "batchStatus", "JobStatus")
    details = _first_value(frame, *REASON_FIELDS, "Score", "Settings")
    name, kind, stage = (_first_value(frame, column) for column in ("JobName", "Type", "Stage"))
    line = " · ".join(filter(None, (name, kind, state, stage, details)))
    return messages.truncate(line, _MAX_LINE_LENGTH)


def _first_value(frame: pd.DataFrame, *columns: str) -> str:
    """Return the first non-empty cell as text."""
    cells = (cell_text(frame[name].iloc[0]) for name in columns if name in frame.columns)
    return next(filter(None, cells), "")


JOBS = JobView(name="jobs", empty="There are no jobs.", first=_FIRST, last=_LAST, whole=_SENTENCES)
MATCHING_JOBS = JobView(
    name="matching jobs", empty="No job matches.", first=_FIRST, last=_LAST, whole=_SENTENCES
)
SUBMITTED = SubmittedView(name="submitted job", first=_FIRST, last=_LAST, whole=_SENTENCES)
WORKERS = RowView(
    name="workers", empty="No worker is connected.", first=("name", "state"), last=("address",)
)
UNFINISHED = RowView(
    name="unfinished batches", empty="No unfinished batches were sent from this machine."
)
REFUSED = RowView(
    name="rejected jobs", empty="No rows were rejected.", first=("Name", "Error"), whole=("Error",)
)
OUTPUTS = RowView(name="output files", empty="The job has not written any files yet.")
RESULT_FILES = RowView(name="result files", empty="There are no files.")
UPLOADED_FILES = RowView(name="uploaded files", empty="There are no uploaded files.")
ESTIMATED_STAGES = RowView(
    name="estimated stages", empty="The stages are unknown until the pipeline has run once."
)


_PARAGRAPH_WIDTH = 88


class ToolView(RowView):
    """View of a frame with the columns `name` and `description`."""

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return whether the frame has a column `name`."""
        return "name" in frame.columns and super().applies_to(frame)

    def text(self, frame: pd.DataFrame) -> str:
        """Return one paragraph per row."""
        if not len(frame):
            return super().text(frame)
        rows = frame.to_dict("records")
        for row in rows:
            row |= {column: format(row.get(column)) for column, format in self.formats.items()}
        return "\n".join(map(_format_paragraph, rows))

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return a table with all non-empty columns, also for a single row."""
        if not len(frame):
            return super().html(frame)
        with pd.option_context("display.max_columns", None):
            return self._html_table(frame)


_WHOLE = ("name", "description", "required", "optional", "default", "options")

_SENTENCE_END = re.compile(r"(?<=[\w°)]{2})[.!?](?=\s+[A-Z])")


def _first_sentence(description: Any) -> str:
    text = cell_text(description)
    end = _SENTENCE_END.search(text)
    return text[: end.end()] if end else text


TOOLS = ToolView(
    name="tools",
    empty="No tools match.",
    whole=_WHOLE,
    formats={"description": _first_sentence},  # the frame has all of it
)
PARAMETERS = ToolView(name="parameters", empty="The tool has no settings.", whole=_WHOLE)


def _format_paragraph(row: dict[Any, Any]) -> str:
    """Return a row as a paragraph: name, short fields, description."""
    name, description = str(row.pop("name")), row.pop("description", None)
    fields = [part for key, value in row.items() if (part := _format_field(str(key), value))]
    texts = ["; ".join(fields), str(description) if has_content(description) else ""]
    lines = [
        textwrap.fill(text, _PARAGRAPH_WIDTH, initial_indent="    ", subsequent_indent="    ")
        for text in texts
        if text
    ]
    return "\n".join([name, *lines])


def _format_field(key: str, value: Any) -> str:
    if key == "required" and isinstance(value, bool):
        return "required" if value else ""
    if not has_content(value):
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{key} {text}"


SUFFIX = ".input"
"""Suffix of an input column named like a column of jobs, such as those of an earlier batch."""

_JOB_COLUMNS = {column.name for column in job_columns()}
_JOB_COLUMNS |= {"Name", "Part", "Reason", "Structures", "Folder", "RunTime"}
_JOB_PREFIXES = ("score.", "setting.")
"""Names and prefixes of the columns that frames of jobs can have."""

_NAME_COLUMNS = 2  # frames of a batch's jobs begin with Name and JobName


def index_hint(rows: pd.DataFrame, column: str) -> str | None:
    """Return what to do if a column is a level of the index, such as after `groupby`."""
    if column not in map(str, rows.index.names):
        return None
    return f"{column} is in the index; make it a column with `frame.reset_index()`."


def original_names(rows: pd.DataFrame, name_column: str) -> list[str]:
    """Return the original names in a column of the input rows; empty strings for empty cells."""
    columns = [str(column) for column in rows.columns]
    if name_column not in columns:
        raise InputError(
            "The rows have no column "
            f'"{name_column}"{messages.did_you_mean(name_column, columns)}.',
            index_hint(rows, name_column) or "Name the column with the names of the jobs.",
        )
    cells = rows.iloc[:, columns.index(name_column)]
    empty = cells.isna() | cells.astype(str).str.isspace()
    names = cells.astype(object).where(~empty, "").map(identity.name_text).tolist()
    repeats = Counter(filter(None, names)).items()
    if duplicate := next((name for name, times in repeats if times > 1), None):
        raise InputError(
            f"The name {messages.quote_value(duplicate)} occurs more than once in the rows.",
            "Give each row a unique name.",
        )
    return names


def drop_name_column(rows: pd.DataFrame, name_column: str) -> pd.DataFrame:
    """Return the rows without their column of names."""
    return rows.iloc[:, [n for n, name in enumerate(rows.columns) if str(name) != name_column]]


def drop_equal_names(rows: pd.DataFrame, name_column: str, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows without their column of names, if it has just the names of the jobs as text.

    Original names that were adapted, numbers and categories are kept. `names` has the name of each
    row's job; empty if it has none.
    """
    cells = rows.iloc[:, [str(column) for column in rows.columns].index(name_column)]
    is_equal = cells.dtype != "category" and all(
        cell == name for cell, name in zip(cells, names, strict=True) if name
    )
    return drop_name_column(rows, name_column) if is_equal else rows


def join_input_rows(
    jobs: pd.DataFrame,
    key: str,
    order: Sequence[str],
    rows: pd.DataFrame | None,
    *,
    name_column: str | None = None,
    missing: bool = True,
) -> pd.DataFrame:
    """Return jobs in the order of their input, joined with the input rows; one row per job.

    `key` is the column of `jobs` with the names. Jobs without an input row are at the end; with
    `missing`, names without a job are included, with empty job columns. Without `rows`, the input
    row of each name, the jobs are only reordered. `name_column` is the column of `rows` with the
    original names, if it should be included.
    """
    positions = {name: n for n, name in enumerate(jobs[key])}
    pairs = [(positions.get(name, -1), n) for n, name in enumerate(order)]
    if not missing:
        pairs = [(position, n) for position, n in pairs if position >= 0]
    input_names = set(order)
    pairs += [(position, -1) for name, position in positions.items() if name not in input_names]
    ordered = take_rows(jobs, [position for position, _ in pairs])
    if any(position < 0 for position, _ in pairs):
        ordered[key] = [
            order[n] or None if n >= 0 else jobs[key].iloc[position] for position, n in pairs
        ]
        ordered[key] = ordered[key].astype(jobs[key].dtype)
    if rows is None:
        return ordered
    return concat_input_rows(ordered, take_rows(rows, [n for _, n in pairs]), name_column)


def concat_input_rows(
    jobs: pd.DataFrame, rows: pd.DataFrame, name_column: str | None = None
) -> pd.DataFrame:
    """Return job columns followed by the columns of the input rows.

    Input columns named like columns of jobs, which an earlier batch may have, get a suffix even if
    `jobs` does not have these. The original names, in the column `name_column` of `rows`, follow
    the names of the jobs.
    """
    input_columns = list(map(str, rows.columns))
    taken = _JOB_COLUMNS | set(jobs.columns)
    renamed = [_input_label(name, taken) for name in input_columns]
    right = rows.set_axis(pd.Index(renamed), axis=1).reset_index(drop=True)
    joined = pd.concat([jobs.reset_index(drop=True), right], axis=1)
    if name_column not in input_columns:
        return joined
    order = list(range(joined.shape[1]))
    order.insert(_NAME_COLUMNS, order.pop(jobs.shape[1] + input_columns.index(name_column)))
    return joined.iloc[:, order]


def _input_label(name: str, taken: Container[str]) -> str:
    base = name
    while base.endswith(SUFFIX):  # the input of an earlier batch
        base = base.removesuffix(SUFFIX)
    is_taken = base in taken or base.startswith(_JOB_PREFIXES)
    return f"{name}{SUFFIX}" if is_taken else name


def take_rows(frame: pd.DataFrame, positions: Sequence[int]) -> pd.DataFrame:
    """Return the rows at these positions with a new index; an empty row for position -1."""
    import numpy as np

    indices = np.asarray(positions, dtype=np.intp)
    if (indices >= 0).all():
        return frame.iloc[indices].reset_index(drop=True)
    numbered = frame.reset_index(drop=True)
    # Missing cells would turn integers into floats and booleans into objects.
    nullable = {"i": "Int64", "b": "boolean"}
    names = numbered.columns
    numbered.columns = pd.RangeIndex(len(names))  # names may occur twice
    kinds = {position: dtype.kind for position, dtype in numbered.dtypes.items()}
    dtypes = {position: nullable[kind] for position, kind in kinds.items() if kind in nullable}
    taken = numbered.astype(dtypes).reindex(np.where(indices < 0, len(frame), indices))
    return taken.reset_index(drop=True).set_axis(names, axis=1)


def tools_frame(tools: Iterable[Tool]) -> pd.DataFrame:
    """Return one row per tool."""
    columns = make_columns(
        name="text",
        displayName="text",
        required="text",
        description="text",
        optional="text",
        paper="text",
        github="text",
    )
    records = [
        {
            **{column.name: tool.record.get(column.name) for column in columns},
            "required": _parameter_list(tool, required=True),
            "optional": _parameter_list(tool, required=False),
        }
        for tool in tools
    ]
    return TOOLS.show(records_to_frame(records, columns))


def workers_frame(answer: Any) -> pd.DataFrame:
    """Return one row per worker; see `JobsClient.workers`."""
    workers = answer.get("workers") if isinstance(answer, Mapping) else None
    if not isinstance(workers, list) or not all(isinstance(row, Mapping) for row in workers):
        raise ServiceError("The service returned an invalid list of workers.")
    columns = make_columns(
        name="text",
        state="text",
        slots="integer",
        busy="integer",
        memory="integer",
        jobs="json",
        tools="json",
        address="text",
        lastSeen="number",
        sharedDir="text",
        note="text",
    )
    records = [{column.name: row.get(column.name) for column in columns} for row in workers]
    frame = records_to_frame(records, columns)
    frame.attrs |= {"executor": answer.get("executor"), "waiting": answer.get("waiting") or []}
    return WORKERS.show(frame)


def parameters_frame(tool: Tool) -> pd.DataFrame:
    """Return one row per parameter; `.attrs` has the other fields of the tool."""
    columns = make_columns(
        name="text",
        required="boolean",
        type="text",
        default="json",
        options="json",
        description="text",
    )
    records: list[dict[str, Any]] = [
        {
            "name": parameter.name,
            "required": parameter.required,
            "type": parameter.type_name,
            "default": None if parameter.default is MISSING else parameter.default,
            "options": list(parameter.options) or None,
            "description": parameter.description,
        }
        for parameter in tool.parameters.values()
    ]
    table = records_to_frame(records, columns)
    # Assigned unparsed: a default may be text that looks like JSON.
    table["default"] = pd.Series(
        [strip_control_json(record["default"]) for record in records], dtype=object
    )
    table.attrs = {key: value for key, value in tool.record.items() if key != "settings"}
    return PARAMETERS.show(table)


def _parameter_list(tool: Tool, *, required: bool) -> str:
    return ", ".join(p.name for p in tool.parameters.values() if p.required is required)


STATISTICS = ("weighted_hours", "jobs")
SCOPES = ("user", "organization")
"""Scopes of usage statistics (JOBS-174)."""

_TOOLS = ("byTool", "by_tool", "tools", "byType")
_USERS = ("byUser", "by_user", "users", "byMember", "by_member", "members")
_VALUES = ("value", "weightedHours", "weighted_hours", "hours", "jobs", "count", "total")
_NAMES = ("name", "tool", "type", "user", "email", "member")

_MAX_EXACT = 1 << 53
"""Larger floats do not represent integers exactly."""

Numbers = dict[str, float]


def usage_frame(answer: Any, statistic: str, scope: str) -> pd.DataFrame:
    """Return one row for the total, then one row per tool and per user, most used first."""
    total, tools, users = _parse_usage(answer)
    rows: list[tuple[str, str, float]] = [] if total is None else [("total", "", total)]
    for group, numbers in (("tool", tools), ("user", users)):
        rows += [
            (group, strip_control(name), number)
            for name, number in sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
        ]
    table = pd.DataFrame(rows, columns=["group", "name", statistic])
    whole = statistic == "jobs" and all(row[2].is_integer() for row in rows)
    table = table.astype({"group": "str", "name": "str", statistic: "Int64" if whole else float})
    shown_total = int(total) if total is not None and whole else total
    table.attrs = {"statistic": statistic, "scope": scope, "total": shown_total}
    return ROWS.show(table)


def _parse_usage(answer: Any) -> tuple[float | None, Numbers, Numbers]:
    """Return the total (None if missing), and the values by tool and by user."""
    if (total := _usage_number(answer)) is not None:
        return total, {}, {}
    if isinstance(answer, Mapping) and isinstance(answer.get("usage"), Mapping):
        answer = answer["usage"]
    if not isinstance(answer, Mapping):
        raise _malformed_response()
    by_tool, tools_of = _parse_group(_first_field(answer, _TOOLS))
    by_user, tools_of_users = _parse_group(_first_field(answer, _USERS))
    by_tool = by_tool or tools_of_users
    by_user = by_user or tools_of
    total = _usage_number(answer.get("total"))
    if total is None and (parts := by_tool or by_user):
        total = math.fsum(parts.values())
    if total is None:
        raise _malformed_response()
    return total, by_tool, by_user


def _parse_group(group: Any) -> tuple[Numbers, Numbers]:
    """Return the values of a group by name, and the sums of its nested values by nested name."""
    if isinstance(group, list):
        group = {
            str(_first_field(item, _NAMES)): item for item in group if isinstance(item, Mapping)
        }
    outer: Numbers = {}
    inner: Numbers = {}
    for name, value in group.items() if isinstance(group, Mapping) else ():
        number = _usage_number(value)
        if number is None and isinstance(value, Mapping):
            number = _usage_number(_first_field(value, _VALUES))
            if number is None:
                nested = {str(key): item for key, v in value.items() if (item := _usage_number(v))}
                number = math.fsum(nested.values())
                for key, item in nested.items():
                    inner[key] = inner.get(key, 0.0) + item
        if number is not None:
            outer[str(name)] = number
    return outer, inner


def _first_field(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if key in record), None)


def _usage_number(value: Any) -> float | None:
    """Return a number, or the number in a text; None if it is not a valid usage value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= _MAX_EXACT else None


def _malformed_response() -> ServiceError:
    return ServiceError("The service returned invalid usage statistics.")
