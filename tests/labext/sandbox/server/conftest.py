"""Running servers with TLS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import host_log
import pytest
from tls_server import make_server

from labext import cli
from labext.sandbox.server import Server

NewServer = Callable[..., Server]
NewKey = Callable[[Server, str], str]
Run = Callable[..., Any]


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
        host_log.print_end(server.data_dir)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `labext server …` and return its JSON."""

    def call(server: Server, *words: object) -> Any:
        capsys.readouterr()
        data_dir = ("--data-dir", str(server.data_dir))
        code = cli.main(["server", *map(str, words), *data_dir, "--json"])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return json.loads(printed.out)

    return call


@pytest.fixture
def new_key(run: Run) -> NewKey:
    """Create an account of the job service with a key."""

    def make(server: Server, email: str) -> str:
        run(server, "jobs", "accounts", "add", email)
        return str(run(server, "jobs", "keys", "add", email)["key"])

    return make
