"""Frames of sequences, and conversion to a Biopython `SeqRecord` and back."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from Bio import BiopythonWarning, SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import (
    AfterPosition,
    BeforePosition,
    CompoundLocation,
    ExactPosition,
    OneOfPosition,
    SeqFeature,
    SimpleLocation,
    UnknownPosition,
    WithinPosition,
)
from Bio.SeqRecord import SeqRecord
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.frames.views import frame_html, frame_text
from labext.lab import files
from labext.lab.files.seqrecords import from_seqrecord, to_seqrecord
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


def test_schema_and_creator_are_their_names() -> None:
    plasmid = {**RECORD, "schema": {"id": "ts_1", "name": "Plasmid"}}
    odd = {"id": "seq_3", "schema": "Primer", "creator": {"id": "ent_2"}}
    table = sequences_frame([[plasmid, RECORD], [odd]], None)
    assert table[table["schema"] == "Plasmid"]["id"].tolist() == [plasmid["id"]]
    assert table.groupby("schema").size().to_dict() == {"Plasmid": 1, "Primer": 1}
    assert table["schema.id"].dropna().tolist() == ["ts_1"]
    assert table["creator"].dropna().tolist() == ["Ada", "Ada"]
    assert table["creator.id"].tolist() == ["ent_1", "ent_1", "ent_2"]
    assert table["creator.handle"].dropna().tolist() == ["ada", "ada"]
    assert plasmid["schema"] == {"id": "ts_1", "name": "Plasmid"}, "the record is unchanged"
    selected = select("schema,creator.id,schema.name,creator", plasmid)
    assert selected.values.tolist() == [["Plasmid", "ent_1", "Plasmid", "Ada"]]
    assert selected.columns.tolist() == ["schema", "creator.id", "schema.name", "creator"]
    assert select("schema", RECORD)["schema"].isna().all()


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


def test_units_of_fields_are_separate_columns() -> None:
    records = [
        {"id": f"seq_{n}", "fields": {"Volume": {"value": 5, "unit": unit}, "Host": {"value": "x"}}}
        for n, unit in enumerate(("mL", "uL", None))
    ]
    table = sequences_frame([records], None, spread=True)
    columns = [name for name in table.columns if name.startswith("fields.")]
    assert columns == ["fields.Volume", "fields.Volume.unit", "fields.Host"]
    assert table["fields.Volume.unit"].tolist()[:2] == ["mL", "uL"]
    assert table["fields.Volume.unit"].isna().tolist() == [False, False, True]
    selection = ColumnSelection("fields.Volume,fields.Volume.unit")
    assert selection.fields == ["id", "fields"]
    assert list(selection.select(records[1]).values()) == [5, "uL"]


def test_spread_fields_precede_the_creator() -> None:
    names = SEQUENCES.show(sequences_frame([[RECORD]], None, spread=True)).columns.tolist()
    assert names[:7] == [
        "name", "length", "isCircular", "schema.name", "bases", "annotations", "fields.Volume",
    ]  # fmt: skip
    last = ["id", "folderId", "schema.id", "createdAt", "modifiedAt", "creator.id", "creator.name"]
    assert [name for name in names if name in last] == last


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
        (5, "is not a list of column names"),
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


def test_malformed_cells_are_shown() -> None:
    odd = {"annotations": "none", "creator": [1], "fields": ["a"], "authors": [None, "x", {}]}
    assert "none" in frame_text(displayed({**RECORD, **odd}))
    assert frame_text(displayed()) == "No accessible sequences match."


def test_requested_columns_are_shown_even_if_empty() -> None:
    table = sequences_frame(
        [[{"id": "seq_1", "name": "pX", "length": 3}]], ["id", "name", "schema"]
    )
    two = SELECTED_COLUMNS.show(pd.concat([table, table], ignore_index=True))
    assert frame_text(two).split()[:3] == ["id", "name", "schema"], "also empty ones"


DATA = Path(__file__).parents[3] / "labext" / "sandbox" / "lab" / "data"

TEXT = st.text(max_size=12)
WORDS = st.text("abz 09\"'\\/=µé\t\n", max_size=90)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SPECIAL = ["codon_start", "translation", "rpt_type", "number", "citation", "direction", "pseudo"]
QUALIFIERS = st.sampled_from(
    ["gene", "product", "note", "label", "labext", "location", *SPECIAL, "a b", "", "x" * 30]
)
VALUES = WORDS | TEXT | st.none()
KINDS = st.sampled_from(["CDS", "promoter", "misc_feature", "my own type", "", None])
FIELDS = st.lists(
    st.fixed_dictionaries({"name": QUALIFIERS, "value": VALUES | st.text("AZ", max_size=99)}),
    max_size=4,
)


@st.composite
def annotation_records(draw: st.DrawFn, length: int) -> dict[str, Any]:
    position = st.integers(0, length) | st.integers(-3, length + 9) | st.none()
    marked: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {
                "name": VALUES,
                "type": KINDS,
                "start": position,
                "end": position,
                "strand": st.sampled_from([1, -1, 0, None]),
                "color": st.sampled_from(["#F58A5E", "red", "", None]),
            },
            optional={"notes": VALUES, "customFields": FIELDS, "more": JSON},
        )
    )
    return marked


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    bases = draw(st.text("ACGTNRYacgtn", min_size=1, max_size=130))
    fields: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "id": st.sampled_from(["seq_4fK9", "a b", "x" * 70, "", None]),
                "name": WORDS | TEXT,
                "length": st.just(len(bases)),
                "isCircular": st.booleans() | st.none(),
                "annotations": st.lists(annotation_records(len(bases)), max_size=3) | st.none(),
                "description": WORDS,
                "aliases": st.lists(TEXT, max_size=2),
                "createdAt": st.just("2026-11-20T13:23:23.760000+00:00"),
                "modifiedAt": st.sampled_from(["2026-11-20T13:23:23.76Z", "soon", None]),
                "customFields": st.dictionaries(TEXT, JSON, max_size=2),
                "fields": st.dictionaries(TEXT, JSON, max_size=2),
                "url": st.just("/campus/f/lib_1-plasmids/seq_4fK9-pbad30/edit"),
            },
        )
    )
    return fields | {"bases": bases}


def through_a_file(record: SeqRecord) -> SeqRecord:
    out = io.StringIO()
    SeqIO.write([record], out, "genbank")
    return SeqIO.read(io.StringIO(out.getvalue()), "genbank")


def same(one: Any, other: Any) -> bool:
    """Compare strictly: 1 is neither 1.0 nor true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(records())
