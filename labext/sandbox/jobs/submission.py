"""Submits a job or a batch: checked whole, then stored with its tasks in one transaction.

Source: job service contract, POST /submit-job, POST /submit-batch and Limits; POST /validate-job is
the same check without the storing (real services, jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import budgets, catalogue, fields
from labext.sandbox.jobs.batch_forms import BatchOrder, read_batch
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
    """Submit one job; returns the contract's confirmation."""
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


def validate_job(site: Site, account: Account, body: bytes) -> dict[str, Any]:
    """Check what `/submit-job` would check, without submitting: the first error, or the echo.

    Without a `jobName`, which a client may still have to make up, the name is not checked.
    """
    content = fields.parse_body(body)
    with site.database.read() as session:
        try:
            names = [fields.name(content, "jobName")] if "jobName" in content else []
            tool = _tool(content, "type")
            settings = fields.record(content, "settings")
            fields.project(content)
            _refuse(settings_fault(tool, settings, account.gates))
            budgets.check(session, account)
            check_free(session, account, names)
            _orders(session, site, account, tool, [("", settings)])
        except HTTPException as fault:
            return {"valid": False, "error": fault.detail}
        return {"valid": True, "normalized": normalized(tool, settings, account.gates)}


def submit_batch(site: Site, account: Account, body: bytes) -> str:
    """Submit a batch, all of its jobs or none; returns the confirmation."""
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
