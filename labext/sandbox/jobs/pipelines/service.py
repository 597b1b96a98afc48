"""Submit pipelines, create the jobs of their stages, and continue them when a job ends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs import parent_jobs, schemas, usage
from labext.sandbox.jobs.dependencies import reload_account
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.job_creation import (
    FileResolver,
    JobOrder,
    check_names_free,
    dump_json,
    resolve_orders,
    store_jobs,
)
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.pipelines import piping
from labext.sandbox.jobs.pipelines.piping import (
    PIPE,
    PipeValue,
    TextInput,
    accepted_values,
    fill_pipes,
    piped_settings,
)
from labext.sandbox.jobs.pipelines.schemas import (
    MAX_JOBS,
    Stage,
    check_job_names,
    load_stages,
    read_inputs,
    read_stages,
    stage_job_name,
    stage_title,
)
from labext.sandbox.jobs.scheduling import check_queue_limit
from labext.sandbox.jobs.schemas import bad_request, not_found
from labext.sandbox.jobs.tables import (
    ACTIVE_STATES,
    COMPLETE,
    IN_QUEUE,
    PIPELINE,
    STOPPED,
    Account,
    Job,
    SavedPipeline,
    current_timestamp,
)
from labext.sandbox.jobs.tools.catalogue import available_tools, missing_tool
from labext.sandbox.jobs.tools.tool import Tool, settings_error


@dataclass(frozen=True)
class RejectedJob:
    """A job that can't run with its piped value; it is stored as Stopped.

    Attributes:
        settings: the stage's settings, with the text or the path of the piped value filled in.
    """

    name: str
    settings: dict[str, Any]
    reason: str


@dataclass(frozen=True)
class ToolJobs:
    """The accepted and rejected jobs of one tool in a stage."""

    tool: Tool
    accepted: list[JobOrder]
    rejected: list[RejectedJob]


StagePlan = list[ToolJobs]
"""The jobs of a stage by tool."""


def plan_stage(
    session: Session,
    site: Site,
    account: Account,
    name: str,
    stage_number: int,
    stage: Stage,
    values: Sequence[PipeValue],
) -> StagePlan:
    """Plan the jobs of a stage for these values without storing them.

    A value that the settings don't accept results in a rejected job, and so does a tool without any
    suitable value. An error of the whole stage, such as too many jobs, is a 400.
    """
    tools = available_tools()
    missing = [tool_name for tool_name in stage.tools if tool_name not in tools]
    if missing:  # it was available when the pipeline was submitted
        raise bad_request(missing_tool(missing[0]))
    # A tool without a `"pipe"` setting runs once.
    inputs: dict[str, Sequence[PipeValue | None]] = {
        tool: accepted_values(tools[tool], template, values) if piped_settings(template) else [None]
        for tool, template in stage.tools.items()
    }
    job_count = sum(map(len, inputs.values()))
    if job_count > MAX_JOBS:
        raise bad_request(
            f"it would have {job_count:,} jobs, for {messages.pluralize(len(values), 'input')} "
            f"and {messages.pluralize(len(stage.tools), 'tool')}; at most {MAX_JOBS} are allowed."
        )
    files = FileResolver(session, site, account)
    plan: StagePlan = []
    for tool_name, template in stage.tools.items():
        tool_plan = ToolJobs(tools[tool_name], [], [])
        if not inputs[tool_name]:
            reason = f"{tool_name}: the previous stage has no suitable output."
            job = stage_job_name(name, stage_number, tool_name, 1, 1)
            tool_plan.rejected.append(RejectedJob(job, dict(template), reason))
        for number, value in enumerate(inputs[tool_name], 1):
            job = stage_job_name(name, stage_number, tool_name, number, len(inputs[tool_name]))
            try:
                settings = _check_settings(tool_plan.tool, template, value, account)
                tool_plan.accepted.append(_build_order(files, tool_plan.tool, job, settings))
            except HTTPException as error:
                rejected = RejectedJob(job, _recorded_settings(template, value), error.detail)
                tool_plan.rejected.append(rejected)
        plan.append(tool_plan)
    accepted_names = [order.name for jobs in plan for order in jobs.accepted]
    rejected_names = [job.name for jobs in plan for job in jobs.rejected]
    check_names_free(session, account, [*accepted_names, *rejected_names])
    return plan


def first_rejection(plan: StagePlan) -> str | None:
    """Return the reason of the first rejected job, or None."""
    return next((job.reason for tool_jobs in plan for job in tool_jobs.rejected), None)


def start_stage(
    session: Session, site: Site, account: Account, parent: Job, plan: StagePlan
) -> bool:
    """Store the jobs of the pipeline's current stage; return False if all are rejected.

    The row of the pipeline must be flushed.
    """
    now = current_timestamp()
    for tool_jobs in plan:
        session.add_all(
            Job(
                account_id=account.id,
                parent_id=parent.id,
                name=job.name,
                type=tool_jobs.tool.name,
                tool=tool_jobs.tool.name,
                status=STOPPED,
                created=now,
                completed=now,
                settings=dump_json(job.settings),
                reason=job.reason,
                project_tag=parent.project_tag,
                stage=parent.stage,
            )
            for job in tool_jobs.rejected
        )
        store_jobs(session, site, account, tool_jobs.tool, tool_jobs.accepted, parent=parent)
    return any(tool_jobs.accepted for tool_jobs in plan)


def stage_outputs(session: Session, site: Site, parent: Job) -> list[PipeValue]:
    """Return the outputs of the complete jobs of the current stage, in order of submission."""
    tools = available_tools()
    jobs = select(Job.id, Job.name, Job.tool, Job.settings).where(
        Job.parent_id == parent.id, Job.stage == parent.stage, Job.status == COMPLETE
    )
    return [
        value
        for job in session.execute(jobs.order_by(Job.id))
        if job.tool in tools
        for value in piping.files_to_pipe(
            tools[job.tool],
            job.name,
            job_files.output_folder(site, job.id, session),
            orjson.loads(job.settings),
        )
    ]


def _check_settings(
    tool: Tool, template: Mapping[str, Any], value: PipeValue | None, account: Account
) -> dict[str, Any]:
    """Return the settings with the piped value filled in; 400 if they are invalid."""
    prefix = tool.name if value is None else f"{tool.name}, {value}"
    try:
        settings = dict(template) if value is None else fill_pipes(tool, template, value)
    except HTTPException as error:
        raise bad_request(f"{prefix}: {error.detail}") from None
    message = settings_error(tool, settings, account.gates)
    if message is not None:
        raise bad_request(f"{prefix}: {message}")
    return settings


def _build_order(files: FileResolver, tool: Tool, job: str, settings: dict[str, Any]) -> JobOrder:
    """Resolve the input files of one job; 400 if a file is missing."""
    try:
        (order,) = resolve_orders(files, tool, [(job, settings)])
    except HTTPException as error:
        raise bad_request(f"{tool.name}: {error.detail}") from None
    return order


def _recorded_settings(template: Mapping[str, Any], piped: PipeValue | None) -> dict[str, Any]:
    """Return the settings with the value's text or path in place of `"pipe"`."""
    if piped is None:
        return dict(template)
    text = piped.text if isinstance(piped, TextInput) else piped.reference
    return {name: text if value == PIPE else value for name, value in template.items()}


