"""What a job row says, in whatever form it came."""

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
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@given(JSON)
def test_any_answer_is_understood_or_refused(answer: Any) -> None:
    for read in (
        lambda: records.parse_record(answer, "f1"),
        lambda: records.parse_page(answer).rows,
    ):
        try:
            found = read()
        except LabextError:
            continue
        for row in found if isinstance(found, list) else [found]:
            records.phase(row), records.outcome(row), records.reason(row), records.is_batch(row)
            records.parse_tally(row.get("statuses")), records.run_fields(row)


ROW = {"JobName": "f1", "Type": "fold", "JobStatus": "Complete"}


@pytest.mark.parametrize(
    "answer",
    [ROW, {"jobs": [ROW]}, {"0": ROW}, {"0": ROW, "statuses": {"Complete": 1}}, [ROW]],
)
def test_one_row(answer: Any) -> None:
    row = records.parse_record(answer, "f1")
    assert row["JobName"] == "f1"
    assert records.parse_page(answer).rows == [ROW]


def test_the_row_of_the_name_is_taken() -> None:
    other = {**ROW, "JobName": "f2"}
    assert records.parse_record({"jobs": [other, ROW]}, "f1") == ROW


@pytest.mark.parametrize("form", [lambda row: row, lambda row: {"jobs": [row]}, lambda row: [row]])
def test_the_row_of_another_name_is_not_taken(form: Any) -> None:
    with pytest.raises(NotFoundError):
        records.parse_record(form({**ROW, "JobName": "f2"}), "f1")


def test_no_row() -> None:
    for answer in ({"jobs": []}, [], None, {}, {"statuses": {}}):
        with pytest.raises(NotFoundError):
            records.parse_record(answer, "f1")
    for answer in ("text", 5, {"message": "hello"}, [5]):
        with pytest.raises(ServiceError):
            records.parse_record(answer, "f1")
        with pytest.raises(ServiceError):
            records.parse_page(answer)


@pytest.mark.parametrize("key", ["absent", "", None])
def test_the_last_page_in_every_form(key: Any) -> None:
    answer = {"jobs": [ROW]} | ({} if key == "absent" else {"startKey": key})
    assert records.parse_page(answer).start_key == ""


def test_a_batch_is_told_by_type_or_status_not_by_a_tally() -> None:
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
def test_where_it_is(row: dict[str, Any], phase: str, outcome: Outcome | None) -> None:
    assert (records.phase(row), records.outcome(row)) == (phase, outcome)


def test_a_tally_holds_whole_positive_numbers() -> None:
    odd = {"Complete": 3, "Running": 0, "In Queue": 2.0, "x": "many", "y": float("nan"), "z": -1}
    assert records.parse_tally(odd) == {"Complete": 3, "In Queue": 2}
    assert records.parse_tally(None) == {}


def test_a_presigned_address_hides_in_a_repr() -> None:
    row = records.parse_record({**ROW, "resultUrl": "https://x.org/a?sig=0123456789"}, "f1")
    assert row["resultUrl"] == "https://x.org/a?sig=0123456789"
    assert "0123456789" not in repr(row)
