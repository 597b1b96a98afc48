"""Batches of rows whose names are not valid job names: submitted, listed and resumed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from labext.errors import LabextError
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults
ORCHIDS = [f"gi|{2765658 - n}|emb|Z{78533 - n}.1|CIZ{78533 - n}" for n in range(130)]
SEQS = pd.DataFrame(
    {
        "id": [f"seq_{n:03}" for n in range(133)],
        "name": ["pBAD30", "a b", "a.b", *ORCHIDS],
        "bases": ["ACGT"] * 133,
    }
)
JOB = "gi-2765658-emb-Z78533-1-CIZ78533"


def send(client: JobsClient, frame: pd.DataFrame = SEQS) -> Any:
    return client.submit_batch(
        "digests", "fold", frame, name_column="name", mapping={"sequence": "bases"}
    )


def test_adapted_and_original_names_are_listed(client: JobsClient, ledger: Any) -> None:
    done = send(client)
    assert '132 names were adapted: "a b" is a-b-' in done.message
    jobs = [job for of in ledger.members.values() for job in of]
    assert f"digests-part1of2-{JOB}" in jobs
    assert "digests-part1of2-pBAD30" in jobs
    assert len(set(jobs)) == 133
    assert done.frame["name"].tolist() == SEQS["name"].tolist()
    rows = client.jobs(batch="digests")
    assert rows.columns[:3].tolist() == ["Name", "name", "Type"]
    assert rows["name"].tolist() == SEQS["name"].tolist()
    assert rows["id"].tolist() == SEQS["id"].tolist()
    assert rows.set_index("name").loc[ORCHIDS[0], "Name"] == JOB


def test_rows_are_joined_by_original_names(
    client: JobsClient, ledger: Any, tmp_path: Any, elsewhere: Any
) -> None:
    send(client)
    some = SEQS.iloc[[5, 2, 0]].assign(mass=[1, 2, 3]).drop(columns="bases")

    def check(frame: pd.DataFrame) -> None:
        assert frame["name"].tolist()[:3] == some["name"].tolist()
        assert frame["mass"].tolist()[:3] == [1, 2, 3]
        assert frame["JobStatus"].notna().all()
        assert len(frame) == 133

    check(client.jobs(batch="digests", rows=some, name_column="name"))
    ledger.complete("digests-part1of2", "digests-part2of2")
    results = client.download("digests", tmp_path / "results")
    check(results.frame(some, "name"))
    assert results.frame()["name"].tolist() == SEQS["name"].tolist()
    other = elsewhere()
    assert "name" not in other.jobs(batch="digests")
    check(other.jobs(batch="digests", rows=some, name_column="name"))


def test_batch_with_adapted_names_is_resumed_from_the_journal(
    client: JobsClient, later: JobsClient, ledger: Any
) -> None:
    ledger.fail("submit-batch", None, ledger.answer(403, {"error": "no"}))
    with pytest.raises(LabextError):
        send(client)
    ledger.scripts.clear()
    done = later.resume("digests")
    assert done.frame["name"].tolist() == SEQS["name"].tolist()
    assert "132 names were adapted" in done.message
    assert sum(len(of) for of in ledger.members.values()) == 133
