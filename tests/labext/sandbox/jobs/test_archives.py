"""Archives and their metrics are complete, with unchanged numbers."""

from __future__ import annotations

import csv
import zipfile

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.jobs import execution
from labext.sandbox.jobs.files import result_archives
from labext.sandbox.jobs.files.result_archives import (
    ArchiveTooLargeError,
    walk_files,
    write_archive,
)


def test_write_archive_returns_the_size(tmp_path):
    (tmp_path / "a").write_text("x" * 1000)
    target = tmp_path / "archive.zip"
    size = write_archive(target, [("folder/a", tmp_path / "a")])
    assert size == target.stat().st_size
    with zipfile.ZipFile(target) as archive:
        assert archive.read("folder/a") == b"x" * 1000


def test_results_of_a_job_are_synced_to_the_disk(tmp_path, is_synced):
    work = tmp_path / "1" / "work"
    work.mkdir(parents=True)
    (work / "log.txt").write_text("log")
    settings = {"sequence": "GAATTC", "enzymes": "EcoRI"}
    execution.run_job(work, {"tool": "digest", "settings": settings})
    results = [*tmp_path.rglob("*")]
    assert len(results) > 5
    assert [path.name for path in (tmp_path, *results) if not is_synced(path)] == []


def test_metrics_of_a_batch_are_synced_to_the_disk(tmp_path, is_synced):
    work = tmp_path / "1" / "work"
    work.mkdir(parents=True)
    result_archives.aggregate(work, {"parts": [], "bytes_left": 1000})
    for path in (work / "metrics.csv", work, work.parent, tmp_path):
        assert is_synced(path)


def test_failed_archive_leaves_no_file(tmp_path):
    noise = bytes(range(256)) * 40
    (tmp_path / "a").write_bytes(noise)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ArchiveTooLargeError):
        write_archive(out / "archive.zip", [("a", tmp_path / "a")], max_bytes=10)
    with pytest.raises(FileNotFoundError):
        write_archive(out / "archive.zip", [("a", tmp_path / "a"), ("b", tmp_path / "b")])
    assert list(out.iterdir()) == []


def test_archive_may_fill_the_remaining_storage(tmp_path):
    (tmp_path / "a").write_text("x" * 1000)
    size = write_archive(tmp_path / "one.zip", [("a", tmp_path / "a")])
    assert write_archive(tmp_path / "two.zip", [("a", tmp_path / "a")], max_bytes=size) == size
    with pytest.raises(ArchiveTooLargeError):
        write_archive(tmp_path / "three.zip", [("a", tmp_path / "a")], max_bytes=size - 1)


def test_links_and_folders_are_not_outputs(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert [name for name, _file in walk_files(tmp_path)] == ["folder/a"]


def test_outputs_are_in_the_order_of_their_numbers(tmp_path):
    names = ["folder/9", "folder/10", "mode02.pdb", "mode2.pdb", "mode10.pdb"]
    (tmp_path / "folder").mkdir()
    for name in names:
        (tmp_path / name).touch()
    assert [name for name, _file in walk_files(tmp_path)] == names


scores = st.dictionaries(
    st.sampled_from(["mfe", "pairs", "note", "a,b"]),
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8),
)


@given(st.lists(scores, min_size=1, max_size=5))
def test_metrics_table_keeps_the_scores(tmp_path_factory, given_scores):
    target = tmp_path_factory.mktemp("metrics") / "metrics.csv"
    expected_scores = [orjson.loads(orjson.dumps(score)) for score in given_scores]
    parts = [
        {"name": f"j{n}", "status": "Complete", "score": s} for n, s in enumerate(expected_scores)
    ]
    result_archives.write_metrics(target, parts)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["job"] for row in rows] == [part["name"] for part in parts]
    for row, score in zip(rows, expected_scores, strict=True):
        for key, value in score.items():
            assert (row[key] if isinstance(value, str) else float(row[key])) == value


def test_aggregation_fails_without_the_outputs_of_a_job(tmp_path):
    work = tmp_path / "jobs" / "1" / "work"
    work.mkdir(parents=True)
    part = {"job": 2, "name": "a", "status": "Complete", "score": {}}
    payload = {"job": 1, "bytes_left": 10**6, "parts": [part]}
    with pytest.raises(TaskError, match="outputs of job a were deleted"):
        result_archives.aggregate(work, payload)
    assert not (work / "archive.zip").exists()
