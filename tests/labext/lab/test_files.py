"""Sequences are written to FASTA and GenBank files and read back."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from Bio import SeqIO
from hypothesis import given
from hypothesis import strategies as st
from sequence_records import PLASMID, PRIMER

from labext.dna import reverse_complement
from labext.errors import ConflictError, InputError, StorageError
from labext.lab import files
from labext.lab.files import seqrecords
from labext.lab.sequences import frames

DATA = Path(__file__).parents[3] / "labext" / "sandbox" / "lab" / "data"
FORMATS = ["fasta", "genbank"]


NAMES = st.text(min_size=1, max_size=20)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "bases": st.text("ACGTNacgt", min_size=1, max_size=90)},
        optional={
            "id": NAMES | st.none(),
            "isCircular": st.booleans() | st.none(),
            "aliases": st.lists(NAMES, max_size=2),
            "description": NAMES,
            "annotations": st.just(PLASMID["annotations"]) | st.just([]) | st.none(),
        },
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda record: record["name"],
)


@given(RECORDS, st.sampled_from(FORMATS))
def test_written_records_round_trip(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], kind: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / f"again.{kind}"
    files.write(records, path, format=kind, overwrite=True, whole=True)
    assert json.dumps(files.read(path), sort_keys=True) == json.dumps(records, sort_keys=True)


@pytest.mark.parametrize("name", ["out/plasmid.gb", "plasmid.fasta", "plasmid.FA", "p.gbk"])
def test_format_follows_the_file_extension(name: str, tmp_path: Path) -> None:
    path = files.write([PLASMID, PRIMER], tmp_path / name, whole=True)
    assert path == tmp_path / name
    assert path.read_text().startswith(">" if ".f" in name.lower() else "LOCUS")
    assert files.read(str(path)) == [PLASMID, PRIMER]


@pytest.mark.parametrize("kind", FORMATS)
def test_biopython_reads_the_file(kind: Any, tmp_path: Path) -> None:
    path = files.write([PLASMID, PRIMER], tmp_path / "out", format=kind)
    assert path.read_text().isascii()
    assert all(len(line) <= 80 for line in path.read_text().splitlines() if line[0] != ">")
    with path.open() as stream:
        plasmid, primer = SeqIO.parse(stream, kind)
    assert str(plasmid.seq).upper() == str(PLASMID["bases"]).upper()
    assert plasmid.name.startswith("my_plasmid_(pBAD30-")
    assert (primer.name, str(primer.seq)) == ("primer", "ACGTACGT")
    if kind == "genbank":
        assert plasmid.annotations["topology"] == "circular"
        assert plasmid.id == "seq_4fK9"
        labels = [feature.qualifiers["label"] for feature in plasmid.features]
        assert labels == [["over the origin"], ["end"]]


def test_plain_fasta_has_names_and_bases(tmp_path: Path) -> None:
    path = files.write([PRIMER, PLASMID | {"name": "two words"}], tmp_path / "a.fa")
    first, second = path.read_text().split(">")[1:]
    assert first == "primer\nACGTACGT\n"
    assert second.startswith("two_words two words\n")
    assert [item["name"] for item in files.read(path)] == ["primer", "two_words"]


def test_letters_without_a_decomposition_are_written_in_ascii(tmp_path: Path) -> None:
    record = {"name": "Große Møller-Łódź Œuvre", "bases": "ACGT"}
    fasta = files.write(record, tmp_path / "a.fa").read_text()
    assert fasta.startswith(">Grosse_Moller-Lodz_OEuvre Grosse Moller-Lodz OEuvre\n")


@pytest.mark.parametrize("kind", FORMATS)
def test_id_replaces_a_name_without_letters_of_ascii(kind: Any, tmp_path: Path) -> None:
    records = [
        {"id": f"seq_{n}", "name": name, "bases": "ACGT"}
        for n, name in enumerate(["対照", "試料", "α", "🧬 (2)"])
    ]
    path = files.write(records, tmp_path / "a", format=kind)
    with path.open() as stream:
        names = [item.name for item in SeqIO.parse(stream, kind)]
    assert names == ["seq_0", "seq_1", "alpha", "(2)"]
    assert seqrecords.to_seqrecord(records[0]).name == "seq_0"


def test_long_words_are_split_only_where_a_line_of_a_file_ends(tmp_path: Path) -> None:
    fields = [{"name": "a" * 20, "value": "b" * 35}, {"name": "gene", "value": "c" * 52}]
    mark = {"name": "pCMV-BE3(human-codon-optimized)-P2A-EGFP-T2A-Puro", "customFields": fields}
    mark["notes"] = (
        "https://doi.org/10.1093/nar/gku1046 and https://doi.org/10.1101/2021.04.01.438016"
    )
    record = {"name": "n" * 60, "bases": "ACGT", "annotations": [mark]}
    written = SeqIO.read(files.write(record, tmp_path / "a.gb"), "genbank")
    qualifiers = written.features[0].qualifiers
    assert written.description == record["name"]
    assert qualifiers["label"] == [mark["name"]]
    assert qualifiers["note"] == [mark["notes"]]
    assert qualifiers["a" * 20] == ["b" * 35]
    assert qualifiers["gene"] == [f"{'c' * 51} c"], (
        "a space, which readers add at the end of a line"
    )
    assert files.read(tmp_path / "a.gb") == [record]


@pytest.mark.parametrize("overwrite", [True, False])
def test_folder_is_not_replaced_by_a_file(tmp_path: Path, overwrite: bool) -> None:
    for folder in (tmp_path, f"{tmp_path / 'new'}/"):
        with pytest.raises(InputError, match="is a folder"):
            files.write([PRIMER], folder, format="fasta", overwrite=overwrite)


def test_greek_letters_dashes_and_primes_are_written_in_ascii(tmp_path: Path) -> None:
    name = "β-lactamase, Δlac, 5′–3′"
    mark = {"name": "−10 box", "notes": "10–20 µM Zn²⁺ at 37 °C, naïve"}
    record = {"name": name, "bases": "ACGT", "annotations": [mark]}
    fasta = files.write(record, tmp_path / "a.fa").read_text()
    assert fasta.startswith(">beta-lactamase_Deltalac_5_-3 beta-lactamase, Deltalac, 5'-3'\n")
    feature = SeqIO.read(files.write(record, tmp_path / "a.gb"), "genbank").features[0]
    assert feature.qualifiers["label"] == ["-10 box"]
    assert feature.qualifiers["note"] == ["10-20 uM Zn2+ at 37 C, naive"]
    assert files.read(tmp_path / "a.gb") == [record]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_fasta_name_ends_at_the_first_whitespace_and_lines_at_any_newline(
    tmp_path: Path, newline: str
) -> None:
    path = tmp_path / "a.fa"
    path.write_text(
        newline.join([">a\tfirst one", "ACGT", "AC", ">b  second", "GG", ""]), newline=""
    )
    first, second = files.read(path)
    assert (first["name"], first["description"], first["bases"]) == ("a", "first one", "ACGTAC")
    assert (second["name"], second["description"], second["bases"]) == ("b", "second", "GG")


def test_path_that_cannot_exist_is_an_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="File name too long"):
        files.write([PRIMER], tmp_path / f"{'n' * 300}.fa")
    with pytest.raises(InputError, match="is not a path"):
        files.read("a\0b.fa")


@pytest.mark.parametrize("records", ["pBAD30", ["pBAD30"], None, 5])
def test_name_instead_of_a_record_is_refused(records: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a record"):
        files.write(records, tmp_path / "a.fa")


def test_names_are_unique_after_conversion(tmp_path: Path) -> None:
    records = [
        {"name": name, "bases": "ACGT"} for name in ("a b", "a_b", "a/b", "a" * 99, "a" * 98)
    ]
    for kind in ("fasta", "gb"):
        path = files.write(records, tmp_path / f"a.{kind}", whole=True)
        with path.open() as stream:
            names = [item.name for item in SeqIO.parse(stream, kind)]
        assert len(set(names)) == 5
        assert names[:3] == ["a_b", "a_b_2", "a_b_3"]
        assert files.read(path) == records


def test_frame_is_written(tmp_path: Path) -> None:
    table = frames.sequences_frame([[PLASMID, PRIMER | {"id": "seq_2", "annotations": []}]], None)
    path = files.write(table, tmp_path / "all.gb")
    plasmid, primer = files.read(path)
    for name in ("id", "name", "bases", "isCircular", "length", "annotations", "aliases"):
        assert plasmid[name] == PLASMID[name]
    assert pd.Timestamp(plasmid["createdAt"]) == pd.Timestamp(str(PLASMID["createdAt"]))
    assert primer["createdAt"] is None
    assert primer["length"] is None
    assert files.write(table[["name", "bases"]], tmp_path / "two.fasta").exists()
    table["counts"] = [np.array([1, 2]), np.array([3])]
    with pytest.raises(ConflictError):
        files.write(table, path)
    assert files.read(files.write(table, path, overwrite=True))[0]["counts"] == [1, 2]
    assert files.write(table, path) == path


def test_frame_with_its_names_in_the_index_is_written(tmp_path: Path) -> None:
    plain = pd.DataFrame([PLASMID, PRIMER])
    for number, columns in enumerate(["name", ["id", "name"]]):
        path = files.write(plain.set_index(columns), tmp_path / f"{number}.fasta")
        assert path.read_text() == files.write(plain, tmp_path / "all.fasta").read_text()


def test_row_of_a_frame_is_written_and_converted_like_its_record(tmp_path: Path) -> None:
    row = frames.sequences_frame([[PLASMID]], None).iloc[0]
    path = files.write(row, tmp_path / "row.gb")
    assert files.write([row], path) == path
    assert files.read(path)[0]["annotations"] == PLASMID["annotations"]
    assert SeqIO.read(path, "genbank").annotations["topology"] == "circular"
    converted, expected = seqrecords.to_seqrecord(row), seqrecords.to_seqrecord(PLASMID)
    assert converted.annotations["topology"] == "circular"
    assert [feature.location for feature in converted.features] == [
        feature.location for feature in expected.features
    ]


@pytest.mark.parametrize(
    ("bases", "locus"),
    [("ACGTNacgt", "9 bp    DNA"), ("ACGUNacgu", "9 bp    RNA"), ("ACGTUACGU", "9 bp    DNA")],
)
def test_genbank_file_names_the_kind_of_molecule(bases: str, locus: str, tmp_path: Path) -> None:
    mark = {"name": "part", "type": "gene", "start": 1, "end": 3, "strand": 1}
    record = {"name": "x", "bases": bases, "isCircular": False, "annotations": [mark]}
    path = files.write(record, tmp_path / "x.gb")
    assert locus in path.read_text().splitlines()[0]
    assert files.read(path) == [record]


@pytest.mark.parametrize("circular", [True, False])
def test_genbank_file_names_proteins(circular: bool, tmp_path: Path) -> None:
    domain = {"name": "domain", "type": "Region", "start": 1, "end": 4, "strand": 0}
    protein = {"id": "p1", "name": "GFP", "bases": "MSKGEELFtg*", "isCircular": circular}
    for marks in ([], [domain]):
        record = protein | {"annotations": marks}
        path = files.write(record, tmp_path / "x.gb", overwrite=True)
        assert "11 aa" in path.read_text().splitlines()[0]
        assert SeqIO.read(path, "genbank").annotations["molecule_type"] == "protein"
        assert files.read(path) == [record]
    stranded = protein | {"annotations": [domain | {"strand": 1}]}
    assert files.read(files.write(stranded, path, overwrite=True)) == [stranded]


@pytest.mark.parametrize(
    ("modified", "date"),
    [
        ("2026-11-20T13:23:23.76Z", "20-NOV-2026"),
        (pd.Timestamp("2026-11-20T23:23Z"), "20-NOV-2026"),
        (1795217003760, "20-NOV-2026"),
        (1795217003760.0, "20-NOV-2026"),
        (np.int64(1795217003760), "20-NOV-2026"),
        (0, "01-JAN-1970"),
        (-86_400_000, "31-DEC-1969"),
        (1e300, "01-JAN-1980"),
        (float("inf"), "01-JAN-1980"),
        (None, "01-JAN-1980"),
        ("soon", "01-JAN-1980"),
    ],
)
def test_date_of_a_genbank_file_is_the_last_modification(
    modified: Any, date: str, tmp_path: Path
) -> None:
    path = files.write(PRIMER | {"modifiedAt": modified}, tmp_path / "x.gb")
    assert path.read_text().splitlines()[0].endswith(date)


def test_frame_read_back_from_json_keeps_the_date(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([PRIMER | {"modifiedAt": 1795217003760}]))
    path = files.write(pd.read_json(tmp_path / "a.json"), tmp_path / "a.gb")
    assert path.read_text().splitlines()[0].endswith("20-NOV-2026")


def as_read_from_parquet(value: Any) -> Any:
    """Return a value with an object array in place of each list, as pyarrow converts lists."""
    if isinstance(value, dict):
        return {name: as_read_from_parquet(item) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    array = np.empty(len(value), dtype=object)
    array[:] = [as_read_from_parquet(item) for item in value]
    return array


def test_records_of_a_parquet_file_keep_features_and_exons(tmp_path: Path) -> None:
    gene = {"name": "gene", "start": 10, "end": 60, "strand": 1}
    regions = [{"start": 10, "end": 25}, {"start": 40, "end": 60}]
    record = {
        "name": "p", "bases": "ACGTA" * 20, "fields": {"Tags": {"value": ["a", "b"]}},
        "annotations": [gene | {"type": "CDS"}],
        "translations": [gene | {"regions": regions, "aminoAcids": ""}],
    }  # fmt: skip
    read = as_read_from_parquet(record)
    expected, path = tmp_path / "expected.gb", tmp_path / "p.gb"
    files.write(record, expected)
    assert files.write(pd.DataFrame([read]), path).read_bytes() == expected.read_bytes()
    assert "join(11..25,41..60)" in path.read_text()


def test_records_of_a_csv_file_keep_their_features(tmp_path: Path) -> None:
    expected, path = tmp_path / "expected.gb", tmp_path / "p.gb"
    frame = frames.sequences_frame([[PLASMID]], None)
    frame.to_csv(tmp_path / "p.csv", index=False)
    read = pd.read_csv(tmp_path / "p.csv")
    files.write(frame, expected)
    files.write(read, path)
    assert files.read(path)[0]["annotations"] == PLASMID["annotations"]
    features = [SeqIO.read(name, "genbank").features for name in (path, expected)]
    assert str(features[0]) == str(features[1])


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("csv", [True, False])
def test_frame_keeps_schema_and_creator_with_their_ids(
    spread: bool, csv: bool, tmp_path: Path
) -> None:
    records: list[dict[str, Any]] = [
        PLASMID | {"schema": {"id": "ts_1", "name": "2024"}},
        PRIMER | {"schema": None, "creator": {"id": "ent_2", "name": "Ada"}},
        {"name": "bare", "bases": "ACGT", "schema": {"id": "ts_2", "name": "Primer"}},
    ]
    frame = frames.sequences_frame([records], None, spread=spread)
    if csv:
        frame.to_csv(tmp_path / "all.csv", index=False)
        frame = pd.read_csv(tmp_path / "all.csv")
    read = files.read(files.write(frame, tmp_path / "all.gb"))
    for name in ("schema", "creator"):
        assert [row[name] for row in read] == [record.get(name) for record in records]
    assert not any("." in name for row in read for name in row if "ields" not in name)


def test_export_of_a_frame_does_not_change_the_file_of_its_record(tmp_path: Path) -> None:
    record = dict.fromkeys(frames.COLUMN_KINDS) | PLASMID
    record |= {"schema": {"id": "ts_1", "name": "Plasmid"}}
    record |= {
        "createdAt": "2026-02-02T09:00:00.000000+00:00",
        "modifiedAt": "2026-03-02T16:30:00Z",
    }
    record = {name: value for name, value in record.items() if "." not in name}
    path = files.write(record, tmp_path / "a.gb")
    assert files.write(frames.sequences_frame([[record]], None), path) == path


def test_name_of_a_schema_stays_text_without_its_id(tmp_path: Path) -> None:
    for schema in ("Plasmid", "2024", "[1]"):
        record = PRIMER | {"schema": schema}
        (read,) = files.read(files.write(record, tmp_path / "a.gb", overwrite=True))
        assert read == record
    old = PRIMER | {"schema": "{'id': 'ts_1', 'name': 'Plasmid'}"}
    (read,) = files.read(files.write(old, tmp_path / "a.gb", overwrite=True))
    assert read["schema"] == {"id": "ts_1", "name": "Plasmid"}


@pytest.mark.parametrize("number", [int, float, np.int64, np.float64, str, lambda n: f"{n}.0"])
@pytest.mark.parametrize("strand", [-1, -1.0, np.int64(-1), "-", "-1"])
def test_features_of_a_frame_keep_position_and_strand(
    number: Any, strand: Any, tmp_path: Path
) -> None:
    """pandas converts integers to floats in a column with a missing value."""
    gene = {"name": "g", "start": number(10), "end": number(60), "strand": strand}
    regions = [{"start": number(10), "end": number(25)}, {"start": number(40), "end": number(60)}]
    genes = [gene | {"type": "CDS"}, gene | {"strand": float("nan"), "notes": pd.NA}]
    record = {
        "name": "p", "bases": "ACGTA" * 20, "annotations": genes,
        "translations": [gene | {"regions": regions, "aminoAcids": ""}],
    }  # fmt: skip
    path = files.write(record, tmp_path / "p.gb")
    assert "complement(join(11..25,41..60))" in path.read_text()
    expected = {"name": "g", "start": 10, "end": 60}
    assert files.read(path)[0]["annotations"] == [
        expected | {"type": "CDS", "strand": -1},
        expected | {"strand": None, "notes": None},
    ]


@pytest.mark.parametrize("kind", [pd.DataFrame, pd.Series, tuple])
def test_features_may_be_a_frame_a_series_or_a_tuple(kind: Any, tmp_path: Path) -> None:
    genes = [{"name": "a", "start": 1, "end": 9}, {"name": "b", "start": 2, "end": 5, "strand": -1}]
    record = PRIMER | {"annotations": kind(genes)}
    files.write(record, tmp_path / "p.gb")
    path = files.write(pd.DataFrame([record]), tmp_path / "p.gb")
    places = [str(item.location) for item in SeqIO.read(path, "genbank").features]
    assert places == ["[1:8](+)", "[2:5](-)"]


def test_features_in_a_text_that_is_no_list_are_refused(tmp_path: Path) -> None:
    cut = {"name": "p", "bases": "ACGT", "annotations": "[{'name': 'gene', 'start': 1, 'e"}
    with pytest.raises(InputError, match="are not a list") as refused:
        files.write(cut, tmp_path / "p.gb")
    assert "Parquet" in str(refused.value)


@pytest.mark.parametrize(
    ("strand", "span", "exons", "regions", "location"),
    [
        (1, (10, 60), [(10, 25), (40, 60)], None, "join(11..25,41..60)"),
        (-1, (10, 60), [(10, 25), (40, 60)], None, "complement(join(11..25,41..60))"),
        (1, (80, 30), [(80, 90), (95, 100), (0, 30)], None, "join(81..90,96..100,1..30)"),
        (-1, (10, 90), [(40, 52), (60, 75), (80, 90), (10, 25)], None, None),  # trans-spliced
        # The translation starts at the first whole codon, or ends before the stop codon.
        (-1, (10, 60), [(10, 25), (40, 60)], [(10, 25), (40, 58)], None),
        (1, (10, 60), [(10, 25), (40, 60)], [(10, 25), (40, 57)], None),
        # Some services write the end of the sequence as 0.
        (1, (10, 0), [(10, 25), (40, 100)], [(10, 25), (40, 0)], "join(11..25,41..100)"),
        (-1, (10, 0), [(10, 25), (40, 100)], [(10, 25), (40, 0)], None),
    ],
)
def test_exons_of_a_translation_are_those_of_the_coding_feature(
    strand: int, span: Any, exons: Any, regions: Any, location: str | None, tmp_path: Path
) -> None:
    bases = "".join(random.Random(3).choices("ACGT", k=100))
    gene = {"name": "kin2", "start": span[0], "end": span[1], "strand": strand}
    shown = [{"start": start, "end": end} for start, end in regions or exons]
    record = {
        "name": "g",
        "bases": bases,
        "isCircular": True,
        "annotations": [gene | {"type": "gene"}, gene | {"type": "CDS"}],
        "translations": [gene | {"regions": shown, "aminoAcids": ""}],
    }
    path = files.write(record, tmp_path / "g.gb")
    whole, coding = SeqIO.read(path, "genbank").features
    spliced = "".join(bases[start:end] for start, end in exons)
    expected = reverse_complement(spliced) if strand < 0 else spliced
    assert str(coding.extract(bases)) == expected
    assert len(whole) == (span[1] - span[0]) % 100, "only the coding feature is spliced"
    assert location is None or location in path.read_text()
    assert files.read(path) == [record]


def test_coding_features_have_the_protein_of_their_translation(tmp_path: Path) -> None:
    gene = {"name": "fdhF", "type": "CDS", "start": 3, "end": 15, "strand": -1}
    own = [{"name": "translation", "value": "MU"}]
    record = {
        "name": "g",
        "bases": "ACGT" * 10,
        "annotations": [
            gene,
            gene | {"type": "gene"},
            gene | {"strand": 1},
            gene | {"start": 20, "end": 32, "customFields": own},
        ],
        "translations": [gene | {"start": 6, "aminoAcids": "MU*"}],  # with selenocysteine
    }
    path = files.write(record, tmp_path / "g.gb")
    written = SeqIO.read(path, "genbank").features
    proteins = [feature.qualifiers.get("translation") for feature in written]
    assert proteins == [["MU"], None, None, ["MU"]]
    assert files.read(path) == [record]


@pytest.mark.parametrize(
    ("kind", "fields"), [("genbank", "translations"), ("fasta", "annotations, translations")]
)
def test_positions_in_bases_that_were_edited_are_left_out(
    kind: Any, fields: str, tmp_path: Path
) -> None:
    gene = {"name": "g", "type": "CDS", "start": 10, "end": 40, "strand": 1}
    record = {"name": "x", "bases": "ACGT" * 10, "annotations": [gene], "primers": []}
    record |= {"translations": [gene | {"aminoAcids": "M"}], "isCircular": True}
    path = files.write(record, tmp_path / "a", format=kind, whole=True)
    text = path.read_text()
    path.write_text(text.replace("1 acgt", "1 ccgt").replace("\nACGT", "\nCCGT"))
    with pytest.warns(UserWarning, match=f"x: left out {fields}, since the bases were edited"):
        (edited,) = files.read(path)
    assert edited["bases"] == "CCGT" + "ACGT" * 9
    assert "translations" not in edited
    assert edited["annotations"] == ([gene] if kind == "genbank" else [])
    assert edited["isCircular"]
    path.write_text(text.replace("ACGT" * 10, "acgt" * 10))
    assert files.read(path)[0]["translations"] == record["translations"]


@pytest.mark.parametrize("regions", [None, "x", [None, {}], [{"start": 40, "end": 60}] * 2, []])
def test_invalid_regions_of_a_translation_are_ignored(regions: Any, tmp_path: Path) -> None:
    gene = {"name": "kin2", "type": "CDS", "start": 10, "end": 60, "strand": 1}
    record = {
        "name": "g",
        "bases": "ACGT" * 25,
        "annotations": [gene],
        "translations": [gene | {"regions": regions}, None],
    }
    path = files.write(record, tmp_path / "g.gb")
    assert "11..60\n" in path.read_text()
    assert files.read(path) == [record]


@pytest.mark.parametrize(
    ("name", "count", "first"),
    [
        ("pBAD30.gb", 1, ("pBAD30", 4923, True, 13)),
        ("cor6_6.gb", 6, ("ATCOR66M", 513, False, 3)),
        ("ls_orchid.fasta", 94, ("gi|2765658|emb|Z78533.1|CIZ78533", 740, False, 0)),
    ],
)
def test_foreign_files_round_trip(
    name: str, count: int, first: tuple[Any, ...], tmp_path: Path
) -> None:
    records = files.read(DATA / name)
    assert len(records) == count
    record = records[0]
    assert (
        record["name"],
        record["length"],
        record["isCircular"],
        len(record["annotations"]),
    ) == first
    for kind in ("gb", "fasta"):
        assert files.read(files.write(records, tmp_path / f"again.{kind}", whole=True)) == records


def test_features_without_a_valid_position_are_left_out_with_a_warning(tmp_path: Path) -> None:
    lines = [line for name in POSITIONS for line in feature_lines(name)]
    path = write_genbank(tmp_path / "map.gb", "pX", lines)
    with pytest.warns(UserWarning, match="^pX: left out 3 features .*: across and 2 more") as shown:
        (record,) = files.read(path)
    assert len(shown) == 1
    assert [item["name"] for item in record["annotations"]] == ["kept"]
    with pytest.raises(ConflictError):
        files.write(PRIMER, path)  # without a warning about the other file


def test_qualifier_without_a_value_is_written_without_one(tmp_path: Path) -> None:
    lines = [*feature_lines("kept"), f"{' ' * 21}/pseudo", f"{' ' * 21}/number=1"]
    (record,) = files.read(write_genbank(tmp_path / "a.gb", "pX", lines))
    path = files.write(record, tmp_path / "b.gb")
    assert "/pseudo\n" in path.read_text()
    assert files.read(path) == [record]


@pytest.mark.parametrize(
    "values",
    [["対照", "試料"], ["lacZ", "試料"], ["", "x", ""], [f"{'w ' * n}/ β" for n in range(17, 31)]],
)
@pytest.mark.parametrize("name", ["comment", "translation", "citation"])
def test_qualifiers_with_empty_values_or_slashes_are_kept(
    name: str, values: list[str], tmp_path: Path
) -> None:
    fields = [{"name": name, "value": value} for value in values]
    record = {"name": "x", "bases": "ACGT", "annotations": [{"name": "g", "customFields": fields}]}
    assert files.read(files.write(record, tmp_path / "a.gb")) == [record]


POSITIONS = {"across": "15..4", "kept": "3..9", "other": "J00194.1:1..9", "long": "15..21"}


def feature_lines(name: str) -> list[str]:
    """Return a feature of a GenBank file."""
    return [f"     gene            {POSITIONS[name]}", f'{" " * 21}/label="{name}"']


def write_genbank(path: Path, name: str, features: list[str]) -> Path:
    """Write a GenBank file of 20 bases, as other programs do."""
    lines = [
        f"LOCUS       {name} 20 bp ds-DNA     linear   SYN 12-JAN-2021",
        "DEFINITION  synthetic linear DNA.",
        "ACCESSION   .",
        "VERSION     .",
        "FEATURES             Location/Qualifiers",
        *features,
        "ORIGIN",
        "        1 acgtacgtac acgtacgtac",
        "//",
    ]
    path.write_text("\n".join(lines))
    return path


def test_foreign_description_is_kept() -> None:
    record, *_ = files.read(DATA / "ls_orchid.fasta")
    assert record["description"].startswith("C.irapeanum 5.8S rRNA gene")
