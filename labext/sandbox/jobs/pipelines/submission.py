"""Submits a pipeline: checked whole, then stored with the jobs of its first stage.

Source: job service contract, POST /submit-pipeline and POST /run-pipeline; real services, jobs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import wording
from labext.sandbox.jobs import budgets, fields
from labext.sandbox.jobs.faults import absent, invalid
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.pipelines import stage_jobs
from labext.sandbox.jobs.pipelines.forms import (
    Stage,
    check_names,
    read_inputs,
    read_stages,
    title,
)
from labext.sandbox.jobs.pipelines.piping import Text
from labext.sandbox.jobs.store import (
    IN_QUEUE,
    PIPELINE,
    Account,
    Job,
    SavedPipeline,
    now,
)
from labext.sandbox.jobs.storing import check_free, json_text
from labext.sandbox.service import Site

_OFFERED = 10

LARGEST = 1 << 20
"""Bytes of a pipeline's inputs and stages together: they stand in its row."""


def submit_pipeline(site: Site, account: Account, body: bytes) -> str:
    """Submit a pipeline that is defined in the body; returns the confirmation."""
    content = fields.parse_body(body)
    name = fields.name(content, "jobName")
    inputs = read_inputs(content, "initialInputs")
    stages = fields.array(content, "stages")
    settings = {"initialInputs": inputs, "stages": stages}
    return _submit(site, account, name, settings, fields.project(content))


def run_pipeline(site: Site, account: Account, body: bytes) -> str:
    """Submit a pipeline that the account's organization has saved; returns the confirmation."""
    content = fields.parse_body(body)
    name = fields.name(content, "jobName")
    saved = fields.text(content, "pipelineName")
    inputs = read_inputs(content, "initialInputs", "inputs")
    with site.database.read() as session:
        mine = SavedPipeline.organization_id == account.organization_id
        stages = session.scalars(
            select(SavedPipeline.stages).where(mine, SavedPipeline.name == saved)
        ).one_or_none()
        there = session.scalars(select(SavedPipeline.name).where(mine).order_by("name")).all()
    if stages is None:
        offered = _offered(saved, there)
        raise absent(f"There is no saved pipeline {shown(saved)} in your organization{offered}")
    settings = {"pipelineName": saved, "initialInputs": inputs, "stages": stages}
    return _submit(site, account, name, settings, fields.project(content))


def _offered(saved: str, there: Sequence[str]) -> str:
    """How a sentence about an unknown name ends: with the near one, or with some of them all."""
    if near := wording.near(saved, there):
        return f"; did you mean {shown(near)}?"
    if not there:
        return "; it has none."
    more = ", …" if len(there) > _OFFERED else ""
    return f"; there are: {', '.join(there[:_OFFERED])}{more}."


def _submit(
    site: Site, account: Account, name: str, settings: Mapping[str, Any], project: str | None
) -> str:
    stages = read_stages(settings["stages"], account.gates)
    inputs: list[str] = settings["initialInputs"]
    text = json_text(settings)
    if len(text.encode()) > LARGEST:
        raise invalid(
            f"initialInputs and stages have more than {LARGEST:,} bytes together; upload what is "
            "big, and send the names of the files."
        )
    check_names(name, stages, len(inputs))
    with site.database.write() as session:
        budgets.check(session, account)
        check_free(session, account, [name])
        _check_free_later(session, account, name, stages)
        try:
            plan = stage_jobs.plan(session, site, account, name, 1, stages[0], [*map(Text, inputs)])
            if (refusal := stage_jobs.first_refusal(plan)) is not None:
                raise invalid(refusal)
        except HTTPException as error:
            raise invalid(f"{title(1, stages[0])}: {error.detail}") from None
        parent = Job(
            account_id=account.id,
            name=name,
            type=PIPELINE,
            tool=PIPELINE,
            status=IN_QUEUE,
            created=now(),
            settings=text,
            project_tag=project,
            stage=1,
        )
        session.add(parent)
        session.flush()
        stage_jobs.start(session, site, account, parent, plan)
    return f"{name} submitted to queue."


def _check_free_later(
    session: Session, account: Account, name: str, stages: Sequence[Stage]
) -> None:
    """Refuse a pipeline one of whose jobs would have a name that is taken (400)."""
    begin = f"{name}-stage"
    tools = [(place, tool) for place, stage in enumerate(stages, 1) for tool in stage.tools]
    later = re.compile("|".join(f"{begin}{place}-{tool}(-[0-9]+)?" for place, tool in tools))
    like = select(Job.name).where(
        Job.account_id == account.id, Job.name.startswith(begin, autoescape=True)
    )
    for taken in session.scalars(like):
        if later.fullmatch(taken):
            raise invalid(f"Job name {taken}, which a job of the pipeline may get, is taken.")
