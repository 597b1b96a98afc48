"""Insights of a new source: what the transformations make of it that are run on every one.

In the source's own process. One that fails doesn't fail the source; what could not be made is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from sqlalchemy import select
from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.line import HungUp, Line
from labext.sandbox.nb.store import Transformation
from labext.sandbox.nb.transformations import running
from labext.sandbox.service import Site

_RETRY = "Retry the source to have it made."


def insights(
    site: Site, text: str, tell: Callable[[str], None], until: float
) -> tuple[list[tuple[str, str]], str | None]:
    """What the transformations of every source make of a text, by their titles.

    Args:
        site: the service's.
        text: the source's.
        tell: takes what is being done.
        until: when it must be over, by `time.monotonic`.

    Returns:
        The insights, and what could not be made and why; None where all could.
    """
    found: list[tuple[str, str]] = []
    remarks: list[str] = []
    with _hung_up(until) as line:
        for each in _of_every_source(site):
            tell(f"insight: {each.title}")
            try:
                found.append((each.title, _made(site, each, text, line)))
            except HTTPException as error:
                remarks.append(f"The insight {each.title} could not be made: {error.detail}")
            except HungUp:
                remarks.append(
                    f"The insight {each.title} could not be made: its model took too long."
                )
    return found, " ".join([*remarks, _RETRY]) if remarks else None


def _of_every_source(site: Site) -> list[Transformation]:
    wanted = select(Transformation).where(Transformation.by_default)
    ordered = wanted.order_by(Transformation.created, Transformation.id)
    with site.database.read() as session:
        return list(session.scalars(ordered))


def _made(site: Site, each: Transformation, text: str, line: Line) -> str:
    with site.database.read() as session:
        model = registry.chosen(session, running.SLOT, each.model_id)
    return running.made(site, model, each.prompt, text, line)


@contextmanager
def _hung_up(until: float) -> Iterator[Line]:
    """A line that is hung up at a time."""
    line = Line()
    timer = Timer(max(0.0, until - time.monotonic()), line.hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield line
    finally:
        timer.cancel()
