"""Stages in a picture: which one it is in, and how much of the way that is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from labext.progress import Progress

COLLECTING = "Collecting results"
"""What a pipeline does once the jobs of its last stage are complete, and it is not yet."""

PODCAST = ("Outline", "Dialogue", "Speech", "Encoding")
"""The stages of a podcast, as the service's worker goes through them."""

_COUNT = re.compile(r"\b(\d{1,6}) of (\d{1,6})\b")
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
    """Return how much of the way a pipeline's jobs so far are: 0.5 in stage 2 of 4, else 1."""
    whole = progress.outcome is not None or share(progress) is not None
    place = None if whole else _place(progress)
    return 1.0 if place is None else place[0] / place[1]


def steps(progress: Progress) -> tuple[Sequence[str], int] | None:
    """Return a podcast's stages and the index of the one it is in, with what is said of that one.

    `Outline`, `Dialogue`, `Speech, turn 12 of 40`, `Encoding`. None where its stage is not told, or
    is not what the contract's stages are: then the service's words stand for themselves.
    """
    place = _place(progress)
    if progress.kind != "podcast" or place is None or place[1] != len(PODCAST):
        return None
    at = place[0] - 1
    said = _said(progress)
    if not said.casefold().startswith(PODCAST[at].casefold()):
        return None
    return [*PODCAST[:at], said[:1].upper() + said[1:], *PODCAST[at + 1 :]], at


def share(progress: Progress) -> float | None:
    """Return how much of its way a podcast has come: 0.575 at turn 12 of 40 in stage 3 of 4."""
    place = _place(progress)
    if progress.kind != "podcast" or progress.outcome is not None or place is None:
        return None
    counted = _COUNT.search(_said(progress))
    within = min(int(counted[1]) / max(int(counted[2]), 1), 1.0) if counted else 0.0
    return (place[0] - 1 + within) / place[1]


def _said(progress: Progress) -> str:
    """What is said of the stage after its place."""
    return _PLACE.sub("", progress.stage, count=1).lstrip(": ")


def _place(progress: Progress) -> tuple[int, int] | None:
    """Return stage k of n out of the service's words, which begin with `k of n`."""
    found = _PLACE.match(progress.stage)
    if found is None or int(found[1]) > int(found[2]):
        return None
    return int(found[1]), int(found[2])
