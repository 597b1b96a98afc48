"""Records become a Biopython `SeqRecord` and back, also through a GenBank file."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from Bio import BiopythonWarning, SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import (
    AfterPosition,
    BeforePosition,
    CompoundLocation,
    SeqFeature,
    SimpleLocation,
)
from Bio.SeqRecord import SeqRecord
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.lab.files.seqrecords import from_seqrecord, to_seqrecord

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
        SimpleLocation(7, 7, 1),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, 1)]),
        CompoundLocation([SimpleLocation(8, 20, -1), SimpleLocation(1, 5, -1)]),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, -1)]),
        CompoundLocation([SimpleLocation(1, 5, 1), SimpleLocation(8, 20, 1)], operator="order"),
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


@pytest.mark.parametrize("file", ["pBAD30.gb", "NC_005816.gb", "pFA6a-kanMX6.gb", "cor6_6.gb"])
def test_real_genbank_files_round_trip(file: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of what stands in these files
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
