"""Conversion of records to frames with typed columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.frames.conversion import Column, FrameBuilder, Kind, records_to_frame, spread_column

COLUMNS = [
    Column("JobName", "text"),
    Column("JobStatus", "category"),
    Column("Created", "time"),
    Column("WeightedHours", "number"),
    Column("Count", "integer"),
    Column("Shared", "boolean"),
    Column("Score", "json"),
]
ROW = {
    "JobName": "fold1",
    "JobStatus": "Complete",
    "Created": "2026-11-20T13:23:23.761Z",
    "WeightedHours": 0.25,
    "Count": 3,
    "Shared": True,
    "Score": '{"mfe": -12.5}',
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def types(table: pd.DataFrame) -> list[str]:
    return [str(kind) for kind in table.dtypes]


def test_columns_are_typed() -> None:
    table = records_to_frame([ROW, ROW | {"JobName": "fold2"}], COLUMNS)
    assert list(table.columns) == [column.name for column in COLUMNS]
    assert table.Created[0] == pd.Timestamp("2026-11-20T13:23:23.761", tz="UTC")
    assert str(table.Created.dtype) == "datetime64[us, UTC]"
    assert table.JobStatus.dtype == "category"
    assert table.WeightedHours.dtype == np.float64
    assert table.Count.sum() == 6
    assert table.Shared.all()
    assert table.Score[1] == {"mfe": -12.5}
    assert list(table.JobName) == ["fold1", "fold2"]


def test_empty_frame_has_the_same_columns_and_types() -> None:
    assert (
        types(records_to_frame([], COLUMNS))
        == types(records_to_frame([ROW], COLUMNS))
        == types(records_to_frame([{}], COLUMNS))
    )
    assert len(records_to_frame([], COLUMNS)) == 0
    assert list(records_to_frame([], COLUMNS).columns) == list(
        records_to_frame([ROW], COLUMNS).columns
    )


def test_unknown_fields_are_appended() -> None:
    rows = [ROW | {"x": 1}, ROW | {"y": "a", "x": 2}, {"z": [1]}]
    table = records_to_frame(iter(rows), COLUMNS)
    assert list(table.columns)[len(COLUMNS) :] == ["x", "y", "z"]
    assert table.x[1] == 2
    assert table.z[2] == [1]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([column.name for column in COLUMNS]) | st.text(max_size=3), JSON
        ),
        max_size=5,
    )
)
@settings(max_examples=10)
def test_arbitrary_cells_are_converted(rows: list[dict[str, Any]]) -> None:
    table = records_to_frame(rows, COLUMNS)
    assert len(table) == len(rows)
    assert types(table)[: len(COLUMNS)] == types(records_to_frame([], COLUMNS))
    table.to_html()  # and it can be displayed
    spread_column(table, "Score", "score").to_html()


@pytest.mark.parametrize(
    ("kind", "cell", "expected"),
    [
        ("text", 3, "3"),
        ("text", {"a": 1}, '{"a": 1}'),
        ("text", float("nan"), None),
        ("text", pd.NA, None),
        ("category", float("nan"), None),
        ("time", "2026-11-20 13:23:23.76+00:00", pd.Timestamp("2026-11-20T13:23:23.76Z")),
        ("time", "2026-11-20T14:00:00+01:00", pd.Timestamp("2026-11-20T13:00:00Z")),
        ("time", "2026-11-20", pd.Timestamp("2026-11-20T00:00:00Z")),
        ("time", "yesterday", pd.NaT),
        ("time", 1_700_000_000, pd.NaT),
        ("number", "0.5", 0.5),
        ("number", "much", None),
        ("number", 10**400, None),
        ("integer", 2**60 + 1, 2**60 + 1),
        ("integer", 3.5, None),
        ("integer", 2**63, None),
        ("boolean", "yes", None),
        ("category", None, None),
        ("json", "plain words", "plain words"),
        ("json", '{"half":', '{"half":'),
        ("json", {"parsed": True}, {"parsed": True}),
        ("json", "[1, 2]", [1, 2]),
        ("json", None, None),
    ],
)
def test_cell_that_does_not_fit_is_missing_or_text(kind: Kind, cell: Any, expected: Any) -> None:
    value = records_to_frame([{"a": cell}, {}], [Column("a", kind)]).a[0]
    assert value == expected or (expected in (None, pd.NaT) and pd.isna(value))


def test_json_cell_may_contain_nan() -> None:
    table = records_to_frame([{"Score": json.dumps({"mfe": float("nan")})}], COLUMNS)
    assert np.isnan(table.Score[0]["mfe"])


def test_lone_surrogate_can_be_shown() -> None:
    row = {"JobName": "\ud800", "JobStatus": "\udfff", "Score": '{"a": "\\ud800"}', "new": "\udce9"}
    table = records_to_frame([row], COLUMNS)
    table.to_html().encode()
    assert table.Score[0] == {"a": "\ufffd"}
    assert table.new[0] == "\ufffd"


def test_spread_columns_replace_the_dictionary() -> None:
    rows = [
        {"a": 1, "Score": {"mfe": -1.5, "note": "x"}, "b": 2},
        {"a": 1, "Score": {"mfe": -2.5, "deep": {"c": 1}}, "b": 2},
        {"a": 1, "Score": None, "b": 2},
    ]
    columns = [Column("a", "integer"), Column("Score", "json"), Column("b", "integer")]
    table = spread_column(records_to_frame(rows, columns), "Score", "score")
    assert list(table.columns) == ["a", "score.mfe", "score.note", "score.deep", "b"]
    assert table["score.mfe"].dtype == np.float64
    assert table["score.mfe"].min() == -2.5
    assert table["score.deep"][1] == {"c": 1}
    assert table["score.note"].isna().tolist() == [False, True, True]


def test_spread_keeps_columns_of_the_same_name() -> None:
    table = pd.DataFrame([[1, {"mfe": 2}, 3, 4.5]], columns=["n", "Score", "run", "run"])
    spread = spread_column(table, "Score", "score")
    assert list(spread.columns) == ["n", "score.mfe", "run", "run"]
    assert spread.iloc[0].tolist() == [1, 2, 3, 4.5]
    assert [dtype.kind for dtype in spread.dtypes] == ["i", "i", "i", "f"]


def test_spread_keeps_values_that_are_no_dictionary() -> None:
    rows = [{"Score": "0.5"}, {"Score": '{"mfe": 1}'}]
    table = spread_column(records_to_frame(rows, [Column("Score", "json")]), "Score", "score")
    assert list(table.columns) == ["score", "score.mfe"]
    assert table["score"][0] == 0.5


def test_spread_of_an_empty_frame() -> None:
    empty = records_to_frame([], COLUMNS)
    assert "Score" not in spread_column(empty, "Score", "score")
    assert len(spread_column(empty, "Score", "score").columns) == len(COLUMNS) - 1


def test_frame_built_in_pages_is_equal() -> None:
    rows = [
        ROW,
        {"JobName": "fold2", "extra": 1, "Count": None},
        {"other": "x", "JobStatus": "Stopped"},
        {**ROW, "extra": 2},
    ]
    gathered = FrameBuilder(COLUMNS)
    for row in rows:
        gathered.add_rows([row])
    gathered.add_rows([])
    pd.testing.assert_frame_equal(gathered.build(), records_to_frame(rows, COLUMNS))
    pd.testing.assert_frame_equal(gathered.build(), records_to_frame([], COLUMNS))


@pytest.mark.parametrize("cell", [None, "plain", "[1]", 5, [1, {"a": None}], {"b": "5"}, 2**70])
def test_parsed_value_is_unchanged(cell: Any) -> None:
    table = records_to_frame([{"v": cell}], [Column("v", "value")])
    assert table["v"].dtype == object
    assert table["v"].tolist() == [cell]
