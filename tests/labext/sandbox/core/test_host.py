"""The host as a real process: started, stopped, killed, restarted, and requests to it."""

from __future__ import annotations

import http.client
import importlib.util
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import requests
from databases import open_database
from sqlalchemy import select
from supervision import is_gone, kill_host
from waiting import wait_until

from labext.errors import ConflictError, NotReadyError, ServiceError, SetupError, StorageError
from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import EXIT_LOCKED, start_time
from labext.sandbox.core.queue import Task

pytestmark = pytest.mark.contract

NewBox = Callable[..., Sandbox]


def put(box: Sandbox, kind: str, name: str, **payload: Any) -> None:
    answer = requests.post(f"{box.jobs.base_url}tasks/{kind}/{name}", json=payload, timeout=60)
    assert answer.ok, answer.text


def rows(box: Sandbox) -> dict[str, Any]:
    answer = requests.get(f"{box.jobs.base_url}tasks", timeout=60)
    assert answer.ok
    return dict(answer.json())


def work(box: Sandbox, name: str) -> Path:
    return box.data_dir / "jobs" / "work" / name


def pids(box: Sandbox, name: str) -> list[int]:
    """Return the pids of the task, its child, the detached process and its grandchild.

    Waits until all run and the task is recorded as running.
    """
    path = work(box, name) / "pids"
    wait_until(path.exists)
    wait_until(lambda: rows(box)[name]["state"] == "running")
    return [int(pid) for pid in path.read_text().split()]


def pid_of(box: Sandbox) -> int:
    pid = box.status().pid
    assert pid is not None
    return pid


# Starting and stopping


def test_started_host_answers_and_its_files_are_private(shared_small_box):
    box = shared_small_box
    status = box.status()
    assert status.running
    assert status.rate == "named"
    connection = box.connection()
    assert connection["pid"] == status.pid
    assert connection["data_dir"] == str(box.data_dir)
    assert urlsplit(connection["jobs"]["base_url"]).hostname == "127.0.0.1"
    for path in (box.data_dir, *box.data_dir.rglob("*")):
        expected_mode = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == expected_mode, path
    assert connection["jobs"]["api_key"] not in repr((box.jobs, status))


def test_starting_a_running_host_changes_nothing(shared_small_box):
    box = shared_small_box
    before = box.connection()
    assert Sandbox(box.data_dir).start().pid == before["pid"]
    with Sandbox(box.data_dir) as same:
        assert same.connection() == before
    assert box.status().running, "a sandbox that was running already is not stopped"


def test_concurrent_starts_share_one_host_with_the_changed_options(small_box):
    box = small_box(rate="off")
    box.stop()
    options = {"data_dir": box.data_dir, "rate": "named", "workers": 3}
    with ThreadPoolExecutor(4) as pool:
        boxes = list(pool.map(lambda _: small_box(**options), range(4)))
    assert len({same.status().pid for same in boxes}) == 1
    assert box.status().workers == 3
    assert requests.get(f"{box.jobs.base_url}site", timeout=60).json()["rate"] == "named"
    log = (box.data_dir / "host.log").read_text()
    assert log.count("The services answer") == 2, "of the first start, and once after it"


@pytest.mark.usefixtures("cold")
def test_host_outlives_its_starter_without_its_file_descriptors(small_box, tmp_path):
    with (tmp_path / "of-the-kernel").open("w") as file, socket.create_server(("", 0)) as server:
        os.set_inheritable(server.fileno(), True)
        os.set_inheritable(file.fileno(), True)
        box = small_box()
        host = psutil.Process(pid_of(box))
        assert os.getsid(host.pid) == host.pid
        assert os.getpgid(host.pid) != os.getpgid(0)
        for process in (host, *host.children(recursive=True)):
            assert not [
                open_file for open_file in process.open_files() if "kernel" in open_file.path
            ]
            ports = {link.laddr.port for link in process.net_connections() if link.laddr}
            assert server.getsockname()[1] not in ports
        # Packages of S3 are imported only for a storage there.
        maps = Path(f"/proc/{host.pid}/maps").read_text()
        assert ("aiohttp" in maps) == (box.data_dir / "storage.json").exists()


def test_task_process_has_neither_socket_nor_lock(shared_small_box):
    box = shared_small_box
    put(box, "wait", "long", seconds=60)
    wait_until((work(box, "long") / "started").exists)
    host = psutil.Process(pid_of(box))
    below = host.children(recursive=True)
    assert len(below) == 2
    for process in below:
        assert process.net_connections("inet") == []
        paths = [Path(open_file.path).name for open_file in process.open_files()]
        assert "host.lock" not in paths
        assert "sandbox.sqlite" not in paths
    requests.delete(f"{box.jobs.base_url}tasks/long", timeout=60)


