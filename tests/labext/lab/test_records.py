"""Frames of sequences: columns, types, expanded fields and views."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from labext.errors import InputError
from labext.frames.views import frame_html, frame_text
from labext.lab.sequences.frames import (
    COLUMN_KINDS,
    SELECTED_COLUMNS,
    SEQUENCES,
    ColumnSelection,
    sequences_frame,
)

RECORD = {
    "id": "seq_1",
    "name": "pBAD30",
    "length": 6,
    "isCircular": True,
    "bases": "AACCGT" * 40,
    "createdAt": "2024-03-01T12:00:00.500+01:00",
    "modifiedAt": "2024-03-05T00:00:00Z",
    "folderId": None,
    "creator": {"id": "ent_1", "name": "Ada", "handle": "ada"},
    "schema": None,
    "aliases": ["ara"],
    "annotations": [{"name": name, "start": 1, "end": 3} for name in ("araC", "bla", "ori", "f1")],
    "fields": {
        "Volume": {"value": 3.5, "displayValue": "3.5 µL", "isMulti": False},
        "Hosts": {"value": ["sfso_1"], "displayValue": "DH5a", "isMulti": True},
    },
    "customFields": {"Note": {"value": "old"}},
    "somethingNew": 5,
}


def test_frame_has_typed_columns_and_nested_values() -> None:
    table = sequences_frame([[RECORD], [{"id": "seq_2", "fields": {}, "creator": {}}]], None)
    assert list(table.columns) == [*COLUMN_KINDS, "somethingNew"]
    first, second = table.to_dict("records")
    assert first["createdAt"] == pd.Timestamp("2024-03-01T11:00:00.5Z")
    assert first["annotations"] == RECORD["annotations"]
    assert first["fields"] == RECORD["fields"]
    assert table["length"].tolist() == [6, pd.NA]
    assert table["isCircular"].tolist() == [True, pd.NA]
    assert str(table["createdAt"].dtype) == "datetime64[us, UTC]"
    assert pd.isna(second["name"])
    assert second["annotations"] is None


def test_empty_frame_has_the_same_columns_and_types() -> None:
    empty, full = sequences_frame([], None), sequences_frame([[RECORD]], None)
    assert list(empty.columns) == list(COLUMN_KINDS)
    assert (empty.dtypes == full.dtypes[list(COLUMN_KINDS)]).all()
    spread = sequences_frame([[]], None, spread=True)
    assert spread.columns[8:13].tolist() == [
        "creator.id", "creator.name", "creator.handle", "schema.id", "schema.name",
    ]  # fmt: skip
    assert not {"fields", "customFields", "creator", "schema"}.intersection(spread.columns)


def test_spread_columns_replace_their_source() -> None:
    bare = {"id": "seq_2", "creator": "somebody", "fields": None, "schema": {"name": "Primer"}}
    table = sequences_frame([[RECORD, bare]], None, spread=True)
    names = table.columns.tolist()
    start = names.index("annotations") + 1
    assert names[start : start + 3] == ["fields.Volume", "fields.Hosts", "customFields.Note"]
    assert names[-1] == "somethingNew"
    assert table["creator.name"].tolist()[0] == "Ada"
    assert table["schema.name"].tolist()[1] == "Primer"
    assert table["fields.Volume"].tolist()[0] == 3.5
    assert table["fields.Hosts"].tolist()[0] == ["sfso_1"]
    assert table["customFields.Note"].tolist()[0] == "old"
    assert table.drop(columns="id").iloc[1].notna().sum() == 1  # the schema's name


def select(chosen: Any, *records: dict[str, Any]) -> pd.DataFrame:
    columns = ColumnSelection(chosen)
    columns.check(records)
    table = sequences_frame([[columns.select(record) for record in records]], columns.names)
    columns.check_members(len(records))
    return table


def test_columns_are_in_the_requested_order() -> None:
    table = select(["name", "fields.Volume", "id", "creator.name", "somethingNew"], RECORD)
    assert table.to_dict("records") == [
        {
            "name": "pBAD30",
            "fields.Volume": 3.5,
            "id": "seq_1",
            "creator.name": "Ada",
            "somethingNew": 5,
        }
    ]
    assert select("length, name", RECORD).columns.tolist() == ["length", "name"]


def test_only_needed_fields_are_requested() -> None:
    assert ColumnSelection(None, ["name"]).fields is None
    assert ColumnSelection(["name", "fields.A", "fields.B"], ["length"]).fields == [
        "id", "name", "fields", "length",
    ]  # fmt: skip
    unheard_of = ColumnSelection(["name", "somethingNew"])
    assert unheard_of.fields is None  # the platform might refuse it


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["lenght"], 'did you mean "length"'),
        (["name", "somethingOld"], 'did you mean "somethingNew"'),
        (["nothing.of.this"], "no column"),
        ([], "is not a list of column names"),
        (["name", None], "is not a list of column names"),
        ("", "is not a list of column names"),
        (["fields.Mass", "fields.Volume"], "No sequence in this list has fields.Mass"),
    ],
)
def test_unknown_column_is_refused(chosen: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        select(chosen, RECORD, {"id": "seq_2"})
    assert caught.value.next_step


def test_columns_of_an_empty_list_are_not_checked() -> None:
    columns = ColumnSelection(["fields.Mass", "name"])
    columns.check([])
    columns.check_members(0)
    with pytest.raises(InputError, match="no column"):
        ColumnSelection(["massOfIt"]).check([])


def displayed(*records: dict[str, Any]) -> pd.DataFrame:
    return SEQUENCES.show(sequences_frame([list(records)], None))


def test_view_shortens_bases_and_hides_empty_columns() -> None:
    rows = displayed(RECORD, {**RECORD, "id": "seq_2", "name": "pUC19"})
    text, html = frame_text(rows), frame_html(rows)
    assert html is not None
    assert text.split()[:3] == ["name", "length", "isCircular"]
    for form in (text, html):
        assert "AACCGT" * 20 not in form
        assert "registryId" not in form
        assert "NaN" not in form
    assert "4: araC, bla, ori and 1 more" in html
    assert "Volume: 3.5 µL, Hosts: DH5a" in html
    assert ">Ada<" in html
    assert 'nowrap">4: araC, bla' in html, "a row is one line high"
    assert max(map(len, text.splitlines())) <= 80


def test_single_sequence_is_shown_as_fields() -> None:
    lines = frame_text(displayed(RECORD)).splitlines()
    assert lines[0].split() == ["name", "pBAD30"]
    assert any(line.split() == ["creator", "Ada"] for line in lines)


def test_malformed_cells_are_shown() -> None:
    odd = {"annotations": "none", "creator": [1], "fields": ["a"], "authors": [None, "x", {}]}
    assert "none" in frame_text(displayed({**RECORD, **odd}))
    assert frame_text(displayed()) == "No accessible sequences match."


def test_sequence_frame_is_plain_with_name_first() -> None:
    rows = displayed(RECORD)
    assert type(rows) is pd.DataFrame
    assert list(rows.columns)[:4] == ["name", "length", "isCircular", "schema"]
    assert rows["bases"].iloc[0] == RECORD["bases"]


def test_requested_columns_are_shown_even_if_empty() -> None:
    table = sequences_frame(
        [[{"id": "seq_1", "name": "pX", "length": 3}]], ["id", "name", "schema"]
    )
    two = SELECTED_COLUMNS.show(pd.concat([table, table], ignore_index=True))
    assert frame_text(two).split()[:3] == ["id", "name", "schema"], "empty ones too"


def test_derived_frame_keeps_the_view() -> None:
    rows = displayed({"id": "seq_1", "name": "pX"}, {"id": "seq_2", "name": "pY"})
    assert frame_text(rows.head(2)) == frame_text(rows)
    assert "pY" in frame_text(rows.tail(1))
    assert "annotations" not in frame_text(rows.tail(1)), "empty fields are omitted"