def test_record_round_trip(record: dict[str, Any]) -> None:
    seqrecord = to_seqrecord(record)
    assert str(seqrecord.seq) == record["bases"]
    assert same(from_seqrecord(seqrecord), record)
    assert same(from_seqrecord(through_a_file(seqrecord)), record)


PLASMID = {
    "id": "seq_4fK9",
    "name": "pBAD30",
    "bases": "ACGT" * 25,
    "length": 100,
    "isCircular": True,
    "annotations": [
        {
            "name": "araC",
            "type": "CDS",
            "start": 10,
            "end": 40,
            "strand": -1,
            "color": "#31849B",
            "notes": "regulator of the arabinose BAD promoter",
            "customFields": [{"name": "gene", "value": "araC"}],
        }
    ],
}


def marked(**fields: Any) -> dict[str, Any]:
    return PLASMID | {"annotations": [PLASMID["annotations"][0] | fields]}  # type: ignore[index]


def test_genbank_file_has_standard_features() -> None:
    seqrecord = through_a_file(to_seqrecord(PLASMID))
    assert (seqrecord.id, seqrecord.name) == ("seq_4fK9", "pBAD30")
    assert seqrecord.annotations["topology"] == "circular"
    [feature] = seqrecord.features
    assert feature.type == "CDS"
    assert str(feature.location) == "[10:40](-)"
    assert feature.qualifiers == {
        "label": ["araC"],
        "ApEinfo_fwdcolor": ["#31849B"],
        "ApEinfo_revcolor": ["#31849B"],
        "note": ["regulator of the arabinose BAD promoter"],
        "gene": ["araC"],
    }
    assert "comment" not in seqrecord.annotations


