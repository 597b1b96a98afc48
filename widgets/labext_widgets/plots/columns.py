"""Columns of a table to plot, and the table of a batch's jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from labext.errors import InputError
from labext.messages import closest_match, join_words
from labext_widgets.core.markup import plain, shorten_names

if TYPE_CHECKING:
    import pandas as pd


MAX_TEXT = 60
"""Maximum number of characters of a label, a category or a job's name in a plot."""

MAX_VALUE = 1e300
"""Largest value in a plot; the width of an axis with larger ones, such as DBL_MAX, is infinite."""

JOB_UNITS = {"RunTime": "s", "WeightedHours": "weighted hours", "Created": "UTC"}
JOB_UNITS |= dict.fromkeys(("Started", "Completed"), "UTC")
"""Units of the columns that every job has."""

TOOL_UNITS: Mapping[str, Mapping[str, str]] = {
    "align_pair": {"identity": "%", "similarity": "%"},
    "codon_optimise": {"gc": "%", "gc_before": "%"},
    "conformers": {"energy": "kcal/mol", "spread": "kcal/mol", "rmsdThreshold": "Å"},
    "digest": {"length": "bp", "longest": "bp", "shortest": "bp"},
    "gene_find": {"coding": "%", "gc": "%"},
    "hmm_search": {"best_score": "bits"},
    "msa_tree": {"mean_identity": "%", "min_identity": "%"},
    "normal_modes": {"cutoff": "Å", "amplitude": "Å"},
    "peptide_build": {"weight": "Da", "end_to_end": "Å", "radius_of_gyration": "Å"},
    "peptide_relax": {"rmsd": "Å", "force": "kJ/mol/nm", "tolerance": "kJ/mol/nm"}
    | dict.fromkeys(("energy_before", "energy_after"), "kJ/mol"),
    "primer_design": {"product_size": "bp", "forward_tm": "°C", "reverse_tm": "°C"}
    | dict.fromkeys(("tmMin", "tmOpt", "tmMax"), "°C"),
    "rna_fold": {"diversity": "bp", "length": "nt", "temperature": "°C"}
    | dict.fromkeys(("mfe", "ensemble", "centroid"), "kcal/mol"),
    "structure_summary": {"radius_of_gyration": "Å", "sasa": "Å²", "probe": "Å"},
}
"""Units of scores and settings by tool, as the tools' descriptions have them."""

PREFIXES = ("score.", "setting.")


def plain_name(column: str) -> str:
    """Return the name of a score or setting without its prefix."""
    for prefix in PREFIXES:
        column = column.removeprefix(prefix)
    return column


def column_units(columns: list[str], tools: set[str]) -> dict[str, str]:
    """Return the units of a frame's columns, if the jobs of all tools in it agree on them."""
    units = {column: JOB_UNITS[column] for column in columns if column in JOB_UNITS}
    for column in columns:
        if column.startswith(PREFIXES):
            known = {TOOL_UNITS.get(tool, {}).get(plain_name(column)) for tool in tools}
            if len(known) == 1 and (unit := known.pop()) is not None:
                units[column] = unit
    return units


def label(column: str, units: Mapping[str, str]) -> str:
    """Return the label of a column: its name, and its unit in parentheses."""
    unit = units.get(column)
    name = plain(plain_name(column), MAX_TEXT)
    return f"{name} ({plain(unit, MAX_TEXT)})" if unit else name


ColumnKind = Literal["number", "time", "category"]


def value_text(kind: ColumnKind, value: float, digits: int = 4) -> str:
    """Return a time in UTC, or a number: whole ones exactly, others with `digits` digits.

    Numbers below ten million have one behind the point.
    """
    if kind == "time":
        from datetime import UTC, datetime

        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if value % 1 == 0 and abs(value) < 1e15:
        return f"{value + 0.0:.0f}"  # -0.0 is 0
    if 1 <= abs(value) < 1e7:
        digits = max(digits, math.floor(math.log10(abs(value))) + 2)
    return f"{value:.{digits}g}"


def range_text(kind: ColumnKind, low: float, high: float) -> str:
    """Return `2.5 to 3`, with as many digits as tell the two values apart."""
    size, width = max(abs(low), abs(high)), high - low
    digits = 4 if not width > 0 else min(4 + max(math.ceil(math.log10(size / width)), 0), 17)
    return f"{value_text(kind, low, digits)} to {value_text(kind, high, digits)}"


_NOT_PLOTTED = ("Settings", "Score", "Structures", "Folder", "statuses")


@dataclass(frozen=True)
class Column:
    """A column to plot.

    Attributes:
        values: a number for each row, NaN without a value; times in milliseconds since 1970; of
            categories the position of the category.
        categories: the names of the categories, in order of their appearance.
    """

    name: str
    kind: ColumnKind
    values: list[float]
    categories: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.kind == "number" and all(v.is_integer() for v in self.values if v == v)


def column_kind(series: pd.Series[Any]) -> ColumnKind | None:
    """Return the kind of plot axis for a column, or None if its values can't be plotted."""
    import pandas as pd
    from pandas.api import types

    if types.is_bool_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype):
        return "category"
    if types.is_complex_dtype(series.dtype):
        return None
    if types.is_numeric_dtype(series.dtype) or types.is_timedelta64_dtype(series.dtype):
        return "number"
    if types.is_datetime64_any_dtype(series.dtype):
        return "time"
    filled = series.dropna()
    if any(isinstance(value, dict | list | tuple | set) for value in filled):
        return None
    if series.dtype == object and len(filled):
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in filled):
            return "number"
        is_number = not any(isinstance(v, bool) for v in filled)
        if is_number and not any(map(math.isnan, read_numbers(filled))):
            return "number"
    return "category"


