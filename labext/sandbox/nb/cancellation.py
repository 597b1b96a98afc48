"""Cancel model calls from another thread, also when the client disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request

from labext.sandbox.nb import errors


class CallCancelledError(Exception):
    """Nobody waits for the answer any more."""


class Connection(Protocol):
    """An open connection; `sock` is None once it is closed."""

    sock: Any


class CancelToken:
    """Ends what goes over it when it is hung up, from any thread."""

    def __init__(self) -> None:
        self._sockets: list[Any] = []
        self._hung_up = False

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            HungUp: nobody does.
        """
        if self._hung_up:
            raise CallCancelledError

    def opened(self, connection: Connection) -> None:
        """Know a connection that has just been opened.

        It forgets its socket where the answer has no length, and is read to its end all the same.

        Raises:
            HungUp: nobody waits for it.
        """
        self._sockets.append(connection.sock)
        self.check()

    def cancel(self) -> None:
        """End what runs, and whatever would come."""
        self._hung_up = True
        for sock in list(self._sockets):
            if sock is not None:
                with contextlib.suppress(OSError):
                    # The socket's own, below TLS: another thread is reading there.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)


MAX_THREADS = 64
"""Pieces of such work; further ones wait."""

T = TypeVar("T")


class ModelThreads:
    """The threads of such work; made once for the service."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(MAX_THREADS)

    async def run(self, call: Callable[[], T]) -> T:
        """What a call returns; who is cancelled does not wait for it."""
        return await to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)

    async def stream(self, items: Iterator[T], line: CancelToken) -> AsyncIterator[T]:
        """Each item as soon as it is there; the line is hung up when nobody takes the next one."""
        try:
            while True:
                found = await self.run(lambda: list(_take_one(items)))
                if not found:
                    return
                yield found[0]
        finally:
            line.cancel()


async def cancel_on_disconnect(request: Request, line: CancelToken, work: Awaitable[T]) -> T:
    """What the work returns; its line is hung up when the client of a request leaves.

    The request's body has been read.

    Raises:
        HTTPException: the work ended because of that; nobody hears it.
    """
    watching = asyncio.create_task(_watch_disconnect(request, line))
    try:
        return await work
    except CallCancelledError:
        raise errors.bad_request("The client has left.") from None
    finally:
        watching.cancel()
        line.cancel()  # the service may be stopping


async def _watch_disconnect(request: Request, line: CancelToken) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    line.cancel()


def _take_one(items: Iterator[T]) -> Iterator[T]:
    for item in items:
        yield item
        return
