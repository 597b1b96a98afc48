"""Submit a pipeline so that nothing is done twice, by the rules of `submission`.

A pipeline under the same name is the same one if its inputs are, and its stages or the saved
pipeline's name, as far as the service shows them in `Settings`, and the content of the files that
they name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import InputError
from labext.jobs import references, rows
from labext.jobs.catalogue import Catalogue
from labext.jobs.identity import canonical, settings_difference, shortened, stored_settings
from labext.jobs.input_content import InputContent
from labext.jobs.pipelines import PIPE, Pipeline
from labext.jobs.references import References
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.jobs.settings import file_path, looks_like_a_file
from labext.jobs.submission import Submission, submit_once

TYPE = "pipeline"
"""What a pipeline's row has as `Type`."""


def submit_pipeline(
    service: Service,
    name: str,
    pipeline: Pipeline,
    project_tag: str | None,
    content: InputContent,
) -> Submission:
    """Submit a checked pipeline, given or saved, unless it is there.

    Raises:
        ConflictError: the name is taken by something else, or by a pipeline with other content.
        OutcomeUnknownError: the answer was lost and the service can't be asked.
    """
    body: dict[str, Any] = {"jobName": name, **pipeline.settings}
    if project_tag is not None:
        body["projectTag"] = project_tag
    send = service.submit_pipeline if pipeline.saved is None else service.run_pipeline
    return submit_once(
        service,
        name,
        TYPE,
        lambda: send(body),
        lambda row: difference(pipeline, row),
        "stages and inputs" if pipeline.saved is None else "inputs",
        content,
    )


def check_references(service: Service, catalogue: Catalogue, pipeline: Pipeline) -> References:
    """Return what the stages and the initial inputs of a pipeline name.

    The stages of a saved pipeline are not known; of its inputs those count that are the names of
    uploaded files.

    Raises:
        InputError: a file that has not been uploaded, or whose name is ambiguous; a job that is not
            there or not complete.
    """
    if pipeline.saved is not None:
        inputs = {value: "an input" for value in pipeline.inputs if _may_be_a_file(value)}
        known = references.resolve_values(service, inputs)
        return References(known.uploaded, known.outputs)
    found = References()
    faults: list[str] = []
    for number, tool, settings in pipeline.tools():
        jobs = _with_inputs(settings, pipeline.inputs) if number == 1 else [settings]
        named = references.resolve(service, catalogue.tool(tool), jobs)
        faults += [f"stage {number}, {tool}: {fault}" for fault in named.faults.values()]
        found.add(named)
    if faults:
        raise InputError(
            f"This pipeline can't be used: {'; '.join(faults)}.",
            found.next_step or "Correct the names.",
        )
    return found


def _may_be_a_file(value: Any) -> bool:
    return isinstance(value, str) and (looks_like_a_file(value) or file_path(value) is not None)


def _with_inputs(settings: Mapping[str, Any], inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the settings of a tool of the first stage with each input in place of `pipe`."""
    passed = [name for name, value in settings.items() if value == PIPE]
    return [{**settings, **dict.fromkeys(passed, each)} for each in inputs]


def difference(pipeline: Pipeline, row: Row) -> str | None:
    """Say in a few words how a row differs from the pipeline that is to be submitted.

    Returns None where they are the same.
    """
    if not rows.is_pipeline(row):
        return f"it is a {rows.kind(row)}"
    stored = stored_settings(row)
    if stored is None or not stored.keys() & {"initialInputs", "inputs", "stages"}:
        return "its stages and inputs can't be read"
    if stored.get("pipelineName") != pipeline.saved:
        of = stored.get("pipelineName")
        return f"it runs {of}" if of else f"it does not run {pipeline.saved}"
    inputs = stored.get("initialInputs", stored.get("inputs"))
    if inputs is not None and canonical(inputs) != canonical(pipeline.inputs):
        return f"its inputs are {shortened(inputs)}, not {shortened(pipeline.inputs)}"
    if pipeline.stages is None or "stages" not in stored:
        return None
    return _stages_difference(pipeline.stages, stored["stages"])


def _stages_difference(stages: list[dict[str, Any]], stored: Any) -> str | None:
    if not isinstance(stored, list) or not all(isinstance(stage, Mapping) for stage in stored):
        return "its stages can't be read"
    if len(stored) != len(stages):
        return f"it has {len(stored)} stages, not {len(stages)}"
    for number, (wanted, there) in enumerate(zip(stages, stored, strict=True), start=1):
        if there.get("task", wanted["task"]) != wanted["task"]:
            return f"its stage {number} is {there['task']}, not {wanted['task']}"
        unlike = _tools_difference(wanted["toolSettings"], there.get("toolSettings"))
        if unlike is not None:
            return f"in its stage {number}, {unlike}"
    return None


def _tools_difference(wanted: Mapping[str, Any], there: Any) -> str | None:
    if not isinstance(there, Mapping):
        return "the tools can't be read"
    if set(there) != set(wanted):
        return f"the tools are {', '.join(there)}, not {', '.join(wanted)}"
    for tool, settings in wanted.items():
        if not isinstance(there[tool], Mapping):
            return f"the settings of {tool} can't be read"
        unlike = settings_difference(settings, there[tool])
        if unlike is not None:
            return f"of {tool}, {unlike}"
    return None