@pytest.mark.parametrize(
    ("start", "end", "strand", "location"),
    [
        (10, 40, 1, "[10:40](+)"),
        (90, 5, 1, "join{[90:100](+), [0:5](+)}"),
        (90, 5, -1, "join{[0:5](-), [90:100](-)}"),
        (90, 0, 1, "[90:100](+)"),
        (90, 100, 1, "[90:100](+)"),
        (0, 0, 1, "[0:100](+)"),
        (0, 100, 1, "[0:100](+)"),
        (40, 40, 1, "join{[40:100](+), [0:40](+)}"),
    ],
)
def test_feature_across_the_origin_is_one_feature(
    start: int, end: int, strand: int, location: str
) -> None:
    record = marked(start=start, end=end, strand=strand)
    seqrecord = through_a_file(to_seqrecord(record))
    assert [str(feature.location) for feature in seqrecord.features] == [location]
    assert from_seqrecord(seqrecord) == record


@pytest.mark.parametrize(
    "location",
    [
        SimpleLocation(3, 9, 1),
        SimpleLocation(BeforePosition(3), AfterPosition(9), -1),
        SimpleLocation(WithinPosition(4, 4, 9), 20, 1),
        SimpleLocation(3, OneOfPosition(12, [ExactPosition(9), ExactPosition(12)]), -1),
        SimpleLocation(7, 7, 1),
        SimpleLocation(100, 100, 1),  # 100^1
        SimpleLocation(100, 100, -1),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, 1)]),
        CompoundLocation([SimpleLocation(8, 20, -1), SimpleLocation(1, 5, -1)]),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, -1)]),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, 1)], operator="order"),
        CompoundLocation([SimpleLocation(1, 5), SimpleLocation(8, 20)], operator="bond"),
        CompoundLocation([SimpleLocation(90, 100, 1), SimpleLocation(0, 5, 1)]),
        CompoundLocation([SimpleLocation(0, 5, -1), SimpleLocation(90, 100, -1)]),
        CompoundLocation(
            [SimpleLocation(80, 85, 1), SimpleLocation(90, 100, 1), SimpleLocation(0, 5, 1)]
        ),
    ],
)
def test_foreign_feature_keeps_its_location(location: Any) -> None:
    seqrecord = SeqRecord(
        Seq("ACGT" * 25),
        id="X1",
        name="X1",
        annotations={"molecule_type": "DNA", "topology": "circular"},
        features=[SeqFeature(location, type="CDS", qualifiers={"label": ["one"]})],
    )
    record = from_seqrecord(seqrecord)
    again = to_seqrecord(record)
    assert str(again.features[0].location) == str(location)
    assert from_seqrecord(through_a_file(again)) == record
    cover = record["annotations"][0]
    inside = [n % 100 for n in range(cover["start"], cover["end"])] or [
        *range(cover["start"], 100),
        *range(cover["end"]),
    ]
    assert set(location) <= set(inside)
    if location.start == location.end == 100:
        assert (cover["start"], cover["end"]) == (99, 1)
        assert cover["customFields"][0]["value"].rstrip(")").endswith("100^1")


