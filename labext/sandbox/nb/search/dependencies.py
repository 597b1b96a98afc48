"""The search index as a dependency of endpoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from labext.sandbox.nb.search.index import SearchIndex


async def _get_index(request: Request) -> SearchIndex:
    index: SearchIndex = request.app.state.index
    return index


IndexDep = Annotated[SearchIndex, Depends(_get_index)]
