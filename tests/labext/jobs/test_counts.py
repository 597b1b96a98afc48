"""Numbers of requests for watches and batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from labext import progress
from labext.errors import AccessError
from labext.jobs import JobsClient
from labext.jobs.watch import JobWatcher

pytestmark = pytest.mark.faults

HOUR = 3600
JOBS = {f"h{n:04d}": {"sequence": "GAUC"} for n in range(5000)}


def count_requests(ledger: Any) -> Counter[str]:
    return Counter(operation for operation, _, _ in ledger.received)


@pytest.mark.parametrize(
    ("name", "requests"), [("one", 404), ("few", 404), ("many", 409), ("untold", 410)]
)
def test_requests_of_an_hour_of_watching(
    client: JobsClient,
    ledger: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    requests: int,
) -> None:
    ledger.add("one", "fold")
    ledger.add_batch("few", {"a": {}, "b": {}})
    for part in range(1, 51):
        ledger.add_batch(f"many-part{part}of50", {"a": {}, "b": {}})
    ledger.add_batch("untold", {"a": {}, "b": {}})
    if name == "untold":  # a service that gives no tally with the row
        ledger._tally = lambda _: {}
    monkeypatch.setattr(progress, "TICK", 15.0)
    watched = JobWatcher(client._service, client._parts, name, clock=clock)
    for snapshot in progress.watch(watched.poll, clock=clock, sleep=clock.sleep):
        assert snapshot.outcome is None
        if snapshot.elapsed >= HOUR:
            break
    assert ledger.count("jobs") == requests <= 410


def test_requests_of_a_batch_of_5000_jobs(client: JobsClient, ledger: Any) -> None:
    client.submit_batch("many", "fold", JOBS)
    sent = count_requests(ledger)
    assert len(ledger.members) == 50
    assert sent == {
        "tools": 1,
        "usage-statistics": 1,  # the budget that is left
        "jobs": 2,  # the batch's name, and the list for the names of its parts
        "validate-job": 5,  # every row, before the first part is sent
        "submit-batch": 50,
    }
    ledger.received.clear()
    assert not client.submit_batch("many", "fold", JOBS).created
    assert count_requests(ledger) == {"jobs": 2 + 50}, (
        "the jobs of each part are compared, with one request per part"
    )
    ledger.received.clear()
    assert not client.resume("many").created
    assert count_requests(ledger) == {"jobs": 2 + 50}


def test_one_validation_per_shape_if_rows_cannot_be_validated(
    client: JobsClient, ledger: Any
) -> None:
    ledger.validates_rows = False
    client.submit_batch("many", "fold", JOBS)
    assert count_requests(ledger)["validate-job"] == 1 + 1, (
        "several rows once, then one job of each shape"
    )
    ledger.received.clear()
    client.submit_batch("few", "fold", {"a": {"sequence": "AC"}, "b": {"sequence": "GU"}})
    assert "validate-job" not in count_requests(ledger), (
        "such a batch is accepted or rejected as a whole"
    )


def test_requests_of_a_resumed_batch(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", *[None] * 30, ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError, match="30 of 50 parts of many"):
        client.submit_batch("many", "fold", JOBS)
    ledger.received.clear()
    assert len(client.resume("many").sent) == 20
    assert count_requests(ledger) == {"jobs": 2 + 30, "submit-batch": 20}
