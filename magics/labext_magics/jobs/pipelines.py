"""`%jobs pipeline` and `run-pipeline`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext_magics.core import output, value_types
from labext_magics.core.cell_body import cast_settings, untyped
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.jobs import cell_body, submit
from labext_magics.jobs.options import AFTERWARDS, CHECK, OVER_BUDGET, PROJECT

if TYPE_CHECKING:
    import pandas as pd

    from labext.jobs import Submission, Tool


def pipeline(
    call: Call,
    *,
    name: str | None,
    inputs: list[list[Any]] | None,
    project: str | None,
    check: bool,
    over_budget: bool,
    **follow: Any,
) -> pd.DataFrame:
    """Submit the pipeline in a cell body and return its row; an identical one is not repeated."""
    submit.check_follow_options(only_check=check, **follow)
    if call.body is None:
        raise InputError(
            "A pipeline needs a cell body with its stages.",
            "Start the cell with `%%jobs pipeline NAME`; `%jobs pipeline --help` shows an example.",
        )
    all_inputs = [value for values in inputs for value in values] if inputs else None
    request = cell_body.parse_pipeline(call.body, cell_body.Pipeline(name, project, all_inputs))
    stages = _cast_stages(call, request.stages)
    if check:
        checked = call.jobs.check_pipeline(request.name, stages, request.inputs)
        _warn_about_stages(stages)
        return _report_valid(checked, "its tools have no earlier runs")
    submission = call.jobs.submit_pipeline(
        request.name, stages, request.inputs, request.project, over_budget=over_budget
    )
    _warn_about_stages(stages)
    return _follow_pipeline(call, submission, follow)


def run_pipeline(
    call: Call,
    *,
    pipeline: str,
    name: str | None,
    inputs: list[list[Any]],
    project: str | None,
    check: bool,
    over_budget: bool,
    **follow: Any,
) -> pd.DataFrame:
    """Run a saved pipeline and return its row; an identical run is not repeated."""
    submit.check_follow_options(only_check=check, **follow)
    all_inputs = [value for values in inputs for value in values]
    if check:
        checked = call.jobs.check_saved_pipeline(name, pipeline, all_inputs)
        return _report_valid(checked, f"{pipeline} has no earlier runs")
    submission = call.jobs.run_pipeline(
        name, pipeline, all_inputs, project, over_budget=over_budget
    )
    return _follow_pipeline(call, submission, follow)


def _report_valid(checked: pd.DataFrame, no_estimate: str) -> pd.DataFrame:
    """Print that the pipeline is valid, with its expected time and cost; return the frame."""
    from labext.jobs.batch.plan import MAX_JOBS

    valid = "The pipeline is valid" if len(checked) else "The inputs are valid"
    output.print_message(f"{valid}; {submit.NOT_SENT}.")
    for stage, jobs in checked.groupby("Stage")["Jobs"].sum().items():
        if jobs > MAX_JOBS:
            output.print_message(
                f"Stage {stage} would have about {jobs:,} jobs; a stage of more than {MAX_JOBS} "
                "does not start. Divide the inputs among several pipelines."
            )
    submit.print_estimate(submit.stored_estimate(checked), no_estimate)
    return checked


def _follow_pipeline(call: Call, submission: Submission, follow: Mapping[str, Any]) -> pd.DataFrame:
    output.print_message(submission.message)
    submit.watch_and_fetch(call, submission.name, **follow)
    return call.jobs.submitted_row(submission)


def _warn_about_stages(stages: Any) -> None:
    """Warn about each stage without the setting value `pipe`.

    The value is case-sensitive, since `PIPE` may be a peptide.
    """
    from labext.jobs.pipelines import PIPE, stages_without_input

    for number in stages_without_input(stages):
        source = "the inputs" if number == 1 else f"the output of stage {number - 1}"
        output.print_message(f"No setting of stage {number} is `{PIPE}`: it does not use {source}.")


def _cast_stages(call: Call, stages: Any) -> Any:
    """Cast each `BareText` in the stages by the tools' schemas.

    Malformed stages are unchanged, so that the client can report all errors at once.
    """
    from labext.jobs import Tool

    if not isinstance(stages, list):
        return untyped(stages)
    tools = {str(record.get("name")): Tool(record) for record in call.jobs.iter_tools()}
    return [_cast_stage(tools, stage) for stage in stages]


def _cast_stage(tools: Mapping[str, Tool], stage: Any) -> Any:
    settings = stage.get("toolSettings") if isinstance(stage, Mapping) else None
    if not isinstance(settings, Mapping):
        return untyped(stage)
    rest = {
        key: cell_body.plain_text(value) for key, value in stage.items() if key != "toolSettings"
    }
    return {
        **rest,
        "toolSettings": {name: _cast(tools.get(name), item) for name, item in settings.items()},
    }


def _cast(tool: Tool | None, settings: Any) -> Any:
    """Return a tool's settings cast by its schema; `pipe` is accepted for every parameter."""
    from labext.jobs.pipelines import PIPE

    if tool is None or not isinstance(settings, Mapping):
        return untyped(settings)
    values = {
        k: PIPE if cell_body.plain_text(value) == PIPE else value for k, value in settings.items()
    }
    return cast_settings(tool, values)


