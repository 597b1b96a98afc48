"""Parsing of job records in every response format."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import LabextError, NotFoundError, ServiceError
from labext.jobs import records
from labext.progress import Outcome

KEYS = ["jobs", "0", "1", "statuses", "startKey", "JobName", "Type", "batchStatus", "JobStatus"]
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(JSON)
def test_arbitrary_response_is_parsed_or_refused(answer: Any) -> None:
    for read in (
        lambda: records.parse_record(answer, "f1"),
        lambda: records.parse_page(answer).rows,
    ):
        try:
            parsed = read()
        except LabextError:
            continue
        for row in parsed if isinstance(parsed, list) else [parsed]:
            records.phase(row), records.outcome(row), records.reason(row), records.is_batch(row)
            records.parse_tally(row.get("statuses")), records.run_fields(row)


ROW = {"JobName": "f1", "Type": "fold", "JobStatus": "Complete"}


@pytest.mark.parametrize(
    "answer",
    [ROW, {"jobs": [ROW]}, {"0": ROW}, {"0": ROW, "statuses": {"Complete": 1}}, [ROW]],
)
def test_record_in_every_format(answer: Any) -> None:
    row = records.parse_record(answer, "f1")
    assert row["JobName"] == "f1"
    assert records.parse_page(answer).rows == [ROW]


def test_record_is_selected_by_name() -> None:
    other = {**ROW, "JobName": "f2"}
    assert records.parse_record({"jobs": [other, ROW]}, "f1") == ROW


@pytest.mark.parametrize("form", [lambda row: row, lambda row: {"jobs": [row]}, lambda row: [row]])
def test_record_of_another_name_is_not_found(form: Any) -> None:
    with pytest.raises(NotFoundError):
        records.parse_record(form({**ROW, "JobName": "f2"}), "f1")


def test_missing_record_and_invalid_response() -> None:
    for answer in ({"jobs": []}, [], None, {}, {"statuses": {}}):
        with pytest.raises(NotFoundError):
            records.parse_record(answer, "f1")
    for answer in ("text", 5, {"message": "hello"}, [5]):
        with pytest.raises(ServiceError):
            records.parse_record(answer, "f1")
        with pytest.raises(ServiceError):
            records.parse_page(answer)


@pytest.mark.parametrize("key", ["absent", "", None])
def test_last_page_has_no_start_key(key: Any) -> None:
    answer = {"jobs": [ROW]} | ({} if key == "absent" else {"startKey": key})
    assert records.parse_page(answer).start_key == ""


def test_page_of_numbered_rows_has_its_start_key() -> None:
    other = {**ROW, "JobName": "f2"}
    page = records.parse_page({"0": ROW, "1": other, "statuses": {}, "startKey": "2"})
    assert (page.rows, page.start_key) == ([ROW, other], "2")


def test_batch_is_recognized_by_type_or_status() -> None:
    assert records.is_batch({"Type": "batch"})
    assert records.is_batch({"Type": "fold", "batchStatus": "Running"})
    assert not records.is_batch({"Type": "fold", "statuses": {"Complete": 1}})
    assert not records.is_batch({"Type": "fold", "batchStatus": None})


@pytest.mark.parametrize(
    ("row", "phase", "outcome"),
    [
        ({"JobStatus": "Complete"}, "Complete", Outcome.COMPLETE),
        ({"JobStatus": "In Queue"}, "In Queue", None),
        ({"JobStatus": "Hibernating"}, "Hibernating", None),
        ({}, "unknown", None),
        ({"Type": "batch", "JobStatus": "Complete"}, "unknown", None),
        ({"batchStatus": "Running", "JobStatus": "Complete"}, "Running", None),
        ({"batchStatus": "Aggregating"}, "Aggregating", None),
        ({"batchStatus": "AggregationFailed"}, "AggregationFailed", Outcome.FAILED),
        ({"batchStatus": "Stopped"}, "Stopped", Outcome.STOPPED),
        ({"batchStatus": "Complete", "JobStatus": "Running"}, "Complete", Outcome.COMPLETE),
        ({"batchStatus": "Running", "JobStatus": "Deleted"}, "Deleted", Outcome.STOPPED),
    ],
)
def test_phase_and_outcome(row: dict[str, Any], phase: str, outcome: Outcome | None) -> None:
    assert (records.phase(row), records.outcome(row)) == (phase, outcome)


def test_tally_keeps_positive_integers() -> None:
    odd = {"Complete": 3, "Running": 0, "In Queue": 2.0, "x": "many", "y": float("nan"), "z": -1}
    assert records.parse_tally(odd) == {"Complete": 3, "In Queue": 2}
    assert records.parse_tally(None) == {}
