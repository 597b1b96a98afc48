"""`%jobs plot`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.namespace import frame_of
from labext_magics.core.options import OUT
from labext_magics.jobs.options import EMAIL, ROWS
from labext_magics.jobs.view import view

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import JobsClient
    from labext_widgets.plots import OpenJob, Plot

_KINDS = ("scatter", "histogram", "line", "box")
_MAX_TABLES = 20
"""Maximum number of tables of a job that are read to find its figures."""


def plot(
    call: Call,
    *,
    name: str | None,
    x: str | None,
    y: str | None,
    color: str | None,
    kind: Any,
    file: str | None,
    from_: Any,
    name_column: str | None,
    email: str | None,
) -> Plot:
    """Return the plot of a batch or a frame, or the standard figures of a job."""
    from labext.jobs import records
    from labext_widgets import plots

    rows = None if from_ is None else frame_of(from_)
    if name is None:
        if rows is None:
            raise InputError(
                "`%jobs plot` needs a NAME, or `--from` a frame.",
                f"Example: `{PLOT.examples[0]}`.",
            )
        _refuse({"--file": file, "--name-column": name_column}, "without a NAME")
        open_job = _job_opener(call, email) if "JobName" in rows else None
        return _plot_columns(rows, "frame", x, y, color, kind, open_job)
    row = call.jobs.job(name, email)
    if records.is_parent(row):
        _refuse({"--file": file}, f"for {name}, which is a {records.kind(row)}")
        jobs = call.jobs.jobs(
            batch=name, scores=True, email=email, rows=rows, name_column=name_column
        )
        hint = "" if rows is not None else _input_hint(row)
        table = plots.job_table(jobs)
        return _plot_columns(table, name, x, y, color, kind, _job_opener(call, email), hint)
    _refuse({"--from": from_, "--name-column": name_column}, f"for {name}, which is a single job")
    by_column = any((x, y, color, kind))
    figure_files = [] if by_column else _tool_figures(call.jobs, str(row.get("Type")))
    tables = _read_tables(call.jobs, name, file, email, figure_files)
    if not by_column:
        figures = plots.job_plot(name, tables)
        if figures is not None:
            return figures
    path, table = _table_to_plot(tables, [n for n in (x, y, color) if n is not None])
    return _plot_columns(table, f"{name}: {path}", x, y, color, kind, None)


def _refuse(options: dict[str, Any], why: str) -> None:
    used = [option for option, value in options.items() if value is not None]
    if used:
        named = " and ".join(f"`{option}`" for option in used)
        raise InputError(f"{named} can't be used {why}.", "See `%jobs plot --help`.")


def _plot_columns(
    frame: pd.DataFrame,
    title: str,
    x: str | None,
    y: str | None,
    color: str | None,
    kind: Any,
    open_job: OpenJob | None,
    hint: str = "",
) -> Plot:
    """Return the plot of the named columns, or of the first numbers of a table."""
    from labext_widgets import plots
    from labext_widgets.plots.charts import default_columns

    chosen = x is None and y is None
    if chosen:
        x, y = default_columns(frame)
        if x is None:
            raise InputError(
                f"{title} has no column of numbers to plot.",
                "Count the values of another column: `--x COLUMN`.",
            )
        if kind in ("histogram", "box"):
            y = None
    done = plots.table_plot(
        frame, title, x=x, y=y, color=color, kind=kind, open_job=open_job, hint=hint
    )
    if chosen:
        options = f"--x {quote(str(x))}" + ("" if y is None else f" --y {quote(str(y))}")
        output.print_message(f"Plotted `{options}`; name other columns with these options.")
    return done


def _input_hint(row: Any) -> str:
    """Return where the columns come from that a batch was made from."""
    from labext.jobs import records

    if records.is_pipeline(row):
        return ""
    return (
        "`--from FRAME --name-column NAME` adds the columns of the frame that the batch was "
        "made from, if it was submitted elsewhere."
    )


def _tool_figures(jobs: JobsClient, tool: str) -> list[str]:
    """Return the tables that the catalogue names as figures of a tool; empty if it names none."""
    try:
        named = jobs.describe(tool).record.get("figures")
    except InputError:  # the tool is no longer installed
        return []
    return [str(path) for path in named] if isinstance(named, list) else []


def _read_tables(
    jobs: JobsClient, name: str, file: str | None, email: str | None, figures: list[str]
) -> dict[str, pd.DataFrame]:
    """Return the CSV tables of a job by their paths.

    Only `file` if it is given, else `figures` in their order, as far as the job wrote them.
    """
    import pandas as pd

    paths = jobs.result_files(name, email)
    tables = [path for path in paths if path.lower().endswith(".csv")]
    if file is not None:
        known = [path for path in tables if path == file or path.endswith(f"/{file}")]
        if not known:
            near = messages.closest_match(file, tables)
            raise InputError(
                f"{name} has no table {file}.",
                f"Did you mean {near}?"
                if near
                else f"Its tables are {messages.join_words(tables) or 'none'}.",
            )
        tables = known[:1]
    elif named := [path for path in figures if path in tables]:
        tables = named
    read: dict[str, pd.DataFrame] = {}
    for path in tables[:_MAX_TABLES]:
        try:
            read[path] = pd.read_csv(io.BytesIO(jobs.read_result(name, path, email=email)))
        except ValueError as error:
            if file is not None:
                raise InputError(
                    f"{path} of {name} is not a table: {error}.", f"`%jobs view {quote(name)}`"
                ) from None
    if not read:
        raise InputError(
            f"{name} wrote no table that can be plotted.",
            f"`%jobs results {quote(name)}` fetches its files.",
        )
    return read


def _table_to_plot(tables: dict[str, pd.DataFrame], columns: list[str]) -> tuple[str, pd.DataFrame]:
    """Return the first table with all of the columns, else the first."""
    for path, table in tables.items():
        if {*columns} <= {str(column) for column in table.columns}:
            return path, table
    return next(iter(tables.items()))


def _job_opener(call: Call, email: str | None) -> OpenJob:
    """Return a function that returns the view of a job."""
    return lambda job: view(
        call,
        name=job,
        file=None,
        compare=None,
        sort=None,
        descending=False,
        page=None,
        email=email,
    )


PLOT = Command(
    "plot",
    "Plot the settings and scores of a batch, the columns of a frame, or a job's own figures.",
    plot,
    [Parameter("NAME", value_types.JOB, "a batch, a pipeline or a job")],
    [
        Parameter("x", value_types.PLOT_COLUMN, "the column of the horizontal axis"),
        Parameter("y", value_types.PLOT_COLUMN, "the column of the vertical axis"),
        Parameter("color", value_types.PLOT_COLUMN, "the column that colours the points"),
        Parameter(
            "kind",
            value_types.choice(*_KINDS),
            "the kind of plot; by default the one that fits the columns",
        ),
        Parameter("file", value_types.RESULT_FILE, "plot this table of the job"),
        Parameter(
            "from",
            value_types.VARIABLE,
            "the frame to plot, or with NAME the rows that the batch was made from",
        ),
        ROWS[1],
        EMAIL,
        OUT,
    ],
    details="The columns are scores (`score.mfe`, or `mfe`), settings (`setting.temperature`), "
    "JobStatus, RunTime, WeightedHours and those of the frame that the batch was made from. "
    "One column is drawn as a histogram, a category and a number as box plots, two numbers as "
    "a scatter plot. Without columns a job shows the figures of its tool. In the result, "
    "`selection` has the rows that were marked with the mouse, `frame` all rows, `figure` is a "
    "figure of matplotlib, and `save(PATH)` writes it.",
    examples=[
        "%jobs plot folds --x length --y score.mfe --color family",
        "%jobs plot helix1",
        "p = %jobs plot --from scores --x score.mfe",
    ],
)
