"""Parse the bodies of `%%jobs submit`, `%%jobs batch` and `%%jobs pipeline`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from labext import messages
from labext.errors import InputError
from labext_magics.core import cell_body
from labext_magics.core.value_types import BareText

_JOB = {"type": "tool", "name": "name", "jobName": "name", "projectTag": "project"}
_BATCH = {
    "type": "tool",
    "tool": "tool",
    "name": "name",
    "batchName": "name",
    "maxRuntimeSeconds": "max_runtime",
    "weightedHoursBudget": "budget",
}

_PIPELINE = {"name": "name", "jobName": "name", "projectTag": "project"}
_INPUTS = ("initialInputs", "inputs")


@dataclass(frozen=True)
class Job:
    """One job to submit; missing fields are None."""

    tool: str | None
    name: str | None
    settings: dict[str, Any]
    project: str | None


@dataclass(frozen=True)
class Batch:
    """A batch to submit; the jobs are a DataFrame or settings by name."""

    name: str | None
    tool: str | None
    jobs: Any = None
    max_runtime: int | None = None
    budget: float | None = None


@dataclass(frozen=True)
class Pipeline:
    """A pipeline to submit; unquoted settings of its stages are not yet cast."""

    name: str | None
    project: str | None
    inputs: Any = None
    stages: Any = None


def parse_job(text: str, line: Job) -> Job:
    """Merge the line with the body, which is a mapping of settings or a job with `settings`."""
    body = cell_body.parse_body(text)
    if not isinstance(body, Mapping):
        raise InputError(
            "The cell body is not a mapping of settings.", "Write `setting: value` on each line."
        )
    job, settings = line, body
    if isinstance(body.get("settings"), Mapping):
        settings = body["settings"]
        rest = {k: v for k, v in body.items() if k != "settings"}
        job = _merge_with_line(line, rest, _JOB, "submit")
    elif line.tool is None and "type" in body:
        raise InputError(
            "The cell body has `type`, but no mapping `settings`.",
            "Indent the settings below `settings:`, or name the tool on the line: `%%jobs submit "
            "TOOL`.",
        )
    duplicates = [name for name in settings if name in line.settings]
    if duplicates:
        raise InputError(
            f"`{duplicates[0]}` is set both on the line and in the body.", "Keep one of them."
        )
    return replace(job, settings={**settings, **line.settings})


def parse_batch(text: str, line: Batch) -> Batch:
    """Merge the line with the body.

    The body is a list of `name` and `settings`, a mapping of names to settings, either of them as
    the value of `jobs`, or a batch in the service's own format.
    """
    jobs = cell_body.parse_body(text)
    batch = line
    if isinstance(jobs, Mapping) and isinstance(jobs.get("jobNames"), list):
        rest = {k: v for k, v in jobs.items() if k not in ("jobNames", "settings")}
        batch, jobs = _merge_with_line(line, rest, _BATCH, "batch"), _zip_settings(jobs)
    elif isinstance(jobs, Mapping) and _are_jobs(jobs.get("jobs")):
        rest = {k: v for k, v in jobs.items() if k != "jobs"}
        batch, jobs = _merge_with_line(line, rest, _BATCH, "batch"), jobs["jobs"]
    return replace(batch, jobs=_named_settings(jobs))


def _are_jobs(value: Any) -> bool:
    """Return whether a value is a list or mapping of jobs, not the settings of a job `jobs`."""
    settings = value.values() if isinstance(value, Mapping) else ()
    return isinstance(value, list) or any(isinstance(item, Mapping) for item in settings)


def parse_pipeline(text: str, line: Pipeline) -> Pipeline:
    """Merge the line with the body: `initialInputs` (or `inputs`) and `stages`.

    Unquoted inputs are text.
    """
    body = cell_body.parse_body(text)
    if not isinstance(body, Mapping):
        raise InputError(
            "The cell body is not a mapping.", "Write `initialInputs: […]` and `stages:` in it."
        )
    sources = [name for name in _INPUTS if name in body]
    if sources and line.inputs is not None:
        raise InputError(
            f"The line has `--inputs` and the body has `{sources[0]}`.", "Keep one of them."
        )
    if len(sources) > 1:
        raise InputError(
            f"The body has both {' and '.join(sources)}, which are synonyms.", "Keep one of them."
        )
    missing = ["`initialInputs`"] * (not sources and line.inputs is None)
    missing += ["`stages`"] * ("stages" not in body)
    rest = {name: value for name, value in body.items() if name not in (*_INPUTS, "stages")}
    pipeline: Pipeline = _merge_with_line(line, rest, _PIPELINE, "pipeline")
    if missing:
        raise InputError(
            f"The cell body has no {' and no '.join(missing)}.",
            "`%jobs pipeline --help` shows an example.",
        )
    inputs = body[sources[0]] if sources else line.inputs
    if sources:
        inputs = [*map(plain_text, inputs)] if isinstance(inputs, list) else plain_text(inputs)
    return replace(pipeline, inputs=inputs, stages=body["stages"])


def plain_text(value: Any) -> Any:
    """Return the text of a `BareText`, or a value with default types."""
    return value.text if isinstance(value, BareText) else cell_body.untyped(value)


def _merge_with_line(
    line: Any, body: Mapping[str, Any], fields: Mapping[str, str], command: str
) -> Any:
    """Return the line's fields updated with the body's fields.

    Raises:
        InputError: a field of the body is unknown, or differs from the line.
    """
    changes: dict[str, Any] = {}
    for name, value in body.items():
        field = fields.get(name)
        if field is None:
            raise _unknown_field(name, fields, command)
        value = (
            cell_body.as_text(value)
            if field in ("tool", "name", "project")
            else cell_body.untyped(value)
        )
        on_line = getattr(line, field)
        if on_line is not None and on_line != value:
            raise InputError(
                f"The line sets {on_line}, but the body sets `{name}` to {value}.",
                "Keep one of them.",
            )
        changes[field] = value
    return replace(line, **changes)


def _unknown_field(name: str, fields: Mapping[str, str], command: str) -> InputError:
    if name == "gpuType":
        return InputError("`gpuType` is not supported.", "Remove it.")
    return InputError(
        f"The body has `{name}`, which is not a field of `%%jobs {command}`.",
        messages.suggest(name, fields, f"`%jobs {command} --help` lists the fields.", "`{}`"),
    )


def _zip_settings(batch: Mapping[str, Any]) -> list[dict[str, Any]]:
    names, settings = batch["jobNames"], batch.get("settings")
    if not isinstance(settings, list) or len(settings) != len(names):
        number = len(settings) if isinstance(settings, list) else 0
        raise InputError(
            f"The body has {len(names):,} jobNames and {number:,} settings.",
            "Give one mapping of settings per name, in the same order.",
        )
    return [{"name": n, "settings": s} for n, s in zip(names, settings, strict=True)]


def _named_settings(jobs: Any) -> dict[str, dict[str, Any]]:
    """Return settings by job name, from a mapping or a list of records."""
    pairs = list(jobs.items()) if isinstance(jobs, Mapping) else []
    if isinstance(jobs, list):
        pairs = [_record_settings(record, number) for number, record in enumerate(jobs, start=1)]
    if not pairs:
        raise InputError(
            "The body has no jobs.",
            "Write a list of `- {name: …, settings: {…}}`, one item per job.",
        )
    by_name: dict[str, dict[str, Any]] = {}
    for name, settings in pairs:
        if name in by_name:
            raise InputError(
                f"The job name {name} is used twice.", "Names must be unique in a batch."
            )
        if not isinstance(settings, Mapping):
            raise InputError(
                f"The settings of {name} are not a mapping.", "Write `setting: value` pairs."
            )
        by_name[name] = dict(settings)
    return by_name


def _record_settings(record: Any, number: int) -> tuple[str, Any]:
    """Return the name and the settings of one record in a list."""
    names = [k for k in ("name", "jobName") if isinstance(record, Mapping) and k in record]
    if len(names) != 1 or set(record) - {names[0], "settings"}:
        raise InputError(
            f"Job {number} of the body is not a mapping with `name` and `settings`.",
            "Write `- {name: …, settings: {…}}`.",
        )
    name = record[names[0]]
    return name.text if isinstance(name, BareText) else str(name), record.get("settings", {})
