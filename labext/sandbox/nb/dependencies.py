"""Dependencies that the endpoints share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from labext.sandbox.core.dependencies import app_state
from labext.sandbox.nb.cancellation import CancelToken, ModelThreads

ThreadsDep = Annotated[ModelThreads, app_state("threads")]
"""The threads for model calls."""


async def _new_cancel_token() -> CancelToken:
    return CancelToken()


CancelTokenDep = Annotated[CancelToken, Depends(_new_cancel_token)]
"""A cancel token for the request."""
