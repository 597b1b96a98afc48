"""DataFrame of fetched results: one row per job, with inputs and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.jobs import records
from labext.jobs.frames import concat_input_rows, join_input_rows
from labext.jobs.identity import INTERNAL_FIELDS, canonical_json, stored_settings
from labext.jobs.listing import JobLister, ListQuery
from labext.jobs.records import JobRecord
from labext.jobs.results import manifest

if TYPE_CHECKING:
    import pandas as pd

PIPE = "pipe"


def initial_inputs(
    pipeline: JobRecord, jobs: Iterable[tuple[JobRecord, int | None]]
) -> list[str | None]:
    """Return the initial input of each job.

    Args:
        pipeline: its row.
        jobs: each job's row and stage, if that is known, in order of the stages.

    Returns:
        None for a job that takes nothing of the stage before, and where its settings do not tell:
        a later stage's, of several inputs, that got the text of a file and not its name.
    """
    settings = stored_settings(pipeline) or {}
    initial = _list_field(settings, "initialInputs") or _list_field(settings, "inputs")
    stages = _list_field(settings, "stages")
    found: dict[str, str | None] = {}
    for row, stage in jobs:
        taken = [*_stage_inputs(row, stages, stage)]
        found[str(row.get("JobName"))] = _initial_input(taken, initial, found)
    return [*found.values()]


def _initial_input(
    taken: Sequence[Any], initial: Sequence[Any], before: Mapping[str, str | None]
) -> str | None:
    for value in taken:
        job, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
        if path and job in before:
            return before[job]
        if value in initial:
            return _input_text(value)
    return _input_text(initial[0]) if taken and len(initial) == 1 else None


def _stage_inputs(row: JobRecord, stages: Sequence[Any], stage: int | None) -> Iterator[Any]:
    """Yield what the job got from the stage before, or all its settings where none is told."""
    given = stored_settings(row) or {}
    piped: Any = given
    try:
        if stage is not None:
            asked = stages[stage - 1]["toolSettings"][row.get("Type")]
            piped = [name for name, value in asked.items() if value == PIPE]
    except (LookupError, TypeError, AttributeError):
        pass
    for name in piped:
        if name in given:
            yield given[name]


def _list_field(settings: Mapping[str, Any], name: str) -> list[Any]:
    value = settings.get(name)
    return value if isinstance(value, list) else []


def _input_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


_METRIC, _SETTING = "score", "setting"
_STAGE = re.compile(r"stage([1-9]\d*)-")


def results_frame(
    lister: JobLister,
    row: JobRecord,
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
    from labext.frames import conversion
    from labext.jobs.views import JOBS

    of, parent = str(row.get("JobName")), records.is_parent(row)
    query = ListQuery(batch=of, email=email) if parent else ListQuery(email=email)
    jobs = lister.table(query) if parent else records.jobs_frame([row]).assign(Name=of)
    made = jobs[["Name", "JobName", "Type", "JobStatus"]].copy()
    made["Reason"] = _reason_column(jobs)
    stored = [str(name) for name in jobs["JobName"]]
    found = manifest.files_by_job(paths, stored, of)
    placed = [_job_folder_path(folder, job, found[job], of, alone=not parent) for job in stored]
    made["Folder"] = _text_array(placed)
    structures = [_structure_paths(folder, found[job]) for job in stored]
    made["Structures"] = _object_array(structures)
    if records.is_pipeline(row):
        made.insert(3, "Stage", _stage_numbers(jobs["Name"]))
        made.insert(4, "Input", _text_array(_input_column(row, jobs, made["Stage"])))
    scores = conversion.spread_column(jobs[["Score"]], "Score", _METRIC)
    made = concat_input_rows(made, _plain_names(scores, _METRIC, taken=made.columns))
    given = lister.inputs(jobs, query, input_rows, name_column)
    beside = None if given is None else given.rows
    if beside is None:
        made = concat_input_rows(made, _settings_columns(jobs))
    if given is not None:
        made = join_input_rows(
            made, given.key, given.names, beside, name_column=given.name_column, missing=parent
        )
        missing = made["JobName"].isna()
        made["Structures"] = _object_array(
            [[] if gone else cell for gone, cell in zip(missing, made["Structures"], strict=True)]
        )
    return JOBS.show(made)


def _settings_columns(jobs: pd.DataFrame) -> pd.DataFrame:
    from labext.frames import conversion

    spread = conversion.spread_column(jobs[["Settings"]], "Settings", _SETTING)
    internal = [f"{_SETTING}.{name}" for name in INTERNAL_FIELDS]
    return _plain_names(spread.drop(columns=internal, errors="ignore"), _SETTING, taken=())


def _plain_names(spread: pd.DataFrame, prefix: str, taken: Iterable[Any]) -> pd.DataFrame:
    """Return spread columns by their plain names, as in metrics.csv; a taken one keeps the long."""
    there = set(taken) | set(spread.columns)
    short = {column: str(column).removeprefix(f"{prefix}.") for column in spread.columns}
    return spread.rename(columns={long: name for long, name in short.items() if name not in there})


def _reason_column(jobs: pd.DataFrame) -> Any:
    known = [key for key in records.REASON_FIELDS if key in jobs]
    cells = jobs[known].astype(object).where(jobs[known].notna(), None)
    found = (dict(zip(known, each, strict=True)) for each in cells.itertuples(index=False))
    return _text_array([records.reason(each) or None for each in found])


def _job_folder_path(
    folder: Path, job: str, paths: list[str], of: str, *, alone: bool
) -> str | None:
    if not paths:
        return None
    return str(folder if alone else folder / manifest.job_folder(paths[0], job, of))


def _structure_paths(folder: Path, paths: Iterable[str]) -> list[str]:
    return [str(folder / path) for path in paths if manifest.is_structure(path)]


def _stage_numbers(own: Iterable[str]) -> Any:
    from labext.frames.conversion import Column
    from labext.frames.conversion import records_to_frame as typed

    found = [_STAGE.match(name) for name in own]
    cells = [{"Stage": int(each[1]) if each else None} for each in found]
    return typed(cells, [Column("Stage", "integer")])["Stage"]


def _input_column(
    pipeline: JobRecord, jobs: pd.DataFrame, stages: Iterable[Any]
) -> list[str | None]:
    import pandas as pd

    known = zip(jobs["JobName"], jobs["Type"], jobs["Settings"], stages, strict=True)
    return initial_inputs(
        pipeline,
        (
            (
                {"JobName": name, "Type": type, "Settings": settings},
                None if pd.isna(stage) else int(stage),
            )
            for name, type, settings, stage in known
        ),
    )


def _text_array(cells: list[str | None]) -> Any:
    from labext.frames.conversion import Column
    from labext.frames.conversion import records_to_frame as typed

    return typed([{"text": cell} for cell in cells], [Column("text", "text")])["text"]


def _object_array(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(cells, dtype=object)
