"""HTTP servers that run together in one process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from labext.sandbox.core.http_timeouts import TimeoutProtocol
from labext.sandbox.core.server_settings import ServerSettings
from labext.sandbox.core.service_protocol import Certificate

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
