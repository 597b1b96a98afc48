"""What is told of an episode piece by piece: of each, what makes sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from labext.nb.records import LINE, SEGMENT, Record
from labext.redaction import mask


def progress(told: Any) -> Record | None:
    """Return how far a job is, as `records.PROGRESS`; None where it tells no stage."""
    if not isinstance(told, Mapping) or not _text(told.get("stage")):
        return None
    stages = told.get("stages")
    return {
        "stage": mask(_text(told["stage"])),
        "done": _count(told.get("done")),
        "total": _count(told.get("total")),
        "stages": [_text(each) for each in stages] if isinstance(stages, list) else [],
    }


def segment(told: Any) -> Record:
    """Return a part of an outline."""
    return {key: _text(_of(told, key)) for key in SEGMENT}


def line(told: Any) -> Record:
    """Return what one speaker says at once, and when."""
    start, end = _seconds(_of(told, "start")), _seconds(_of(told, "end"))
    record = {key: _text(_of(told, key)) for key in LINE}
    return {**record, "start": start, "end": None if start is None else end}


def _of(told: Any, key: str) -> Any:
    return told.get(key) if isinstance(told, Mapping) else None


def _text(told: Any) -> str:
    return told if isinstance(told, str) else ""


def _count(told: Any) -> int | None:
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else None


def _seconds(told: Any) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return float(told) if math.isfinite(told) and told >= 0 else None
