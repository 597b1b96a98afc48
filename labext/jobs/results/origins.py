"""Which initial input of a pipeline each of its jobs comes from, through all stages.

A stage's `"pipe"` has become the job's own value of that setting: in the first stage the initial
input itself, later `<job>/<path>`, an output of an earlier job (job service contract, Settings
rules 8; real services, section jobs). So each job leads to the one before, up to the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from labext.jobs.identity import canonical, stored_settings
from labext.jobs.rows import Row

PIPE = "pipe"


def inputs(pipeline: Row, jobs: Iterable[tuple[Row, int | None]]) -> list[str | None]:
    """Return the initial input of each job.

    Args:
        pipeline: its row.
        jobs: each job's row and stage, if that is known, in order of the stages.

    Returns:
        None for a job that takes nothing of the stage before, and where its settings do not tell:
        a later stage's, of several inputs, that got the text of a file and not its name.
    """
    settings = stored_settings(pipeline) or {}
    initial = _array(settings, "initialInputs") or _array(settings, "inputs")
    stages = _array(settings, "stages")
    found: dict[str, str | None] = {}
    for row, stage in jobs:
        taken = [*_taken(row, stages, stage)]
        found[str(row.get("JobName"))] = _input(taken, initial, found)
    return [*found.values()]


def _input(
    taken: Sequence[Any], initial: Sequence[Any], before: Mapping[str, str | None]
) -> str | None:
    for value in taken:
        job, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
        if path and job in before:
            return before[job]
        if value in initial:
            return _text(value)
    return _text(initial[0]) if taken and len(initial) == 1 else None


def _taken(row: Row, stages: Sequence[Any], stage: int | None) -> Iterator[Any]:
    """Yield what the job got from the stage before, or all its settings where none is told."""
    given = stored_settings(row) or {}
    piped: Any = given
    try:
        if stage is not None:
            asked = stages[stage - 1]["toolSettings"][row.get("Type")]
            piped = [name for name, value in asked.items() if value == PIPE]
    except (LookupError, TypeError, AttributeError):
        pass
    for name in piped:
        if name in given:
            yield given[name]


def _array(settings: Mapping[str, Any], name: str) -> list[Any]:
    value = settings.get(name)
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)