def test_feature_in_other_records_has_its_part_in_this_one() -> None:
    elsewhere = SimpleLocation(0, 6905, 1, ref="U18270.1")
    locations = [
        SimpleLocation(18, 25, 1) + elsewhere,
        CompoundLocation([elsewhere, SimpleLocation(5, 9, 1), SimpleLocation(18, 25, 1)]),
        elsewhere,
        SimpleLocation(UnknownPosition(), 9),  # as UniProt has them
        SimpleLocation(5, UnknownPosition()) + SimpleLocation(12, 15),
    ]
    seqrecord = SeqRecord(
        Seq("ACGTT" * 8),
        annotations={"molecule_type": "DNA"},
        features=[SeqFeature(location, type="gene") for location in locations],
    )
    with pytest.warns(UserWarning, match="left out 2 features without"):
        record = from_seqrecord(seqrecord)
    places = [(mark["start"], mark["end"]) for mark in record["annotations"]]
    assert places == [(18, 25), (5, 25), (12, 15)]
    assert str(to_seqrecord(record).features[1].location) == "join{[5:9](+), [18:25](+)}"


@pytest.mark.parametrize("file", ["pBAD30.gb", "NC_005816.gb", "pFA6a-kanMX6.gb", "cor6_6.gb"])
def test_real_genbank_files_round_trip(file: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # from the content of these files
        seqrecords = list(SeqIO.parse(io.StringIO((DATA / file).read_text()), "genbank"))
    for seqrecord in seqrecords:
        record = from_seqrecord(seqrecord)
        again = to_seqrecord(record)
        assert from_seqrecord(through_a_file(again)) == record
        assert str(again.seq) == str(seqrecord.seq)
        assert again.id == (seqrecord.name if seqrecord.id == "." else seqrecord.id)
        assert [str(feature.location) for feature in again.features] == [
            str(feature.location) for feature in seqrecord.features
        ]
        for mine, theirs in zip(again.features, seqrecord.features, strict=True):
            assert mine.type == theirs.type
            label = mine.qualifiers.pop("label")
            mine.qualifiers.pop("labext", None)
            assert theirs.qualifiers.pop("label", label) == label
            assert mine.qualifiers == theirs.qualifiers


def test_changes_to_the_seqrecord_are_kept() -> None:
    record = marked(name="araC µ", strand=0, end=0) | {"name": "my plasmid", "aliases": ["p30"]}
    seqrecord = to_seqrecord(record)
    seqrecord.name = "renamed"
    [feature] = seqrecord.features
    feature.qualifiers["label"] = ["other"]
    feature.location = SimpleLocation(2, 8, strand=-1)
    restored = from_seqrecord(through_a_file(seqrecord))
    assert restored["name"] == "renamed"
    assert restored["aliases"] == ["p30"]
    [annotation] = restored["annotations"]
    assert (annotation["name"], annotation["start"], annotation["end"]) == ("other", 2, 8)
    assert annotation["strand"] == -1


def test_seqrecord_without_a_name_has_none() -> None:
    assert from_seqrecord(SeqRecord(Seq("ACGT"), id="X1"))["name"] == "X1"
    record = from_seqrecord(SeqRecord(Seq("ACGT")))
    assert (record["id"], record["name"]) == (None, None)
    with pytest.raises(InputError, match="without a name: row 0"):
        files.write(record, "x.fa")


def test_slice_keeps_its_features() -> None:
    seqrecord = to_seqrecord(marked(name="araC µ"))[5:50]
    restored = from_seqrecord(seqrecord)
    assert (restored["bases"], restored["length"]) == (("ACGT" * 25)[5:50], 45)
    [annotation] = restored["annotations"]
    assert (annotation["name"], annotation["start"], annotation["end"]) == ("araC µ", 5, 35)


@pytest.mark.parametrize("bases", [None, "", 5])
def test_record_without_bases_is_refused(bases: Any) -> None:
    with pytest.raises(InputError, match="pBAD30 has no bases"):
        to_seqrecord(PLASMID | {"bases": bases})


@pytest.mark.parametrize("comment", ["{", "[1]", "{'id':5}", "{'id':[[],[1,2]]}", "{'bases':[1]}"])
def test_damaged_labext_comment_is_ignored(comment: str) -> None:
    seqrecord = to_seqrecord(PLASMID)
    seqrecord.annotations["comment"] = f"labext:{comment}"
    assert from_seqrecord(seqrecord) == PLASMID