PIPELINE = Command(
    "pipeline",
    "Submit a pipeline: tools that run one after the other.",
    pipeline,
    [Parameter("NAME", value_types.NEW_NAME, "the pipeline's name; generated if omitted")],
    [
        Parameter(
            "inputs",
            value_types.INPUTS,
            "the inputs, if not in the body: {a list}, a column of a frame, or one text",
            many=True,
        ),
        PROJECT,
        CHECK,
        OVER_BUDGET,
        *AFTERWARDS,
    ],
    body="`initialInputs`, a list, and `stages`, as YAML or JSON. A stage has a title, `task`, "
    "and `toolSettings`: one or more tools with their settings.",
    details="Each input is processed separately. The tools of a stage run in parallel, once "
    "for each output of the previous stage. The setting value `pipe` stands for that "
    "output, or for the input in the first stage.\n\nA submission with the same name, "
    "inputs and stages as an existing pipeline returns that pipeline. `%jobs list "
    "--batch NAME` lists its jobs.\n\nWith --check nothing is sent; the time and the weighted "
    "hours of each stage are estimated from earlier runs of its tools.",
    examples=[
        "%%jobs pipeline p1 --wait",
        "initialInputs: [ACDEFGHIKLMNPQRSTVWY]",
        "stages:",
        "  - {task: Structure, toolSettings: {peptide_build: {sequence: pipe}}}",
        "  - {task: Motion, toolSettings: {normal_modes: {pdbFile: pipe}}}",
        "",
        '%%jobs pipeline p2 --inputs {["MKTAYIAKQRQ", "ACDEFGHIKLM"]}',
        "stages: [{task: Structure, toolSettings: {peptide_build: {sequence: pipe}}}]",
    ],
)

RUN_PIPELINE = Command(
    "run-pipeline",
    "Run a pipeline saved on the service.",
    run_pipeline,
    [Parameter("PIPELINE", value_types.PIPELINE, "the name of the saved pipeline", required=True)],
    [
        Parameter("name", value_types.NEW_NAME, "the name of this run; generated if omitted"),
        Parameter(
            "inputs",
            value_types.INPUTS,
            "the inputs: {a list}, a column of a frame, or one text",
            required=True,
            many=True,
        ),
        PROJECT,
        CHECK,
        OVER_BUDGET,
        *AFTERWARDS,
    ],
    details="A run with the same name, pipeline and inputs as an existing one returns that run. "
    "With --check nothing is sent; the estimate is based on the stages of the latest run.",
    examples=[
        '%jobs run-pipeline helix-to-modes --name modes --inputs {["MKTAYIAKQRQISFVKSHFSRQ"]}',
        "%jobs run-pipeline helix-to-modes --inputs ACDEFGHIKLMNPQRSTVWY --wait --to out/modes",
    ],
)
