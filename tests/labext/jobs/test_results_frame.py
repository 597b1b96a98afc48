"""Results as frames from `%jobs` lines on the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from labext_test_shell import opened

from labext.errors import InputError
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

FIRST = ["Name", "Type", "JobStatus", "Reason"]
LAST = ["Structures", "Folder", "JobName"]


@pytest.fixture
def shell(box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", box.jobs.base_url)
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", box.jobs.api_key)
    monkeypatch.chdir(tmp_path)
    with opened() as ip:
        ip.run_line_magic("load_ext", "labext")
        yield ip


def test_results_of_a_batch_and_a_job_as_frames(shell: Any) -> None:
    shell.user_ns["peptides"] = pd.DataFrame(
        {
            "id": ["gamma", "alpha", "beta"],
            "peptide": ["GIGKFLHSAK", "ACDEFGHIK", "MKTAYIAKQR"],
            "year": [2003, 2001, 2002],
        }
    )
    shell.run_line_magic(
        "jobs",
        "batch framed --type peptide_build --from peptides --name-column id "
        "--map sequence=peptide --set conformation=helix --wait",
    )
    table = shell.run_line_magic("jobs", "results framed --to out/framed --frame")
    assert table.columns[: len(FIRST)].tolist() == FIRST
    assert table["Name"].tolist() == ["gamma", "alpha", "beta"]
    assert table["year"].tolist() == [2003, 2001, 2002]
    assert table["JobStatus"].tolist() == ["Complete"] * 3
    metrics = pd.read_csv("out/framed/metrics.csv").set_index("job").loc[table["Name"]]
    for metric in metrics.columns.drop("status"):
        assert table[metric].tolist() == metrics[metric].tolist()
    for folder, structures in zip(table["Folder"], table["Structures"], strict=True):
        assert structures
        assert all(Path(path).is_file() and path.startswith(folder) for path in structures)

    shell.run_line_magic("jobs", "results framed --to out/framed --frame --out kept")
    assert shell.user_ns["kept"].equals(table)
    with pytest.raises(InputError, match="need `--frame`"):
        shell.run_line_magic("jobs", "results framed --to out/framed --from peptides")

    crate = json.loads(Path("out/framed/ro-crate-metadata.json").read_text())["@graph"]
    runs = [
        entity
        for entity in crate
        if entity["@id"].startswith("#job-framed-") and "/" not in entity["@id"]
    ]
    assert [entity["name"] for entity in runs] == ["framed-gamma", "framed-alpha", "framed-beta"]
    assert all(entity["startTime"] <= entity["endTime"] for entity in runs)
    tool = next(entity for entity in crate if entity["@id"] == "#tool-peptide_build")
    assert tool["description"]
    assert tool["citation"].startswith("https://")

    alone = shell.run_line_magic("jobs", "results framed-alpha --to out/alpha --frame")
    assert alone[["Name", "sequence", "conformation"]].values.tolist() == [
        ["framed-alpha", "ACDEFGHIK", "helix"]
    ]
