"""Usage statistics as a frame, from every response format."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import ServiceError
from labext.jobs.frames import usage_frame

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
    assert table.attrs == {"statistic": "weighted_hours", "scope": "user", "total": 3.5}
    assert rows(USAGE) == ROWS


def test_job_counts_are_integers() -> None:
    table = usage_frame({"total": 3, "byTool": {"fold": 3}, "byUser": {}}, "jobs", "organization")
    assert str(table["jobs"].dtype) == "Int64"
    assert table.attrs["total"] == 3
    assert isinstance(table.attrs["total"], int)


def test_usage_of_zero_has_a_total() -> None:
    assert rows({"total": 0, "byTool": {}, "byUser": {}}) == [("total", "", 0.0)]


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


def test_number_is_the_total() -> None:
    assert rows(7.25) == [("total", "", 7.25)]


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
            st.sampled_from(["total", "byTool", "byUser", "usage", "value", "x"]),
            inner,
            max_size=4,
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