DELETED_REASON = "It was deleted."


def settle_pipeline(
    session: Session, site: Site, parent: Job, job: Job, *, deleted: bool = False
) -> None:
    """Update a pipeline after a job has ended or was deleted; continue it if its stage has ended.

    The hours of a job are added when it ends, so that those of a deleted job still count.
    """
    if job.weighted_hours and not deleted:
        parent.weighted_hours = round((parent.weighted_hours or 0.0) + job.weighted_hours, 9)
    session.flush()
    if parent.status not in ACTIVE_STATES or (deleted and job.stage != parent.stage):
        return
    if _first_in_stage(session, parent, *ACTIVE_STATES) is None:
        _end_stage(session, site, parent, last=job)


def _end_stage(session: Session, site: Site, parent: Job, last: Job) -> None:
    """Start the next stage or the aggregation, or stop the pipeline if no job is complete.

    `last` is the job that ended or was deleted last.
    """
    stages = load_stages(orjson.loads(parent.settings)["stages"])
    number = parent.stage or 1
    if _first_in_stage(session, parent, COMPLETE) is None:
        failed = _first_in_stage(session, parent, STOPPED)
        reason = DELETED_REASON if failed is None else failed.reason or "It was stopped."
        name = last.name if failed is None else failed.name
        parent_jobs.stop_parent(
            parent, f"{stage_title(number, stages[number - 1])} failed: {name}: {reason}"
        )
    elif number == len(stages):
        parent.reason = _failures(session, parent)
        parent_jobs.finish_parent(session, site, parent)
    else:
        _start_next_stage(session, site, parent, number + 1, stages[number])


def _start_next_stage(session: Session, site: Site, parent: Job, number: int, stage: Stage) -> None:
    """Start a stage with the outputs of the previous one; stop the pipeline if no job can run."""
    values = stage_outputs(session, site, parent)
    parent.stage = number
    account = session.get_one(Account, parent.account_id)
    try:
        plan = plan_stage(session, site, account, parent.name, number, stage, values)
    except HTTPException as error:
        parent_jobs.stop_parent(
            parent, f"{stage_title(number, stage)} could not start: {error.detail}"
        )
        return
    if not start_stage(session, site, account, parent, plan):
        reason = first_rejection(plan)
        parent_jobs.stop_parent(parent, f"{stage_title(number, stage)} could not start: {reason}")


def _first_in_stage(session: Session, parent: Job, *states: str) -> Job | None:
    """Return the first job of the pipeline's current stage in one of these states, or None."""
    first = select(Job).where(
        Job.parent_id == parent.id, Job.stage == parent.stage, Job.status.in_(states)
    )
    return session.scalars(first.order_by(Job.id).limit(1)).one_or_none()


