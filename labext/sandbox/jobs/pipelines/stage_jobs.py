"""The jobs of one stage of a pipeline: planned and checked as a whole, then stored.

A stage runs each of its tools once for each piece that the stage before hands on and that the tool
takes (see `piping`); a tool that takes none of them runs once beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.jobs.catalogue import catalogue
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.pipelines import piping
from labext.sandbox.jobs.pipelines.forms import MOST_JOBS, Stage, job_name
from labext.sandbox.jobs.pipelines.piping import Piece, filled, fitting, piped
from labext.sandbox.jobs.references import References
from labext.sandbox.jobs.settings import settings_fault
from labext.sandbox.jobs.store import Account, Job
from labext.sandbox.jobs.storing import Order, check_free, orders, store
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.service import Site

Plan = list[tuple[Tool, list[Order]]]
"""The jobs of a stage, tool by tool, checked and ready to be stored."""


def plan(
    session: Session,
    site: Site,
    account: Account,
    name: str,
    place: int,
    stage: Stage,
    pieces: Sequence[Piece],
) -> Plan:
    """The jobs of a stage for these pieces; 400 for the first fault of any. Nothing is stored."""
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
    ready: Plan = []
    for tool_name, asked in stage.tools.items():
        tool, of = tools[tool_name], len(taken[tool_name])
        found = [
            (job_name(name, place, tool_name, number, of), _checked(tool, asked, piece, account))
            for number, piece in enumerate(taken[tool_name], 1)
        ]
        try:
            ready.append((tool, orders(references, tool, found)))
        except HTTPException as error:
            raise invalid(f"{tool_name}: {error.detail}") from None
    check_free(session, account, [order.name for _tool, found in ready for order in found])
    return ready


def start(session: Session, site: Site, account: Account, parent: Job, plan: Plan) -> None:
    """Store the jobs of the pipeline's stage; its row has its number by now."""
    for tool, found in plan:
        store(
            session,
            site,
            account,
            tool,
            found,
            project=parent.project_tag,
            parent=parent,
            stage=parent.stage,
        )


def handed_on(session: Session, site: Site, parent: Job) -> list[Piece]:
    """What the jobs of the stage that has ended hand on, in their order."""
    tools = catalogue()
    jobs = select(Job.id, Job.name, Job.tool).where(
        Job.parent_id == parent.id, Job.stage == parent.stage
    )
    return [
        piece
        for job in session.execute(jobs.order_by(Job.id))
        if job.tool in tools
        for piece in piping.handed_on(
            tools[job.tool], job.name, folders.output_folder(site, job.id)
        )
    ]


def _taken(tool: Tool, asked: Mapping[str, Any], pieces: Sequence[Piece]) -> Sequence[Piece | None]:
    """What the tool runs once for each of; 400 where it waits for something and there is nothing.

    A tool none of whose settings is `"pipe"` runs once, beside the others.
    """
    if not piped(asked):
        return [None]
    found = fitting(tool, asked, pieces)
    if not found:
        raise invalid(f"{tool.name}: the stage before handed on nothing that it takes.")
    return found


def _checked(
    tool: Tool, asked: Mapping[str, Any], piece: Piece | None, account: Account
) -> dict[str, Any]:
    """The settings for one piece; 400 where they won't do."""
    where = tool.name if piece is None else f"{tool.name}, {piece}"
    try:
        settings = dict(asked) if piece is None else filled(tool, asked, piece)
    except HTTPException as error:
        raise invalid(f"{where}: {error.detail}") from None
    fault = settings_fault(tool, settings, account.gates)
    if fault is not None:
        raise invalid(f"{where}: {fault}")
    return settings
