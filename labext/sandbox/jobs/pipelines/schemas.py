"""Parse and validate submitted and saved pipelines."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.jobs import schemas
from labext.sandbox.jobs.names import MAX_NAME_LENGTH, quote_value
from labext.sandbox.jobs.pipelines.piping import (
    PIPE,
    accepted_content,
    accepts_file,
    output_content,
    piped_settings,
)
from labext.sandbox.jobs.schemas import Body, bad_request
from labext.sandbox.jobs.tools.catalogue import available_tools, missing_tool
from labext.sandbox.jobs.tools.tool import Tool, settings_error

MAX_JOBS = 100
"""Maximum number of jobs per stage, and of initial inputs."""

MAX_STAGES = 20
MAX_TITLE_LENGTH = 200


@dataclass(frozen=True)
class Stage:
    """A stage of a pipeline: title, and settings by tool."""

    task: str
    tools: Mapping[str, Mapping[str, Any]]


def pipeline_error(stages: object, gates: Collection[str]) -> str | None:
    """Return the first error of a pipeline's stages, or None; `gates` are the permissions."""
    try:
        read_stages(stages, gates)
    except HTTPException as error:
        return error.detail
    return None


def read_stages(value: object, gates: Collection[str]) -> list[Stage]:
    """Parse and validate the stages, a JSON array; 400 for the first error.

    The outputs of a stage are unknown before it runs. A piped setting is therefore checked against
    the file names and the kinds of content of the previous stage; its value is checked when the
    stage starts.
    """
    items = schemas.check_type(value, "stages", list, "an array")
    if not 1 <= len(items) <= MAX_STAGES:
        raise bad_request(
            f"stages has {len(items)} items; a pipeline has 1 to {MAX_STAGES} stages."
        )
    stages = [_read_stage(number, item) for number, item in enumerate(items, 1)]
    tools = available_tools()
    for number, stage in enumerate(stages, 1):
        for name, settings in stage.tools.items():
            if name not in tools:
                raise bad_request(f"{stage_title(number, stage)}: {missing_tool(name)}")
            error = settings_error(tools[name], settings, gates, unknown=piped_settings(settings))
            if error is not None:
                raise bad_request(f"{stage_title(number, stage)}, {name}: {error}")
    for number, (previous, stage) in enumerate(pairwise(stages), 2):
        _check_pipes(number, stage, previous, tools)
    return stages


def load_stages(value: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """Load stages that were validated before, from a pipeline's row."""
    return [Stage(stage["task"], stage["toolSettings"]) for stage in value]


def read_inputs(body: Body, *names: str) -> list[str]:
    """Read the initial inputs from one of the fields `names`; 400 if they are invalid."""
    present = [name for name in names if body.get(name) is not None]
    if len(present) > 1:
        raise bad_request(f"{' and '.join(present)} exclude each other; send one of them.")
    field = present[0] if present else names[0]
    inputs = schemas.require_array(body, field)
    if not 1 <= len(inputs) <= MAX_JOBS:
        raise bad_request(f"{field} has {len(inputs)} items; 1 to {MAX_JOBS} are allowed.")
    for index, text in enumerate(inputs):
        if not schemas.check_type(text, f"{field}[{index}]", str, "a string").strip():
            raise bad_request(f"{field}[{index}] is empty.")
    return inputs


def check_job_names(pipeline: str, stages: Sequence[Stage], inputs: int) -> None:
    """Raise 400 if the name of a job of the pipeline would be too long."""
    for number, stage in enumerate(stages, 1):
        max_jobs = inputs if number == 1 else MAX_JOBS
        for tool in stage.tools:
            name = stage_job_name(pipeline, number, tool, max_jobs, max_jobs)
            if len(name) > MAX_NAME_LENGTH:
                raise bad_request(
                    f"jobName is too long: a job would be named {quote_value(name)}, which has "
                    f"{len(name)} characters; at most {MAX_NAME_LENGTH} are allowed."
                )


def stage_job_name(pipeline: str, stage: int, tool: str, number: int, count: int) -> str:
    """Return the name of the `number`-th of `count` jobs of a tool in a stage."""
    return f"{pipeline}-stage{stage}-{tool}" + (f"-{number}" if count > 1 else "")


def stage_title(number: int, stage: Stage) -> str:
    """Return the title of a stage for messages."""
    return f"Stage {number} ({stage.task})"


def _read_stage(number: int, item: object) -> Stage:
    field = f"stages[{number - 1}]"
    content = schemas.check_type(item, field, dict, "an object")
    task = content.get("task")
    if not isinstance(task, str):
        raise bad_request(f"{field}.task is {'missing' if task is None else 'not a string'}.")
    if not task.strip():
        raise bad_request(f"{field}.task is empty.")
    if len(task) > MAX_TITLE_LENGTH:
        raise bad_request(
            f"{field}.task has {len(task)} characters; at most {MAX_TITLE_LENGTH} are allowed."
        )
    if any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in task):
        raise bad_request(f"{field}.task contains a control character: {quote_value(task)}.")
    tools = content.get("toolSettings")
    if not isinstance(tools, dict):
        problem = "missing" if tools is None else f"not an object: {quote_value(tools)}"
        raise bad_request(f"Stage {number} ({task}): toolSettings is {problem}.")
    if not tools:
        raise bad_request(f"Stage {number} ({task}): toolSettings has no tool.")
    for name, settings in tools.items():
        if not isinstance(settings, dict):
            raise bad_request(
                f"Stage {number} ({task}): the settings of {quote_value(name)} are not an object: "
                f"{quote_value(settings)}."
            )
    return Stage(task, tools)


def _check_pipes(number: int, stage: Stage, previous: Stage, tools: Mapping[str, Tool]) -> None:
    """Raise 400 if the previous stage has no suitable output for a piped setting."""
    outputs = [
        (pattern, output_content(tools[name], settings))
        for name, settings in previous.tools.items()
        for pattern in tools[name].passes
    ]
    output_list = ", ".join(
        pattern if content is None else f"{pattern} ({content})" for pattern, content in outputs
    )
    for name, settings in stage.tools.items():
        parameters = {parameter.name: parameter for parameter in tools[name].parameters}
        for setting in piped_settings(settings):
            kinds = accepted_content(tools[name], settings, parameters[setting])
            if not any(
                accepts_file(parameters[setting], pattern, content, kinds)
                for pattern, content in outputs
            ):
                required = f" of {' or '.join(kinds)}" if kinds else ""
                raise bad_request(
                    f'{stage_title(number, stage)}, {name}: setting {setting} is "{PIPE}", but the '
                    f"previous stage has no suitable output{required}; it passes on "
                    f"{output_list or 'no file'}."
                )
