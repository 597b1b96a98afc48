"""Records are complete and match their GenBank files, compared with Biopython's SeqIO."""

from __future__ import annotations

import re
import warnings
from datetime import datetime

import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import (
    AfterPosition,
    BeforePosition,
    SeqFeature,
    SimpleLocation,
    UnknownPosition,
)
from Bio.SeqRecord import SeqRecord

from labext.sandbox.lab import sample_data
from labext.sandbox.lab.sample_data import extract_subsequence
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.sequences.features import extract_features
from labext.sandbox.lab.sequences.records import RECORD_FIELDS

FILES = ["pBAD30.gb", "pFA6a-kanMX6.gb", "NC_005816.gb", "cor6_6.gb"]

TEXTS = ("id", "name", "bases", "createdAt", "modifiedAt", "url", "webURL", "apiURL")
LISTS = (
    *("aliases", "annotations", "translations", "primers", "parts", "transcriptions"),
    *("dnaAlignmentIds", "authors"),
)
OBJECTS = ("fields", "customFields", "creator")
TYPES = {"length": int, "isCircular": bool} | {
    name: kind for kind, names in ((str, TEXTS), (list, LISTS), (dict, OBJECTS)) for name in names
}
MAY_BE_NULL = dict.fromkeys(("folderId", "entityRegistryId", "registryId"), str)
MAY_BE_NULL |= dict.fromkeys(("schema", "archiveRecord", "registrationOrigin"), dict)


@pytest.fixture(scope="module")
def records(lists):
    return lists.all({"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"})


def parsed(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*SeqIO.parse(sample_data.DATA_FOLDER / file, "genbank")]


def pairs(file):
    """Yield each record of a file as parsed by the platform and by Biopython's SeqIO."""
    return [
        *zip(importing.read_sequences(sample_data.DATA_FOLDER / file), parsed(file), strict=True)
    ]


def marked(bases, mark):
    """Return the bases of a feature in the direction of its strand."""
    start, end = mark["start"], mark["end"]
    read = bases[start:end] if start < end else bases[start:] + bases[:end]
    return str(Seq(read).reverse_complement()) if mark["strand"] == -1 else read


def test_records_have_every_field_of_the_right_type(records):
    assert len(records) == 113
    for record in records:
        assert {*record} == {*RECORD_FIELDS} == {*TYPES, *MAY_BE_NULL}
        for name, kind in TYPES.items():
            assert type(record[name]) is kind, name
        for name, kind in MAY_BE_NULL.items():
            assert record[name] is None or type(record[name]) is kind, name


def test_records_are_consistent(records):
    assert len({record["id"] for record in records}) == len(records)
    for record in records:
        assert re.fullmatch(r"seq_[0-9A-Za-z]{8}", record["id"])
        assert re.fullmatch(r"lib_[0-9A-Za-z]{8}", record["folderId"])
        assert re.fullmatch(r"ent_[0-9A-Za-z]{8}", record["creator"]["id"])
        assert {*record["creator"]} == {"handle", "id", "name"}
        assert record["length"] == len(record["bases"]) > 0
        times = [datetime.fromisoformat(record[name]) for name in ("createdAt", "modifiedAt")]
        assert times == sorted(times)
        assert {time.utcoffset().total_seconds() for time in times} == {0}
        for field in record["fields"].values():
            assert {*field} == {"value", "displayValue", "textValue", "isMulti", "type", "unit"}
            assert type(field["value"]) is list if field["isMulti"] else True
        for mark in [*record["annotations"], *record["translations"], *record["primers"]]:
            assert 0 <= mark["start"] < record["length"]
            assert 0 < mark["end"] <= record["length"]
            assert mark["strand"] in (-1, 0, 1)
            assert mark["start"] < mark["end"] or record["isCircular"]
            assert re.fullmatch(r"#[0-9A-F]{6}", mark["color"])


