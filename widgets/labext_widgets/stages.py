"""A pipeline's stages in a picture: which one it is in, and how much of the way that is."""

from __future__ import annotations

import re

from labext.progress import Progress

COLLECTING = "Collecting results"
"""What a pipeline does once the jobs of its last stage are complete, and it is not yet."""

_PLACE = re.compile(r"([1-9]\d{0,3}) of ([1-9]\d{0,3})\b")


def here(progress: Progress) -> str:
    """Return where it is: the stage of a pipeline that runs, else the phase."""
    if progress.outcome is not None or progress.phase != "Running" or not progress.stage:
        return progress.phase
    place = _place(progress)
    if place is None:
        return progress.stage
    at, of = place
    if at == of and progress.states and progress.done >= sum(progress.states.values()):
        return COLLECTING
    return f"Stage {progress.stage}"


def reached(progress: Progress) -> float:
    """Return how much of the way its jobs so far are: 0.5 in stage 2 of 4, else 1."""
    place = None if progress.outcome is not None else _place(progress)
    return 1.0 if place is None else place[0] / place[1]


def _place(progress: Progress) -> tuple[int, int] | None:
    """Return stage k of n out of the service's words, which begin with `k of n`."""
    found = _PLACE.match(progress.stage)
    if found is None or int(found[1]) > int(found[2]):
        return None
    return int(found[1]), int(found[2])
