"""Running servers with TLS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import host_log
import pytest
from s3_server import CREDENTIALS, Line, S3Server
from tls_server import make_server

from labext import cli
from labext.sandbox import Sandbox
from labext.sandbox.server import Server

JOBS = ["labext.sandbox.jobs.app:service"]
NewServer = Callable[..., Server]
NewKey = Callable[[Server, str], str]
Run = Callable[..., Any]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server with a JSON log, shared by all tests of this process."""
    server = make_server(tmp_path_factory.mktemp("server"), log_format="json")
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


@pytest.fixture(scope="session")
def storage_line(s3_server: S3Server) -> Iterator[Line]:
    """The connection of `stored_box` to the storage."""
    line = Line(s3_server.port)
    yield line
    line.close()


@pytest.fixture(scope="session")
def stored_box(
    s3_server: S3Server, storage_line: Line, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A running job service with its files in S3: use unique names."""
    storage = {"storage": s3_server.new_url(), "storage_endpoint": storage_line.endpoint}
    folder = tmp_path_factory.mktemp("stored") / "data"
    box = Sandbox(folder, rate="off", services=JOBS, workers=2, **storage)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        box.start()
    yield box
    box.stop()


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
