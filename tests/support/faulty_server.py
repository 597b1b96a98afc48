"""A server on loopback that fails by script and counts requests."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Received:
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Act = Callable[[socket.socket, Received], bool]
"""Handles one request; returns whether the connection stays open."""


@dataclass
class FaultyServer:
    """Handles the first request by the first act, and so on; the last act repeats."""

    acts: tuple[Act, ...]
    tls: Any = None
    received: list[Received] = field(default_factory=list)
    accepted: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads[0].start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/api/"

    @property
    def count(self) -> int:
        """Number of requests, complete or partial."""
        return len(self.received)

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):  # closing alone does not wake the accepting thread
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        self._threads[0].join(5)
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _hang_up(connection)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if self._over.is_set():
                connection.close()
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._connections.append(connection)
                self._threads.append(thread)
                self.accepted += 1
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._connections.append(connection)
            while True:
                head = _head(connection)
                if head is None:
                    break
                with self._lock:
                    act = self.acts[min(len(self.received), len(self.acts) - 1)]
                    self.received.append(head)
                if not getattr(act, "before_body", False):
                    _read_body(connection, head)
                if not act(connection, head):
                    break
        except OSError:
            pass
        finally:
            _hang_up(connection)


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _head(connection: socket.socket) -> Received | None:
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        # Not beyond the head: acts read the body.
        if isinstance(connection, ssl.SSLSocket):
            piece = connection.recv(1)
        else:
            piece = connection.recv(_beginning_of_head(connection, buffer))
        if not piece:
            return None
        buffer += piece
    first, *lines = buffer.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Received(method, path, headers, b"")


def _beginning_of_head(connection: socket.socket, buffer: bytes) -> int:
    """Return how many of the next bytes belong to the head, at least 1."""
    received = buffer + connection.recv(65536, socket.MSG_PEEK)
    end = received.find(b"\r\n\r\n")
    length = len(received) if end < 0 else end + 4
    return max(1, length - len(buffer))


def _read_body(connection: socket.socket, request: Received) -> None:
    with connection.makefile("rb") as stream:
        if request.headers.get("transfer-encoding") == "chunked":
            while size := int(stream.readline(), 16):
                request.body += stream.read(size)
                stream.readline()
            stream.readline()
        else:
            request.body = stream.read(int(request.headers.get("content-length", 0)))


class Faults:
    """Creates servers, and provides their acts."""

    def __init__(self) -> None:
        self._servers: list[FaultyServer] = []

    def __call__(self, *acts: Act, tls: Any = None) -> FaultyServer:
        server = FaultyServer(acts, tls)
        self._servers.append(server)
        return server

    def close(self) -> None:
        for server in self._servers:
            server.close()

    @staticmethod
    def closed_port() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return int(listener.getsockname()[1])

    @staticmethod
    def answer(
        body: bytes | str | Any = b"{}",
        status: int = 200,
        kind: str = "application/json",
        length: int | None = None,
        **headers: str,
    ) -> Act:
        """Answer; `length` replaces the true Content-Length."""
        whole = body if isinstance(body, bytes) else _bytes(body)
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}"]
        lines.append(f"Content-Length: {len(whole) if length is None else length}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

        def act(connection: socket.socket, request: Received) -> bool:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + whole)
            return length is None or length <= len(whole)

        return act

    @staticmethod
    def raw(text: bytes) -> Act:
        """Send these bytes, then close."""

        def act(connection: socket.socket, request: Received) -> bool:
            connection.sendall(text)
            return False

        return act

    @staticmethod
    def silence(connection: socket.socket, request: Received) -> bool:
        """Close without an answer."""
        return False

    @staticmethod
    def reset(connection: socket.socket, request: Received) -> bool:
        """Reset the connection."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return False

    @staticmethod
    def cut_in_request(connection: socket.socket, request: Received) -> bool:
        """Close while the request is still being sent."""
        connection.recv(10)
        return False

    cut_in_request.before_body = True  # type: ignore[attr-defined]

    @staticmethod
    def reads_late(seconds: float) -> Act:
        """Delay reading the body; then respond with its length."""

        def act(connection: socket.socket, request: Received) -> bool:
            threading.Event().wait(seconds)
            _read_body(connection, request)
            answer = str(len(request.body)).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
            connection.sendall(head + answer)
            return True

        act.before_body = True  # type: ignore[attr-defined]
        return act

    @staticmethod
    def stall(connection: socket.socket, request: Received) -> bool:
        """Send nothing until the client disconnects."""
        return bool(connection.recv(1)) and False

    @staticmethod
    def stall_within(connection: socket.socket, request: Received) -> bool:
        """Send the start of a response, then nothing until the client disconnects."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        return bool(connection.recv(1)) and False


def _bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.fixture
def faulty() -> Iterator[Faults]:
    """Servers that fail by script: `faulty(faulty.silence, faulty.answer({"a": 1}))`."""
    faults = Faults()
    yield faults
    faults.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """Return a TLS context for loopback addresses, and the path of the CA bundle that trusts it."""
    import trustme

    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost", "localhost.", "127.0.0.1", "::1").configure_cert(context)
    bundle = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(str(bundle))
    return context, str(bundle)
