"""10,000 job rows in pages of 1,000 to a typed frame, compared with plain requests + json + pandas.

The goal is at most 1.15 times its CPU time. The two alternate in one process; the server is a
separate process.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import requests

from labext import JobsClient, Rate

pytestmark = pytest.mark.benchmark

ROWS = 10_000

SERVER = """
import random

random.seed(7)
ROWS, PAGE = int(sys.argv[1]), 1000

def row(number):
    day, minute = 1 + number % 28, number % 60
    return {
        "JobName": f"folds-part{number // 100}-hairpin{number:05d}",
        "Type": "rna_fold",
        "JobStatus": random.choice(["Complete", "Complete", "Running", "Stopped"]),
        "Created": f"2026-11-{day:02d}T13:{minute:02d}:23.761Z",
        "Started": f"2026-11-{day:02d}T13:{minute:02d}:24.102Z",
        "Completed": f"2026-11-{day:02d}T13:{minute:02d}:31.987Z",
        "WeightedHours": round(random.random() / 100, 6),
        "Settings": json.dumps({"sequence": "".join(random.choices("ACGU", k=60)),
                                "temperature": 37.0, "no_lonely_pairs": False}),
        "Score": json.dumps({"mfe": -round(random.random() * 30, 2), "ensemble": -21.4,
                             "frequency": round(random.random(), 4)}),
    }

pages = []
for start in range(0, ROWS, PAGE):
    rows = [row(number) for number in range(start, start + PAGE)]
    key = str(start + PAGE) if start + PAGE < ROWS else ""
    pages.append(json.dumps({"jobs": rows, "startKey": key, "statuses": {"Complete": 1}}).encode())

class Pages(Handler):
    wbufsize = -1

    def do_GET(self):
        start = int(parse_qs(urlsplit(self.path).query).get("startKey", ["0"])[0])
        self.answer(pages[start // PAGE])

serve(Pages)
"""


def plain(url: str) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    key: str | None = None
    with requests.Session() as session:
        session.headers["x-api-key"] = "benchmark-key"
        while key != "":
            answer = session.get(f"{url}jobs", params={"limit": 1000, "startKey": key}, timeout=60)
            answer.raise_for_status()
            page = json.loads(answer.content)
            rows += page["jobs"]
            key = page["startKey"]
    return pd.DataFrame(rows)


def cpu(act: Callable[[], pd.DataFrame]) -> float:
    started_at = time.process_time()
    table = act()
    seconds_taken = time.process_time() - started_at
    assert len(table) == ROWS or len(table) == 1000
    return seconds_taken


def test_rows_to_a_frame(
    benchmark: Any, figure: Callable[[str, str], None], serving: Callable[..., str]
) -> None:
    url = serving(SERVER, str(ROWS if benchmark.enabled else 1000))
    jobs = JobsClient(url, "benchmark-key", rate=Rate(None))
    ours: list[float] = []
    bare: list[float] = []

    def take_turns() -> None:
        bare.append(cpu(lambda: plain(url)))
        ours.append(cpu(lambda: jobs.jobs(limit=ROWS)))

    table = jobs.jobs(limit=ROWS)  # warm up both
    plain(url)
    benchmark.pedantic(take_turns, rounds=20 if benchmark.enabled else 1, iterations=1)
    assert str(table.Created.dtype) == "datetime64[us, UTC]"
    assert table.JobStatus.dtype == "category"
    assert table.Score[0]["ensemble"] == -21.4
    assert table.Settings[0]["temperature"] == 37.0
    ratio = statistics.median(ours) / statistics.median(bare)
    benchmark.extra_info["cpu_ratio"] = ratio
    figure(
        f"{len(table):,} job rows to a typed frame",
        f"{ratio:.2f} times the CPU of plain requests + json + pandas, of 1.15 "
        f"({statistics.median(ours) * 1000:.0f} ms to {statistics.median(bare) * 1000:.0f} ms)",
    )
