"""DataFrame of downloaded results: one row per job, with inputs and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from labext.frames.conversion import spread_column, to_array
from labext.jobs import records
from labext.jobs.frames import JOBS, concat_input_rows, join_input_rows
from labext.jobs.identity import INTERNAL_FIELDS, canonical_json, stored_settings
from labext.jobs.listing import JobLister, ListQuery
from labext.jobs.output_kinds import output_kind
from labext.jobs.pipelines import PIPE
from labext.jobs.records import JobRecord
from labext.jobs.results import manifest


def initial_inputs(
    pipeline: JobRecord, jobs: Iterable[tuple[JobRecord, int | None]]
) -> list[str | None]:
    """Return the initial input of each job of a pipeline, given by its row and stage number.

    It is None for a job without a piped input, and for a job whose settings have the content of a
    file instead of its name, so that its input is ambiguous.
    """
    settings = stored_settings(pipeline) or {}
    initial = _list_field(settings, "initialInputs") or _list_field(settings, "inputs")
    stages = _list_field(settings, "stages")
    inputs: dict[str, str | None] = {}
    for row, stage in jobs:
        stage_inputs = [*_stage_inputs(row, stages, stage)]
        inputs[str(row.get("JobName"))] = _initial_input(stage_inputs, stage, initial, inputs)
    return [*inputs.values()]


def _initial_input(
    stage_inputs: Sequence[Any],
    stage: int | None,
    initial: Sequence[Any],
    earlier: Mapping[str, str | None],
) -> str | None:
    for value in stage_inputs:
        job, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
        if path and job in earlier:
            return earlier[job]
        if stage is not None and stage > 1:
            continue  # the content of an output, which another initial input may equal
        if value in initial:
            return _input_text(value)
        if stage == 1 and isinstance(value, int | float):
            return next((_input_text(text) for text in initial if _is_value_of(text, value)), None)
    return _input_text(initial[0]) if stage_inputs and len(initial) == 1 else None


def _is_value_of(text: Any, value: float) -> bool:
    """Return whether a number or a boolean was read from the text of an input."""
    if isinstance(value, bool):
        return str(text).strip().lower() == str(value).lower()
    try:
        return float(text) == value
    except (TypeError, ValueError):
        return False


def _stage_inputs(row: JobRecord, stages: Sequence[Any], stage: int | None) -> Iterator[Any]:
    """Yield the values of a job's piped settings, or of all its settings if unknown."""
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
    """Return the jobs of downloaded results; see `Results.frame`.

    `paths` are those of the files in the folder; `email` is the owner of a teammate's job.
    """
    name, is_parent = str(row.get("JobName")), records.is_parent(row)
    query = ListQuery(batch=name, email=email) if is_parent else ListQuery(email=email)
    jobs = lister.table(query) if is_parent else records.jobs_frame([row]).assign(Name=name)
    frame = jobs[["Name", "JobName", "Type", "JobStatus"]].copy()
    frame["Reason"] = _reason_column(jobs)
    stored = [str(job) for job in jobs["JobName"]]
    files = manifest.files_by_job(paths, stored, name)
    folders = [
        _job_folder_path(folder, job, files[job], name, single=not is_parent) for job in stored
    ]
    frame["Folder"] = to_array("text", folders)
    structures = [
        [
            str(folder / path)
            for path in sorted(files[job], key=_numeric_order)
            if output_kind(path) == "structure"
        ]
        for job in stored
    ]
    frame["Structures"] = to_array("value", structures)
    if records.is_pipeline(row):
        matches = [_STAGE.match(job) for job in jobs["Name"]]
        numbers = [int(match[1]) if match else None for match in matches]
        frame.insert(3, "Stage", to_array("integer", numbers))
        frame.insert(4, "Input", to_array("text", _input_column(row, jobs, frame["Stage"])))
    scores = spread_column(jobs[["Score"]], "Score", _METRIC)
    metrics = _plain_names(scores, _METRIC, existing_columns=frame.columns)
    frame = pd.concat([frame, metrics], axis=1)
    inputs = lister.inputs(jobs, query, input_rows, name_column)
    input_columns = None if inputs is None else inputs.rows
    if input_columns is None:
        frame = concat_input_rows(frame, _settings_columns(jobs))
    if inputs is not None:
        frame = join_input_rows(
            frame,
            inputs.key,
            inputs.names,
            input_columns,
            name_column=inputs.name_column,
            missing=is_parent,
        )
        pairs = zip(frame["JobName"].isna(), frame["Structures"], strict=True)
        structures = [[] if missing else cell for missing, cell in pairs]
        frame["Structures"] = to_array("value", structures)
    return JOBS.show(frame)


def _numeric_order(path: str) -> list[tuple[str, int]]:
    """Return a sort key with which `rank_2.pdb` precedes `rank_10.pdb`."""
    return [(text, int(n or 0)) for text, n in re.findall(r"([^0-9]*)([0-9]{0,18})", path)]


def _settings_columns(jobs: pd.DataFrame) -> pd.DataFrame:
    spread = spread_column(jobs[["Settings"]], "Settings", _SETTING)
    internal = [f"{_SETTING}.{name}" for name in INTERNAL_FIELDS]
    return _plain_names(
        spread.drop(columns=internal, errors="ignore"), _SETTING, existing_columns=()
    )


def _plain_names(
    spread: pd.DataFrame, prefix: str, existing_columns: Iterable[Any]
) -> pd.DataFrame:
    """Remove the prefix of column names, except where the short name is taken."""
    existing = set(existing_columns) | set(spread.columns)
    short = {column: str(column).removeprefix(f"{prefix}.") for column in spread.columns}
    return spread.rename(
        columns={long: name for long, name in short.items() if name not in existing}
    )


def _reason_column(jobs: pd.DataFrame) -> Any:
    fields = jobs[[key for key in records.REASON_FIELDS if key in jobs]]
    rows: Any = fields.astype(object).where(fields.notna(), None).to_dict("records")
    return to_array("text", [records.reason(row) or None for row in rows])


def _job_folder_path(
    folder: Path, job: str, paths: list[str], parent: str, *, single: bool
) -> str | None:
    if not paths:
        return None
    return str(folder if single else folder / manifest.job_folder(paths[0], job, parent))


def _input_column(
    pipeline: JobRecord, jobs: pd.DataFrame, stages: Iterable[Any]
) -> list[str | None]:
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
