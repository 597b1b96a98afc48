"""Several service processes on one PostgreSQL database: killed, replaced and stopped."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from databases import open_database
from sqlalchemy import select
from waiting import wait_until

from labext.errors import LabextError
from labext.sandbox import Sandbox
from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Task
from labext.sandbox.jobs.tables import Job, Usage

pytestmark = pytest.mark.faults

SERVICES = ["labext.sandbox.jobs.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}


@pytest.fixture(scope="module")
def box(postgresql_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox with three service processes, which the last two tests stop and delete."""
    sandbox = Sandbox(
        tmp_path_factory.mktemp("processes") / "data",
        rate="off",
        workers=3,
        services=SERVICES,
        database_url=postgresql_server.new_database(),
        processes=3,
    )
    sandbox.start()
    yield sandbox
    sandbox.stop()


def _services(box: Sandbox) -> list[psutil.Process]:
    """Return the service processes, without the fork servers below them."""
    return psutil.Process(box.status().pid).children()


def _call(box: Sandbox, method: str, path: str, **more: Any) -> requests.Response:
    """Send a request on a new connection; again if its process was killed meanwhile."""
    headers = {"x-api-key": box.jobs.api_key, "Connection": "close"}
    for _ in range(50):
        try:
            return requests.request(
                method, box.jobs.base_url + path, headers=headers, timeout=30, **more
            )
        except requests.ConnectionError:
            time.sleep(0.1)
    pytest.fail("nobody answers")


def _submit(box: Sandbox, name: str, jobs: int) -> None:
    names = [f"j{number}" for number in range(jobs)]
    body = {"batchName": name, "type": "digest", "jobNames": names, "settings": [CUT] * jobs}
    response = _call(box, "POST", "submit-batch", json=body)
    assert response.status_code == 200 or "exists" in response.text, response.text


@pytest.fixture(scope="module")
def database(box: Sandbox) -> Iterator[Database]:
    database = open_database(box.data_dir)
    yield database
    database.close()


def _states(database: Database) -> Counter[str]:
    with database.read() as session:
        return Counter(session.scalars(select(Job.status).where(Job.type == "digest")))


def test_every_process_answers_and_runs_tasks(box: Sandbox, database: Database) -> None:
    _submit(box, "batch", 20)
    wait_until(lambda: _states(database) == {"Complete": 20}, 60)
    log = (box.data_dir / "host.log").read_text()
    assert "ended" not in log
    folders = {path.name for path in (box.data_dir / "tasks").iterdir()}
    assert {f"process-{number}" for number in range(3)} <= folders
    # Connections are accepted by the other processes if one does not accept any.
    stopped, *others = _services(box)
    stopped.suspend()
    try:
        answers = []
        for _ in range(10):
            with contextlib.suppress(requests.Timeout):
                headers = {"x-api-key": box.jobs.api_key, "Connection": "close"}
                response = requests.get(f"{box.jobs.base_url}tools", headers=headers, timeout=2)
                answers.append(response.status_code)
        assert 200 in answers
    finally:
        stopped.resume()
    assert others


def test_jobs_run_once_while_processes_are_killed(box: Sandbox, database: Database) -> None:
    assert len(_services(box)) == 3
    before = _states(database)["Complete"]
    for number in range(4):
        _submit(box, f"killed{number}", 15)
        wait_until(lambda: len(_services(box)) == 3)
        victim = _services(box)[number % 2]
        victim.kill()
        wait_until(lambda gone=victim: not gone.is_running())
    wait_until(lambda: _states(database) == {"Complete": before + 60}, 90)

    def waiting() -> list[int]:
        with database.read() as session:
            return [*session.scalars(select(Task.id))]

    wait_until(lambda: waiting() == [])  # including the archives of the batches
    with database.read() as session:
        (used,) = session.scalars(select(Usage).where(Usage.tool == "digest"))
        hours = session.scalars(select(Job.weighted_hours).where(Job.type == "digest")).all()
    assert used.jobs == before + 60
    assert used.weighted_hours == pytest.approx(sum(hours))  # each charged once
    wait_until(lambda: len(_services(box)) == 3)


def test_fewer_processes_take_over_the_tasks_of_more(box: Sandbox, database: Database) -> None:
    parent = psutil.Process(box.status().pid)
    before = _states(database)["Complete"]
    _submit(box, "left", 30)
    for process in [parent, *parent.children()]:
        process.kill()
    one = Sandbox(box.data_dir, rate="off", workers=1, services=SERVICES)
    wait_until(lambda: one.status().state == "stopped")
    with one:
        wait_until(lambda: _states(database) == {"Complete": before + 30}, 60)


FORK_AFTER_A_THREAD = """
import ctypes, os, signal, threading
from labext.sandbox.service_processes import ServiceProcesses

libc, key = ctypes.CDLL(None), ctypes.c_uint()
libc.pthread_key_create(ctypes.byref(key), libc.sleep)  # called in each thread that exits

def serve(number, on_ready):
    print(len(os.listdir(f"/proc/{os.getppid()}/task")), flush=True)
    on_ready()
    signal.pause()

thread = threading.Thread(target=lambda: libc.pthread_setspecific(key, ctypes.c_void_p(1)))
thread.start()
thread.join()
ServiceProcesses(1, serve, lambda: True).run(lambda: os.kill(os.getpid(), signal.SIGTERM))
"""


@pytest.mark.sqlite
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_process_is_forked_once_joined_threads_have_released_their_locks() -> None:
    command = [sys.executable, "-c", FORK_AFTER_A_THREAD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.sqlite
def test_several_processes_on_a_sqlite_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LabextError, match="Several service processes need a PostgreSQL") as caught:
        Sandbox(tmp_path / "single", services=SERVICES, processes=2).start()
    assert "Start one process" in str(caught.value.next_step)


def test_reset_drops_the_tables_of_the_services_alone(box: Sandbox, postgresql_server: Any) -> None:
    url = (box.data_dir / "database.url").read_text()
    name = url.partition("?")[0].rpartition("/")[2]
    postgresql_server.run("CREATE TABLE of_another_application (x INTEGER)", name)
    box.reset()
    assert not box.data_dir.exists()
    tables = postgresql_server.run(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'", name
    )
    assert tables == [("of_another_application",)]
