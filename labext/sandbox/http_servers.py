"""HTTP servers that run together in one process, with timeouts of their connections."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from labext.sandbox.core.server_settings import ServerSettings
from labext.sandbox.core.service_protocol import Certificate

HEAD_SECONDS = 20.0
"""Time for the head of a request, from the connection or from its first byte."""

BODY_SECONDS = 60.0
"""Time in which the body of a request must progress by `MIN_BODY_BYTES`."""

MIN_BODY_BYTES = 1024
"""Bytes that count as progress of a body; less would keep a connection open at no cost."""

WRITE_SECONDS = 120.0
"""Time in which the client must receive a part of a waiting response."""

STALL_CHECK_SECONDS = 2.0
"""Interval between two checks of a connection."""

TLS_CLOSE_SECONDS = 0.5
"""Time for the client to close a connection too, which the stopping service has closed. Over TLS,
asyncio would wait 30 seconds for it."""


class TimeoutProtocol(H11Protocol):
    """uvicorn's HTTP protocol with timeouts; uvicorn itself limits only idle connections."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to check a new connection."""
        super().connection_made(transport)
        self._head_since: float | None = self.loop.time()
        self._received = 0
        self._window: tuple[float, int] | None = None
        self._unsent: tuple[float, int] | None = None
        self._check = self.loop.call_later(STALL_CHECK_SECONDS, self._close_if_stalled)
        self._stops = False
        self._abort: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks."""
        self._check.cancel()
        if self._abort is not None:
            self._abort.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes, and note whether they belong to an incomplete head."""
        if self._head_since is None and self.conn.their_state is h11.IDLE:
            self._head_since = self.loop.time()
        self._received += len(data)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None

    def on_response_complete(self) -> None:
        """Prepare for the next request, whose head may be partly received."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._head_since = self.loop.time()
        if self._stops:
            self._abort_soon()

    def shutdown(self) -> None:
        """Close the connection, or let the running request be the last one."""
        super().shutdown()
        self._stops = True
        self._abort_soon()

    def _abort_soon(self) -> None:
        if self.transport.is_closing() and self.transport.get_extra_info("sslcontext"):
            self._abort = self.loop.call_later(TLS_CLOSE_SECONDS, self._abort_once_sent)

    def _abort_once_sent(self) -> None:
        """Abort the connection, but not while a part of the response waits to be sent."""
        # The transport does not count what waits below TLS, where it waits for the socket.
        writable = select.poll()
        writable.register(self.transport.get_extra_info("socket"), select.POLLOUT)
        if self.transport.get_write_buffer_size() or not writable.poll(0):
            self._abort_soon()
        else:
            self.transport.abort()

    def _close_if_stalled(self) -> None:
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        now = self.loop.time()
        if self._has_stalled(now):
            self.transport.abort()
            return
        self._check = self.loop.call_later(STALL_CHECK_SECONDS, self._close_if_stalled)

    def _has_stalled(self, now: float) -> bool:
        head_stalled = self._head_since is not None and now - self._head_since >= HEAD_SECONDS
        return head_stalled or self._body_stalled(now) or self._write_stalled(now)

    def _body_stalled(self, now: float) -> bool:
        # Reading is paused while the service itself is slow.
        if self.conn.their_state is not h11.SEND_BODY or self.flow.read_paused:
            self._window = None
            return False
        if self._window is None:
            self._window = now, self._received
        since, received = self._window
        if now - since < BODY_SECONDS:
            return False
        self._window = now, self._received
        return self._received - received < MIN_BODY_BYTES

    def _write_stalled(self, now: float) -> bool:
        size: Any = self.transport.get_write_buffer_size()
        if not size:
            self._unsent = None
        elif self._unsent is None or self._unsent[1] != size:
            self._unsent = now, size
        return self._unsent is not None and now - self._unsent[0] >= WRITE_SECONDS


DRAIN_SECONDS = 10
"""Time that a server which stops leaves to running requests."""


class HttpServer(uvicorn.Server):
    """A server that leaves signals to the host, which runs several servers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopped = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def stop(self) -> None:
        """End `serve` once running requests have ended."""
        self.should_exit = True
        self._stopped.set()

    async def main_loop(self) -> None:
        """Update the Date header each second; uvicorn's own loop wakes ten times as often."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), 1.0)


@contextlib.asynccontextmanager
async def run_servers(
    servers: Sequence[tuple[HttpServer, socket.socket]], stopped: asyncio.Event
) -> AsyncIterator[None]:
    """Serve while the block runs, which is entered once all servers respond."""
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in servers]
    for task in tasks:
        task.add_done_callback(lambda _task: stopped.set())
    try:
        while not all(server.started for server, _ in servers):
            if any(task.done() for task in tasks):
                raise RuntimeError("A service did not start.")
            await asyncio.sleep(0.005)
        yield
    finally:
        for server, _ in servers:
            server.stop()
        await asyncio.gather(*tasks)


def server_config(
    app: ASGIApp, certificate: Certificate | None, server: ServerSettings | None
) -> uvicorn.Config:
    """Return the settings of the server of an app; `server` is None in a sandbox."""
    # No access log: presigned addresses are as good as keys.
    return uvicorn.Config(
        app,
        http=TimeoutProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        # The client address is that of the connection; that of a header only behind a known proxy.
        proxy_headers=server is not None and server.behind_proxy,
        forwarded_allow_ips=["127.0.0.1", "::1"],
        timeout_graceful_shutdown=2 if server is None else DRAIN_SECONDS,
        # Longer than the longest polling interval of a client.
        timeout_keep_alive=75,
        ssl_certfile=None if certificate is None else certificate.chain,
        ssl_keyfile=None if certificate is None else certificate.key,
    )
