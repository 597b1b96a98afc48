"""Work for somebody who may leave: it ends with the connection that it is done for.

It blocks, so it is done in threads: in ones of its own, since a model takes its time, and the
short requests of others should find a thread meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request

from labext.sandbox.nb import faults
from labext.sandbox.nb.models.line import HungUp, Line

AT_ONCE = 64
"""Pieces of such work; further ones wait."""

T = TypeVar("T")


class Threads:
    """The threads of such work; made once for the service."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    async def run(self, call: Callable[[], T]) -> T:
        """What a call returns; who is cancelled does not wait for it."""
        return await to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)

    async def stream(self, items: Iterator[T], line: Line) -> AsyncIterator[T]:
        """Each item as soon as it is there; the line is hung up when nobody takes the next one."""
        try:
            while True:
                found = await self.run(lambda: list(_next(items)))
                if not found:
                    return
                yield found[0]
        finally:
            line.hang_up()


async def while_there(request: Request, line: Line, work: Awaitable[T]) -> T:
    """What the work returns; its line is hung up when the client of a request leaves.

    The request's body has been read.

    Raises:
        HTTPException: the work ended because of that; nobody hears it.
    """
    watching = asyncio.create_task(_hang_up_at_end(request, line))
    try:
        return await work
    except HungUp:
        raise faults.invalid("The client has left.") from None
    finally:
        watching.cancel()
        line.hang_up()  # the service may be stopping


async def _hang_up_at_end(request: Request, line: Line) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    line.hang_up()


def _next(items: Iterator[T]) -> Iterator[T]:
    for item in items:
        yield item
        return
