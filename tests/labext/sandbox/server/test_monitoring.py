"""Request ids, structured logs and metrics of a server."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from databases import open_database
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from tls_server import ca, jobs_client, nb_password, origin
from waiting import wait_until

from labext.errors import ServiceError
from labext.sandbox.core.database import Database
from labext.sandbox.core.executors.worker_states import Executors
from labext.sandbox.core.monitoring.metrics import ServerState
from labext.sandbox.core.queue import Queue
from labext.sandbox.server import Server

pytestmark = pytest.mark.contract

JOBS = ["labext.sandbox.jobs.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI"]}


def ask(server: Server, path: str, endpoint: str = "jobs", **headers: str) -> requests.Response:
    url = f"{origin(server, endpoint)}{path}"
    return requests.get(url, headers=headers, verify=ca(server), timeout=30)


def token(server: Server) -> str:
    return (server.data_dir / "secrets" / "metrics_token").read_text()


Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def metrics(server: Server) -> Samples:
    """Return the samples of the metrics by name and labels."""
    answer = ask(server, "/metrics", Authorization=f"Bearer {token(server)}")
    assert answer.status_code == 200, answer.text
    samples: Samples = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            samples.setdefault(sample.name, {})[labels] = sample.value
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    """Return the sum of the samples that have some labels."""
    expected_labels = labels.items()
    return sum(
        n for key, n in samples.get(name, {}).items() if expected_labels <= dict(key).items()
    )


def test_response_has_the_request_id_of_the_client_or_a_new_one(server):
    assert (
        ask(server, "/api/tools", **{"X-Request-ID": "a-1.B_2"}).headers["X-Request-ID"]
        == "a-1.B_2"
    )
    ids = {ask(server, "/api/tools").headers["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)


def test_request_id_that_is_malformed_or_a_secret_is_replaced(server):
    for sent in ("a b", "x" * 65, "-a", "", token(server)):
        got = ask(server, "/api/tools", **{"X-Request-ID": sent}).headers["X-Request-ID"]
        assert re.fullmatch("[0-9a-f]{32}", got)
    assert token(server) not in (server.data_dir / "host.log").read_text()


def test_json_log_has_one_object_per_request_without_secrets(server, new_key):
    key = new_key(server, "log@lab.example.org")
    client = jobs_client(server, key)
    client.submit("logged", "digest", CUT)
    client.wait("logged", timeout=60)
    ask(server, "/api/jobs?jobName=logged", **{"x-api-key": key, "X-Request-ID": "known-id"})
    ask(server, "/api/jobs", **{"x-api-key": "wrong-key-wrong-key"})
    upload = requests.post(
        f"{origin(server)}/api/getPresignedUploadUrl",
        json={"filename": "a.txt"},
        headers={"x-api-key": key},
        verify=ca(server),
        timeout=30,
    )
    address = next(word for word in re.findall(r'https://[^"\\]+', upload.text))
    assert address.startswith(f"{origin(server)}/")
    requests.put(address, data=b"content", verify=ca(server), timeout=30)
    # A request is logged after its response has been sent.
    log = server.data_dir / "host.log"
    wait_until(lambda: '"method": "PUT"' in log.read_text())
    content = log.read_text()
    records = [json.loads(line) for line in content.splitlines()]
    (known,) = [record for record in records if record.get("request_id") == "known-id"]
    assert known.keys() == {
        *("time", "level", "logger", "message", "request_id", "service", "method", "route"),
        *("status", "milliseconds", "account"),
    }
    assert (known["service"], known["method"], known["status"]) == ("jobs", "GET", 200)
    assert known["route"] == "/api/jobs"
    assert known["message"] == "GET /api/jobs 200"
    assert known["level"] == "INFO"
    assert known["account"].isdigit()
    assert 0 < known["milliseconds"] < 30_000
    assert [r for r in records if r.get("status") == 401 and "account" not in r]
    puts = [record for record in records if record.get("method") == "PUT"]
    assert puts
    for secret in (key, "wrong-key", "jobName=logged", "log@lab", address.rpartition("/")[2]):
        assert secret not in content


def test_failure_is_logged_with_its_request_id(server, new_key):
    key = new_key(server, "fail@lab.example.org")

    def rename(former: str, name: str) -> None:
        with closing(open_database(server.data_dir)) as database, database.write() as session:
            session.execute(text(f"ALTER TABLE {former} RENAME TO {name}"))

    rename("jobs_jobs", "jobs_jobs_gone")
    try:
        with pytest.raises(ServiceError) as failed:
            jobs_client(server, key).jobs()
    finally:
        rename("jobs_jobs_gone", "jobs_jobs")
    request_id = failed.value.request_id
    assert f"request ID in the service's log is {request_id}." in str(failed.value)
    log = server.data_dir / "host.log"

    def records_of_request() -> list[dict[str, Any]]:
        records = map(json.loads, log.read_text().splitlines())
        return [record for record in records if record.get("request_id") == request_id]

    wait_until(lambda: "INFO" in {record["level"] for record in records_of_request()})
    records = records_of_request()
    assert {r["level"] for r in records} == {"ERROR", "INFO"}
    assert any("Traceback" in r.get("traceback", "") for r in records)


def test_files_of_counters_have_no_holes_that_a_full_disk_could_not_fill(server):
    assert ask(server, "/health").ok
    files = [*(server.data_dir / "metrics").glob("*.db")]
    assert {file.name.partition("_")[0] for file in files} == {"counter", "histogram"}
    for file in files:
        assert file.stat().st_blocks * 512 >= file.stat().st_size


def test_metrics_need_the_token(server):
    assert ask(server, "/metrics").status_code == 401
    refused = ask(server, "/metrics", Authorization="Bearer wrong")
    assert refused.status_code == 401
    assert "labext_" not in refused.text
    assert (server.data_dir / "secrets" / "metrics_token").stat().st_mode & 0o077 == 0


def test_metrics_count_requests_by_route_template(server, new_key):
    before = metrics(server)
    key = new_key(server, "metrics@lab.example.org")
    for _ in range(3):
        ask(server, "/api/jobs", **{"x-api-key": key})
    ask(server, "/api/unknown/metrics@lab.example.org")
    ask(server, "/api/notebooks/n-123", "nb", Authorization=f"Bearer {nb_password(server)}")
    ask(server, "/api/v2/users/me", "lab")
    last = {"service": "lab", "route": "/api/v2/users/me", "status": "401"}

    def count_last(samples: Samples) -> float:
        return value(samples, "labext_requests_total", **last)

    # A request is counted after its response has been sent.
    wait_until(lambda: count_last(metrics(server)) > count_last(before))
    after = metrics(server)

    def added(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    jobs = {"service": "jobs", "method": "GET"}
    assert added("labext_requests_total", route="/api/jobs", status="200", **jobs) == 3
    assert added("labext_requests_total", route="other", status="404", **jobs) == 1
    assert added("labext_request_seconds_count", route="/api/jobs", **jobs) == 3
    assert added("labext_request_seconds_bucket", route="/api/jobs", le="60.0", **jobs) == 3
    nb = added("labext_requests_total", service="nb", route="/api/notebooks/{notebook_id}")
    assert nb == 1
    assert added("labext_requests_total", **last) == 1
    texts = {label for family in after.values() for key in family for _, label in key}
    assert not [label for label in texts if "@" in label or "n-123" in label]
    assert "/health" not in texts, "health checks are not counted"


def test_metrics_show_queue_workers_database_and_processes(server):
    samples = metrics(server)
    assert value(samples, "labext_database_up") == 1
    assert value(samples, "labext_tasks", service="jobs", kind="jobs.run") == 0
    assert value(samples, "labext_worker_slots", worker="local") == 2
    assert value(samples, "labext_worker_slots_busy") == 0
    assert value(samples, "labext_resident_memory_bytes", process="0") > 10 * 2**20
    assert value(samples, "labext_cpu_seconds_total", process="0") > 0
    assert {key[0][1] for key in samples["labext_database_errors_total"]} == {
        *("unavailable", "disk full", "other"),
    }


def test_sandbox_has_no_metrics_and_no_request_ids(shared_small_box):
    answer = requests.get(f"{shared_small_box.jobs.base_url}site", timeout=30)
    assert "X-Request-ID" not in answer.headers
    root = shared_small_box.jobs.base_url.removesuffix("/api/")
    assert requests.get(f"{root}/metrics", timeout=30).status_code == 404
    assert requests.get(f"{root}/health", timeout=30).json() == {"status": "healthy"}


def test_metrics_sum_all_processes_also_after_one_is_replaced(
    new_server, postgresql_server, new_key
):
    server = new_server(postgresql_server.new_database(), processes=2, services=JOBS)
    key = new_key(server, "many@lab.example.org")
    for _ in range(20):  # each on its own connection, which either process accepts
        ask(server, "/api/jobs", **{"x-api-key": key})
    labels = {"service": "jobs", "route": "/api/jobs", "status": "200"}
    wait_until(lambda: value(metrics(server), "labext_requests_total", **labels) == 20)
    assert value(metrics(server), "labext_worker_slots", worker="local") == 2
    names = {dict(key)["process"] for key in metrics(server)["labext_cpu_seconds_total"]}
    assert names == {"0", "1"}
    first = psutil.Process(server.status().pid).children()[0]
    os.kill(first.pid, signal.SIGKILL)

    def replaced() -> bool:
        with suppress(requests.ConnectionError):
            pids = {p.pid for p in psutil.Process(server.status().pid).children()}
            return (
                first.pid not in pids
                and len(pids) == 2
                and len(metrics(server)["labext_cpu_seconds_total"]) == 2
            )
        return False

    wait_until(replaced)
    assert value(metrics(server), "labext_requests_total", **labels) == 20


def test_metrics_report_that_the_database_is_down(tmp_path: Path) -> None:
    database = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    state = ServerState(tmp_path, database, Queue(), Executors())
    up, *rest = state.collect()
    assert up.samples[0].value == 0
    assert "labext_tasks" not in {family.name for family in rest}
    database.close()