def plottable(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns with values that can be plotted."""
    return [
        str(name)
        for position, name in enumerate(frame.columns)
        if str(name) not in _NOT_PLOTTED
        and frame.iloc[:, position].notna().any()
        and column_kind(frame.iloc[:, position]) is not None
    ]


def numeric_columns(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns of numbers."""
    return [name for name in plottable(frame) if column_kind(_series(frame, name)) == "number"]


def find_column(frame: pd.DataFrame, name: str, hint: str = "") -> str:
    """Return the column that a name stands for; a score or setting also without its prefix.

    Args:
        frame: the table.
        name: the name as typed.
        hint: a sentence on where further columns come from.

    Raises:
        InputError: there is no such column, or its values can't be plotted.
    """
    columns = plottable(frame)
    for form in (name, *(f"{prefix}{name}" for prefix in PREFIXES)):
        if form in columns:
            return form
        same = [column for column in columns if column.casefold() == form.casefold()]
        if len(same) == 1:
            return same[0]
    if name in map(str, frame.columns):
        why = "has no values" if not _series(frame, name).notna().any() else "can't be plotted"
        message = f'The column "{plain(name, MAX_TEXT)}" {why}.'
        near = None
    else:
        message = f'There is no column "{plain(name, MAX_TEXT)}".'
        short = [column.removeprefix(prefix) for prefix in PREFIXES for column in columns]
        near = closest_match(name, [*columns, *short])
    step = f'Did you mean "{near}"? ' if near else ""
    step += f"The columns are {join_words(columns, 30)}." if columns else "The table is empty."
    raise InputError(message, f"{step} {hint}".strip())


def read_column(frame: pd.DataFrame, name: str) -> Column:
    """Return the values of a column that `find_column` has found."""
    import pandas as pd

    series = _series(frame, name)
    kind = column_kind(series)
    assert kind is not None
    if kind == "category":
        return _read_categories(series, name)
    if kind == "time":
        times = pd.to_datetime(series, utc=True)
        since = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(milliseconds=1)
        return Column(name, kind, finite_values(since))
    if series.dtype.kind == "m":
        return Column(name, kind, finite_values(series.dt.total_seconds()))
    return Column(name, kind, read_numbers(series))


def _read_categories(series: pd.Series[Any], name: str) -> Column:
    import pandas as pd

    texts = [None if pd.isna(value) else str(value) for value in series]
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.ordered:
        found = set(texts)
        present = [text for text in map(str, series.dtype.categories) if text in found]
    else:
        present = [text for text in dict.fromkeys(texts) if text is not None]
    positions = {text: float(position) for position, text in enumerate(present)}
    values = [math.nan if text is None else positions[text] for text in texts]
    names = tuple(shorten_names([plain(text) for text in present], MAX_TEXT))
    return Column(name, "category", values, names)


def read_numbers(series: pd.Series[Any]) -> list[float]:
    """Return values as floats, with NaN for those that are no finite number."""
    import pandas as pd

    if series.dtype == object:  # `to_numeric` raises OverflowError for large integers
        is_too_large = series.map(lambda value: isinstance(value, int) and abs(value) > MAX_VALUE)
        series = series.mask(is_too_large.astype(bool))
    return finite_values(pd.to_numeric(series, errors="coerce"))


def finite_values(series: pd.Series[Any]) -> list[float]:
    """Return numbers as floats, with NaN for missing, infinite and too large values."""
    values = series.to_numpy(dtype=float, na_value=math.nan).tolist()
    return [value + 0.0 if abs(value) <= MAX_VALUE else math.nan for value in values]  # no -0.0


def _series(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return the first of the columns with this name, which need not be text."""
    return frame.iloc[:, [str(column) for column in frame.columns].index(name)]


RUN_TIME = "RunTime"


def job_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a list of jobs with a column for each setting, and the run time in seconds.

    The names of the jobs also have the name of their column in the batch's input.

    Args:
        jobs: as `JobsClient.jobs(batch=…, scores=True)` returns it.
    """
    import pandas as pd

    from labext.frames.conversion import spread_column
    from labext.frames.views import VIEW_ATTRIBUTE

    table = spread_column(jobs, "Settings", "setting") if "Settings" in jobs else jobs.copy()
    name_column = jobs.attrs.get("name_column")
    if name_column is not None and name_column not in table:
        table.insert(1, name_column, table["Name"])
    if {"Started", "Completed"} <= set(table.columns):
        started, completed = (
            pd.to_datetime(table[column], utc=True) for column in ("Started", "Completed")
        )
        table[RUN_TIME] = (completed - started).dt.total_seconds()
    view = jobs.attrs.get(VIEW_ATTRIBUTE)
    table.attrs = {} if view is None else {VIEW_ATTRIBUTE: view}  # displayed as a list of jobs
    return table


def job_names(table: pd.DataFrame) -> list[str]:
    """Return the names of the jobs in a table, without that of their batch."""
    column = "Name" if "Name" in table else "JobName"
    return [] if column not in table else ["" if n != n else str(n) for n in table[column]]


def tools_of(table: pd.DataFrame) -> set[str]:
    """Return the tools of the jobs in a table."""
    return set(table["Type"].dropna().astype(str)) if "Type" in table else set()
