"""Plan and store the jobs of one stage of a pipeline.

A stage runs each of its tools once for each piece that the stage before hands on and that the tool
takes (see `piping`); a tool none of whose settings is `"pipe"` runs once beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.catalogue import catalogue
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.pipelines import piping
from labext.sandbox.jobs.pipelines.forms import MOST_JOBS, Stage, job_name
from labext.sandbox.jobs.pipelines.piping import PIPE, Piece, Text, filled, fitting, piped
from labext.sandbox.jobs.references import References
from labext.sandbox.jobs.settings import settings_fault
from labext.sandbox.jobs.store import COMPLETE, Account, Job
from labext.sandbox.jobs.storing import Order, check_free, orders, store, store_stopped
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.service import Site


@dataclass(frozen=True)
class Refused:
    """A job that can't run with what it was handed; it is stored as Stopped, with its reason.

    Attributes:
        name: the job's full name.
        settings: the stage's settings, with a piped input or the path of a piped output filled in.
        reason: why it can't run, one sentence.
    """

    name: str
    settings: dict[str, Any]
    reason: str


@dataclass(frozen=True)
class ToolPlan:
    """The jobs of one tool in a stage: those that can run, and those that can't."""

    tool: Tool
    ready: list[Order]
    refused: list[Refused]


Plan = list[ToolPlan]
"""The jobs of a stage, tool by tool."""


def plan(
    session: Session,
    site: Site,
    account: Account,
    name: str,
    place: int,
    stage: Stage,
    pieces: Sequence[Piece],
) -> Plan:
    """Plan the jobs of a stage for these pieces; nothing is stored.

    A piece that does not fit into the settings is refused on its own, and so is a tool for which
    there is none. What concerns the stage as a whole, such as too many jobs, is a 400.
    """
    tools = catalogue()
    missing = [tool_name for tool_name in stage.tools if tool_name not in tools]
    if missing:  # it was there when the pipeline was submitted
        raise invalid(f"there is no tool {shown(missing[0])} any more.")
    taken = {name: _taken(tools[name], asked, pieces) for name, asked in stage.tools.items()}
    jobs = sum(map(len, taken.values()))
    if jobs > MOST_JOBS:
        raise invalid(
            f"it would have {jobs} jobs, for {len(pieces)} inputs and {len(stage.tools)} tools; "
            f"{MOST_JOBS} are the most."
        )
    references = References(session, site, account)
    planned: Plan = []
    for tool_name, asked in stage.tools.items():
        tool_plan = ToolPlan(tools[tool_name], [], [])
        if not taken[tool_name]:
            reason = f"{tool_name}: the stage before handed on nothing that it takes."
            job = job_name(name, place, tool_name, 1, 1)
            tool_plan.refused.append(Refused(job, dict(asked), reason))
        for number, piece in enumerate(taken[tool_name], 1):
            job = job_name(name, place, tool_name, number, len(taken[tool_name]))
            try:
                settings = _checked(tool_plan.tool, asked, piece, account)
                tool_plan.ready.append(_order(references, tool_plan.tool, job, settings))
            except HTTPException as error:
                refused = Refused(job, _written_out(asked, piece), error.detail)
                tool_plan.refused.append(refused)
        planned.append(tool_plan)
    check_free(session, account, _names(planned))
    return planned


def first_refusal(plan: Plan) -> str | None:
    """Return why the first job that can't run can't, or None if all can."""
    return next((refused.reason for each in plan for refused in each.refused), None)


def start(session: Session, site: Site, account: Account, parent: Job, plan: Plan) -> bool:
    """Store the jobs of the pipeline's stage; return whether any of them will run.

    The pipeline's row has its number by now.
    """
    for each in plan:
        store_stopped(
            session,
            account,
            each.tool,
            [(refused.name, refused.settings, refused.reason) for refused in each.refused],
            parent=parent,
        )
        store(
            session,
            site,
            account,
            each.tool,
            each.ready,
            project=parent.project_tag,
            parent=parent,
            stage=parent.stage,
        )
    return any(each.ready for each in plan)


def handed_on(session: Session, site: Site, parent: Job) -> list[Piece]:
    """Return what the complete jobs of the stage that has ended hand on, in their order."""
    tools = catalogue()
    jobs = select(Job.id, Job.name, Job.tool, Job.settings).where(
        Job.parent_id == parent.id, Job.stage == parent.stage, Job.status == COMPLETE
    )
    return [
        piece
        for job in session.execute(jobs.order_by(Job.id))
        if job.tool in tools
        for piece in piping.handed_on(
            tools[job.tool],
            job.name,
            folders.output_folder(site, job.id),
            orjson.loads(job.settings),
        )
    ]


def _taken(tool: Tool, asked: Mapping[str, Any], pieces: Sequence[Piece]) -> Sequence[Piece | None]:
    """Return what the tool runs once for each of.

    A tool none of whose settings is `"pipe"` runs once, beside the others.
    """
    return fitting(tool, asked, pieces) if piped(asked) else [None]


def _checked(
    tool: Tool, asked: Mapping[str, Any], piece: Piece | None, account: Account
) -> dict[str, Any]:
    """Return the settings for one piece; 400 where they are not valid."""
    where = tool.name if piece is None else f"{tool.name}, {piece}"
    try:
        settings = dict(asked) if piece is None else filled(tool, asked, piece)
    except HTTPException as error:
        raise invalid(f"{where}: {error.detail}") from None
    fault = settings_fault(tool, settings, account.gates)
    if fault is not None:
        raise invalid(f"{where}: {fault}")
    return settings


def _order(references: References, tool: Tool, job: str, settings: dict[str, Any]) -> Order:
    """Resolve the files of one job; 400 where one is missing."""
    try:
        (order,) = orders(references, tool, [(job, settings)])
    except HTTPException as error:
        raise invalid(f"{tool.name}: {error.detail}") from None
    return order


def _written_out(asked: Mapping[str, Any], piece: Piece | None) -> dict[str, Any]:
    """Return the settings with the piece's own text or path in place of `"pipe"`."""
    text = piece.text if isinstance(piece, Text) else piece.reference if piece else PIPE
    return {name: text if value == PIPE else value for name, value in asked.items()}


def _names(plan: Plan) -> list[str]:
    ready = [order.name for each in plan for order in each.ready]
    return [*ready, *(refused.name for each in plan for refused in each.refused)]
