"""The journal of batches, and job frames beside their input."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labext.errors import InputError, StorageError
from labext.jobs.batches import Limits, Plan
from labext.jobs.joining import join, names_and_rows
from labext.jobs.journal import Journal

ADDRESS = "http://127.0.0.1:1/api"
JOBS = {f"j{n}": {"sequence": "A" * n, "t": n / 3} for n in range(150)}
ROWS = pd.DataFrame(
    {
        "name": list(JOBS),
        "third": [n / 3 for n in range(150)],
        "whole": range(150),
        "some": [None if n % 2 else n for n in range(150)],
        "flag": [n % 2 == 0 for n in range(150)],
        "when": pd.date_range("2026-01-01", periods=150, tz="UTC"),
        "word": pd.Categorical(["a", "b", "c"] * 50),
        "text": [None if n == 3 else f"é{n}" for n in range(150)],
    }
)
PLAN = Plan("folds", "fold", JOBS, Limits(60, 1.5), ROWS, "name")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, ADDRESS)


def test_what_is_written_is_read(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2", "folds-part2of2"])
    entry = journal.read("folds")
    assert entry is not None
    assert entry.plan == PLAN
    assert entry.plan.digests() == PLAN.digests()
    assert [part.name for part in entry.plan.parts] == ["folds-part1of2", "folds-part2of2"]
    assert entry.free == {"folds-part1of2", "folds-part2of2"}
    assert entry.plan.rows is not None
    pd.testing.assert_frame_equal(
        entry.plan.rows, ROWS, check_dtype=True, check_categorical=False, check_freq=False
    )


def test_other_addresses_and_names_are_apart(journal: Journal, tmp_path: Path) -> None:
    journal.write(PLAN, [])
    assert journal.read("fold") is None
    assert Journal(tmp_path, "http://127.0.0.1:2/api").read("folds") is None


def test_what_was_sent_stays_when_the_same_batch_is_written_again(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2", "folds-part2of2"])
    journal.sent("folds", "folds-part1of2")
    journal.write(PLAN, ["folds-part2of2"])
    entry = journal.read("folds")
    assert entry is not None
    assert entry.sent == {"folds-part1of2"}
    assert entry.free == {"folds-part1of2", "folds-part2of2"}
    journal.write(Plan("folds", "fold", {"a": {}}), ["folds"])
    entry = journal.read("folds")
    assert entry is not None
    assert (entry.sent, entry.free) == (frozenset(), {"folds"})
    journal.forget("folds")
    journal.forget("folds")
    assert journal.read("folds") is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 99}', '{"version": 1}', "null"])
def test_a_damaged_record_is_none(journal: Journal, tmp_path: Path, damage: str) -> None:
    journal.write(PLAN, [])
    (path,) = (tmp_path / "batches").glob("*.json")
    path.write_text(damage)
    assert journal.read("folds") is None
    journal.write(PLAN, [])
    assert journal.read("folds") is not None


def test_a_torn_line_of_the_log_is_passed_by(journal: Journal, tmp_path: Path) -> None:
    journal.write(PLAN, [])
    journal.sent("folds", "folds-part1of2")
    (path,) = (tmp_path / "batches").glob("*.log")
    with path.open("a") as log:
        log.write('{"sent": "folds-pa')
    entry = journal.read("folds")
    assert entry is not None
    assert entry.sent == {"folds-part1of2"}


@pytest.mark.skipif(os.name != "posix", reason="the modes are POSIX's")
def test_only_the_owner_may_read_it(journal: Journal, tmp_path: Path) -> None:
    journal.write(PLAN, [])
    journal.sent("folds", "folds-part1of2")
    for path in (tmp_path / "batches").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(json.dumps(path.name)) < 120


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "batches").write_text("")
    with pytest.raises(StorageError):
        Journal(tmp_path, ADDRESS).write(PLAN, [])


TABLE = pd.DataFrame({"Name": ["b", "a", "x"], "score": [2, 1, 9], "t": [np.nan, 1.0, 2.0]})


def test_jobs_stand_beside_their_input() -> None:
    rows = pd.DataFrame({"name": ["a", "b", "c"], "score": [10, 20, 30], "bases": ["A", "B", "C"]})
    order, others = names_and_rows(rows, "name")
    joined = join(TABLE, "Name", order, others)
    assert joined.columns.tolist() == ["Name", "score", "t", "score.input", "bases"]
    assert joined["Name"].tolist() == ["a", "b", "c", "x"]
    assert joined["score"].tolist()[:2] == [1, 2]
    assert np.isnan(joined["score"].tolist()[2])
    assert joined["score.input"].tolist()[:3] == [10, 20, 30]
    assert joined["bases"].tolist()[:3] == ["A", "B", "C"]
    short = join(TABLE, "Name", order, others, missing=False)
    assert short["Name"].tolist() == ["a", "b", "x"]
    assert join(TABLE, "Name", ["x", "b", "a"], None)["score"].tolist() == [9, 2, 1]
    assert join(TABLE, "Name", ["x", "b", "a"], None).dtypes.equals(TABLE.dtypes)


def test_rows_that_do_not_name_their_jobs() -> None:
    with pytest.raises(InputError, match="no column"):
        names_and_rows(TABLE, "name")
    with pytest.raises(InputError, match="more than once"):
        names_and_rows(pd.DataFrame({"n": ["a", "a"]}), "n")