@pytest.mark.usefixtures("cold")
def test_stop_leaves_only_the_data_and_waits_for_no_open_request(small_box):
    box = small_box()
    put(box, "descend", "deep")
    below = psutil.Process(pid_of(box)).children(recursive=True)
    all_pids = [*pids(box, "deep"), pid_of(box), *(process.pid for process in below)]
    address = urlsplit(box.jobs.base_url)
    link = http.client.HTTPConnection(address.hostname or "", address.port)
    link.putrequest("POST", "/api/length")
    link.putheader("Content-Length", "1000")
    link.endheaders()
    started_at = time.monotonic()
    assert box.stop()
    assert time.monotonic() - started_at < 10
    link.close()
    assert [pid for pid in all_pids if not is_gone(pid)] == []
    assert not psutil.pid_exists(all_pids[4]), "the starting process has reaped it"
    assert box.status().state == "stopped"
    assert not (box.data_dir / "connection.json").exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname or "", address.port or 0), timeout=2)
    assert not box.stop()
    with pytest.raises(NotReadyError, match="not running"):
        box.connection()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "off"}, "runs with rate named, not off"),
        ({"workers": 3}, "runs with workers by default, not 3"),
        ({"executor": "dask"}, "runs with executor local, not dask"),
        (
            {"database_url": "postgresql+psycopg://user:secret@db.example/other"},
            r"not in postgresql.*db\.example/other",
        ),
    ],
)
def test_start_of_a_running_host_with_other_options_is_refused(shared_small_box, options, message):
    with pytest.raises(ConflictError, match=message) as refused:
        Sandbox(shared_small_box.data_dir, **options).start()
    assert "secret" not in str(refused.value)
    assert Sandbox(shared_small_box.data_dir, executor="local").start().running


# Killed


def test_tasks_of_a_killed_host_end_and_run_again(small_box):
    box = small_box()
    put(box, "descend", "deep", seconds=60)
    processes = pids(box, "deep")
    kill_host(box)
    wait_until(lambda: all(is_gone(pid) for pid in processes), 2)
    assert box.status().state == "stopped"
    alive = os.getpid()  # a process with the former pid is another one
    lock = {"pid": alive, "created": start_time(alive)}
    (box.data_dir / "host.lock").write_text(json.dumps(lock))
    assert box.status().state == "stopped"
    assert not box.stop()
    with pytest.raises(NotReadyError):
        box.connection()
    (work(box, "deep") / "pids").unlink()
    box.start()
    assert pids(box, "deep") != processes
    wait_until(lambda: rows(box)["deep"]["starts"] == 2)
    with closing(open_database(box.data_dir)) as database, database.read() as session:
        assert session.scalars(select(Task.kills)).all() == [1]
    requests.delete(f"{box.jobs.base_url}tasks/deep", timeout=60)
    assert rows(box)["deep"]["state"] == "stopped"


def test_orphaned_tasks_are_killed_at_the_next_start(small_box):
    box = small_box()
    put(box, "descend", "deep")
    processes = pids(box, "deep")
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        host = psutil.Process(pid_of(box))
        [server] = host.children()
        server.suspend()  # so that it can't clean up
        kill_host(box)
        server.kill()
        wait_until(lambda: is_gone(processes[0]), 5)
        assert not is_gone(processes[-1]), "the grandchild is an orphan now"
        (work(box, "deep") / "pids").unlink()
        box.start()
        assert [pid for pid in processes if not is_gone(pid)] == []
        assert pids(box, "deep") != processes
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


# Without its folder


@pytest.mark.parametrize("then", ["deleted", "replaced"])
def test_host_ends_with_its_tasks_if_its_folder_is_removed(small_box, then):
    box = small_box()
    put(box, "descend", "deep", seconds=60)
    old_pids = [*pids(box, "deep"), pid_of(box)]
    old_pids += [process.pid for process in psutil.Process(pid_of(box)).children(recursive=True)]
    if then == "deleted":
        shutil.rmtree(box.data_dir)
        wait_until(lambda: all(is_gone(pid) for pid in old_pids))
        assert not box.data_dir.exists()
        return
    elsewhere = box.data_dir.rename(box.data_dir.with_name("elsewhere"))
    other = small_box(data_dir=box.data_dir)
    put(other, "wait", "new", seconds=60)
    wait_until(lambda: all(is_gone(pid) for pid in old_pids))
    assert other.status().running
    assert list(rows(other)) == ["new"]
    wait_until(lambda: rows(other)["new"]["state"] == "running")
    assert rows(other)["new"]["starts"] == 1
    assert rows(small_box(data_dir=elsewhere))["deep"]["state"] in ("waiting", "running")


# Errors at the start


def test_failed_start_reports_the_reason(small_box, tmp_path):
    box = Sandbox(tmp_path / "bad", services=["no_such_service:service"])
    with pytest.raises(ServiceError, match="No module named 'no_such_service'") as caught:
        box.start()
    assert "host.log" in caught.value.next_step
    assert box.status().state == "stopped"