def test_registered_sequence_has_registry_id_and_fields(records):
    kanmx6 = next(r for r in records if r["name"] == "plasmid pFA6a-kanMX6")
    assert kanmx6["entityRegistryId"] == "VEC002"
    assert re.fullmatch(r"src_[0-9A-Za-z]{8}", kanmx6["registryId"])
    assert kanmx6["registrationOrigin"]["registeredAt"] == kanmx6["createdAt"]
    assert kanmx6["schema"]["name"] == "Plasmid"
    assert re.fullmatch(r"ts_[0-9A-Za-z]{8}", kanmx6["schema"]["id"])
    assert kanmx6["fields"]["Selection markers"] == {
        "value": ["kanamycin", "ampicillin"],
        "displayValue": "kanamycin, ampicillin",
        "textValue": "kanamycin, ampicillin",
        "isMulti": True,
        "type": "text",
        "unit": None,
    }
    assert kanmx6["fields"]["Accession"]["value"] == "Addgene 39296"
    pbad30 = next(r for r in records if r["name"] == "pBAD30")
    assert pbad30["fields"]["Organism"] == {
        "value": None,
        "displayValue": None,
        "textValue": None,
        "isMulti": False,
        "type": "text",
        "unit": None,
    }


@pytest.mark.parametrize("file", FILES)
def test_bases_and_topology_match_the_file(file):
    for entry, record in pairs(file):
        assert entry.bases == str(record.seq)
        assert entry.circular == (record.annotations.get("topology") == "circular")


@pytest.mark.parametrize("file", FILES)
def test_annotation_marks_the_bases_of_its_feature(file):
    for entry, record in pairs(file):
        features = [feature for feature in record.features if feature.type != "source"]
        assert [a["type"] for a in entry.features.annotations] == [f.type for f in features]
        for annotation, feature in zip(entry.features.annotations, features, strict=True):
            spliced = len(feature.location.parts) > 1 and annotation["start"] < annotation["end"]
            if spliced:  # from the first piece to the last
                assert annotation["start"] == feature.location.start
                assert annotation["end"] == feature.location.end
            elif len(feature.location):
                assert marked(entry.bases, annotation) == str(feature.extract(record.seq))


def test_feature_across_the_origin_ends_before_it_starts():
    ((entry, _),) = pairs("pFA6a-kanMX6.gb")
    sp6 = next(a for a in entry.features.annotations if a["name"] == "SP6 promoter")
    assert (sp6["start"], sp6["end"], sp6["strand"]) == (3921, 2, 1)
    assert marked(entry.bases, sp6).upper() == "ATTTAGGTGACACTATAGA"
    assert sp6["notes"] == "promoter for bacteriophage SP6 RNA polymerase"


def test_site_between_two_bases_marks_both():
    ((entry, _),) = pairs("NC_005816.gb")
    between = [a for a in entry.features.annotations if (a["start"], a["end"]) == (5932, 5934)]
    assert [a["type"] for a in between] == ["variation", "variation"]


def test_annotation_name_is_label_gene_or_product():
    ((pbad30, _),) = pairs("pBAD30.gb")
    names = [annotation["name"] for annotation in pbad30.features.annotations]
    assert names[:4] == ["P15A_ORI", "araC", "operator O2", "araC promoter"]
    ((ppcp1, _),) = pairs("NC_005816.gb")
    named = {(a["type"], a["name"]) for a in ppcp1.features.annotations}
    assert {("gene", "pla"), ("CDS", "pla"), ("CDS", "putative transposase")} <= named


def test_qualifiers_become_custom_fields():
    ((ppcp1, _),) = pairs("NC_005816.gb")
    pla = next(a for a in ppcp1.features.annotations if (a["type"], a["name"]) == ("CDS", "pla"))
    assert {"name": "EC_number", "value": "3.4.23.48"} in pla["customFields"]
    assert pla["notes"].startswith("outer membrane protease")
    assert {customField["name"] for customField in pla["customFields"]}.isdisjoint(
        {"note", "translation"}
    )


