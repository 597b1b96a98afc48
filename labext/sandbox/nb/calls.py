"""What routes ask for, and how they answer: the site, the index, threads, a line, times, JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.responses import Response

from labext.sandbox.nb.models.leaving import Threads
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.search.index import Index
from labext.sandbox.service import Site

JSON = "application/json"


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(_site)]


async def _index(request: Request) -> Index:
    index: Index = request.app.state.index
    return index


IndexOf = Annotated[Index, Depends(_index)]


async def _threads(request: Request) -> Threads:
    threads: Threads = request.app.state.threads
    return threads


ThreadsOf = Annotated[Threads, Depends(_threads)]
"""Those in which a model is waited for."""


async def _line() -> Line:
    return Line()


LineOf = Annotated[Line, Depends(_line)]
"""One for the request, which may be hung up."""


def moment(seconds: float | None) -> str | None:
    """A time since the epoch as ISO 8601 in UTC: `2026-11-20T13:23:23.768Z`."""
    if seconds is None:
        return None
    shown = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")


def json_answer(value: Any, status: int = 200) -> Response:
    """A value as JSON; bytes are JSON already."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    return Response(body, status, media_type=JSON)
