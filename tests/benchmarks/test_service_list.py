"""A list of 1,000 rows, also of larger tables; the goal is 300 requests per second.

The requests are sequential over one connection; the flood limit is active. The host's CPU time is
reported too: it gives the rate on an idle machine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest
from stored_jobs import JOBS
from transfer_benchmarks import Connection, insert_jobs

from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark


def test_a_list_of_a_thousand_rows(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    tables, page, requests = (
        ([1000, 5000, 50_000], 1000, 200) if benchmark.enabled else ([20], 10, 2)
    )
    box = new_box(rate="named", services=JOBS)
    filled = 0

    def measure(connection: Connection, jobs: int) -> None:
        for title, query, rows in (
            (f"a list of {page:,} rows", f"?limit={page}", page),
            ("a list of 1 row", "?limit=1", 1),
            ("a job by its name", "?jobName=digest-of-plasmid-7", None),
        ):
            ask = partial(connection.request, "GET", f"/jobs{query}")
            answer = orjson.loads(ask())
            if rows is None:
                assert answer["JobName"] == "digest-of-plasmid-7"
            else:
                assert len(answer["jobs"]) == rows
                assert sum(answer["statuses"].values()) == jobs
            usual, cpu = connection.measure([ask] * requests)
            figure(
                f"{title}, of {jobs:,}",
                f"{1 / usual:,.0f} requests a second at the median; {cpu * 1000:.1f} ms of the "
                "host's CPU a request",
            )

    headers = {"x-api-key": box.jobs.api_key}
    with contextlib.closing(Connection(box, box.jobs.base_url, headers)) as connection:
        for jobs in tables:
            insert_jobs(box, filled, jobs)
            filled = jobs
            if jobs == tables[0]:
                benchmark.pedantic(measure, (connection, jobs), rounds=1, iterations=1)
            else:
                measure(connection, jobs)
