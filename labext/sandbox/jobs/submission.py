"""Submits a job or a batch: checked whole, then stored with its tasks in one transaction.

Source: job service contract, POST /submit-job, POST /submit-batch and Limits; POST /validate-job is
the same check without the storing (real services, jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs import fields, folders, tasks
from labext.sandbox.jobs.batch_forms import BatchOrder, read_batch
from labext.sandbox.jobs.catalogue import catalogue
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.fields import Body
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.references import Input, References, not_uploaded_sentence
from labext.sandbox.jobs.settings import normalized, settings_fault
from labext.sandbox.jobs.store import BATCH, IN_QUEUE, RUNNING, Account, Job, now
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.service import Site


@dataclass(frozen=True)
class Order:
    """One job to be stored: its full name, its settings as they were sent, and its files."""

    name: str
    settings: dict[str, Any]
    inputs: dict[str, Input]


def submit_job(site: Site, account: Account, body: bytes) -> str:
    """Submit one job; returns the contract's confirmation."""
    content = fields.parse_body(body)
    name = fields.name(content, "jobName")
    tool = _tool(content, "type")
    settings = fields.record(content, "settings")
    project = fields.project(content)
    _refuse(settings_fault(tool, settings, account.gates))
    with site.database.write() as session:
        _check_free(session, account, [name])
        orders = _orders(session, site, account, tool, [(name, settings)])
        _store(session, site, account, tool, orders, project=project)
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
            _check_free(session, account, names)
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
        _check_free(session, account, [batch.name, *(name for name, _settings in full)])
        orders = _orders(session, site, account, tool, full)
        parent = _parent(account, tool, batch)
        session.add(parent)
        session.flush()
        _store(
            session,
            site,
            account,
            tool,
            orders,
            project=batch.project,
            parent=parent,
            max_seconds=batch.max_seconds,
        )
    return f"{batch.name} submitted to queue with {len(orders)} jobs."


def _tool(content: Body, field: str) -> Tool:
    return _known(field, fields.text(content, field))


def _known(field: str, name: str) -> Tool:
    tool = catalogue().get(name)
    if tool is None:
        raise invalid(f"{field}: there is no tool {shown(name)}; GET /tools lists them.")
    return tool


def _refuse(fault: str | None, job: str | None = None) -> None:
    if fault is not None:
        raise invalid(fault if job is None else f"Job {job}: {fault}")


def _check_free(session: Session, account: Account, names: Sequence[str]) -> None:
    taken = session.scalars(
        select(Job.name).where(Job.account_id == account.id, Job.name.in_(names)).limit(1)
    ).first()
    if taken is not None:
        raise invalid(f"Job name {taken} is already taken.")


def _orders(
    session: Session, site: Site, account: Account, tool: Tool, jobs: Sequence[tuple[str, Any]]
) -> list[Order]:
    """Find the files of all jobs; 400 where one of them is not there."""
    references = References(session, site, account)
    wrong = [v for _name, settings in jobs for v in references.not_uploaded(tool, settings)]
    if wrong:
        raise invalid(not_uploaded_sentence(wrong))
    return [Order(name, settings, references.inputs(tool, settings)) for name, settings in jobs]


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
        settings=_json(settings),
        batch_status=RUNNING,
        project_tag=batch.project,
        budget=batch.budget,
    )


def _store(
    session: Session,
    site: Site,
    account: Account,
    tool: Tool,
    orders: Sequence[Order],
    *,
    project: str | None = None,
    parent: Job | None = None,
    max_seconds: float | None = None,
) -> None:
    """Write the jobs' rows and tasks, and keep their input files."""
    created = now()
    jobs = [
        Job(
            account_id=account.id,
            parent_id=None if parent is None else parent.id,
            name=order.name,
            type=tool.name,
            tool=tool.name,
            status=IN_QUEUE,
            created=created,
            settings=_json(order.settings),
            project_tag=project,
        )
        for order in orders
    ]
    session.add_all(jobs)
    session.flush()
    seconds: float = limit(session, "job_seconds")
    if max_seconds is not None:
        seconds = min(seconds, max_seconds)
    try:
        for job, order in zip(jobs, orders, strict=True):
            _keep_inputs(site, job, order.inputs)
            tasks.put_run(session, site, job, order.settings, seconds)
        session.flush()
    except BaseException:
        folders.remove_jobs(site, [job.id for job in jobs])
        raise


def _keep_inputs(site: Site, job: Job, inputs: dict[str, Input]) -> None:
    """Keep each input as it is now: the upload or the earlier job may be deleted meanwhile."""
    # A submission that could not be committed had the same number, and may have left its own.
    folders.remove_jobs(site, [job.id])
    for setting, found in inputs.items():
        folders.link(found.source, folders.inputs_folder(site, job.id) / setting / found.name)


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
