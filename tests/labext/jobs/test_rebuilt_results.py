"""Results of a batch from which a job was deleted after they were fetched, on a real service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from labext.errors import NotFoundError
from labext.jobs import JobsClient
from labext.progress import Outcome
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

PEPTIDES = {
    name: {"sequence": sequence}
    for name, sequence in {"a": "ACDEFGHIK", "b": "MKTAYIAKQR", "c": "GIGKFLHSAK"}.items()
}


@pytest.fixture
def client(box: Sandbox) -> Iterator[JobsClient]:
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as client:
        yield client


def test_results_change_with_a_job_that_is_deleted(client: JobsClient, tmp_path: Path) -> None:
    client.submit_batch("rebuilt", "peptide_build", PEPTIDES)
    client.wait("rebuilt")
    assert client.download("rebuilt", tmp_path / "out").fetched
    client.download("rebuilt", tmp_path / "alone.zip")
    assert not client.download("rebuilt", tmp_path / "out").fetched

    assert "built again without it" in client.delete("rebuilt-b")
    *_, last = client.watch("rebuilt")
    assert (last.outcome, dict(last.states)) == (Outcome.COMPLETE, {"Complete": 2})
    again = client.download("rebuilt", tmp_path / "out")
    assert again.fetched
    assert {file.partition("/")[0] for file in again.files["file"]} == {"a", "c", "metrics.csv"}
    assert not (tmp_path / "out" / "b").exists()
    assert pd.read_csv(tmp_path / "out" / "metrics.csv")["job"].tolist() == ["a", "c"]
    assert client.download("rebuilt", tmp_path / "alone.zip").fetched
    assert not client.download("rebuilt", tmp_path / "out").fetched
    with pytest.raises(NotFoundError):
        client.download("rebuilt", tmp_path / "b.pdb", file="b/peptide.pdb")
