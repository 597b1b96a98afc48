"""Downloaded results as a frame of metrics, settings and file paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import InputError
from labext.jobs import JobsClient

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]

FIRST = ["Name", "Type", "JobStatus", "Reason"]
LAST = ["Structures", "Folder", "JobName"]


@pytest.fixture
def folds(ledger: Any) -> Any:
    """The service with a batch of three, of which the second failed."""
    jobs = {name: {"sequence": sequence} for name, sequence in zip("xyz", "ACG", strict=True)}
    ledger.add_batch("folds", jobs)
    ledger.complete(
        "folds",
        results={
            "metrics.csv": "job,mfe\n",
            "x/rank_1.pdb": "ATOM\n",
            "x/log.txt": "",
            "z/deep/rank_1.PDB": "ATOM\n",
        },
    )
    scores = {"x": {"mfe": -1.5, "pairs": 3, "sequence": "metric"}, "z": {"mfe": -2, "pairs": 5}}
    for job, score in scores.items():
        ledger.rows[f"folds-{job}"]["Score"] = json.dumps(score)
    ledger.rows["folds-y"].update(JobStatus="Stopped", Reason="Out of time.")
    return ledger


def test_frame_has_metrics_and_settings(client: JobsClient, folds: Any, tmp_path: Path) -> None:
    table = client.download("folds", tmp_path / "out").frame()
    assert table.columns.tolist() == [*FIRST, "mfe", "pairs", "sequence", "sequence.input", *LAST]
    assert table["Name"].tolist() == ["x", "y", "z"]
    assert table["Reason"].fillna("").tolist() == ["", "Out of time.", ""]
    assert table["mfe"].dtype == "float64"
    assert table["pairs"].dtype == "Int64"
    assert table["pairs"].tolist() == [3, pd.NA, 5]
    assert table["sequence.input"].tolist() == ["A", "C", "G"]
    out = tmp_path / "out"
    assert table["Folder"].fillna("").tolist() == [str(out / "x"), "", str(out / "z")]
    assert table["Structures"].tolist() == [
        [str(out / "x" / "rank_1.pdb")],
        [],
        [str(out / "z" / "deep" / "rank_1.PDB")],
    ]
    assert all(Path(path).is_file() for paths in table["Structures"] for path in paths)


@pytest.mark.parametrize("prefix", ["", "b-"])
@pytest.mark.parametrize("jobs", [["b-1", "1"], ["1", "b-1"]])
def test_job_has_its_own_files_if_its_name_on_the_service_is_that_of_another_job(
    client: JobsClient, ledger: Any, tmp_path: Path, jobs: list[str], prefix: str
) -> None:
    ledger.add_batch("b", {job: {} for job in jobs})
    ledger.complete("b", results={f"{prefix}{job}/rank_1.pdb": "ATOM\n" for job in jobs})
    table = client.download("b", tmp_path).frame()
    assert table["Folder"].tolist() == [str(tmp_path / f"{prefix}{job}") for job in table["Name"]]
    assert table["Structures"].map(len).tolist() == [1, 1]


def test_structures_are_in_the_order_of_their_numbers(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("f1")
    ledger.complete("f1", results={f"rank_{rank}.pdb": "ATOM\n" for rank in (1, 10, 2)})
    (paths,) = client.download("f1", tmp_path).frame()["Structures"]
    assert [Path(path).name for path in paths] == ["rank_1.pdb", "rank_2.pdb", "rank_10.pdb"]


def test_columns_of_the_same_name_keep_their_values(
    client: JobsClient, folds: Any, tmp_path: Path
) -> None:
    rows = pd.DataFrame([["x", 2, True], ["z", 3, False]], columns=["id", "run", "run"])
    table = client.download("folds", tmp_path).frame(rows, "id")
    assert table["run"].astype(object).fillna("").to_numpy().tolist() == [
        [2, True],
        [3, False],
        ["", ""],
    ]


def test_frame_follows_the_order_of_given_rows(
    client: JobsClient, folds: Any, tmp_path: Path
) -> None:
    rows = pd.DataFrame({"id": ["z", "w", "x", "y"], "year": [1, 2, 3, 4], "mfe": "measured"})
    table = client.download("folds", tmp_path).frame(rows, "id")
    assert table["Name"].tolist() == ["z", "w", "x", "y"]
    assert table["year"].tolist() == [1, 2, 3, 4]
    assert table["mfe"].fillna(0).tolist() == [-2.0, 0, -1.5, 0]
    assert table["mfe.input"].tolist() == ["measured"] * 4
    assert table["Structures"].map(len).tolist() == [1, 0, 1, 0]
    assert "sequence" in table.columns, "a metric"
    with pytest.raises(InputError, match="did you mean"):
        client.download("folds", tmp_path).frame(rows, "ids")
    with pytest.raises(InputError, match="column with the names of the jobs is unknown"):
        client.download("folds", tmp_path).frame(rows)


def test_frame_of_a_split_batch_uses_the_journalled_rows(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    count = 15
    rows = pd.DataFrame(
        {
            "id": [f"n{n:03d}" for n in reversed(range(count))],
            "bases": "ACGU",
            "n": range(count),
            "dosed": [n % 2 == 0 for n in range(count)],
        }
    )
    client.submit_batch("b", "fold", rows, name_column="id", mapping={"sequence": "bases"})
    for part in ("b-part1of2", "b-part2of2"):
        ledger.complete(part)
    ledger.rows["b-part1of2-n014"]["Score"] = '{"ok": true}'
    table = client.download("b", tmp_path / "b").frame()
    assert table["Name"].tolist() == rows["id"].tolist()
    assert table["n"].tolist() == rows["n"].tolist()
    assert table["dosed"].dtype == "bool"
    assert table["ok"].dtype == "boolean"
    assert table["Folder"].tolist() == [str(tmp_path / "b" / name) for name in rows["id"]]
    assert table.columns.tolist() == [*FIRST, "ok", "bases", "n", "dosed", *LAST]


def test_frame_of_a_single_job_has_one_row(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    ledger.add("f1", settings={"sequence": "A", "msa": "x"}, Score='{"mfe": -1, "Type": "odd"}')
    ledger.complete("f1")
    table = client.download("f1", tmp_path).frame()
    assert table.columns.tolist() == [*FIRST, "mfe", "score.Type", "sequence", *LAST]
    assert table.iloc[0].tolist() == [
        "f1",
        "fold",
        "Complete",
        pytest.approx(float("nan"), nan_ok=True),
        -1,
        "odd",
        "A",
        [str(tmp_path / "rank_1.pdb")],
        str(tmp_path),
        "f1",
    ]
    alone = client.download("f1", tmp_path / "alone.zip").frame()
    assert alone["Structures"].tolist() == [[]]
    assert alone["Folder"].isna().all()


def test_frame_without_score_or_settings_has_the_same_first_columns(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("f1", Score="-3.5")
    del ledger.rows["f1"]["Settings"]
    ledger.complete("f1", results={"log.txt": "x"})
    table = client.download("f1", tmp_path).frame()
    assert table.columns.tolist() == [*FIRST, "score", *LAST]
    assert table["score"].tolist() == [-3.5]


def test_frame_of_a_pipeline_has_stages_and_inputs(
    client: JobsClient, pipeline: Any, tmp_path: Path
) -> None:
    table = client.download("p1", tmp_path).frame()
    assert table.columns.tolist()[:6] == [*FIRST, "Stage", "Input"]
    assert table["Stage"].tolist() == [1, 2, 2]
    assert table["Input"].tolist() == ["A", "A", "A"]
    assert table["Structures"].map(len).tolist() == [1, 1, 1]


def test_columns_of_an_earlier_batch_are_inputs_in_every_frame(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    """A batch of a batch's jobs shows none of their states and scores as its own."""
    rows = pd.DataFrame({"id": ["x", "y"], "bases": ["ACGU", "GGCC"], "Folder": ["a", "b"]})
    client.submit_batch("one", "fold", rows, name_column="id", mapping={"sequence": "bases"})
    ledger.complete("one")
    for job in "xy":
        ledger.rows[f"one-{job}"]["Score"] = '{"mfe": -1}'
    first = client.jobs(batch="one", scores=True)
    assert {"bases", "Folder.input", "score.mfe"} <= set(first.columns)
    mapping = {"sequence": "bases"}
    two = client.submit_batch("two", "fold", first, name_column="Name", mapping=mapping)
    second = client.jobs(batch="two", scores=True)
    client.submit_batch("three", "fold", second, name_column="Name", mapping=mapping)
    ledger.complete("two")
    ledger.complete("three")
    for batch, ages in (("two", 1), ("three", 2)):
        result = client.download(batch, tmp_path / batch).frame()
        for frame in (client.jobs(batch=batch, scores=True), result):
            assert frame.columns.is_unique
            assert "score.mfe" not in frame, "no job of this batch has a score"
            oldest = ".input" * ages
            assert frame[f"score.mfe{oldest}"].tolist() == [-1, -1]
            assert frame[f"JobName{oldest}"].tolist() == ["one-x", "one-y"]
            assert frame[f"Folder.input{oldest}"].tolist() == ["a", "b"]
    assert {"JobStatus", "score.mfe", "Created"}.isdisjoint(two.frame.columns)
    assert two.frame["JobStatus.input"].tolist() == ["Complete", "Complete"]
