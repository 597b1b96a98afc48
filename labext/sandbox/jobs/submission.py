"""Validate and submit jobs and batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.messages import pluralize
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs import schemas, usage
from labext.sandbox.jobs.dependencies import reload_account
from labext.sandbox.jobs.job_creation import (
    FileResolver,
    JobOrder,
    check_names_free,
    dump_json,
    resolve_orders,
    store_jobs,
)
from labext.sandbox.jobs.names import MAX_NAME_LENGTH, quote_value
from labext.sandbox.jobs.scheduling import check_queue_limit
from labext.sandbox.jobs.schemas import Body, bad_request
from labext.sandbox.jobs.tables import BATCH, IN_QUEUE, RUNNING, Account, Job, current_timestamp
from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.tool import Tool, normalize_settings, settings_error

MAX_JOBS = 100
MAX_VALIDATED_ROWS = 1000
"""Maximum number of rows in a request to `/validate-job`."""

MAX_RUN_SECONDS = 30 * 24 * 3600
MAX_WEIGHTED_HOURS = 1_000_000


def read_rows(body: Body, max_rows: int) -> list[tuple[Any, Any]]:
    """Return the unchecked name and settings of each row of `jobNames` and `settings`.

    Names are None if the body has no `jobNames`; 400 for more than `max_rows` rows.
    """
    settings = schemas.require_array(body, "settings")
    if not 1 <= len(settings) <= max_rows:
        raise bad_request(f"settings has {len(settings)} items; 1 to {max_rows} are allowed.")
    if body.get("jobNames") is None:
        return [(None, item) for item in settings]
    names = schemas.require_array(body, "jobNames")
    if len(names) != len(settings):
        raise bad_request(
            f"jobNames and settings have different lengths: {len(names)} and {len(settings)}."
        )
    return [*zip(names, settings, strict=True)]


def _rows_from_arrays(body: Body) -> list[tuple[str, dict[str, Any]]]:
    _check_count("jobNames", len(schemas.require_array(body, "jobNames")))
    return [
        (schemas.check_name(name, f"jobNames[{n}]"), _require_settings(item, f"settings[{n}]"))
        for n, (name, item) in enumerate(read_rows(body, MAX_JOBS))
    ]


def _rows_from_objects(body: Body) -> list[tuple[str, dict[str, Any]]]:
    jobs = schemas.require_array(body, "jobs")
    _check_count("jobs", len(jobs))
    pairs = []
    for index, job in enumerate(jobs):
        schemas.check_type(job, f"jobs[{index}]", dict, "an object")
        name = schemas.check_name(job.get("jobName"), f"jobs[{index}].jobName")
        pairs.append((name, _require_settings(job.get("settings"), f"jobs[{index}].settings")))
    return pairs


def _check_count(field: str, count: int) -> None:
    if not 1 <= count <= MAX_JOBS:
        raise bad_request(f"{field} has {count} items; a batch has 1 to {MAX_JOBS} jobs.")


def _require_settings(value: object, field: str) -> dict[str, Any]:
    return schemas.check_type(value, field, dict, "an object")


def _check_names(batch: str, names: list[str]) -> None:
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        names_text = ", ".join(duplicates[:5])
        raise bad_request(f"Job names occur more than once in the batch: {names_text}.")
    for name in names:
        full_name = f"{batch}-{name}"
        if len(full_name) > MAX_NAME_LENGTH:
            raise bad_request(
                f"Job {name} would be named {quote_value(full_name)}, which has {len(full_name)} "
                f"characters; at most {MAX_NAME_LENGTH} are allowed."
            )


def submit_job(site: Site, caller: Account, body: bytes) -> str:
    """Submit one job; return the confirmation (JOBS-52)."""
    content = schemas.parse_body(body)
    name = schemas.require_name(content, "jobName")
    tool = _read_tool(content, "type")
    settings = schemas.require_object(content, "settings")
    project = schemas.optional_project(content)
    _raise_if_error(settings_error(tool, settings, caller.gates))
    with site.database.write() as session:
        account = reload_account(session, caller)
        usage.check_budgets_left(session, account)
        check_queue_limit(session, site, account, 1)
        check_names_free(session, account, [name])
        orders = _resolve_files(session, site, account, tool, [(name, settings)])
        store_jobs(session, site, account, tool, orders, project=project)
    return f"{name} submitted to queue."


def validate_submission(site: Site, caller: Account, body: bytes) -> dict[str, Any]:
    """Check a submission without submitting it: one job, or the rows of a batch.

    The response has `valid`, and `error` if that is false. Errors of the whole request, such as
    an unknown tool or an exhausted budget, are reported in the same way.
    """
    content = schemas.parse_body(body)
    try:
        if isinstance(content.get("settings"), list):
            return _validate_rows(site, caller, content)
        return _validate_job(site, caller, content)
    except HTTPException as error:
        return {"valid": False, "error": error.detail}


def _validate_job(site: Site, caller: Account, content: Body) -> dict[str, Any]:
    """Return the normalized settings of a job, or raise its first error.

    `jobName` is optional, since a client may generate the name later.
    """
    names = [schemas.require_name(content, "jobName")] if "jobName" in content else []
    tool = _read_tool(content, "type")
    settings = schemas.require_object(content, "settings")
    schemas.optional_project(content)
    _raise_if_error(settings_error(tool, settings, caller.gates))
    with site.database.read() as session:
        account = reload_account(session, caller)
        usage.check_budgets_left(session, account)
        check_queue_limit(session, site, account, 1)
        check_names_free(session, account, names)
        _resolve_files(session, site, account, tool, [("", settings)])
    return {"valid": True, "normalized": normalize_settings(tool, settings, caller.gates)}


def _validate_rows(site: Site, caller: Account, content: Body) -> dict[str, Any]:
    """Return `{valid, count, valid_count, results: [{index, valid, error?}]}`.

    Each row is checked separately, so that all invalid rows are reported at once. `jobNames` is
    optional. Existing names are not checked, since a batch stores its jobs as `<batch>-<job>`.
    """
    tool = _read_tool(content, "type")
    rows = read_rows(content, MAX_VALIDATED_ROWS)
    names: set[str] = set()
    results: list[dict[str, Any]] = []
    with site.database.read() as session:
        account = reload_account(session, caller)
        usage.check_budgets_left(session, account)
        check_queue_limit(session, site, account, len(rows))
        references = FileResolver(session, site, account)
        for index, (name, settings) in enumerate(rows):
            try:
                checked = _require_settings(settings, f"settings[{index}]")
                _raise_if_error(settings_error(tool, checked, account.gates))
                resolve_orders(references, tool, [("", checked)])
                if name is not None:
                    job = schemas.check_name(name, f"jobNames[{index}]")
                    if job in names:
                        raise bad_request(f"jobNames[{index}] occurs more than once: {job}.")
                    names.add(job)
            except HTTPException as error:
                results.append({"index": index, "valid": False, "error": error.detail})
            else:
                results.append({"index": index, "valid": True})
    valid = sum(result["valid"] for result in results)
    return {
        "valid": valid == len(results),
        "count": len(results),
        "valid_count": valid,
        "results": results,
    }


def submit_batch(site: Site, caller: Account, body: bytes) -> str:
    """Submit all jobs of a batch, or none after an error; return the confirmation."""
    content = schemas.parse_body(body)
    batch = schemas.require_name(content, "batchName")
    for first, second in (("type", "tool"), ("jobNames", "jobs"), ("settings", "jobs")):
        if first in content and second in content:
            raise bad_request(f"{first} and {second} exclude each other; send one of them.")
    is_list = "type" not in content and ("tool" in content or "jobs" in content)
    tool = _read_tool(content, "tool" if is_list else "type")
    rows = _rows_from_objects(content) if "jobs" in content else _rows_from_arrays(content)
    _check_names(batch, [name for name, _settings in rows])
    max_seconds = schemas.positive_field(content, "maxRuntimeSeconds", MAX_RUN_SECONDS, whole=True)
    budget = schemas.positive_field(content, "weightedHoursBudget", MAX_WEIGHTED_HOURS, whole=False)
    project = schemas.optional_project(content)
    for name, settings in rows:
        _raise_if_error(settings_error(tool, settings, caller.gates), name)
    jobs = [(f"{batch}-{name}", settings) for name, settings in rows]
    parent_settings: dict[str, Any] = {"type": tool.name, "jobs": len(jobs)}
    if max_seconds is not None:
        parent_settings["maxRuntimeSeconds"] = int(max_seconds)
    if budget is not None:
        parent_settings["weightedHoursBudget"] = budget
    with site.database.write() as session:
        account = reload_account(session, caller)
        usage.check_budgets_left(session, account)
        check_queue_limit(session, site, account, len(jobs))
        check_names_free(session, account, [batch, *(name for name, _settings in jobs)])
        orders = _resolve_files(session, site, account, tool, jobs)
        parent = Job(
            account_id=account.id,
            name=batch,
            type=BATCH,
            tool=tool.name,
            status=IN_QUEUE,
            created=current_timestamp(),
            settings=dump_json(parent_settings),
            batch_status=RUNNING,
            project_tag=project,
            budget=budget,
        )
        session.add(parent)
        session.flush()
        store_jobs(session, site, account, tool, orders, parent=parent, max_seconds=max_seconds)
    return f"{batch} submitted to queue with {pluralize(len(orders), 'job')}."


def _read_tool(content: Body, field: str) -> Tool:
    name = schemas.require_text(content, field)
    tool = catalogue.find_tool(name)
    if tool is None:
        raise bad_request(f"{field}: {catalogue.missing_tool(name)}")
    return tool


def _raise_if_error(error: str | None, job: str | None = None) -> None:
    if error is not None:
        raise bad_request(error if job is None else f"Job {job}: {error}")


def _resolve_files(
    session: Session, site: Site, account: Account, tool: Tool, jobs: Sequence[tuple[str, Any]]
) -> list[JobOrder]:
    return resolve_orders(FileResolver(session, site, account), tool, jobs)