def _failures(session: Session, parent: Job) -> str | None:
    """Describe the failed jobs: number and first reason. None if all jobs are complete."""
    is_part = Job.parent_id == parent.id
    stopped = session.execute(
        select(Job.name, Job.reason).where(is_part, Job.status == STOPPED).order_by(Job.id)
    ).all()
    if not stopped:
        return None
    jobs = messages.pluralize(count_rows(session, Job, is_part), "job")
    name, reason = stopped[0]
    first = "" if len(stopped) == 1 else "the first, "
    return f"{len(stopped):,} of {jobs} did not complete: {first}{name}: {reason}"


_MAX_SUGGESTIONS = 10

MAX_PIPELINE_BYTES = 1 << 20
"""Size limit of the inputs and stages of a pipeline, which are stored in its row."""


def submit_pipeline(site: Site, caller: Account, body: bytes) -> str:
    """Submit a pipeline that is defined in the body; return the confirmation."""
    content = schemas.parse_body(body)
    name = schemas.require_name(content, "jobName")
    inputs = read_inputs(content, "initialInputs")
    stages = schemas.require_array(content, "stages")
    settings = {"initialInputs": inputs, "stages": stages}
    return _store_pipeline(site, caller, name, settings, schemas.optional_project(content))


def run_pipeline(site: Site, caller: Account, body: bytes) -> str:
    """Submit a saved pipeline of the account's organization; return the confirmation."""
    content = schemas.parse_body(body)
    name = schemas.require_name(content, "jobName")
    saved = schemas.require_text(content, "pipelineName")
    inputs = read_inputs(content, "initialInputs", "inputs")
    with site.database.read() as session:
        pipelines = select(SavedPipeline.name, SavedPipeline.stages).where(
            SavedPipeline.organization_id == caller.organization_id
        )
        stages_by_name = {
            row.name: row.stages for row in session.execute(pipelines.order_by(SavedPipeline.name))
        }
    if saved not in stages_by_name:
        suggestion = _suggest_saved(saved, [*stages_by_name])
        raise not_found(
            f"There is no saved pipeline {quote_value(saved)} in your organization{suggestion}"
        )
    stages = stages_by_name[saved]
    settings = {"pipelineName": saved, "initialInputs": inputs, "stages": stages}
    return _store_pipeline(site, caller, name, settings, schemas.optional_project(content))


def _suggest_saved(saved: str, existing: Sequence[str]) -> str:
    """Return the end of the error for an unknown name: the closest match or the existing names."""
    if closest := messages.closest_match(saved, existing):
        return f"; did you mean {quote_value(closest)}?"
    if not existing:
        return "; no pipeline is saved."
    ellipsis = ", …" if len(existing) > _MAX_SUGGESTIONS else ""
    return f"; available: {', '.join(existing[:_MAX_SUGGESTIONS])}{ellipsis}."


def _store_pipeline(
    site: Site, caller: Account, name: str, settings: Mapping[str, Any], project: str | None
) -> str:
    stages = read_stages(settings["stages"], caller.gates)
    inputs: list[str] = settings["initialInputs"]
    text = dump_json(settings)
    if len(text.encode()) > MAX_PIPELINE_BYTES:
        raise bad_request(
            f"initialInputs and stages have more than {MAX_PIPELINE_BYTES:,} bytes together; "
            "upload large inputs, and send the names of the files."
        )
    check_job_names(name, stages, len(inputs))
    with site.database.write() as session:
        account = reload_account(session, caller)
        usage.check_budgets_left(session, account)
        check_names_free(session, account, [name])
        _check_later_names_free(session, account, name, stages)
        try:
            plan = plan_stage(session, site, account, name, 1, stages[0], [*map(TextInput, inputs)])
            if (reason := first_rejection(plan)) is not None:
                raise bad_request(reason)
            jobs = sum(len(tool_jobs.accepted) for tool_jobs in plan)
        except HTTPException as error:
            raise bad_request(f"{stage_title(1, stages[0])}: {error.detail}") from None
        check_queue_limit(session, site, account, jobs)
        parent = Job(
            account_id=account.id,
            name=name,
            type=PIPELINE,
            tool=PIPELINE,
            status=IN_QUEUE,
            created=current_timestamp(),
            settings=text,
            project_tag=project,
            stage=1,
        )
        session.add(parent)
        session.flush()
        start_stage(session, site, account, parent, plan)
    return f"{name} submitted to queue."


def _check_later_names_free(
    session: Session, account: Account, name: str, stages: Sequence[Stage]
) -> None:
    """Raise 400 if an existing job has the name of a future job of the pipeline."""
    prefix = f"{name}-stage"
    tools = [(number, tool) for number, stage in enumerate(stages, 1) for tool in stage.tools]
    later = re.compile("|".join(f"{prefix}{number}-{tool}(-[0-9]+)?" for number, tool in tools))
    like = select(Job.name).where(
        Job.account_id == account.id, Job.name.startswith(prefix, autoescape=True)
    )
    for existing in session.scalars(like):
        if later.fullmatch(existing):
            raise bad_request(
                f"Job name {existing}, which a job of the pipeline may get, is taken."
            )
