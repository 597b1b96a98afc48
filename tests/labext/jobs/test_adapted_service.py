"""Digests submitted from records whose names are not valid job names, on the sandbox."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from labext.jobs import JobsClient
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

SEQS = pd.DataFrame(
    {
        "name": ["gi|2765658|emb|Z78533.1|CIZ78533", "pFA6a kanMX6", "pBAD30"],
        "bases": ["ggaattcc" + "n" * 9600, "GGATCCAAAAAA", "acgtaGAATTCacgt"],
        "isCircular": pd.array([False, True, True], dtype="boolean"),
    }
)
JOB = "gi-2765658-emb-Z78533-1-CIZ78533"


def test_batch_with_adapted_names_from_records_to_results(box: Sandbox, tmp_path: Path) -> None:
    arguments = {
        "settings": {"enzymes": "EcoRI,BamHI"},
        "name_column": "name",
        "mapping": {"sequence": "bases", "circular": "isCircular"},
    }
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as jobs:
        done = jobs.submit_batch("adapted", "digest", SEQS, **arguments)
        assert done.message.endswith(
            f'2 names were adapted: "{SEQS["name"][0]}" is {JOB}, "pFA6a kanMX6" is pFA6a-kanMX6.'
        )
        assert jobs.wait("adapted")["batchStatus"] == "Complete"
        rows = SEQS.assign(mass=[1, 2, 3]).iloc[::-1]
        fetched = jobs.download("adapted", tmp_path / "out")
        for frame in (fetched.frame(), fetched.frame(rows, "name").iloc[::-1]):
            assert frame["name"].tolist() == SEQS["name"].tolist()
            assert frame["Name"].tolist() == [JOB, "pFA6a-kanMX6", "pBAD30"]
            assert frame["fragments"].tolist() == [2, 1, 1], "circles are cut open"
            assert frame["length"].tolist() == [9608, 12, 15]
        assert (Path(frame["Folder"].iloc[0]) / "fragments.csv").is_file()
        assert not jobs.submit_batch("adapted", "digest", SEQS, **arguments).created
