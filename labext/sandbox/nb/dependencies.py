"""Dependencies that the endpoints share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CancelToken, ModelThreads


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
