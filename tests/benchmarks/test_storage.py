"""Files in S3 against the data folder: a trivial job, an upload of 50 MB, and a download of it.

The S3 server runs on this machine, so that it costs disk and CPU time but no network time. Requests
to the services alternate, so that both have the same noise of the machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from s3_server import CREDENTIALS, S3Server
from stored_jobs import JOBS, Jobs

from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark

ROUNDS = 15


@pytest.fixture(scope="module")
def boxes(
    tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server
) -> Iterator[dict[str, Sandbox]]:
    """A job service with each kind of storage."""
    folder = tmp_path_factory.mktemp("boxes")
    storage: dict[str, Any] = {
        "storage": s3_server.new_url(),
        "storage_endpoint": s3_server.endpoint,
    }
    boxes = {
        name: Sandbox(folder / name, rate="off", workers=1, services=JOBS, **options)
        for name, options in {"folder": {}, "S3": storage}.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        for box in boxes.values():
            box.start()
    yield boxes
    for box in boxes.values():
        box.stop()


def _compare(
    benchmark: Any, boxes: dict[str, Sandbox], call: Callable[[Jobs, int], None], rounds: int
) -> dict[str, float]:
    """Return the median seconds of a call to each service, measured alternately."""
    clients = {name: Jobs(box) for name, box in boxes.items()}
    seconds: dict[str, list[float]] = {name: [] for name in boxes}

    def measure() -> None:
        for number in range(rounds if benchmark.enabled else 1):
            for name, jobs in clients.items():
                began = time.perf_counter()
                call(jobs, number)
                seconds[name].append(time.perf_counter() - began)

    benchmark.pedantic(measure, rounds=1)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    benchmark.extra_info |= {f"{name}, seconds": value for name, value in medians.items()}
    print(
        f"\n{', '.join(f'{name}: {value:.3f} s' for name, value in medians.items())}",
        file=sys.stderr,
    )
    return medians


def test_time_of_a_trivial_job(boxes: dict[str, Sandbox], benchmark: Any) -> None:
    """Measure the time from the request to the state Complete, polled every 5 ms."""

    def run(jobs: Jobs, number: int) -> None:
        jobs.submit(f"n{number}")
        until = time.monotonic() + 60
        while (state := jobs.row(f"n{number}")["JobStatus"]) != "Complete":
            assert state != "Stopped"
            assert time.monotonic() < until
            time.sleep(0.005)

    medians = _compare(benchmark, boxes, run, ROUNDS)
    assert medians["S3"] < medians["folder"] + 2


def test_time_of_an_upload_of_50_mb(boxes: dict[str, Sandbox], benchmark: Any) -> None:
    content = os.urandom(50_000_000 if benchmark.enabled else 1_000_000)

    def upload(jobs: Jobs, number: int) -> None:
        answer = jobs.upload(f"f{number}", content)
        assert answer.status_code == 200, answer.text

    medians = _compare(benchmark, boxes, upload, 5)
    assert medians["S3"] < medians["folder"] + 20


def test_jobs_a_minute(boxes: dict[str, Sandbox], benchmark: Any) -> None:
    """Run a batch of 100 trivial jobs with one slot, and build its archive."""
    count = 100 if benchmark.enabled else 5

    def batch(jobs: Jobs, number: int) -> None:
        settings = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}
        body = {
            "batchName": f"b{number}",
            "type": "digest",
            "jobNames": [f"j{n}" for n in range(count)],
            "settings": [settings] * count,
        }
        answer = jobs.session.post(f"{jobs.base}submit-batch", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        until = time.monotonic() + 120
        while jobs.row(f"b{number}").get("batchStatus") != "Complete":
            assert time.monotonic() < until
            time.sleep(0.02)

    medians = _compare(benchmark, boxes, batch, 3)
    assert medians["S3"] < 10 * medians["folder"]


def test_download_that_must_be_fetched(boxes: dict[str, Sandbox], benchmark: Any) -> None:
    """Download the result of a job whose copy was removed, and one from the data folder."""
    for box in boxes.values():
        jobs = Jobs(box)
        jobs.submit("done")
        jobs.completed("done")

    def read(jobs: Jobs, _number: int) -> None:
        cache = jobs.box.data_dir / "cache"
        for copy in cache.glob("[!.]*/*/*"):
            copy.rename(cache / ".partial" / f"{copy.name}-{time.time_ns()}")
        assert jobs.result("done").status_code == 200

    _compare(benchmark, boxes, read, ROUNDS)
