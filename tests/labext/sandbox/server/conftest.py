"""Running servers with TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tls_server import make_server

from labext.sandbox.server import Server

NewServer = Callable[..., Server]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server, shared by all tests of this process."""
    server = make_server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[NewServer]:
    """Start servers for a single test."""
    servers: list[Server] = []

    def make(*arguments: Any, **values: Any) -> Server:
        servers.append(make_server(tmp_path, *arguments, **values))
        servers[-1].start()
        return servers[-1]

    yield make
    for server in servers:
        server.stop()
