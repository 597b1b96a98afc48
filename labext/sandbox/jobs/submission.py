"""Check and submit a job or a batch.

A submission is checked whole, then stored with its tasks in one transaction. Source: job service
contract, POST /submit-job, POST /submit-batch and Limits; POST /validate-job is the same check
without the storing (real services, jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import budgets, catalogue, fields
from labext.sandbox.jobs.batch_forms import (
    MOST_VALIDATED,
    BatchOrder,
    job_name,
    named_rows,
    read_batch,
    record,
)
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.fields import Body
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.references import References
from labext.sandbox.jobs.settings import normalized, settings_fault
from labext.sandbox.jobs.store import BATCH, IN_QUEUE, RUNNING, Account, Job, now
from labext.sandbox.jobs.storing import Order, check_free, json_text, orders, store
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.service import Site


def submit_job(site: Site, account: Account, body: bytes) -> str:
    """Submit one job; return the contract's confirmation."""
    content = fields.parse_body(body)
    name = fields.name(content, "jobName")
    tool = _tool(content, "type")
    settings = fields.record(content, "settings")
    project = fields.project(content)
    _refuse(settings_fault(tool, settings, account.gates))
    with site.database.write() as session:
        budgets.check(session, account)
        check_free(session, account, [name])
        found = _orders(session, site, account, tool, [(name, settings)])
        store(session, site, account, tool, found, project=project)
    return f"{name} submitted to queue."


def validate(site: Site, account: Account, body: bytes) -> dict[str, Any]:
    """Check a submission without submitting it: one job, or the rows of a batch.

    The answer has `valid`, and `error` where that is false; what is wrong with a request as a
    whole, such as an unknown tool or a used-up budget, is told in the same way.
    """
    content = fields.parse_body(body)
    try:
        if isinstance(content.get("settings"), list):
            return _validate_rows(site, account, content)
        return _validate_job(site, account, content)
    except HTTPException as fault:
        return {"valid": False, "error": fault.detail}


def _validate_job(site: Site, account: Account, content: Body) -> dict[str, Any]:
    """Return the normalized settings of a job, or raise its first fault.

    Without a `jobName`, which a client may still have to make up, the name is not checked.
    """
    names = [fields.name(content, "jobName")] if "jobName" in content else []
    tool = _tool(content, "type")
    settings = fields.record(content, "settings")
    fields.project(content)
    _refuse(settings_fault(tool, settings, account.gates))
    with site.database.read() as session:
        budgets.check(session, account)
        check_free(session, account, names)
        _orders(session, site, account, tool, [("", settings)])
    return {"valid": True, "normalized": normalized(tool, settings, account.gates)}


def _validate_rows(site: Site, account: Account, content: Body) -> dict[str, Any]:
    """Return `{valid, count, valid_count, results: [{index, valid, error?}]}`.

    Each row is checked on its own, so that all faulty rows are named at once. `jobNames` are
    optional; a batch stores its jobs as `<batch>-<job>`, so whether a name is free is not checked.
    """
    tool = _tool(content, "type")
    rows = named_rows(content, MOST_VALIDATED)
    seen: set[str] = set()
    results: list[dict[str, Any]] = []
    with site.database.read() as session:
        budgets.check(session, account)
        references = References(session, site, account)
        for index, (name, settings) in enumerate(rows):
            try:
                checked = record(settings, f"settings[{index}]")
                _refuse(settings_fault(tool, checked, account.gates))
                orders(references, tool, [("", checked)])
                if name is not None:
                    job = job_name(name, f"jobNames[{index}]")
                    if job in seen:
                        raise invalid(f"jobNames[{index}] occurs more than once: {job}.")
                    seen.add(job)
            except HTTPException as fault:
                results.append({"index": index, "valid": False, "error": fault.detail})
            else:
                results.append({"index": index, "valid": True})
    valid = sum(result["valid"] for result in results)
    return {
        "valid": valid == len(results),
        "count": len(results),
        "valid_count": valid,
        "results": results,
    }


def submit_batch(site: Site, account: Account, body: bytes) -> str:
    """Submit a batch, all of its jobs or none; return the confirmation."""
    content = fields.parse_body(body)
    batch = read_batch(content)
    tool = _known(batch.type_field, batch.type)
    for name, settings in batch.jobs:
        _refuse(settings_fault(tool, settings, account.gates), name)
    full = [(f"{batch.name}-{name}", settings) for name, settings in batch.jobs]
    with site.database.write() as session:
        budgets.check(session, account)
        check_free(session, account, [batch.name, *(name for name, _settings in full)])
        found = _orders(session, site, account, tool, full)
        parent = _parent(account, tool, batch)
        session.add(parent)
        session.flush()
        store(
            session,
            site,
            account,
            tool,
            found,
            project=batch.project,
            parent=parent,
            max_seconds=batch.max_seconds,
        )
    return f"{batch.name} submitted to queue with {len(found)} jobs."


def _tool(content: Body, field: str) -> Tool:
    return _known(field, fields.text(content, field))


def _known(field: str, name: str) -> Tool:
    tool = catalogue.tool(name)
    if tool is None:
        raise invalid(f"{field}: there is no tool {shown(name)}; GET /tools lists them.")
    return tool


def _refuse(fault: str | None, job: str | None = None) -> None:
    if fault is not None:
        raise invalid(fault if job is None else f"Job {job}: {fault}")


def _orders(
    session: Session, site: Site, account: Account, tool: Tool, jobs: Sequence[tuple[str, Any]]
) -> list[Order]:
    return orders(References(session, site, account), tool, jobs)


def _parent(account: Account, tool: Tool, batch: BatchOrder) -> Job:
    settings: dict[str, Any] = {"type": tool.name, "jobs": len(batch.jobs)}
    if batch.max_seconds is not None:
        settings["maxRuntimeSeconds"] = int(batch.max_seconds)
    if batch.budget is not None:
        settings["weightedHoursBudget"] = batch.budget
    return Job(
        account_id=account.id,
        name=batch.name,
        type=BATCH,
        tool=tool.name,
        status=IN_QUEUE,
        created=now(),
        settings=json_text(settings),
        batch_status=RUNNING,
        project_tag=batch.project,
        budget=batch.budget,
    )
