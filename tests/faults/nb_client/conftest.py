"""A client of a server that fails by script, and streams cut into any pieces."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from labext.nb import NotebookClient

PASSWORD = "swordfish-0123456789"
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


class Clients:
    """Clients of servers, without waits between tries."""

    password = PASSWORD

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._made: list[NotebookClient] = []
        self._patch = monkeypatch

    def __call__(self, server: Any, password: str | None = PASSWORD) -> NotebookClient:
        client = NotebookClient(server.url, password, rate=None, backend="contract")
        self._made.append(client)
        return client

    def close(self) -> None:
        for client in self._made:
            client.close()


@pytest.fixture
def client_of(at_once: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    clients = Clients(monkeypatch)
    yield clients
    clients.close()


class Stream:
    """Acts that answer with a stream of events."""

    @staticmethod
    def event(**data: Any) -> str:
        return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"

    @staticmethod
    def of(
        pieces: Sequence[bytes | str], *, ends: bool = True, stays: bool = False
    ) -> Callable[[socket.socket, Any], bool]:
        """Send these pieces, each by itself; without `ends` the stream is cut, not closed.

        With `stays` the connection is held open until the other side leaves.
        """

        def act(connection: socket.socket, request: Any) -> bool:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(HEAD)
            for piece in pieces:
                data = piece.encode() if isinstance(piece, str) else piece
                if data:
                    connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if stays:
                connection.recv(1)
            elif ends:
                connection.sendall(b"0\r\n\r\n")
            return False

        return act


@pytest.fixture
def stream() -> Stream:
    return Stream()
