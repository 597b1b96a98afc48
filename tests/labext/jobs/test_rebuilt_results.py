"""Results of a batch on the sandbox after one of its jobs was deleted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from labext.errors import NotFoundError
from labext.jobs import JobsClient
from labext.progress import Outcome

pytestmark = pytest.mark.contract

PEPTIDES = {
    name: {"sequence": sequence}
    for name, sequence in {"a": "ACDEFGHIK", "b": "MKTAYIAKQR", "c": "GIGKFLHSAK"}.items()
}


def test_results_are_replaced_after_a_job_is_deleted(
    box_client: JobsClient, tmp_path: Path
) -> None:
    box_client.submit_batch("rebuilt", "peptide_build", PEPTIDES)
    box_client.wait("rebuilt")
    assert box_client.download("rebuilt", tmp_path / "out").fetched
    box_client.download("rebuilt", tmp_path / "alone.zip")
    assert not box_client.download("rebuilt", tmp_path / "out").fetched

    assert "rebuilt without it" in box_client.delete("rebuilt-b")
    *_, last = box_client.watch("rebuilt")
    assert (last.outcome, dict(last.states)) == (Outcome.COMPLETE, {"Complete": 2})
    again = box_client.download("rebuilt", tmp_path / "out")
    assert again.fetched
    assert {file.partition("/")[0] for file in again.files["file"]} == {"a", "c", "metrics.csv"}
    assert not (tmp_path / "out" / "b").exists()
    assert pd.read_csv(tmp_path / "out" / "metrics.csv")["job"].tolist() == ["a", "c"]
    assert box_client.download("rebuilt", tmp_path / "alone.zip").fetched
    assert not box_client.download("rebuilt", tmp_path / "out").fetched
    with pytest.raises(NotFoundError):
        box_client.download("rebuilt", tmp_path / "b.pdb", file="b/peptide.pdb")
