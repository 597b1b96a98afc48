"""The database locks of a server are released if its machine is disconnected.

The machine is a network namespace with its own interface, whose address is removed, so that packets
to it are dropped. It needs root and `ip` of iproute2.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import Server, missing

from labext.sandbox.core.database import Database
from labext.sandbox.core.postgresql import SERVER_KEEPALIVES, DatabaseLock

pytestmark = pytest.mark.faults

HOLDER = """
import sys, time
from pathlib import Path
from labext.sandbox.core import postgresql
from labext.sandbox.core.database import Database
from labext.sandbox.core.postgresql import DatabaseLock

postgresql.SERVER_KEEPALIVES.update(SHORT)
lock = DatabaseLock(sys.argv[1], Path("/crashed"))
lock.acquire()
with Database(sys.argv[1]).write() as session:
    session.connection()
    print("held", flush=True)
    time.sleep(300)
"""

SHORT = {
    "tcp_keepalives_idle": 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 4_000,
}
"""The keepalives of this test: after 2 s, three times every second."""

RELEASE_SECONDS = 5


class Machine:
    """Another machine on a network of two machines."""

    def __init__(self, number: int) -> None:
        self.name = f"labext{number}"
        self.network = f"10.{200 + number // 250 % 50}.{number % 250}"
        self._ip(f"netns add {self.name}")
        self._ip(f"link add {self.name} type veth peer name eth0 netns {self.name}")
        self._ip(f"addr add {self.network}.1/24 dev {self.name}")
        self._ip(f"link set {self.name} up")
        self._ip(f"-n {self.name} addr add {self.network}.2/24 dev eth0")
        self._ip(f"-n {self.name} link set eth0 up")
        address = self._ip(f"-n {self.name} -brief link show eth0").split()[2]
        self._ip(f"neigh replace {self.network}.2 lladdr {address} dev {self.name} nud permanent")

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, *command], stdout=subprocess.PIPE
        )

    def cut_off(self) -> None:
        """Drop all packets, in both directions, from now on."""
        self._ip(f"-n {self.name} addr flush dev eth0")

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._ip(f"link delete {self.name}")
        self._ip(f"netns delete {self.name}")

    def _ip(self, words: str) -> str:
        return subprocess.run(
            ["ip", *words.split()], check=True, capture_output=True, text=True
        ).stdout


@pytest.fixture
def machine() -> Iterator[Machine]:
    if reason := missing():
        pytest.skip(reason)
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt-get install iproute2")
    try:
        machine = Machine(os.getpid() % 12_500)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"No network namespaces here: {error.stderr}")
    yield machine
    machine.close()


def test_keepalives_release_locks_within_25_seconds() -> None:
    values = SERVER_KEEPALIVES
    probes = values["tcp_keepalives_count"] * values["tcp_keepalives_interval"]
    assert values["tcp_keepalives_idle"] + probes <= 25
    assert values["tcp_user_timeout"] <= 25_000
    assert values.keys() == SHORT.keys()


def test_locks_of_a_machine_that_is_cut_off_are_released(machine: Machine, tmp_path: Path) -> None:
    server = Server(listen_addresses=f"{machine.network}.1")
    holder = None
    other: DatabaseLock | None = None
    try:
        with (server.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {machine.network}.0/24 trust\n")
        server.run("SELECT pg_reload_conf()")
        url = server.new_database()
        name = url.partition("?")[0].rpartition("/")[2]
        remote = f"postgresql+psycopg://labext@{machine.network}.1/{name}"
        holder = machine.start(sys.executable, "-c", f"SHORT = {SHORT}{HOLDER}", remote)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        other = DatabaseLock(url, tmp_path / "other")
        assert not other._try()
        machine.cut_off()
        began = time.monotonic()
        database = Database(url)
        with contextlib.closing(database), database.write() as session:
            session.connection()
            write_lock = time.monotonic() - began
        while not other._try():
            assert time.monotonic() < began + 4 * RELEASE_SECONDS
            time.sleep(0.1)
        lock = time.monotonic() - began
        print(f"The write lock was free after {write_lock:.1f} s, the server's after {lock:.1f} s.")
        # A lower bound: a connection whose packets are dropped ends only by the keepalive timeout.
        assert 1 < lock < RELEASE_SECONDS + 5
        assert 1 < write_lock < RELEASE_SECONDS + 5
    finally:
        if other is not None:
            other.release()
        if holder is not None:
            with holder:
                holder.kill()
        server.stop()