def test_missing_package_error_names_the_install_command(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    with pytest.raises(SetupError) as caught:
        Sandbox(tmp_path / "box").start()
    assert "uvicorn" in caught.value.message
    assert 'pip install "labext-jupyter[sandbox]"' in caught.value.next_step
    assert not (tmp_path / "box").exists()


# Resetting


def test_reset_stops_the_host_and_deletes_its_data(small_box):
    box = small_box()
    put(box, "wait", "long", seconds=60)
    key = box.jobs.api_key
    closed = box.data_dir / "jobs" / "closed"
    closed.mkdir()
    (closed / "file").touch()
    closed.chmod(0o500)
    assert box.reset()
    assert not box.data_dir.exists()
    assert not box.reset()
    box.start()
    assert rows(box) == {}
    assert box.jobs.api_key != key


def test_second_host_says_why_it_ends(small_box):
    box = small_box()
    command = [sys.executable, "-P", "-m", "labext.sandbox.host", str(box.data_dir)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == EXIT_LOCKED
    assert f"Another process runs or restores the sandbox in {box.data_dir}" in second.stderr
    assert len(second.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of macOS records the start time")
def test_clock_that_was_set_does_not_hide_a_running_host(small_box, monkeypatch):
    box = small_box()
    pid = pid_of(box)
    read_file = psutil._pslinux.open_binary

    def read_with_clock_set(name: str) -> Any:
        if not name.endswith("/proc/stat"):
            return read_file(name)
        with read_file(name) as file:
            lines = file.read().splitlines()
        return io.BytesIO(b"\n".join(b"btime 1" if b"btime" in line else line for line in lines))

    monkeypatch.setattr(psutil._pslinux, "open_binary", read_with_clock_set)
    assert psutil.boot_time() == 1
    assert box.start().pid == pid
    assert box.stop()
    assert is_gone(pid)


def test_stop_and_reset_do_not_end_a_restore(small_box):
    box = small_box()
    box.stop()
    lock = box.data_dir / "host.lock"
    hold = (
        "import pathlib, sys; from labext.sandbox.core.data_folder import FileLock;"
        "lock = FileLock(pathlib.Path(sys.argv[1])); lock.acquire(work='restore');"
        "print(flush=True); sys.stdin.read()"
    )
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold, str(lock)], **pipes) as restore:
        assert restore.stdout
        restore.stdout.readline()
        for end in (box.stop, box.reset):
            with pytest.raises(ConflictError, match=r"A restore of the sandbox in .* in progress"):
                end()
        assert restore.poll() is None
        restore.communicate()
    assert restore.returncode == 0
    assert not box.stop()
    box.start()


def test_failed_restore_says_how_to_start_the_stopped_host(small_box, tmp_path):
    box = small_box()
    content = bytearray(box.backup(tmp_path / "box.zip").file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "damaged.zip").write_bytes(content)
    for was_running in (True, False):
        with pytest.raises(StorageError, match=r"damaged.* Nothing was changed\.") as caught:
            box.restore(tmp_path / "damaged.zip", replace=True)
        is_named = f"`{box.command('start')}` starts it again" in caught.value.next_step
        assert is_named == was_running
    box.start()


# Requests to the host


def test_host_listens_on_loopback_only(shared_small_box):
    box = shared_small_box
    links = psutil.Process(pid_of(box)).net_connections("inet")
    listening = [link.laddr.ip for link in links if link.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]


def test_errors_have_the_form_of_the_service(shared_small_box):
    base = shared_small_box.jobs.base_url
    for path, status in {"refused": 418, "nowhere": 404, "fault": 500}.items():
        answer = requests.get(base + path, timeout=60)
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]
    misread = requests.post(f"{base}tasks/answer/x", data="[", timeout=60)
    assert misread.status_code == 400
    assert list(misread.json()) == ["error"]


def test_log_contains_no_secret(shared_small_box):
    box = shared_small_box
    key = box.jobs.api_key
    requests.get(
        f"{box.jobs.base_url}tasks?signature={key}", headers={"x-api-key": key}, timeout=60
    )
    requests.get(f"{box.jobs.base_url}fault?key={key}", timeout=60)
    wait_until(lambda: "RuntimeError" in (box.data_dir / "host.log").read_text())
    log = (box.data_dir / "host.log").read_text()
    assert key not in log
    assert "signature" not in log


def test_idle_host_uses_no_cpu_and_its_answers_have_the_time(shared_small_box):
    box = shared_small_box
    host = psutil.Process(pid_of(box))

    def spent() -> float:
        return sum(
            sum(process.cpu_times()[:2]) for process in (host, *host.children(recursive=True))
        )

    def spent_in_a_second() -> tuple[float, int]:
        before, wakes = spent(), host.num_ctx_switches().voluntary
        time.sleep(1)
        return spent() - before, host.num_ctx_switches().voluntary - wakes

    # Wake-ups cost more on a busy machine; one idle second is enough.
    seconds = [spent_in_a_second() for _ in range(4)]
    assert min(cpu for cpu, _ in seconds) <= 0.03
    assert min(wakes for _, wakes in seconds) <= 5, "of the thread that serves requests"
    answer = requests.get(f"{box.jobs.base_url}tasks", timeout=60)
    assert time.time() - parsedate_to_datetime(answer.headers["Date"]).timestamp() < 3.5
