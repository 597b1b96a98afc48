"""Request dependencies on the state of an application."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from labext.sandbox.core.service_protocol import Site


def app_state(name: str) -> Any:
    """Return a dependency on an attribute of `app.state`."""

    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(get)


SiteDep = Annotated[Site, app_state("site")]
