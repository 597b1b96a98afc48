"""`%jobs submit` and `%jobs batch`: from a line, or a cell, to jobs that run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext_magics import jobs_body, jobs_follow, jobs_resume, output
from labext_magics.casting import cast_settings, merged
from labext_magics.dispatch import Call
from labext_magics.rows import rows_of

if TYPE_CHECKING:
    import pandas as pd

_NOT_SENT = "nothing was submitted"


def submit(
    call: Call,
    *,
    tool: str | None,
    name: str | None,
    settings: list[dict[str, Any]],
    project: str | None,
    check: bool,
    wait: bool,
    to: Path | None,
    background: bool,
) -> pd.DataFrame:
    """Submit one job, or find the same one there; return its row."""
    jobs_follow.check(only_check=check, wait=wait, to=to, background=background)
    line = jobs_body.Job(tool, name, merged(settings), project)
    job = line if call.body is None else jobs_body.job(call.body, line)
    if job.tool is None:
        raise InputError(
            "`%%jobs submit` needs a tool.", "Name it behind `submit`, or as `type:` in the body."
        )
    jobs = call.jobs
    typed = cast_settings(jobs.describe(job.tool), job.settings)
    if check:
        return _checked(job.tool, jobs.validate(job.tool, typed, job.name))
    done = jobs.submit(job.name, job.tool, typed, job.project)
    output.say(done.message)
    jobs_follow.follow(call, done.name, wait=wait, to=to, background=background)
    return jobs_follow.submitted_row(call, done.name)


def batch(
    call: Call,
    *,
    name: str | None,
    tool: str | None,
    from_: Any,
    name_column: str | None,
    mapping: list[dict[str, str]],
    settings: list[dict[str, Any]],
    max_runtime: int | None,
    budget: float | None,
    skip_invalid: bool,
    check: bool,
    wait: bool,
    to: Path | None,
    background: bool,
) -> pd.DataFrame:
    """Submit a batch, or find the same one there; return a row for each job.

    With `skip_invalid` the jobs that are not valid are left out, and their rows returned.
    """
    jobs_follow.check(only_check=check, wait=wait, to=to, background=background)
    asked = jobs_body.Batch(name, tool, None, max_runtime, budget)
    if call.body is not None:
        _check_alone(from_, name_column, mapping)
        asked = jobs_body.batch(call.body, asked)
    elif from_ is not None:
        asked = replace(asked, jobs=rows_of(from_))
    if asked.name is None or asked.tool is None or asked.jobs is None:
        raise _incomplete(asked)
    jobs = call.jobs
    schema = jobs.describe(asked.tool)
    rows = asked.jobs
    if isinstance(rows, Mapping):
        rows = {each: cast_settings(schema, own) for each, own in rows.items()}
    arguments: dict[str, Any] = {
        "settings": cast_settings(schema, merged(settings)),
        "name_column": name_column,
        "mapping": merged(mapping) or None,
        "max_runtime_seconds": asked.max_runtime,
        "weighted_hours_budget": asked.budget,
        "skip_invalid": skip_invalid,
    }
    if check:
        checked = jobs.check_batch(asked.name, asked.tool, rows, **arguments)
        if skip_invalid and len(checked):
            output.say(f"{wording.count(len(checked), 'row')} would be left out; {_NOT_SENT}.")
            return checked
        jobs_word = "every job" if skip_invalid else wording.count(len(checked), "job")
        output.say(f"{asked.name} is valid with {jobs_word}; {_NOT_SENT}.")
        if adapted := checked.attrs.get("adapted"):
            output.say(adapted)
        return checked
    with jobs_resume.interruptible(jobs, asked.name):
        done = jobs.submit_batch(asked.name, asked.tool, rows, **arguments)
    output.say(done.message)
    ended = jobs_follow.follow(call, done.name, wait=wait, to=to, background=background)
    if skip_invalid and done.refused is not None:
        return done.refused
    return jobs.jobs(batch=done.name, scores=True) if ended else done.frame


def _checked(tool: str, settings: dict[str, Any]) -> pd.DataFrame:
    """Say that settings are valid, and return them as they would be sent."""
    import pandas as pd

    output.say(f"These settings of {tool} are valid; {_NOT_SENT}.")
    return pd.DataFrame({"setting": list(settings), "value": list(settings.values())})


def _check_alone(from_: Any, name_column: str | None, mapping: list[dict[str, str]]) -> None:
    given = {"--from": from_ is not None, "--name-column": name_column is not None}
    for option, there in {**given, "--map": bool(mapping)}.items():
        if there:
            raise InputError(
                f"The jobs are in the cell's body, so `{option}` has no place on its line.",
                "Use `%jobs batch` with `--from`, or the body.",
            )


def _incomplete(asked: jobs_body.Batch) -> InputError:
    missing = {
        "a NAME": asked.name is None,
        "`--type`": asked.tool is None,
        "`--from`": asked.jobs is None,
    }
    return InputError(
        f"`%jobs batch` needs {' and '.join(what for what, absent in missing.items() if absent)}.",
        "Example: `%jobs batch folds --type rna_fold --from frame --name-column name "
        "--map sequence=bases`.",
    )
