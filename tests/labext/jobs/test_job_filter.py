"""Filters of job lists by state, tool and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.jobs.listing import ALL_JOBS, JobFilter, parse_since

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
        ("2026-03-01 08:15", datetime(2026, 3, 1, 8, 15)),
        ("2026-03-01T08:15:30", datetime(2026, 3, 1, 8, 15, 30)),
        ("2026-03-01T08:15Z", datetime(2026, 3, 1, 8, 15, tzinfo=UTC)),
        ("2026-03-01T08:15+02:00", datetime(2026, 3, 1, 6, 15, tzinfo=UTC)),
    ],
)
def test_since_without_time_zone_is_local_time(text: str, expected: datetime) -> None:
    assert parse_since(text, NOW) == expected.astimezone()


def test_since_time_of_day_is_the_most_recent() -> None:
    now = NOW.astimezone()
    earlier, later = now - timedelta(minutes=5), now + timedelta(minutes=5)
    assert parse_since(f"{earlier:%H:%M}", NOW) == earlier
    assert parse_since(f"{later:%H:%M}", NOW) == later - timedelta(days=1)
    midnight = now.replace(hour=0, minute=0)
    assert parse_since("today", NOW) == midnight
    assert parse_since("Yesterday", NOW) == midnight - timedelta(days=1)


def test_since_accepts_python_and_pandas_objects() -> None:
    import pandas as pd

    assert parse_since(NOW - timedelta(hours=1), NOW) == NOW - timedelta(hours=1)
    assert parse_since(timedelta(hours=1), NOW) == NOW - timedelta(hours=1)
    stamp = pd.Timestamp("2026-03-01T08:15:30.123456789Z")
    assert parse_since(stamp, NOW) == datetime(2026, 3, 1, 8, 15, 30, 123456, tzinfo=UTC)
    assert parse_since(pd.Timedelta("1h"), NOW) == NOW - timedelta(hours=1)
    with pytest.raises(InputError, match="is not a date"):
        parse_since(pd.NaT, NOW)


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2", "h", "2 hours", "-2h", "25:00", "2026-13-01", "2026", "9" * 30 + "d"],
)
def test_invalid_since_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a date, time or duration") as raised:
        parse_since(text, NOW)
    assert "2h or 3d" in raised.value.next_step


@given(st.text(max_size=20))
def test_since_of_arbitrary_text_is_a_time_or_an_error(text: str) -> None:
    try:
        assert parse_since(text, NOW).tzinfo is not None
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - what is raised is one line
