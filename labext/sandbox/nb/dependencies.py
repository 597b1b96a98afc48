"""Dependencies that the endpoints share, and JSON responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.responses import Response

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CancelToken, ModelThreads

JSON_MEDIA_TYPE = "application/json"


async def _get_site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteDep = Annotated[Site, Depends(_get_site)]


async def _get_threads(request: Request) -> ModelThreads:
    threads: ModelThreads = request.app.state.threads
    return threads


ThreadsDep = Annotated[ModelThreads, Depends(_get_threads)]
"""The threads for model calls."""


async def _new_cancel_token() -> CancelToken:
    return CancelToken()


CancelTokenDep = Annotated[CancelToken, Depends(_new_cancel_token)]
"""A cancel token for the request."""


def format_time(seconds: float | None) -> str | None:
    """Format seconds since the epoch as ISO 8601 in UTC: `2026-11-20T13:23:23.768Z`."""
    if seconds is None:
        return None
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON response; bytes are sent unchanged."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    return Response(body, status, media_type=JSON_MEDIA_TYPE)
