"""Parsing of job records and usage statistics in every format; filters of lists."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError, LabextError, NotFoundError, ServiceError
from labext.frames.views import frame_html
from labext.jobs import records
from labext.jobs.frames import usage_frame
from labext.jobs.listing import ALL_JOBS, JobFilter, parse_since
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
    "answer", [ROW, {"jobs": [ROW]}, {"0": ROW}, {"0": ROW, "statuses": {"Complete": 1}}, [ROW]]
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
        ({"JobStatus": "Failed"}, "Failed", Outcome.FAILED),
        ({"JobStatus": "Stopped"}, "Stopped", Outcome.STOPPED),
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


NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)
JOB = {"JobName": "a", "Type": "digest", "JobStatus": "In Queue", "Created": "2026-03-10T12:00:00Z"}
BATCH = JOB | {
    "Type": "batch",
    "batchStatus": "AggregationFailed",
    "JobStatus": "Complete",
    "Settings": '{"type": "rna_fold"}',
}
PIPELINE = JOB | {
    "Type": "pipeline",
    "Settings": '{"stages": [{"toolSettings": {"digest": {}, "msa_tree": {}}}]}',
}


@pytest.mark.parametrize(
    ("row", "state", "matches"),
    [
        (JOB, "In Queue", True),
        (JOB, "in-queue", True),
        (JOB, "INQUEUE", True),
        (JOB, "queued", True),
        (JOB, "queue", False),
        (JOB | {"JobStatus": "Stopped"}, "failed", True),
        (JOB | {"JobStatus": "Failed"}, "stopped", False),
        (JOB | {"JobStatus": "Hibernating"}, "hibernating", True),
        (BATCH, "Complete", False),
        (BATCH, "aggregation-failed", True),
        (BATCH, "failed", True),
    ],
)
def test_state_filter_ignores_case_and_separators(row: Any, state: str, matches: bool) -> None:
    assert JobFilter(state=state).matches(row) is matches


@pytest.mark.parametrize(
    ("row", "tools"),
    [
        (JOB, {"digest"}),
        (BATCH, {"batch", "rna_fold"}),
        (PIPELINE, {"pipeline", "digest", "msa_tree"}),
        (PIPELINE | {"Settings": "{half"}, {"pipeline"}),
        (PIPELINE | {"Settings": '{"stages": [7, {"toolSettings": 5}]}'}, {"pipeline"}),
    ],
)
def test_tool_filter_matches_batches_and_pipelines(row: Any, tools: set[str]) -> None:
    for tool in ("digest", "rna_fold", "msa_tree", "batch", "pipeline"):
        assert JobFilter(tool=tool.upper()).matches(row) is (tool in tools)


def test_since_excludes_rows_without_a_time() -> None:
    since = JobFilter(since=NOW - timedelta(hours=3))
    assert since.matches(JOB)
    assert not JobFilter(since=NOW).matches(JOB)
    assert not since.matches({**JOB, "Created": None})
    assert not since.matches({**JOB, "Created": "soon"})
    assert ALL_JOBS.matches({})
    assert not ALL_JOBS
    assert since


def page(*hours: int) -> list[dict[str, Any]]:
    return [{"Created": (NOW - timedelta(hours=hour)).isoformat()} for hour in hours]


@pytest.mark.parametrize(
    ("hours", "past"),
    [
        ((1, 2, 3), True),
        ((1, 2), False),
        ((3, 4), True),
        ((3,), False),
        ((4, 1, 3), False),
        ((3, 3), True),
    ],
)
def test_reading_stops_at_descending_times_before_since(hours: tuple[int, ...], past: bool) -> None:
    assert JobFilter(since=NOW - timedelta(hours=2, minutes=30)).is_past(page(*hours)) is past
    assert not JobFilter(state="Complete").is_past(page(*hours))
    assert not JobFilter(since=NOW).is_past([*page(*hours), {"Created": None}])


def test_unknown_state_is_refused() -> None:
    JobFilter(state="failed").check_state({})
    JobFilter(state="complete").check_state({})
    JobFilter(state="hibernating").check_state({"Hibernating": 0})
    with pytest.raises(
        InputError, match=r'There is no state "Complet" \(did you mean "Complete"\?\)'
    ):
        JobFilter(state="Complet").check_state({})


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("15min", timedelta(minutes=15)),
        ("1.5H", timedelta(hours=1.5)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("2w", timedelta(weeks=2)),
        (" 2h ", timedelta(hours=2)),
    ],
)
def test_since_duration_counts_back_from_now(text: str, ago: timedelta) -> None:
    assert parse_since(text, NOW) == NOW - ago


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1)),
        (date(2026, 3, 1), datetime(2026, 3, 1)),
        ("2026-03-01 08:15", datetime(2026, 3, 1, 8, 15)),
        ("2026-03-01T08:15:30", datetime(2026, 3, 1, 8, 15, 30)),
        ("2026-03-01T08:15Z", datetime(2026, 3, 1, 8, 15, tzinfo=UTC)),
        ("2026-03-01T08:15+02:00", datetime(2026, 3, 1, 6, 15, tzinfo=UTC)),
    ],
)
def test_since_without_time_zone_is_local_time(text: str | date, expected: datetime) -> None:
    assert parse_since(text, NOW) == expected.astimezone()


def test_since_time_of_day_is_the_most_recent() -> None:
    now = NOW.astimezone()
    earlier, later = now - timedelta(minutes=5), now + timedelta(minutes=5)
    assert parse_since(f"{earlier:%H:%M}", NOW) == earlier
    assert parse_since(f"{later:%H:%M}", NOW) == later - timedelta(days=1)
    midnight = now.replace(hour=0, minute=0)
    assert parse_since("today", NOW) == midnight
    assert parse_since("Yesterday", NOW) == midnight - timedelta(days=1)


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        ("2026-03-29T15:00+02:00", "today", "2026-03-29T00:00+01:00"),
        ("2026-10-25T15:00+01:00", "today", "2026-10-25T00:00+02:00"),
        ("2026-10-26T09:00+01:00", "yesterday", "2026-10-25T00:00+02:00"),
        ("2026-03-29T09:00+02:00", "23:00", "2026-03-28T23:00+01:00"),
        ("2026-10-25T09:00+01:00", "23:00", "2026-10-24T23:00+02:00"),
    ],
)
def test_since_is_right_when_the_clocks_change(
    now: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        since = parse_since(text, datetime.fromisoformat(now))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert since == datetime.fromisoformat(expected)


def test_since_accepts_python_and_pandas_objects() -> None:
    assert parse_since(NOW - timedelta(hours=1), NOW) == NOW - timedelta(hours=1)
    assert parse_since(timedelta(hours=1), NOW) == NOW - timedelta(hours=1)
    stamp = pd.Timestamp("2026-03-01T08:15:30.123456789Z")
    assert parse_since(stamp, NOW) == datetime(2026, 3, 1, 8, 15, 30, 123456, tzinfo=UTC)
    assert parse_since(pd.Timedelta("1h"), NOW) == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    "since",
    [
        *("", "tomorrow", "2", "h", "-2h", "25:00", "2026-13-01", "2026", "9" * 400 + "d"),
        *(5, timedelta.max, pd.NaT),
    ],
)
def test_invalid_since_is_refused(since: Any) -> None:
    with pytest.raises(InputError, match="is not a date, time or duration") as raised:
        parse_since(since, NOW)
    assert "2h or 3d" in raised.value.next_step


@given(st.text(max_size=20))
def test_since_of_arbitrary_text_is_a_time_or_an_error(text: str) -> None:
    try:
        assert parse_since(text, NOW).tzinfo is not None
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - what is raised is one line


USAGE = {
    "statistic": "weighted_hours",
    "scope": "user",
    "total": 3.5,
    "byTool": {"digest": 0.5, "fold": 3},
    "byUser": {"me@lab.org": 3.5},
}
ROWS = [
    ("total", "", 3.5),
    ("tool", "fold", 3.0),
    ("tool", "digest", 0.5),
    ("user", "me@lab.org", 3.5),
]


def rows(answer: Any, statistic: str = "weighted_hours") -> list[tuple[str, str, float]]:
    return list(usage_frame(answer, statistic, "user").itertuples(index=False, name=None))


def test_usage_frame_of_the_documented_format() -> None:
    table = usage_frame(USAGE, "weighted_hours", "user")
    assert table.columns.tolist() == ["group", "name", "weighted_hours"]
    assert table["weighted_hours"].dtype == "float64"
    attributes = {"statistic": "weighted_hours", "scope": "user", "total": 3.5}
    assert table.attrs == {**attributes, "labext": {"view": "rows", "rows": len(table)}}
    assert "text-align:left" in str(frame_html(table)), "texts are aligned as in other tables"
    assert rows(USAGE) == ROWS
    assert rows({"total": 0, "byTool": {}, "byUser": {}}) == [("total", "", 0.0)]
    assert rows(7.25) == [("total", "", 7.25)]


def test_job_counts_are_integers() -> None:
    table = usage_frame({"total": 3, "byTool": {"fold": 3}, "byUser": {}}, "jobs", "organization")
    assert str(table["jobs"].dtype) == "Int64"
    assert table.attrs["total"] == 3
    assert isinstance(table.attrs["total"], int)


@pytest.mark.parametrize(
    "answer",
    [
        {"total": 3.5, "by_tool": {"digest": "0.5", "fold": 3}, "members": {"me@lab.org": 3.5}},
        {
            "byTool": [{"tool": "fold", "hours": 3}, {"tool": "digest", "hours": 0.5}],
            "byUser": [{"email": "me@lab.org", "weightedHours": 3.5}],
        },
        {"usage": {"byUser": {"me@lab.org": {"fold": 3, "digest": 0.5}}}},
        {"byTool": {"fold": {"me@lab.org": 3}, "digest": {"me@lab.org": 0.5}}},
    ],
    ids=["spelling", "records", "members with tools", "tools with members"],
)
def test_usage_frame_of_similar_formats(answer: Any) -> None:
    assert rows(answer) == ROWS


@pytest.mark.parametrize(
    "answer", [None, [], "x", {}, {"total": None}, {"byTool": 3}, True, 1e300, {"total": "nan"}]
)
def test_invalid_usage_is_a_service_error(answer: Any) -> None:
    with pytest.raises(ServiceError, match="invalid usage statistics"):
        usage_frame(answer, "jobs", "user")


json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["total", "byTool", "byUser", "usage", "value", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json, st.sampled_from(["weighted_hours", "jobs"]))
def test_arbitrary_usage_is_a_frame_or_an_error(answer: Any, statistic: str) -> None:
    try:
        table = usage_frame(answer, statistic, "user")
    except ServiceError:
        return
    assert table.columns.tolist() == ["group", "name", statistic]
    assert table[statistic].notna().all()
