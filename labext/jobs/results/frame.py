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
    inputs: dict[str, str | None] = {}
    for row, stage in jobs:
        stage_inputs = [*_stage_inputs(row, stages, stage)]
        inputs[str(row.get("JobName"))] = _initial_input(stage_inputs, initial, inputs)
    return [*inputs.values()]


def _initial_input(
    stage_inputs: Sequence[Any], initial: Sequence[Any], before: Mapping[str, str | None]
) -> str | None:
    for value in stage_inputs:
        job, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
        if path and job in before:
            return before[job]
        if value in initial:
            return _input_text(value)
    return _input_text(initial[0]) if stage_inputs and len(initial) == 1 else None


def _stage_inputs(row: JobRecord, stages: Sequence[Any], stage: int | None) -> Iterator[Any]:
    """Yield the job's input from the stage before, or all its settings if none is recorded."""
    settings = stored_settings(row) or {}
    piped: Any = settings
    try:
        if stage is not None:
            requested = stages[stage - 1]["toolSettings"][row.get("Type")]
            piped = [name for name, value in requested.items() if value == PIPE]
    except (LookupError, TypeError, AttributeError):
        pass
    for name in piped:
        if name in settings:
            yield settings[name]


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
        folder: the results folder.
        paths: the files in it.
        input_rows: the input's rows; else the journal's, or the jobs' settings.
        name_column: the column of `input_rows` with the jobs' names.
    """
    from labext.frames import conversion
    from labext.jobs.views import JOBS

    of, parent = str(row.get("JobName")), records.is_parent(row)
    query = ListQuery(batch=of, email=email) if parent else ListQuery(email=email)
    jobs = lister.table(query) if parent else records.jobs_frame([row]).assign(Name=of)
    frame = jobs[["Name", "JobName", "Type", "JobStatus"]].copy()
    frame["Reason"] = _reason_column(jobs)
    stored = [str(name) for name in jobs["JobName"]]
    files = manifest.files_by_job(paths, stored, of)
    placed = [_job_folder_path(folder, job, files[job], of, alone=not parent) for job in stored]
    frame["Folder"] = _text_array(placed)
    structures = [_structure_paths(folder, files[job]) for job in stored]
    frame["Structures"] = _object_array(structures)
    if records.is_pipeline(row):
        frame.insert(3, "Stage", _stage_numbers(jobs["Name"]))
        frame.insert(4, "Input", _text_array(_input_column(row, jobs, frame["Stage"])))
    scores = conversion.spread_column(jobs[["Score"]], "Score", _METRIC)
    frame = concat_input_rows(frame, _plain_names(scores, _METRIC, existing_columns=frame.columns))
    inputs = lister.inputs(jobs, query, input_rows, name_column)
    beside = None if inputs is None else inputs.rows
    if beside is None:
        frame = concat_input_rows(frame, _settings_columns(jobs))
    if inputs is not None:
        frame = join_input_rows(
            frame, inputs.key, inputs.names, beside, name_column=inputs.name_column, missing=parent
        )
        missing = frame["JobName"].isna()
        frame["Structures"] = _object_array(
            [[] if gone else cell for gone, cell in zip(missing, frame["Structures"], strict=True)]
        )
    return JOBS.show(frame)


def _settings_columns(jobs: pd.DataFrame) -> pd.DataFrame:
    from labext.frames import conversion

    spread = conversion.spread_column(jobs[["Settings"]], "Settings", _SETTING)
    internal = [f"{_SETTING}.{name}" for name in INTERNAL_FIELDS]
    return _plain_names(
        spread.drop(columns=internal, errors="ignore"), _SETTING, existing_columns=()
    )


def _plain_names(
    spread: pd.DataFrame, prefix: str, existing_columns: Iterable[Any]
) -> pd.DataFrame:
    """Return spread columns by their plain names, as in metrics.csv; a taken one keeps the long."""
    existing = set(existing_columns) | set(spread.columns)
    short = {column: str(column).removeprefix(f"{prefix}.") for column in spread.columns}
    return spread.rename(
        columns={long: name for long, name in short.items() if name not in existing}
    )


def _reason_column(jobs: pd.DataFrame) -> Any:
    fields = [key for key in records.REASON_FIELDS if key in jobs]
    cells = jobs[fields].astype(object).where(jobs[fields].notna(), None)
    reason_rows = (
        dict(zip(fields, values, strict=True)) for values in cells.itertuples(index=False)
    )
    return _text_array([records.reason(values) or None for values in reason_rows])


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

    matches = [_STAGE.match(name) for name in own]
    cells = [{"Stage": int(match[1]) if match else None} for match in matches]
    return typed(cells, [Column("Stage", "integer")])["Stage"]


def _input_column(
    pipeline: JobRecord, jobs: pd.DataFrame, stages: Iterable[Any]
) -> list[str | None]:
    import pandas as pd

    job_fields = zip(jobs["JobName"], jobs["Type"], jobs["Settings"], stages, strict=True)
    return initial_inputs(
        pipeline,
        (
            (
                {"JobName": name, "Type": type, "Settings": settings},
                None if pd.isna(stage) else int(stage),
            )
            for name, type, settings, stage in job_fields
        ),
    )


def _text_array(cells: list[str | None]) -> Any:
    from labext.frames.conversion import Column
    from labext.frames.conversion import records_to_frame as typed

    return typed([{"text": cell} for cell in cells], [Column("text", "text")])["text"]


def _object_array(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(cells, dtype=object)
