"""A list of 1,000 rows, also of larger tables; the goal is 300 requests per second.

The requests are sequential over one persistent connection by http.client, so that the client costs
little; the flood limit is active. The host's CPU time is reported too: it gives the rate on an idle
machine.
"""

from __future__ import annotations

import contextlib
import http.client
import statistics
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
import pytest
from databases import open_database
from sqlalchemy import Table, insert, select

from labext.sandbox import Sandbox
from labext.sandbox.jobs.tables import (
    COMPLETE,
    STOPPED,
    Account,
    Job,
    current_timestamp,
    job_record,
)

pytestmark = pytest.mark.benchmark


def fill(box: Sandbox, start: int, end: int) -> None:
    """Insert complete digest jobs of the student."""
    database = open_database(box.data_dir)
    try:
        with database.write() as session:
            student = session.scalars(select(Account).where(Account.owner.is_(False))).first()
            assert student is not None
            table = Job.__table__
            assert isinstance(table, Table)
            rows = [record(student.id, number) for number in range(start, end)]
            session.execute(insert(table), rows)
    finally:
        database.close()


def record(account: int, number: int) -> dict[str, Any]:
    moment = current_timestamp()
    values = {
        "account_id": account,
        "name": f"digest-of-plasmid-{number}",
        "type": "digest",
        "tool": "digest",
        "status": COMPLETE if number % 4 else STOPPED,
        "created": moment,
        "started": moment,
        "completed": moment,
        "settings": '{"sequence":"GAATTCAAAAAAGAATTCAAAAAAGAATTC","enzymes":["EcoRI","HindIII"]}',
        "score": '{"length":30,"cuts":3,"fragments":4,"longest":14,"shortest":1}',
        "weighted_hours": 0.000012,
        "bytes": 0,
    }
    return values | {"record": orjson.dumps(job_record(Job(**values))).decode()}


class Asker:
    """A client with one connection that obeys the rate limit."""

    def __init__(self, box: Sandbox) -> None:
        address = urlsplit(box.jobs.base_url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self._headers = {"x-api-key": box.jobs.api_key}
        pid = box.status().pid
        assert pid is not None
        self._host = psutil.Process(pid)

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str) -> bytes:
        while True:
            self._connection.request("GET", f"/api/jobs{query}", headers=self._headers)
            answer = self._connection.getresponse()
            body = answer.read()
            if answer.status != 429:
                assert answer.status == 200, body
                return body
            time.sleep(int(answer.headers["Retry-After"]))

    def measure(self, query: str, requests: int) -> tuple[float, float]:
        """Return the median seconds of a request, and the host's CPU seconds per request."""
        self.ask(query)
        durations = []
        before = self._host.cpu_times()
        for _ in range(requests):
            started_at = time.perf_counter()
            self.ask(query)
            durations.append(time.perf_counter() - started_at)
        after = self._host.cpu_times()
        cpu = after.user + after.system - before.user - before.system
        return statistics.median(durations), cpu / requests


def test_a_list_of_a_thousand_rows(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    tables, page, requests = (
        ([1000, 5000, 50_000], 1000, 200) if benchmark.enabled else ([20], 10, 2)
    )
    box = new_box(rate="named")
    filled = 0

    def measure(asker: Asker, jobs: int) -> None:
        for title, query, rows in (
            (f"a list of {page:,} rows", f"?limit={page}", page),
            ("a list of 1 row", "?limit=1", 1),
            ("a job by its name", "?jobName=digest-of-plasmid-7", None),
        ):
            answer = orjson.loads(asker.ask(query))
            if rows is None:
                assert answer["JobName"] == "digest-of-plasmid-7"
            else:
                assert len(answer["jobs"]) == rows
                assert sum(answer["statuses"].values()) == jobs
            usual, cpu = asker.measure(query, requests)
            figure(
                f"{title}, of {jobs:,}",
                f"{1 / usual:,.0f} requests a second at the median; {cpu * 1000:.1f} ms of the "
                "host's CPU a request",
            )

    with contextlib.closing(Asker(box)) as asker:
        for jobs in tables:
            fill(box, filled, jobs)
            filled = jobs
            if jobs == tables[0]:
                benchmark.pedantic(measure, (asker, jobs), rounds=1, iterations=1)
            else:
                measure(asker, jobs)
