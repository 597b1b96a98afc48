"""`%jobs plot`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError, NotFoundError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.namespace import to_frame
from labext_magics.core.options import OUT
from labext_magics.jobs.options import EMAIL, NAME_COLUMN
from labext_magics.jobs.view import view

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import JobsClient
    from labext_widgets.plots import OpenJob, Plot

_KINDS = ("scatter", "histogram", "line", "box")
_MAX_TABLES = 20
"""Maximum number of tables of a job to read if no columns are given."""


def plot(
    call: Call,
    *,
    name: str | None,
    file: str | None,
    from_: Any,
    name_column: str | None,
    email: str | None,
    **axes: Any,
) -> Plot:
    """Return the plot of a batch or a DataFrame, or the standard figures of a job.

    `axes` has the columns `x`, `y` and `color`, and the kind of plot.
    """
    from labext.jobs import records
    from labext_widgets import plots

    rows = None if from_ is None else to_frame(from_)
    if name is None:
        if rows is None:
            raise InputError(
                "`%jobs plot` needs a NAME, or a DataFrame with `--from`.",
                f"Example: `{PLOT.examples[0]}`.",
            )
        _reject_options({"--file": file, "--name-column": name_column}, "without a NAME")
        open_job = _job_opener(call, email) if "JobName" in rows else None
        return _plot_columns(rows, "frame", axes, open_job)
    try:
        row = call.jobs.job(name, email)
    except NotFoundError as error:
        if not call.scope.has_variable(name):
            raise
        raise error.with_next_step(
            f"To plot the variable, run `%jobs plot --from {quote(name)}`."
        ) from None
    if records.is_parent(row):
        _reject_options({"--file": file}, f"for {name}, which is a {records.kind(row)}")
        jobs = call.jobs.jobs(
            batch=name, scores=True, email=email, rows=rows, name_column=name_column
        )
        hint = ""
        if rows is None and not records.is_pipeline(row):
            hint = (
                "`--from FRAME --name-column NAME` adds the columns of the batch's input, if the "
                "batch was submitted from another machine."
            )
        return _plot_columns(plots.job_table(jobs), name, axes, _job_opener(call, email), hint)
    _reject_options(
        {"--from": from_, "--name-column": name_column}, f"for {name}, which is a single job"
    )
    by_column = any(axes.values())
    figure_files = [] if by_column else _tool_figures(call.jobs, str(row.get("Type")))
    columns = {axes[axis] for axis in ("x", "y", "color")} - {None}
    tables = _read_tables(call.jobs, name, file, email, figure_files, columns)
    if not by_column:
        figures = plots.job_plot(name, tables)
        if figures is not None:
            return figures
    complete = (path for path, table in tables.items() if columns <= set(map(str, table)))
    path = next(complete, next(iter(tables)))
    return _plot_columns(tables[path], f"{name}: {path}", axes, None)


def _reject_options(options: dict[str, Any], condition: str) -> None:
    used = [f"`{option}`" for option, value in options.items() if value is not None]
    if used:
        raise InputError(
            f"{' and '.join(used)} can't be used {condition}.", "See `%jobs plot --help`."
        )


def _plot_columns(
    frame: pd.DataFrame,
    title: str,
    axes: Mapping[str, Any],
    open_job: OpenJob | None,
    hint: str = "",
) -> Plot:
    """Return the plot of the selected columns, or of the first numeric columns."""
    from labext_widgets import plots
    from labext_widgets.plots.charts import default_columns

    x, y = axes["x"], axes["y"]
    use_defaults = x is None and y is None
    if use_defaults:
        x, y = default_columns(frame)
        if x is None:
            raise InputError(
                f"{title} has no numeric column to plot.",
                "Count the values of another column: `--x COLUMN`.",
            )
        if axes["kind"] in ("histogram", "box"):
            y = None
    columns: dict[str, Any] = {**axes, "x": x, "y": y}
    result = plots.table_plot(frame, title, open_job=open_job, hint=hint, **columns)
    if use_defaults:
        options = f"--x {quote(str(x))}" + ("" if y is None else f" --y {quote(str(y))}")
        output.print_message(f"Plotted `{options}`; these options select other columns.")
    return result


def _tool_figures(jobs: JobsClient, tool: str) -> list[str]:
    """Return the paths of the tables that the tool catalogue declares as figures."""
    try:
        figures = jobs.describe(tool).record.get("figures")
    except InputError:  # the tool is no longer installed
        return []
    return [str(path) for path in figures] if isinstance(figures, list) else []


def _read_tables(
    jobs: JobsClient,
    name: str,
    file: str | None,
    email: str | None,
    figures: list[str],
    columns: set[str],
) -> dict[str, pd.DataFrame]:
    """Return the CSV tables of a job by path.

    With `file`, only this table; otherwise the tables of `figures` that the job wrote, or all. With
    `columns`, reads until a table has them.
    """
    from labext_widgets.results.files import read_table

    paths = jobs.result_files(name, email)
    tables = [path for path in paths if path.lower().endswith(".csv")]
    if file is not None:
        matches = [path for path in tables if path == file or path.endswith(f"/{file}")]
        if not matches:
            listed = f"Its tables are {messages.join_words(tables) or 'none'}."
            raise InputError(f"{name} has no table {file}.", messages.suggest(file, tables, listed))
        tables = matches[:1]
    elif preferred := [path for path in figures if path in tables]:
        tables = preferred
    frames: dict[str, pd.DataFrame] = {}
    unread = list(tables)
    for path in tables if columns else tables[:_MAX_TABLES]:
        unread.remove(path)
        try:
            frames[path] = read_table(jobs.read_result(name, path, email=email))
        except ValueError as error:
            if file is not None:
                raise InputError(
                    f"{path} of {name} is not a table: {error}.",
                    f"Display its results with `%jobs view {quote(name)}`.",
                ) from None
            continue
        if columns and columns <= set(map(str, frames[path])):
            break
    if not frames:
        raise InputError(
            f"{name} has no table to plot.",
            f"Download its files with `%jobs results {quote(name)}`.",
        )
    if unread:
        verb = "was" if len(unread) == 1 else "were"
        output.print_message(
            f"{messages.pluralize(len(unread), 'table')} of {name} {verb} not read; "
            "`--file` chooses one."
        )
    return frames


def _job_opener(call: Call, email: str | None) -> OpenJob:
    """Return a function that opens the view of a job."""
    return lambda job: view(call, name=job, file=None, compare=None, email=email)


PLOT = Command(
    "plot",
    "Plot the settings and scores of a batch, the columns of a DataFrame, or a job's figures.",
    plot,
    [Parameter("NAME", value_types.JOB, "a batch, a pipeline or a job")],
    [
        Parameter("x", value_types.PLOT_COLUMN, "the column of the horizontal axis"),
        Parameter("y", value_types.PLOT_COLUMN, "the column of the vertical axis"),
        Parameter("color", value_types.PLOT_COLUMN, "the column that colors the points"),
        Parameter(
            "kind",
            value_types.choice(*_KINDS),
            "the kind of plot; by default chosen by the types of the columns",
        ),
        Parameter("file", value_types.RESULT_FILE, "plot this table of the job"),
        Parameter(
            "from",
            value_types.VARIABLE,
            "the DataFrame to plot; with NAME, the input rows of the batch",
        ),
        NAME_COLUMN,
        EMAIL,
        OUT,
    ],
    details="The columns are scores (`score.mfe`, or `mfe`), settings (`setting.temperature`), "
    "JobStatus, RunTime, WeightedHours and the columns of the batch's input. "
    "One column is drawn as a histogram, a category and a number as box plots, two numbers as "
    "a scatter plot. Without columns, a job shows the figures of its tool. The attributes of the "
    "result are `selection`, the rows selected with the mouse; `frame`, all rows; and `figure`, "
    "a matplotlib figure. `save(PATH)` writes the figure to a file.",
    examples=[
        "%jobs plot folds --x length --y score.mfe --color family",
        "%jobs plot helix1",
        "p = %jobs plot --from scores --x score.mfe",
    ],
)
