"""Fetched results as one DataFrame: a row a job, what it was made of, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.jobs import joining, rows
from labext.jobs.identity import INTERNAL
from labext.jobs.listing import Lister, Query
from labext.jobs.results import origins, outputs
from labext.jobs.rows import Row

if TYPE_CHECKING:
    import pandas as pd

_METRIC, _SETTING = "score", "setting"
_STAGE = re.compile(r"stage([1-9]\d*)-")


def frame(
    lister: Lister,
    row: Row,
    email: str | None,
    folder: Path,
    paths: Iterable[str],
    input_rows: pd.DataFrame | None,
    name_column: str | None,
) -> pd.DataFrame:
    """Return the jobs behind fetched results; see `Results.frame`.

    Args:
        lister: lists the jobs of a batch or a pipeline.
        row: of the job, the batch (also a split one) or the pipeline.
        email: whose it is, if a teammate's.
        folder: where the results are.
        paths: the files in it.
        input_rows: the input's rows; else the journal's, or the jobs' settings.
        name_column: the column of `input_rows` with the jobs' names.
    """
    from labext import frames
    from labext.jobs.rowviews import JOBS

    of, parent = str(row.get("JobName")), rows.is_parent(row)
    query = Query(batch=of, email=email) if parent else Query(email=email)
    jobs = lister.table(query) if parent else rows.table([row]).assign(Name=of)
    made = jobs[["Name", "JobName", "Type", "JobStatus"]].copy()
    made["Reason"] = _reasons(jobs)
    stored = [str(name) for name in jobs["JobName"]]
    found = outputs.by_job(paths, stored, of)
    placed = [_folder(folder, job, found[job], of, alone=not parent) for job in stored]
    made["Folder"] = _text(placed)
    structures = [_structures(folder, found[job]) for job in stored]
    made["Structures"] = _objects(structures)
    if rows.is_pipeline(row):
        made.insert(3, "Stage", _stages(jobs["Name"]))
        made.insert(4, "Input", _text(_inputs(row, jobs, made["Stage"])))
    scores = frames.spread(jobs[["Score"]], "Score", _METRIC)
    made = joining.beside(made, _plain(scores, _METRIC, taken=made.columns))
    given = lister.inputs(jobs, query, input_rows, name_column)
    beside = None if given is None else given.rows
    if beside is None:
        made = joining.beside(made, _settings(jobs))
    if given is not None:
        made = joining.join(
            made, given.key, given.names, beside, name_column=given.name_column, missing=parent
        )
        missing = made["JobName"].isna()
        made["Structures"] = _objects(
            [[] if gone else cell for gone, cell in zip(missing, made["Structures"], strict=True)]
        )
    return JOBS.show(made)


def _settings(jobs: pd.DataFrame) -> pd.DataFrame:
    from labext import frames

    spread = frames.spread(jobs[["Settings"]], "Settings", _SETTING)
    internal = [f"{_SETTING}.{name}" for name in INTERNAL]
    return _plain(spread.drop(columns=internal, errors="ignore"), _SETTING, taken=())


def _plain(spread: pd.DataFrame, prefix: str, taken: Iterable[Any]) -> pd.DataFrame:
    """Return spread columns by their plain names, as in metrics.csv; a taken one keeps the long."""
    there = set(taken) | set(spread.columns)
    short = {column: str(column).removeprefix(f"{prefix}.") for column in spread.columns}
    return spread.rename(columns={long: name for long, name in short.items() if name not in there})


def _reasons(jobs: pd.DataFrame) -> Any:
    known = [key for key in rows.REASONS if key in jobs]
    cells = jobs[known].astype(object).where(jobs[known].notna(), None)
    found = (dict(zip(known, each, strict=True)) for each in cells.itertuples(index=False))
    return _text([rows.reason(each) or None for each in found])


def _folder(folder: Path, job: str, paths: list[str], of: str, *, alone: bool) -> str | None:
    if not paths:
        return None
    return str(folder if alone else folder / outputs.folder_of(paths[0], job, of))


def _structures(folder: Path, paths: Iterable[str]) -> list[str]:
    return [str(folder / path) for path in paths if outputs.is_structure(path)]


def _stages(own: Iterable[str]) -> Any:
    from labext.frames import Column
    from labext.frames import frame as typed

    found = [_STAGE.match(name) for name in own]
    cells = [{"Stage": int(each[1]) if each else None} for each in found]
    return typed(cells, [Column("Stage", "integer")])["Stage"]


def _inputs(pipeline: Row, jobs: pd.DataFrame, stages: Iterable[Any]) -> list[str | None]:
    import pandas as pd

    known = zip(jobs["JobName"], jobs["Type"], jobs["Settings"], stages, strict=True)
    return origins.inputs(
        pipeline,
        (
            (
                {"JobName": name, "Type": type, "Settings": settings},
                None if pd.isna(stage) else int(stage),
            )
            for name, type, settings, stage in known
        ),
    )


def _text(cells: list[str | None]) -> Any:
    from labext.frames import Column
    from labext.frames import frame as typed

    return typed([{"text": cell} for cell in cells], [Column("text", "text")])["text"]


def _objects(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(cells, dtype=object)
