"""A pipeline before it is sent: its stages and initial inputs, made plain and checked.

The form is `{jobName, initialInputs: […], stages: [{task, toolSettings: {<tool>: {…}}}]}`; the
value `"pipe"` in a setting takes what the stage before has made, in the first stage the initial
input (real services, jobs). Every fault is named with its stage and tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.jobs.catalogue import Catalogue
from labext.jobs.schema import Tool
from labext.jobs.settings import clean, plain

PIPE = "pipe"
"""The value of a setting that takes the output of the stage before."""

_FIELDS = ("task", "toolSettings")
_SHOWN = 5

Stage = dict[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """What is submitted under a pipeline's name: as `Settings` of its row shows it.

    Attributes:
        inputs: the initial inputs, each of which goes through on its own.
        stages: the stages; None where they are saved on the service.
        saved: the name of the saved pipeline; None where the stages are given.
    """

    inputs: list[Any]
    stages: list[Stage] | None = None
    saved: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline in the service's words, without its name."""
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


def listed_inputs(value: Any) -> list[Any]:
    """Return initial inputs as a list of plain JSON values.

    Args:
        value: a list, a tuple, a Series, a column of a frame or an array, of texts mostly:
            sequences, names of uploaded files, `<Job>/path` of an earlier job's output.

    Raises:
        InputError: it is no such list, is empty, or holds what JSON has no form for.
    """
    if isinstance(value, str | bytes | Mapping) or value is None:
        raise InputError(
            f"The inputs of a pipeline are a list, not {_described(value)}.",
            'Put it into a list: `["…"]`.',
        )
    ndim = getattr(value, "ndim", 1)
    if ndim != 1:
        raise InputError(
            "The inputs of a pipeline are one list, and this has rows and columns.",
            'Take one column: `frame["sequence"]`.',
        )
    if not isinstance(value, list | tuple) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, Sequence):
        raise InputError(
            f"The inputs of a pipeline are a list, not {_described(value)}.", "Make a list of it."
        )
    if not value:
        raise InputError("The pipeline has no inputs.", "It needs at least one.")
    found, faults = [], []
    for number, item in enumerate(value, start=1):
        try:
            if item is None or item == "":
                raise ValueError("is empty")
            found.append(plain(item))
        except ValueError as error:
            faults.append(f"input {number} {error}")
    if faults:
        raise _refused(faults, "Correct the inputs.")
    return found


def clean_stages(catalogue: Catalogue, stages: Any) -> list[Stage]:
    """Return stages as they are to be sent, held against the parameters of their tools.

    The catalogue is read anew before anything is refused.

    Raises:
        InputError: every fault, with its stage and tool.
    """
    if isinstance(stages, Mapping) or not isinstance(stages, list | tuple):
        raise InputError(
            f"The stages of a pipeline are a list, not {_described(stages)}.", _step(None)
        )
    if not stages:
        raise InputError("The pipeline has no stages.", _step(None))
    sent, faults, tool = _cleaned(catalogue.known(), stages)
    if faults:
        sent, faults, tool = _cleaned(catalogue.read(), stages)
    if faults:
        raise _refused(faults, _step(tool))
    return sent


def unfed(stages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers, from 1, of the stages that take nothing: none of their settings pipes."""
    return [
        number
        for number, stage in enumerate(stages, start=1)
        if not any(PIPE in (own or {}).values() for own in stage["toolSettings"].values())
    ]


def _cleaned(
    tools: Mapping[str, Tool], stages: Sequence[Any]
) -> tuple[list[Stage], list[str], str | None]:
    """Return the stages, all faults, and a tool whose settings have one."""
    sent: list[Stage] = []
    faults: list[str] = []
    at_fault: str | None = None
    for number, stage in enumerate(stages, start=1):
        wrong = _shape_fault(stage)
        if wrong is not None:
            faults.append(f"stage {number} {wrong}")
            continue
        made: Stage = {"task": stage["task"], "toolSettings": {}}
        for name, settings in stage["toolSettings"].items():
            tool = tools.get(str(name))
            if tool is None:
                hint = wording.did_you_mean(str(name), tools)
                faults.append(f'stage {number}: the service has no tool "{name}"{hint}')
                continue
            made["toolSettings"][tool.name], found = clean(tool, settings or {}, passed=PIPE)
            faults += [f"stage {number}, {tool.name}: {fault}" for fault in found]
            at_fault = tool.name if found else at_fault
        sent.append(made)
    return sent, faults, at_fault


def _shape_fault(stage: Any) -> str | None:
    """Say what is wrong with the shape of a stage, as the end of a sentence."""
    if not isinstance(stage, Mapping):
        return f"is {_described(stage)}, not a mapping of `task` and `toolSettings`"
    strange = [str(key) for key in stage if key not in _FIELDS]
    if strange:
        hint = wording.did_you_mean(strange[0], _FIELDS)
        return f"has `{strange[0]}`, which no stage has{hint}"
    task, tools = stage.get("task"), stage.get("toolSettings")
    if not isinstance(task, str) or not task.strip():
        return "has no `task`, its name in words"
    if not isinstance(tools, Mapping) or not tools:
        return "has no `toolSettings`, a mapping of tools to their settings"
    for name, settings in tools.items():
        if settings is not None and not isinstance(settings, Mapping):
            return f"has settings of {name} that are no mapping"
    return None


def _refused(faults: list[str], step: str) -> InputError:
    shown = faults[:_SHOWN]
    if len(faults) > _SHOWN:
        shown.append(f"{len(faults) - _SHOWN} faults more")
    return InputError(f"This pipeline can't be used: {'; '.join(shown)}.", step)


def _step(tool: str | None) -> str:
    if tool is not None:
        return f"See `%jobs tool {tool}`."
    return "A stage is `{task: …, toolSettings: {TOOL: {setting: value}}}`; see `%jobs tools`."


def _described(value: Any) -> str:
    """Return what a value is, for the middle of a sentence."""
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
