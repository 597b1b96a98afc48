"""Check pipelines and submit them at most once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError
from labext.jobs import input_files, records
from labext.jobs.api import JobsApi
from labext.jobs.identity import canonical_json, settings_difference, shorten_json, stored_settings
from labext.jobs.input_files import FileReferences, InputContent
from labext.jobs.records import JobRecord
from labext.jobs.submission import Submission, submit_once
from labext.jobs.tools import (
    Tool,
    ToolCatalogue,
    looks_like_file_name,
    normalize_settings,
    split_file_path,
    to_json_types,
)

PIPE = "pipe"
"""The value of a setting that takes the output of the stage before."""

_STAGE_FIELDS = ("task", "toolSettings")
_MAX_SHOWN = 5

Stage = dict[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """The definition of a pipeline, as `Settings` of its row shows it.

    Attributes:
        inputs: the initial inputs, each of which passes through the stages on its own.
        stages: the stages; None if they are saved on the service.
        saved: the name of the saved pipeline; None if the stages are given.
    """

    inputs: list[Any]
    stages: list[Stage] | None = None
    saved: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline in the service's format, without its name."""
        settings: dict[str, Any] = {"initialInputs": self.inputs}
        if self.saved is not None:
            settings["pipelineName"] = self.saved
        if self.stages is not None:
            settings["stages"] = self.stages
        return settings

    def tools(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield stage number (from 1), tool and settings of each tool of the given stages."""
        for number, stage in enumerate(self.stages or (), start=1):
            for tool, settings in stage["toolSettings"].items():
                yield number, tool, settings


def parse_inputs(value: Any) -> list[Any]:
    """Return initial inputs as a list of plain JSON values.

    Args:
        value: a list, a tuple, a Series, a column of a frame or an array, of texts mostly:
            sequences, names of uploaded files, `<Job>/path` of an earlier job's output.

    Raises:
        InputError: it is no such list, is empty, or holds values without a JSON form.
    """
    if isinstance(value, str | bytes | Mapping) or value is None:
        raise InputError(
            f"The inputs of a pipeline must be a list, not {_type_name(value)}.",
            'Put it into a list: `["…"]`.',
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
            "Make a list of it.",
        )
    if not value:
        raise InputError("The pipeline has no inputs.", "It needs at least one.")
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
    """Return stages as they are to be sent, checked against the parameters of their tools.

    The catalogue is read again before anything is refused.

    Raises:
        InputError: every fault, with its stage and tool.
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
    """Return the numbers, from 1, of the stages that take nothing: none of their settings pipes."""
    return [
        number
        for number, stage in enumerate(stages, start=1)
        if not any(PIPE in (own or {}).values() for own in stage["toolSettings"].values())
    ]


def _clean_tools(
    tools: Mapping[str, Tool], stages: Sequence[Any]
) -> tuple[list[Stage], list[str], str | None]:
    """Return the stages, all faults, and a tool whose settings have one."""
    cleaned_stages: list[Stage] = []
    faults: list[str] = []
    at_fault: str | None = None
    for number, stage in enumerate(stages, start=1):
        wrong = _shape_fault(stage)
        if wrong is not None:
            faults.append(f"stage {number} {wrong}")
            continue
        cleaned: Stage = {"task": stage["task"], "toolSettings": {}}
        for name, settings in stage["toolSettings"].items():
            tool = tools.get(str(name))
            if tool is None:
                hint = messages.did_you_mean(str(name), tools)
                faults.append(f'stage {number}: the service has no tool "{name}"{hint}')
                continue
            cleaned["toolSettings"][tool.name], tool_faults = normalize_settings(
                tool, settings or {}, passed=PIPE
            )
            faults += [f"stage {number}, {tool.name}: {fault}" for fault in tool_faults]
            at_fault = tool.name if tool_faults else at_fault
        cleaned_stages.append(cleaned)
    return cleaned_stages, faults, at_fault


def _shape_fault(stage: Any) -> str | None:
    """Return the fault in the shape of a stage, as the end of a sentence."""
    if not isinstance(stage, Mapping):
        return f"is {_type_name(stage)}, not a mapping of `task` and `toolSettings`"
    strange = [str(key) for key in stage if key not in _STAGE_FIELDS]
    if strange:
        hint = messages.did_you_mean(strange[0], _STAGE_FIELDS)
        return f"has `{strange[0]}`, which no stage has{hint}"
    task, tools = stage.get("task"), stage.get("toolSettings")
    if not isinstance(task, str) or not task.strip():
        return "has no `task`, its name in words"
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
    return InputError(f"This pipeline can't be used: {'; '.join(listed_faults)}.", step)


def _next_step(tool: str | None) -> str:
    if tool is not None:
        return Action.show_tool(tool).sentence()
    return (
        "A stage is `{task: …, toolSettings: {TOOL: {setting: value}}}`; "
        f"see {Action.list_tools()}."
    )


def _type_name(value: Any) -> str:
    """Return the type of a value, for the middle of a sentence."""
    if value is None:
        return "nothing"
    words = {
        str: "one text",
        bytes: "bytes",
        bool: "true or false",
        int: "a number",
        float: "a number",
        dict: "a mapping",
        list: "a list",
    }
    return words.get(type(value), f"a {type(value).__name__}")


PIPELINE_TYPE = "pipeline"
"""The `Type` of a pipeline's row."""


def submit_pipeline(
    service: JobsApi,
    name: str,
    pipeline: Pipeline,
    project_tag: str | None,
    content: InputContent,
) -> Submission:
    """Submit a checked pipeline, given or saved, unless it exists.

    Raises:
        ConflictError: the name is taken by another submission, or by a pipeline with other content.
        OutcomeUnknownError: the response was lost and the service can't be queried.
    """
    body: dict[str, Any] = {"jobName": name, **pipeline.settings}
    if project_tag is not None:
        body["projectTag"] = project_tag
    send = service.submit_pipeline if pipeline.saved is None else service.run_pipeline
    return submit_once(
        service,
        name,
        PIPELINE_TYPE,
        lambda: send(body),
        lambda row: pipeline_difference(pipeline, row),
        "stages and inputs" if pipeline.saved is None else "inputs",
        content,
    )


def check_pipeline_references(
    service: JobsApi, catalogue: ToolCatalogue, pipeline: Pipeline
) -> FileReferences:
    """Return the files and jobs that the stages and the initial inputs of a pipeline refer to.

    The stages of a saved pipeline are not known; of its inputs only names of uploaded files are
    references.

    Raises:
        InputError: a file has not been uploaded, or its name is ambiguous; a job does not exist or
            is not complete.
    """
    if pipeline.saved is not None:
        inputs = {value: "an input" for value in pipeline.inputs if _may_be_a_file(value)}
        input_references = input_files.resolve_values(service, inputs)
        return FileReferences(input_references.uploaded, input_references.outputs)
    references = FileReferences()
    faults: list[str] = []
    for number, tool, settings in pipeline.tools():
        jobs = _with_inputs(settings, pipeline.inputs) if number == 1 else [settings]
        named = input_files.resolve_references(service, catalogue.tool(tool), jobs)
        faults += [f"stage {number}, {tool}: {fault}" for fault in named.faults.values()]
        references.add(named)
    if faults:
        raise InputError(
            f"This pipeline can't be used: {'; '.join(faults)}.",
            references.next_step or "Correct the names.",
        )
    return references


def _may_be_a_file(value: Any) -> bool:
    return isinstance(value, str) and (
        looks_like_file_name(value) or split_file_path(value) is not None
    )


def _with_inputs(settings: Mapping[str, Any], inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the settings of a tool of the first stage with each input in place of `pipe`."""
    passed = [name for name, value in settings.items() if value == PIPE]
    return [{**settings, **dict.fromkeys(passed, value)} for value in inputs]


def pipeline_difference(pipeline: Pipeline, row: JobRecord) -> str | None:
    """Return as a short text how a row differs from the pipeline that is to be submitted.

    Returns None if they are the same.
    """
    if not records.is_pipeline(row):
        return f"it is a {records.kind(row)}"
    stored = stored_settings(row)
    if stored is None or not stored.keys() & {"initialInputs", "inputs", "stages"}:
        return "its stages and inputs can't be read"
    if stored.get("pipelineName") != pipeline.saved:
        of = stored.get("pipelineName")
        return f"it runs {of}" if of else f"it does not run {pipeline.saved}"
    inputs = stored.get("initialInputs", stored.get("inputs"))
    if inputs is not None and canonical_json(inputs) != canonical_json(pipeline.inputs):
        return f"its inputs are {shorten_json(inputs)}, not {shorten_json(pipeline.inputs)}"
    if pipeline.stages is None or "stages" not in stored:
        return None
    return _stages_difference(pipeline.stages, stored["stages"])


def _stages_difference(stages: list[dict[str, Any]], stored: Any) -> str | None:
    if not isinstance(stored, list) or not all(isinstance(stage, Mapping) for stage in stored):
        return "its stages can't be read"
    if len(stored) != len(stages):
        return f"it has {len(stored)} stages, not {len(stages)}"
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
            return f"of {tool}, {difference}"
    return None
