"""Cancel model calls from another thread, also when the client disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial
from threading import Event, Timer
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request

from labext.sandbox.nb import errors


class CallCancelledError(Exception):
    """The call was cancelled: raised by functions that take a cancel token."""


class CancelToken:
    """Cancels the model calls registered with it, from any thread."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._cancelled = Event()

    @property
    def is_cancelled(self) -> bool:
        """Whether the calls were cancelled."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Check that the token has not been cancelled, else raise CallCancelledError."""
        if self.is_cancelled:
            raise CallCancelledError

    def wait(self, seconds: float) -> None:
        """Wait; raise CallCancelledError as soon as the token is cancelled."""
        self._cancelled.wait(seconds)
        self.check()

    def opened(self, sock: socket.socket) -> None:
        """Register the socket of a newly opened connection."""
        self._sockets.append(sock)
        self.check()

    def cancel(self) -> None:
        """Cancel current and future calls."""
        self._cancelled.set()
        for sock in list(self._sockets):
            with contextlib.suppress(OSError):
                # The method of the plain socket, below TLS: another thread may be reading.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


@contextlib.contextmanager
def cancel_after(cancel_token: CancelToken, seconds: float) -> Iterator[None]:
    """Cancel a token if the block takes longer."""
    timer = Timer(max(0.0, seconds), cancel_token.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


MAX_THREADS = 64
"""Maximum number of parallel model calls; further ones wait."""

T = TypeVar("T")


class ModelThreads:
    """The threads for model calls; one instance per service."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(MAX_THREADS)

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of a call; cancellation does not wait for the thread."""
        return await to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)

    async def stream(
        self, call: Callable[[Callable[[T], None]], None], cancel_token: CancelToken
    ) -> AsyncGenerator[T, None]:
        """Yield the items that a call passes to its argument.

        An exception of the call is raised after its last item. The token is cancelled when the
        consumer stops.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Any] = asyncio.Queue()

        def push(item: T) -> None:
            loop.call_soon_threadsafe(items.put_nowait, item)

        task = asyncio.create_task(self.run(partial(call, push)))
        task.add_done_callback(items.put_nowait)  # after the last item
        try:
            while (item := await items.get()) is not task:
                yield item
            task.result()
        finally:
            cancel_token.cancel()
            if not task.cancel() and not task.cancelled():
                task.exception()  # retrieved, or asyncio would log it


async def cancel_on_disconnect(
    request: Request, cancel_token: CancelToken, work: Awaitable[T], *, is_last: bool = True
) -> T:
    """Return the result of the work; cancel its token when the client disconnects.

    The request's body must have been read. Unless it is the last work, the token stays valid. The
    error of cancelled work is received by no client.
    """
    watcher = asyncio.create_task(_watch_disconnect(request, cancel_token))
    succeeded = False
    try:
        result = await work
        succeeded = True
        return result
    except CallCancelledError:
        raise errors.bad_request("The client disconnected.") from None
    finally:
        watcher.cancel()
        if is_last or not succeeded:
            cancel_token.cancel()  # the service may be stopping


async def _watch_disconnect(request: Request, cancel_token: CancelToken) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    cancel_token.cancel()
