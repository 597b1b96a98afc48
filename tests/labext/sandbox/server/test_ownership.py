"""A server serves neither the accounts of a sandbox nor the database of another server."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import psutil
import pytest
import requests
from tls_server import issue, make_server, post_notebook
from waiting import wait_until

from labext import JobsClient
from labext.errors import ConflictError, ServiceError, SetupError
from labext.sandbox import Sandbox
from labext.sandbox.core.postgresql import DatabaseLock
from labext.sandbox.server import Server

pytestmark = pytest.mark.faults

JOBS, NB = ["labext.sandbox.jobs.app:service"], ["labext.sandbox.nb.app:service"]


@pytest.fixture
def box_archive(shared_small_box, tmp_path):
    """The backup of a sandbox."""
    return shared_small_box.backup(tmp_path / "box.zip").file


@pytest.mark.data_folder
def test_backup_of_a_sandbox_replaces_no_server(server, box_archive):
    with pytest.raises(SetupError, match="backup of a sandbox") as refused:
        server.restore(box_archive, replace=True)
    assert "labext sandbox restore" in refused.value.next_step
    assert server.status().running
    assert Server(server.data_dir).settings is not None


@pytest.mark.data_folder
def test_sandbox_neither_restores_nor_resets_a_server(server, box_archive, tmp_path):
    archive = tmp_path / "server.zip"
    server.backup(archive)
    with pytest.raises(SetupError, match="backup of a server") as refused:
        Sandbox(tmp_path / "new").restore(archive)
    assert "labext server restore" in refused.value.next_step
    same = Sandbox(server.data_dir)
    for destroy in (same.reset, lambda: same.restore(box_archive, replace=True)):
        with pytest.raises(SetupError, match="belong to a server"):
            destroy()
    assert server.status().running


def test_database_of_a_sandbox_is_not_served_by_a_server(new_server, postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    with Sandbox(tmp_path / "box", database_url=url, services=JOBS):
        pass
    with pytest.raises(ServiceError, match="sample accounts") as refused:
        new_server(url, services=JOBS)
    assert "labext sandbox start" in refused.value.next_step


def test_folder_without_the_files_of_the_database_is_refused(postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    file = tmp_path / "a.txt"
    file.write_text("content")
    with (
        Sandbox(tmp_path / "box", database_url=url, services=JOBS) as box,
        JobsClient(box.jobs.base_url, box.jobs.api_key) as jobs,
    ):
        jobs.upload(file)
    other = Sandbox(tmp_path / "new", database_url=url, services=JOBS)
    with pytest.raises(ServiceError, match=f"are not in {other.data_dir}") as refused:
        other.start()
    assert "adopt_empty" in refused.value.next_step
    with Sandbox(tmp_path / "new", database_url=url, services=JOBS, adopt_empty=True):
        pass
    for known in ("new", "box"):
        with Sandbox(tmp_path / known, services=JOBS) as box:
            assert box.status().running


@pytest.mark.sqlite
@pytest.mark.data_folder
def test_backup_of_a_server_restores_a_server(new_server, tmp_path):
    server = new_server(services=JOBS)
    archive = tmp_path / "server.zip"
    server.backup(archive)
    server.stop()
    copy = Server(tmp_path / "copy", workers=1, services=JOBS)
    copy.restore(archive)
    assert copy.settings == server.settings
    assert copy.start().running
    copy.stop()
    server.restore(archive, replace=True)
    assert server.start().running


UNREACHABLE = "postgresql+psycopg://nobody@127.0.0.1:1/none"


def test_address_is_kept_only_once_it_works(small_box, postgresql_server, tmp_path):
    folders = {"new": tmp_path / "new", "known": tmp_path / "known"}
    small_box(data_dir=folders["known"], database_url=postgresql_server.new_database()).stop()
    for name, folder in folders.items():
        with pytest.raises(ServiceError, match="cannot be reached"):
            small_box(data_dir=folder, database_url=UNREACHABLE)
        box = small_box(data_dir=folder)
        assert (box.data_dir / "database.url").exists() is (name == "known")


def test_reset_drops_no_tables_that_another_service_uses(small_box, postgresql_server, monkeypatch):
    monkeypatch.setattr("labext.sandbox.core.postgresql.WAIT_SECONDS", 0.1)
    url = postgresql_server.new_database()
    former = small_box(database_url=url)
    former.stop()
    box = small_box(database_url=url)
    with pytest.raises(ConflictError, match="in use by"):
        former.reset()
    assert requests.get(f"{box.jobs.base_url}tasks", timeout=30).json() == {}
    box.stop()
    assert former.reset()


def test_database_of_a_killed_server_is_taken_over(new_server, postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    first = new_server(url, services=JOBS)
    (tmp_path / "second").mkdir()
    second = make_server(tmp_path / "second", url, services=JOBS)
    os.kill(first.status().pid, signal.SIGKILL)
    assert second.start().running
    second.stop()


def test_lock_survives_a_restart_of_the_database_unless_another_service_takes_it(
    postgresql, tmp_path
):
    url = postgresql.new_database()
    now = [0.0]
    first = DatabaseLock(url, tmp_path / "first", lambda: now[0])
    second = DatabaseLock(url, tmp_path / "second")
    first.acquire()
    assert first.is_held()
    postgresql.stop_at_once()
    now[0] += 10
    assert first.is_held(), "unknown, so that it continues"
    postgresql.start()
    now[0] += 10
    assert first.is_held()
    assert not second._try()
    postgresql.stop_at_once()
    second.release()
    postgresql.start()
    second.acquire()
    now[0] += 10
    assert not first.is_held()
    first.release()
    second.release()


def test_waiting_for_the_lock_ends_with_its_owner(postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    first = DatabaseLock(url, tmp_path / "first")
    first.acquire()
    now = iter(range(0, 1000, 20))
    second = DatabaseLock(url, tmp_path / "second", lambda: next(now))
    with pytest.raises(ConflictError, match=r"in use by \S+first") as refused:
        second.acquire()
    assert "Stop that one first" in refused.value.next_step
    first.release()
    second.acquire()
    second.release()


def test_service_of_another_database_is_not_named_as_the_owner(postgresql_server, tmp_path):
    urls = {name: postgresql_server.new_database() for name in ("first", "second")}
    locks = [DatabaseLock(url, tmp_path / name) for name, url in urls.items()]
    for lock in locks:
        lock.acquire()
    for name, url in urls.items():
        now = iter(range(0, 1000, 20))
        with pytest.raises(ConflictError, match=rf"in use by \S+{name}"):
            DatabaseLock(url, tmp_path / "third", lambda now=now: next(now)).acquire()
    for lock in locks:
        lock.release()


@pytest.fixture(scope="module")
def several(postgresql_server, tmp_path_factory) -> Iterator[Server]:
    """A server with two service processes, which the last of its tests ends."""
    url, folder = postgresql_server.new_database(), tmp_path_factory.mktemp("several")
    server = make_server(folder, url, processes=2, services=NB)
    server.start()
    yield server
    server.stop()


def test_renewed_certificate_is_used_by_all_processes(several):
    pid = several.status().pid
    processes = {child.pid for child in psutil.Process(pid).children()}
    folder = several.data_dir.with_name("tls")
    issue(folder, "localhost")
    os.kill(pid, signal.SIGHUP)
    log = several.data_dir / "host.log"
    wait_until(lambda: log.read_text().count("The certificate is reloaded.") == 2)
    ca = str(folder / "ca.pem")
    for _ in range(10):  # either process answers
        url = f"{several.settings.origin('nb')}/health"
        assert requests.get(url, verify=ca, timeout=30).status_code == 200
    assert {child.pid for child in psutil.Process(pid).children()} == processes


def test_running_request_is_answered_if_a_terminal_signals_every_process(several):
    host = psutil.Process(several.status().pid)

    def slowly() -> Iterator[bytes]:
        yield b"{"
        for process in [host, *host.children()]:  # as Ctrl-C does; the parent signals them again
            process.send_signal(signal.SIGINT)
        time.sleep(1.5)
        yield b"}"

    assert post_notebook(several, slowly()).status_code in (400, 422)
    assert not psutil.wait_procs([host], 20)[1]


@pytest.mark.parametrize("processes", [None, 2])
def test_second_termination_signal_ends_all_processes_at_once(
    new_server, postgresql_server, processes
):
    url = processes and postgresql_server.new_database()
    server = new_server(url, processes=processes, services=NB)
    host = psutil.Process(server.status().pid)
    processes = [host, *host.children(recursive=True)]

    def endless() -> Iterator[bytes]:
        yield b"{"
        host.send_signal(signal.SIGTERM)
        time.sleep(1.0)
        assert host.is_running(), "it waits for this request"
        began.append(time.monotonic())
        host.send_signal(signal.SIGTERM)
        time.sleep(60.0) if not psutil.wait_procs([host], 5)[0] else None
        yield b"}"

    began = list[float]()
    with contextlib.suppress(requests.RequestException):
        post_notebook(server, endless())
    _, alive = psutil.wait_procs(processes, 10)
    assert not alive
    assert time.monotonic() - began[0] < 8
    assert "Stopped immediately" in (server.data_dir / "host.log").read_text()
