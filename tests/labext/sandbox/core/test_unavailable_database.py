"""Requests while the database is locked, stopped or full of connections; the health endpoint."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import databases
import pytest
import requests
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from waiting import wait_until

from labext.jobs import JobsClient
from labext.sandbox import Sandbox
from labext.sandbox.core import database as database_module
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.executors.worker_states import Executors
from labext.sandbox.core.monitoring.health import HealthCheck, HealthEndpoint
from labext.sandbox.core.web import guard_app, handle_errors

pytestmark = pytest.mark.faults

CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI"]}


def _client(database: Database, written: Callable[[], None] = lambda: None) -> TestClient:
    """Return a client of an application that writes rows, and calls `written` after a commit."""

    def write(request: Request) -> Response:
        for _ in range(int(request.query_params.get("commits", "1"))):
            with database.write() as session:
                session.execute(text("CREATE TABLE IF NOT EXISTS test_rows (number INTEGER)"))
                session.execute(text("INSERT INTO test_rows VALUES (1)"))
            written()
        return PlainTextResponse("done")

    app = Starlette(routes=[Route("/", write, methods=["POST"])])
    handle_errors(app, lambda _status, message: {"error": message})
    guarded = HealthEndpoint(
        guard_app(app, hosts=["testserver"]), HealthCheck(database, Executors())
    )
    return TestClient(guarded)


@pytest.mark.sqlite
def test_locked_sqlite_database_is_503_with_retry_after(tmp_path, monkeypatch):
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.2)
    database = Database.at(tmp_path / "some.sqlite")
    database.create(CoreBase.metadata)
    client = _client(database)
    with closing(sqlite3.connect(tmp_path / "some.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = client.post("/")
        assert client.get("/health").status_code == 200, "reading is possible"
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert "database is busy" in answer.json()["error"]
    assert client.post("/").text == "done"
    database.close()


def test_connection_lost_after_a_commit_is_504_so_that_clients_do_not_repeat(postgresql):
    database = Database(postgresql.new_database())
    client = _client(database, written=postgresql.stop_at_once)
    answer = client.post("/?commits=2")
    assert answer.status_code == 504
    assert "Retry-After" not in answer.headers
    database.close()


def test_exhausted_connections_are_503(postgresql_server, monkeypatch):
    database = Database(postgresql_server.new_schema())
    monkeypatch.setattr(database.engine.pool, "_timeout", 0.1)
    client = _client(database)
    held = [database.engine.connect() for _ in range(30)]
    assert client.post("/").status_code == 503
    for connection in held:
        connection.close()
    assert client.post("/").text == "done"
    database.close()


def test_health_needs_no_known_host_name_and_allows_no_change(tmp_path):
    database = Database.at(tmp_path / "some.sqlite")
    client = _client(database)
    assert client.get("/health", headers={"Host": "10.0.0.1"}).status_code == 200
    assert client.head("/health").status_code == 200
    assert client.post("/health").status_code in (404, 405)
    database.close()


def test_stalled_queue_is_unhealthy(each_database):
    class Stalled:
        def problem(self) -> str:
            return "The queue has not run for 30 s."

    each_database.create(CoreBase.metadata)
    client = TestClient(HealthEndpoint(Starlette(), HealthCheck(each_database, Stalled())))
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "The queue has not run for 30 s."


@pytest.fixture(scope="module")
def box(
    stoppable_postgresql: databases.Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A sandbox with all services on the PostgreSQL server that the tests stop."""
    folder, url = tmp_path_factory.mktemp("box") / "data", stoppable_postgresql.new_database()
    sandbox = Sandbox(folder, rate="named", workers=1, database_url=url)
    sandbox.start()
    yield sandbox
    sandbox.stop()


def _requests(box: Sandbox) -> dict[str, Callable[[], requests.Response]]:
    """Return a request to each service, with its credentials."""
    lab, jobs, nb = box.lab, box.jobs, box.nb
    as_user = {"Authorization": f"Bearer {nb.password}"}
    options: dict[str, Any] = {"timeout": 60}
    return {
        "lab": lambda: requests.get(
            f"{lab.base_url}/api/v2/users/me",
            auth=(lab.api_key, ""),
            verify=lab.ca_bundle,
            **options,
        ),
        "jobs": lambda: requests.get(
            f"{jobs.base_url}jobs", headers={"x-api-key": jobs.api_key}, **options
        ),
        "nb": lambda: requests.get(f"{nb.base_url}/notebooks", headers=as_user, **options),
    }


def _health(box: Sandbox) -> dict[str, int]:
    origins = {
        "lab": box.lab.base_url,
        "jobs": box.jobs.base_url.removesuffix("/api/"),
        "nb": box.nb.base_url.removesuffix("/api"),
    }
    return {
        name: requests.get(f"{origin}/health", verify=box.lab.ca_bundle, timeout=30).status_code
        for name, origin in origins.items()
    }


def test_services_survive_a_restart_of_postgresql(box, postgresql):
    requests_of = _requests(box)
    assert {name: call().status_code for name, call in requests_of.items()} == dict.fromkeys(
        requests_of, 200
    )
    assert set(_health(box).values()) == {200}
    client = JobsClient(box.jobs.base_url, box.jobs.api_key)
    postgresql.stop_at_once()
    answers = {name: call() for name, call in requests_of.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(
        answers, 503
    )
    for answer in answers.values():
        assert answer.headers["Retry-After"] == "5"
        assert "try again in a few seconds" in answer.text
    assert set(_health(box).values()) == {503}
    health = requests.get(f"{box.lab.base_url}/health", verify=box.lab.ca_bundle, timeout=30)
    assert health.json()["reason"] == "The database does not respond."
    log = box.data_dir / "host.log"
    wait_until(lambda: "The queue waits for the database" in log.read_text())
    postgresql.start()
    wait_until(lambda: set(_health(box).values()) == {200})
    assert {name: call().status_code for name, call in requests_of.items()} == dict.fromkeys(
        requests_of, 200
    )
    client.submit("after", "digest", CUT)
    client.wait("after", timeout=60)
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


def test_task_that_ends_while_postgresql_is_stopped_is_recorded(box, postgresql):
    client = JobsClient(box.jobs.base_url, box.jobs.api_key)
    client.submit("one", "digest", CUT)
    postgresql.stop_at_once()
    time.sleep(2.0)
    postgresql.start()
    client.wait("one", timeout=90)
