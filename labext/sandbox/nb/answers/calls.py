"""What the routes ask for that have a model write: a line that may be hung up, and threads."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from labext.sandbox.nb.models.leaving import Threads
from labext.sandbox.nb.models.line import Line


async def _threads(request: Request) -> Threads:
    threads: Threads = request.app.state.threads
    return threads


ThreadsOf = Annotated[Threads, Depends(_threads)]


async def _line() -> Line:
    return Line()


LineOf = Annotated[Line, Depends(_line)]
"""One for the request."""