@pytest.mark.parametrize("file", FILES)
def test_translation_matches_its_regions(file):
    tables = {"STANDARD": 1, "BACTERIAL_ARCHAEAL_PLANT_PLASTID": 11}
    for entry, record in pairs(file):
        coding = [feature for feature in record.features if feature.type == "CDS"]
        for mark, feature in zip(entry.features.translations, coding, strict=True):
            pieces = "".join(entry.bases[r["start"] : r["end"]] for r in mark["regions"])
            read = Seq(pieces) if mark["strand"] == 1 else Seq(pieces).reverse_complement()
            read = read[: len(read) // 3 * 3]
            protein = str(read.translate(tables[mark["geneticCode"]])).removesuffix("*")
            if mark["coerceStartCodonToMethionine"]:
                assert protein[0] != "M"
                protein = f"M{protein[1:]}"
            assert mark["aminoAcids"] == protein
            assert mark["aminoAcids"] == feature.qualifiers.get("translation", [protein])[0]


def test_joined_gene_keeps_its_regions():
    kin2 = importing.read_sequences(sample_data.DATA_FOLDER / "cor6_6.gb")[1]
    (translation,) = kin2.features.translations
    pieces = [(region["start"], region["end"]) for region in translation["regions"]]
    assert pieces == [(103, 160), (319, 390), (503, 579)]
    assert (translation["start"], translation["end"]) == (103, 579)


def test_primers_have_bases_and_binding_site():
    ((entry, _),) = pairs("pFA6a-kanMX6.gb")
    primers = {primer["name"]: primer for primer in entry.features.primers}
    assert len(primers) == 9
    for primer in primers.values():
        assert primer["bases"] == marked(entry.bases, primer)
        assert primer["overhangLength"] == 0
    assert primers["SP6"]["bindPosition"] == 0
    assert primers["Amp-R"]["bindPosition"] == primers["Amp-R"]["end"] - 1
    assert primers["T7"]["bindPosition"] == primers["T7"]["start"]


def test_linearized_plasmid_shifts_its_annotations(records):
    for name in ("pBAD30", "plasmid pFA6a-kanMX6"):
        whole = next(r for r in records if r["name"] == name)
        short = name.removeprefix("plasmid ")
        cut = next(r for r in records if r["name"] == f"plasmid {short}, cut with EcoRI")
        assert cut["bases"].upper().startswith("AATTC")
        assert cut["bases"].upper().endswith("G")
        assert not cut["isCircular"]
        assert cut["parts"] == [
            {"start": 0, "end": whole["length"], "strand": 1, "sequenceId": whole["id"]}
        ]
        for kind in ("annotations", "primers"):
            before = {(m["name"], marked(whole["bases"], m)) for m in whole[kind]}
            after = {(m["name"], marked(cut["bases"], m)) for m in cut[kind]}
            assert after <= before
            assert len(before - after) == (name == "pBAD30" and kind == "annotations")  # the MCS


@pytest.mark.parametrize("start", [0, 500, 4500, 9608])
def test_fragment_keeps_features_wholly_within_it(start):
    ((entry, _),) = pairs("NC_005816.gb")
    bases, features = extract_subsequence(entry, start, 3000)
    assert bases == (entry.bases * 2)[start : start + 3000]
    kept_features = [marked(bases, mark) for mark in features.annotations]
    doubled = (entry.bases * 2)[start : start + 3000]
    inside = [
        marked(entry.bases, mark)
        for mark in entry.features.annotations
        if (mark["start"] - start) % len(entry.bases) + mark["end"] - mark["start"] <= len(doubled)
    ]
    assert kept_features == inside
    for mark in features.translations:
        pieces = "".join(bases[r["start"] : r["end"]] for r in mark["regions"])
        assert len(pieces) == 3 * len(mark["aminoAcids"]) + 3  # and the stop


def written_as(location, *, circular, bases="AAAACCCCGGGGTTTTACGT", **qualifiers):
    """Return the bases of a CDS at this location of a record."""
    record = SeqRecord(Seq(bases), annotations={"molecule_type": "DNA"})
    record.annotations["topology"] = "circular" if circular else "linear"
    qualifier_lists = {name: [value] for name, value in qualifiers.items()}
    record.features = [SeqFeature(location, type="CDS", qualifiers=qualifier_lists)]
    return extract_features(record)


@pytest.mark.parametrize(
    ("location", "circular", "place"),
    [
        (SimpleLocation(17, 20, 1) + SimpleLocation(0, 5, 1), True, (17, 5, 1)),
        (SimpleLocation(17, 20, 1) + SimpleLocation(0, 5, 1), False, (0, 20, 1)),
        (SimpleLocation(0, 5, -1) + SimpleLocation(17, 20, -1), True, (17, 5, -1)),
        (SimpleLocation(0, 5, -1) + SimpleLocation(17, 20, -1), False, (0, 20, -1)),
        (SimpleLocation(2, 4, 1) + SimpleLocation(10, 12, -1), False, (2, 12, 0)),
        (SimpleLocation(BeforePosition(3), AfterPosition(9), 1), False, (3, 9, 1)),
        (SimpleLocation(20, 20, 1), True, (19, 1, 1)),  # 20^1
    ],
    ids=["origin", "linear", "reverse origin", "reverse linear", "both strands", "fuzzy", "site"],
)
def test_annotation_of_a_spliced_or_fuzzy_feature(location, circular, place):
    (annotation,) = written_as(location, circular=circular).annotations
    assert (annotation["start"], annotation["end"], annotation["strand"]) == place


def test_unknown_and_remote_positions_are_skipped():
    for location in (
        None,
        SimpleLocation(1, 3, 1, ref="AB1"),
        SimpleLocation(2, UnknownPosition()),
    ):
        assert written_as(location, circular=False).annotations == []


def test_feature_that_continues_in_another_record_keeps_its_part():
    location = SimpleLocation(2, 9, 1) + SimpleLocation(0, 90, 1, ref="AB1")
    written = written_as(location, circular=False)
    (annotation,) = written.annotations
    assert (annotation["start"], annotation["end"], annotation["strand"]) == (2, 9, 1)
    assert written.translations == []  # its codons continue elsewhere


def test_gene_spliced_from_both_strands_has_no_translation():
    location = SimpleLocation(10, 16, -1) + SimpleLocation(0, 6, 1)
    written = written_as(location, circular=False, translation="KPKT")
    assert written.translations == []  # the API has one strand per translation
    assert len(written.annotations) == 1


@pytest.mark.parametrize("code", ["99", "eleven", "1"])
def test_unknown_genetic_code_falls_back_to_the_standard_code(code):
    written = written_as(
        SimpleLocation(0, 6, 1), circular=False, transl_table=code, codon_start=code
    )
    assert written.translations[0]["geneticCode"] == "STANDARD"
    assert written.translations[0]["aminoAcids"] == "KT"


@pytest.mark.parametrize(
    ("location", "regions"),
    [
        (SimpleLocation(0, 8, 1), [(2, 8)]),
        (SimpleLocation(0, 8, -1), [(0, 6)]),
        (SimpleLocation(0, 1, 1) + SimpleLocation(4, 11, 1), [(5, 11)]),
        (SimpleLocation(18, 20, 1) + SimpleLocation(0, 6, 1), [(0, 6)]),
    ],
)
def test_translation_starts_with_the_first_whole_codon(location, regions):
    (translation,) = written_as(location, circular=True, codon_start="3").translations
    assert [(region["start"], region["end"]) for region in translation["regions"]] == regions
    assert (translation["start"], translation["end"]) == regions[0]
    assert len(translation["aminoAcids"]) == 2


@pytest.mark.parametrize(
    ("start", "bases", "protein"),
    [
        (0, "GTGAAATAA", "MK"),
        (BeforePosition(0), "GTGAAATAA", "VK"),
        (0, "GTGAAA", "VK"),
        (0, "GTGTAAAAATAA", "V*K"),
        (0, "GTCAAATAA", "VK"),
    ],
)
def test_complete_gene_starts_with_methionine(start, bases, protein):
    """Its start codon may be another one than ATG."""
    location = SimpleLocation(start, len(bases), 1)
    written = written_as(location, circular=False, bases=bases, transl_table="11")
    (translation,) = written.translations
    assert translation["aminoAcids"] == protein
    assert translation["coerceStartCodonToMethionine"] == (protein[0] == "M")


@pytest.mark.parametrize("qualifier", ["pseudo", "pseudogene"])
def test_pseudogene_has_no_translation(qualifier):
    written = written_as(SimpleLocation(0, 6, 1), circular=False, **{qualifier: ""})
    assert written.translations == []
    assert len(written.annotations) == 1
