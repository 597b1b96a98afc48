"""Validate pipelines and submit them at most once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError
from labext.jobs import input_files, records
from labext.jobs.api import RUN_PIPELINE, SUBMIT_PIPELINE, JobsApi
from labext.jobs.identity import (
    canonical_json,
    describe_values,
    settings_difference,
    stored_settings,
)
from labext.jobs.input_files import FileReferences, InputContent
from labext.jobs.records import JobRecord
from labext.jobs.submission import Submission, find_identical, submit_once
from labext.jobs.tools import (
    Tool,
    ToolCatalogue,
    looks_like_file_name,
    normalize_settings,
    split_file_path,
    to_json_types,
)

PIPE = "pipe"
"""The value of a setting that stands for an output of the previous stage."""

_STAGE_FIELDS = ("task", "toolSettings")
_MAX_SHOWN = 5

Stage = dict[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """Definition of a pipeline, as in `Settings` of its row.

    Attributes:
        stages: the stages; None for a pipeline saved on the service.
        saved: the name of the saved pipeline; None if `stages` are given.
    """

    inputs: list[Any]
    stages: list[Stage] | None = None
    saved: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of the request body, without the name of the submission."""
        settings: dict[str, Any] = {"initialInputs": self.inputs}
        if self.saved is not None:
            settings["pipelineName"] = self.saved
        if self.stages is not None:
            settings["stages"] = self.stages
        return settings

    def tools(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield the stage number (from 1), name and settings of each tool."""
        for number, stage in enumerate(self.stages or (), start=1):
            for tool, settings in stage["toolSettings"].items():
                yield number, tool, settings


def parse_inputs(value: Any) -> list[Any]:
    """Return initial inputs as a list of JSON values.

    They are a list, tuple, Series, column of a frame or one-dimensional array of sequences, names
    of uploaded files, or outputs of earlier jobs (`<Job>/path`).
    """
    if isinstance(value, str | bytes | Mapping) or value is None:
        raise InputError(
            f"The inputs of a pipeline must be a list, not {_type_name(value)}.",
            'Give a list: `["…"]`.',
        )
    ndim = getattr(value, "ndim", 1)
    if ndim != 1:
        raise InputError(
            "The inputs of a pipeline must be one list, not a table.",
            'Take one column: `frame["sequence"]`.',
        )
    if not isinstance(value, list | tuple) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, Sequence):
        raise InputError(
            f"The inputs of a pipeline must be a list, not {_type_name(value)}.",
            "Convert it to a list.",
        )
    if not value:
        raise InputError("The pipeline has no inputs.", "Give at least one input.")
    inputs, faults = [], []
    for number, item in enumerate(value, start=1):
        try:
            if item is None or item == "":
                raise ValueError("is empty")
            inputs.append(to_json_types(item))
        except ValueError as error:
            faults.append(f"input {number} {error}")
    if faults:
        raise _pipeline_error(faults, "Correct the inputs.")
    return inputs


def clean_stages(catalogue: ToolCatalogue, stages: Any) -> list[Stage]:
    """Validate stages against the parameters of their tools; return them as they will be sent.

    The catalogue is read again before stages are rejected.
    """
    if isinstance(stages, Mapping) or not isinstance(stages, list | tuple):
        raise InputError(
            f"The stages of a pipeline must be a list, not {_type_name(stages)}.", _next_step(None)
        )
    if not stages:
        raise InputError("The pipeline has no stages.", _next_step(None))
    cleaned, faults, tool = _clean_tools(catalogue.cached_tools(), stages)
    if faults:
        cleaned, faults, tool = _clean_tools(catalogue.read(), stages)
    if faults:
        raise _pipeline_error(faults, _next_step(tool))
    return cleaned


def stages_without_input(stages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers (from 1) of the stages without a setting that takes a piped input."""
    return [
        number
        for number, stage in enumerate(stages, start=1)
        if not any(PIPE in (settings or {}).values() for settings in stage["toolSettings"].values())
    ]


def _clean_tools(
    tools: Mapping[str, Tool], stages: Sequence[Any]
) -> tuple[list[Stage], list[str], str | None]:
    """Return the valid stages, all faults, and the last tool with invalid settings."""
    cleaned_stages: list[Stage] = []
    faults: list[str] = []
    faulty_tool: str | None = None
    for number, stage in enumerate(stages, start=1):
        shape_fault = _shape_fault(stage)
        if shape_fault is not None:
            faults.append(f"stage {number} {shape_fault}")
            continue
        cleaned: Stage = {"task": stage["task"], "toolSettings": {}}
        for name, settings in stage["toolSettings"].items():
            tool = tools.get(str(name))
            if tool is None:
                hint = messages.did_you_mean(str(name), tools)
                faults.append(f'stage {number}: the service has no tool "{name}"{hint}')
                continue
            cleaned["toolSettings"][tool.name], tool_faults = normalize_settings(
                tool, settings or {}, placeholder=PIPE
            )
            faults += [f"stage {number}, {tool.name}: {fault}" for fault in tool_faults]
            faulty_tool = tool.name if tool_faults else faulty_tool
        cleaned_stages.append(cleaned)
    return cleaned_stages, faults, faulty_tool


def _shape_fault(stage: Any) -> str | None:
    """Return the fault in the structure of a stage as the end of a sentence; None if valid."""
    if not isinstance(stage, Mapping):
        return f"is {_type_name(stage)}, not a mapping of `task` and `toolSettings`"
    unknown = [str(key) for key in stage if key not in _STAGE_FIELDS]
    if unknown:
        hint = messages.did_you_mean(unknown[0], _STAGE_FIELDS)
        return f"has an unknown key `{unknown[0]}`{hint}"
    task, tools = stage.get("task"), stage.get("toolSettings")
    if not isinstance(task, str) or not task.strip():
        return "has no `task`, the title of the stage"
    if not isinstance(tools, Mapping) or not tools:
        return "has no `toolSettings`, a mapping of tools to their settings"
    for name, settings in tools.items():
        if settings is not None and not isinstance(settings, Mapping):
            return f"has settings of {name} that are not a mapping"
    return None


def _pipeline_error(faults: list[str], step: str) -> InputError:
    listed_faults = faults[:_MAX_SHOWN]
    if len(faults) > _MAX_SHOWN:
        listed_faults.append(f"{len(faults) - _MAX_SHOWN} more errors")
    return InputError(f"The pipeline is invalid: {'; '.join(listed_faults)}.", step)


def _next_step(tool: str | None) -> str:
    if tool is not None:
        return Action.show_tool(tool).sentence()
    return (
        "A stage is `{task: …, toolSettings: {TOOL: {setting: value}}}`; "
        f"see {Action.list_tools()}."
    )


def _type_name(value: Any) -> str:
    """Return a noun phrase for the type of a value."""
    if value is None:
        return "nothing"
    names = {
        str: "a text",
        bytes: "bytes",
        bool: "true or false",
        int: "a number",
        float: "a number",
        dict: "a mapping",
        list: "a list",
    }
    return names.get(type(value), messages.with_article(type(value).__name__))


PIPELINE_TYPE = "pipeline"
"""The `Type` of a pipeline's row."""


def submit_pipeline(
    service: JobsApi, name: str, pipeline: Pipeline, project_tag: str | None, content: InputContent
) -> Submission:
    """Submit a validated pipeline, unless it exists."""
    body: dict[str, Any] = {"jobName": name, **pipeline.settings}
    if project_tag is not None:
        body["projectTag"] = project_tag
    operation = SUBMIT_PIPELINE if pipeline.saved is None else RUN_PIPELINE
    return submit_once(
        service,
        name,
        PIPELINE_TYPE,
        lambda: service.submit(operation, body),
        lambda row: pipeline_difference(pipeline, row),
        "stages and inputs" if pipeline.saved is None else "inputs",
        content,
    )


def validate_pipeline(
    service: JobsApi, name: str, pipeline: Pipeline, content: InputContent
) -> None:
    """Validate the name of a pipeline, and the first jobs of its first stage on the service."""
    if find_identical(service, name, lambda row: pipeline_difference(pipeline, row), content):
        return
    for tool, settings in pipeline.stages[0]["toolSettings"].items() if pipeline.stages else ():
        job = first_stage_jobs(settings, pipeline.inputs[:1])[0]
        response = service.validate({"type": tool, "settings": job})
        if response is not None and not response[0]:
            raise InputError(
                messages.end_sentence(
                    f"The service would reject this pipeline: stage 1, {tool}: {response[1]}"
                ),
                action=Action.show_tool(tool),
            )


def check_pipeline_references(
    service: JobsApi, catalogue: ToolCatalogue, pipeline: Pipeline
) -> FileReferences:
    """Return the files and jobs that the stages and the initial inputs of a pipeline refer to.

    For a saved pipeline, whose stages are unknown, only the inputs are resolved, and unresolved
    inputs are accepted.
    """
    if pipeline.saved is not None:
        texts = (value for value in pipeline.inputs if isinstance(value, str))
        inputs = {
            text: "an input"
            for text in texts
            if looks_like_file_name(text) or split_file_path(text) is not None
        }
        input_references = input_files.resolve_values(service, inputs)
        return FileReferences(input_references.uploaded, input_references.outputs)
    references = FileReferences()
    faults: list[str] = []
    for number, tool, settings in pipeline.tools():
        jobs = first_stage_jobs(settings, pipeline.inputs) if number == 1 else [settings]
        resolved = input_files.resolve_references(service, catalogue.tool(tool), jobs)
        faults += [f"stage {number}, {tool}: {fault}" for fault in resolved.faults.values()]
        references.add(resolved)
    if faults:
        raise InputError(
            f"The pipeline is invalid: {'; '.join(faults)}.",
            references.next_step or "Correct the names.",
        )
    return references


def first_stage_jobs(settings: Mapping[str, Any], inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the settings of a tool of the first stage for each input."""
    piped = [name for name, value in settings.items() if value == PIPE]
    return [{**settings, **dict.fromkeys(piped, value)} for value in inputs]


def pipeline_difference(pipeline: Pipeline, row: JobRecord) -> str | None:
    """Describe how a row differs from a pipeline; None if they are the same."""
    if not records.is_pipeline(row):
        return f"it is a {records.kind(row)}"
    stored = stored_settings(row)
    if stored is None or not stored.keys() & {"initialInputs", "inputs", "stages"}:
        return "its stages and inputs can't be read"
    if stored.get("pipelineName") != pipeline.saved:
        other = stored.get("pipelineName")
        return f"it runs {other}" if other else f"it does not run {pipeline.saved}"
    inputs = stored.get("initialInputs", stored.get("inputs"))
    if inputs is not None and canonical_json(inputs) != canonical_json(pipeline.inputs):
        return f"its inputs are {describe_values(inputs, pipeline.inputs)}"
    if pipeline.stages is None or "stages" not in stored:
        return None
    return _stages_difference(pipeline.stages, stored["stages"])


def _stages_difference(stages: list[dict[str, Any]], stored: Any) -> str | None:
    if not isinstance(stored, list) or not all(isinstance(stage, Mapping) for stage in stored):
        return "its stages can't be read"
    if len(stored) != len(stages):
        return f"it has {messages.pluralize(len(stored), 'stage')}, not {len(stages)}"
    for number, (submitted, saved) in enumerate(zip(stages, stored, strict=True), start=1):
        if saved.get("task", submitted["task"]) != submitted["task"]:
            return f"its stage {number} is {saved['task']}, not {submitted['task']}"
        difference = _stage_tools_difference(submitted["toolSettings"], saved.get("toolSettings"))
        if difference is not None:
            return f"in its stage {number}, {difference}"
    return None


def _stage_tools_difference(requested: Mapping[str, Any], existing: Any) -> str | None:
    if not isinstance(existing, Mapping):
        return "the tools can't be read"
    if set(existing) != set(requested):
        return f"the tools are {', '.join(existing)}, not {', '.join(requested)}"
    for tool, settings in requested.items():
        if not isinstance(existing[tool], Mapping):
            return f"the settings of {tool} can't be read"
        difference = settings_difference(settings, existing[tool])
        if difference is not None:
            return f"for {tool}, {difference}"
    return None
