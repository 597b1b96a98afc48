"""A service closes stalled connections and keeps serving other clients."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

pytestmark = pytest.mark.faults

RESPONSE_BYTES = 8 << 20

SERVICE = (
    f"RESPONSE_BYTES = {RESPONSE_BYTES}"
    """
import asyncio, resource, sys
import uvicorn
from labext.sandbox import http_servers

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
http_servers.HEAD_SECONDS = http_servers.BODY_SECONDS = http_servers.WRITE_SECONDS = 1.0
http_servers.STALL_CHECK_SECONDS = 0.1

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan")
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    size = RESPONSE_BYTES if scope["path"] == "/large" else 0
    await send({"type": "http.response.body", "body": str(length).encode() + b"a" * size})

config = http_servers.server_config(app, certificate=None, server=None)
config.lifespan = "off"
server = http_servers.HttpServer(config)

async def main():
    listener = __import__("socket").create_server(("127.0.0.1", 0), backlog=200)
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])

asyncio.run(main())
"""
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A service that may have 64 open files, and has timeouts of 1 second."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.kill()


HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"

STALLED = {
    "no byte": b"",
    "half a head": HEAD,
    "no body": HEAD + b"Content-Length: 10000\r\n\r\n",
    "half a body": HEAD + b"Content-Length: 10000\r\n\r\n" + b"a" * 5000,
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n400\r\na",
    "half a second request": HEAD + b"Content-Length: 0\r\n\r\n" + HEAD,
    "a response that is not read": b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 30)


def answer(connection: socket.socket) -> bytes:
    """Return the bytes received until the connection is closed."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    return received


def send_slowly(connection: socket.socket) -> None:
    for _ in range(200):
        connection.sendall(b"a")
        time.sleep(0.05)


def test_stalled_connections_are_closed_and_the_service_recovers(port):
    with ExitStack() as stack:
        stalled = []
        # Together more than the service may have open.
        for sent in (*STALLED.values(), *[*STALLED.values()][:-1] * 11):
            stalled.append(stack.enter_context(connected(port)))
            with contextlib.suppress(ConnectionError):
                stalled[-1].sendall(sent)
        with connected(port) as connection:
            connection.sendall(HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc")
            assert answer(connection).endswith(b"\r\n3\r\n0\r\n\r\n")
        time.sleep(3)
        for connection in stalled:
            connection.settimeout(10)  # a response that is read now is incomplete
            assert len(answer(connection)) < RESPONSE_BYTES


@pytest.mark.parametrize("part", ["head", "body"])
def test_single_bytes_do_not_keep_a_connection_open(part, port):
    with connected(port) as connection:
        connection.sendall(HEAD)
        if part == "body":
            connection.sendall(b"Content-Length: 100000\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_slowly(connection)


def test_slow_upload_with_progress_is_accepted(port):
    with connected(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 30000\r\nConnection: close\r\n\r\n")
        for _ in range(15):
            connection.sendall(b"a" * 2000)
            time.sleep(0.1)
        assert answer(connection).endswith(b"\r\n30000\r\n0\r\n\r\n")


def test_idle_keep_alive_connection_outlives_the_header_timeout(port):
    with connected(port) as connection:
        for pause in (0.0, 1.5):
            time.sleep(pause)
            connection.sendall(HEAD + b"Content-Length: 1\r\n\r\na")
            received = b""
            while not received.endswith(b"0\r\n\r\n"):
                part = connection.recv(1000)
                assert part, "the connection was closed"
                received += part
