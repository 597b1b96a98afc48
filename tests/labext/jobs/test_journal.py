"""The journal of batches, and job frames joined to their input rows."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError, NotReadyError, StorageError
from labext.jobs.batch.journal import Journal, PartEvent
from labext.jobs.batch.plan import BatchLimits, BatchPlan
from labext.jobs.frames import drop_name_column, join_input_rows, original_names

ADDRESS = "http://127.0.0.1:1/api"
JOBS = {f"j{n}": {"sequence": "A" * n, "t": n / 3} for n in range(150)}
ROWS = pd.DataFrame(
    {
        "name": list(JOBS),
        "third": [n / 3 for n in range(150)],
        "whole": range(150),
        "some": [None if n % 2 else n for n in range(150)],
        "nullable": pd.array([None if n % 2 else n for n in range(150)], dtype="Int64"),
        "ratio": pd.array([None if n % 2 else n / 3 for n in range(150)], dtype="Float64"),
        "flag": [n % 2 == 0 for n in range(150)],
        "when": pd.date_range("2026-01-01", periods=150, tz="UTC"),
        "local": pd.date_range("2026-01-01", periods=150, tz="Europe/Berlin"),
        "duration": pd.to_timedelta([None, *range(149)], unit="s"),
        "word": pd.Categorical(["a", "b", "c"] * 50),
        "dose": pd.Categorical(["low", "high", None] * 50, ["low", "mid", "high"], ordered=True),
        "month": pd.Categorical(pd.to_datetime(["2026-02-01", "2026-01-01"] * 75)),
        "text": [None if n == 3 else f"é{n}" for n in range(150)],
        "list": [[n] for n in range(150)],
    }
)
PLAN = BatchPlan("folds", "fold", JOBS, BatchLimits(60, 1.5), ROWS, "name")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, ADDRESS, "key-a")


def test_plan_survives_the_journal(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2", "folds-part2of2"])
    entry = journal.read("folds")
    assert entry.plan == PLAN
    assert entry.plan.digests() == PLAN.digests()
    assert [part.name for part in entry.plan.parts] == ["folds-part1of2", "folds-part2of2"]
    assert entry.free == {"folds-part1of2", "folds-part2of2"}
    pd.testing.assert_frame_equal(entry.plan.rows, ROWS, check_dtype=True, check_freq=False)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([np.int64(3), np.float32(0.5), np.bool_(True), "a"], [3, 0.5, True, "a"]),
        ([{("A", "C"): 3}, {np.int64(4): 1}], ["{('A', 'C'): 3}", str({np.int64(4): 1})]),
        ([np.arange(2), b"x", pd.Period("2026-01")], ["[0 1]", "b'x'", "2026-01"]),
        ([np.datetime64(1, "ns"), "a"], ["1970-01-01T00:00:00.000000001", "a"]),
        (pd.Categorical([pd.Period("2026-01"), "2026-01"]), ["2026-01", "2026-01"]),
    ],
)
def test_cells_that_json_cannot_represent_are_stored_as_numbers_or_text(
    journal: Journal, cells: Any, expected: list[Any]
) -> None:
    jobs: dict[str, Any] = {f"j{n}": {} for n in range(len(cells))}
    journal.write(BatchPlan("odd", "fold", jobs, rows=pd.DataFrame({"cell": cells})), [])
    assert journal.read("odd").plan.rows["cell"].tolist() == expected


def test_bins_stay_in_order_in_the_journal(journal: Journal) -> None:
    rows = pd.DataFrame({"bin": pd.cut([50, 2, 7], [0, 3, 20, 100])})
    journal.write(BatchPlan("bins", "fold", {f"j{n}": {} for n in range(3)}, rows=rows), [])
    bins = journal.read("bins").plan.rows["bin"]
    assert bins.tolist() == ["(20, 100]", "(0, 3]", "(3, 20]"]
    assert bins.sort_values().tolist() == ["(0, 3]", "(3, 20]", "(20, 100]"]


def test_record_of_categories_without_their_order_is_read(journal: Journal) -> None:
    journal.write(BatchPlan("old", "fold", {"a": {}, "b": {}}), [])
    path = journal._file("old")
    column = {"name": "dose", "dtype": "category", "values": ["low", None]}
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"rows": {"columns": [column]}}))
    dose = journal.read("old").plan.rows["dose"]
    assert (str(dose.dtype), dose.isna().tolist()) == ("category", [False, True])


def test_record_of_another_format_version_is_ignored(journal: Journal) -> None:
    journal.write(PLAN, [])
    path = journal._file("folds")
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"version": 10_000}))
    assert journal.read("folds") is None
    assert journal.has("folds")


def test_sent_parts_are_kept_when_the_same_plan_is_written_again(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2", "folds-part2of2"])
    journal.log("folds").note(PartEvent.SENT, "folds-part1of2")
    journal.write(PLAN, ["folds-part2of2"])
    entry = journal.read("folds")
    assert entry.log.confirmed == {"folds-part1of2"}
    assert entry.free == {"folds-part1of2", "folds-part2of2"}
    journal.write(BatchPlan("folds", "fold", {"a": {}}), ["folds"])
    entry = journal.read("folds")
    assert (entry.log.confirmed, entry.free) == (frozenset(), frozenset({"folds"}))
    journal.forget("folds")
    journal.forget("folds")
    assert journal.read("folds") is None


@pytest.mark.parametrize("damage", ["[]", "null"])
def test_damaged_record_is_ignored(journal: Journal, tmp_path: Path, damage: str) -> None:
    journal.write(PLAN, [])
    (path,) = (tmp_path / "batches").glob("*.json")
    path.write_text(damage)
    assert journal.read("folds") is None
    journal.write(PLAN, [])
    assert journal.read("folds") is not None


def test_truncated_log_contains_a_prefix_of_the_events(journal: Journal, tmp_path: Path) -> None:
    journal.write(PLAN, [])
    log = journal.log("folds")
    log.note(PartEvent.SENDING, "folds-part1of2")
    log.note(PartEvent.SENT, "folds-part1of2")
    log.note(PartEvent.SENDING, "folds-part2of2")
    log.note(PartEvent.REFUSED, "folds-part2of2")
    log.note_complete()
    (path,) = (tmp_path / "batches").glob("*.log")
    whole, before = path.read_bytes(), (0, 0, False)
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        read = log.read()
        assert read.attempted <= {"folds-part1of2", "folds-part2of2"}
        assert read.confirmed <= {"folds-part1of2"} & read.attempted
        now = (len(read.confirmed), len(read.preexisting), read.complete)
        assert now >= before, "a longer log has more information"
        before = now
        log.note(PartEvent.PREEXISTING, "folds-part2of2")
        assert log.read().preexisting == {"folds-part2of2"}, "lines after a truncated line are read"
    assert before == (1, 0, True)


def test_sending_a_part_again_reopens_a_complete_batch(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2", "folds-part2of2"])
    log = journal.log("folds")
    for part in ("folds-part1of2", "folds-part2of2"):
        log.note(PartEvent.SENDING, part)
        log.note(PartEvent.SENT, part)
    log.note_complete()
    entry = journal.read("folds")
    assert (entry.unconfirmed_parts, entry.log.complete) == ((), True)
    log.note(PartEvent.SENDING, "folds-part2of2")
    entry = journal.read("folds")
    assert [part.name for part in entry.unconfirmed_parts] == ["folds-part2of2"]
    assert entry.was_sent_from_here("folds-part2of2")
    assert not entry.log.complete


@given(cut=st.integers(0, 20_000))
def test_truncated_or_changed_record_is_ignored(
    cut: int, whole_record: tuple[Journal, Path, bytes]
) -> None:
    journal, path, whole = whole_record
    place = cut % len(whole)
    path.write_bytes(whole[:place])
    assert journal.read("folds") is None
    path.write_bytes(whole.replace(b'"AAAAAAA"', b'"AAAACAA"', 1))
    assert journal.read("folds") is None


@pytest.fixture(scope="module")
def whole_record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Journal, Path, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    journal = Journal(folder, ADDRESS, "key-a")
    journal.write(BatchPlan("folds", "fold", dict(list(JOBS.items())[:12])), [])
    (path,) = (folder / "batches").glob("*.json")
    return journal, path, path.read_bytes()


@pytest.mark.parametrize(
    "cells",
    [
        pd.arrays.SparseArray([1.5, np.nan]),
        pd.PeriodIndex(["2026-01", None], freq="M"),
        np.array([1 + 2j, 3]),
    ],
)
def test_input_columns_keep_their_types(journal: Journal, cells: Any) -> None:
    rows = pd.DataFrame({"x": cells})
    journal.write(BatchPlan("few", "fold", {"a": {}, "b": {}}, rows=rows), [])
    pd.testing.assert_frame_equal(journal.read("few").plan.rows, rows)


def test_other_job_order_is_another_batch(journal: Journal) -> None:
    journal.write(PLAN, ["folds-part1of2"])
    journal.log("folds").note(PartEvent.SENT, "folds-part1of2")
    turned = BatchPlan("folds", "fold", dict(reversed(list(JOBS.items()))))
    assert journal.write(turned, []).log.confirmed == frozenset()


def test_journal_is_per_account_and_stores_no_key(journal: Journal, tmp_path: Path) -> None:
    other = Journal(tmp_path, ADDRESS, "key-b")
    journal.write(PLAN, ["folds-part1of2"])
    assert journal.read("fold") is None
    assert Journal(tmp_path, "http://127.0.0.1:2/api", "key-a").read("folds") is None
    assert other.read("folds") is None
    assert (journal.names(), other.names()) == (["folds"], [])
    assert other.is_other_account("folds")
    assert not journal.is_other_account("folds")
    other.write(BatchPlan("folds", "fold", {"a": {}}), ["folds"])
    assert other.is_other_account("folds")
    assert journal.is_other_account("folds")
    entry = journal.read("folds")
    assert entry.plan == PLAN
    for path in (tmp_path / "batches").iterdir():
        assert b"key-" not in path.read_bytes()


def test_lock_is_exclusive_per_batch(journal: Journal, tmp_path: Path) -> None:
    with journal.lock("folds"):
        with (
            pytest.raises(
                NotReadyError, match="Another process on this machine is submitting folds"
            ),
            Journal(tmp_path, ADDRESS, "key-a").lock("folds"),
        ):
            pass
        with journal.lock("others"), Journal(tmp_path, ADDRESS, "key-b").lock("folds"):
            pass
    with journal.lock("folds"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="the modes are POSIX's")
def test_journal_files_are_readable_by_the_owner_only(journal: Journal, tmp_path: Path) -> None:
    journal.write(PLAN, [])
    journal.log("folds").note(PartEvent.SENT, "folds-part1of2")
    assert stat.S_IMODE((tmp_path / "batches").stat().st_mode) == 0o700
    with journal.lock("folds"):
        assert len(list((tmp_path / "batches").iterdir())) == 3  # record, log and lock
        for path in (tmp_path / "batches").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in (tmp_path / "batches").iterdir():
        assert len(json.dumps(path.name)) < 120


def test_unwritable_folder_is_a_storage_error_that_names_its_variable(tmp_path: Path) -> None:
    (tmp_path / "batches").write_text("")
    journal = Journal(tmp_path, ADDRESS, "key-a")
    with pytest.raises(StorageError, match="LABEXT_STATE_DIR"):
        journal.write(PLAN, [])
    with pytest.raises(StorageError, match="LABEXT_STATE_DIR"), journal.lock("folds"):
        pass


TABLE = pd.DataFrame({"Name": ["b", "a", "x"], "score": [2, 1, 9], "t": [np.nan, 1.0, 2.0]})


def test_jobs_are_joined_to_input_rows() -> None:
    rows = pd.DataFrame({"name": ["a", "b", "c"], "score": [10, 20, 30], "bases": ["A", "B", "C"]})
    order, others = original_names(rows, "name"), drop_name_column(rows, "name")
    joined = join_input_rows(TABLE, "Name", order, others)
    assert joined.columns.tolist() == ["Name", "score", "t", "score.input", "bases"]
    assert joined["Name"].tolist() == ["a", "b", "c", "x"]
    assert joined["score"].tolist()[:2] == [1, 2]
    assert pd.isna(joined["score"].tolist()[2])
    assert joined["score.input"].tolist()[:3] == [10, 20, 30]
    assert joined["bases"].tolist()[:3] == ["A", "B", "C"]
    short = join_input_rows(TABLE, "Name", order, others, missing=False)
    assert short["Name"].tolist() == ["a", "b", "x"]
    assert join_input_rows(TABLE, "Name", ["x", "b", "a"], None)["score"].tolist() == [9, 2, 1]
    assert join_input_rows(TABLE, "Name", ["x", "b", "a"], None).dtypes.equals(TABLE.dtypes)


def test_missing_or_duplicate_names_cannot_be_joined() -> None:
    with pytest.raises(InputError, match="no column"):
        original_names(TABLE, "name")
    with pytest.raises(InputError, match="more than once"):
        original_names(pd.DataFrame({"n": ["a", "a"]}), "n")


def test_part_counts_as_sent_only_if_its_name_was_free(journal: Journal) -> None:
    free, used_name = "folds-part1of2", "folds-part2of2"
    assert not journal.write(PLAN, [free]).was_sent_from_here(free), "it was not sent"
    for part in (free, used_name):
        journal.log("folds").note(PartEvent.SENDING, part)
    entry = journal.read("folds")
    assert entry.was_sent_from_here(free)
    assert not entry.was_sent_from_here(used_name), "nothing shows that its name was free"
