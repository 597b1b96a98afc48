"""Text of GenBank and FASTA files."""

from __future__ import annotations

import pytest

GENBANK = """LOCUS       pTest                     12 bp    DNA     circular SYN 01-JAN-2026
DEFINITION  Test plasmid.
ACCESSION   X123
SOURCE      synthetic construct
  ORGANISM  Escherichia coli
            Bacteria.
REFERENCE   1
  AUTHORS   Miller,J.
  TITLE     A plasmid for tests
  JOURNAL   Plasmid 1, 2-3 (2026)
COMMENT     Kept at -80 C.
            labext:{'aliases':[[],[[]]]}
FEATURES             Location/Qualifiers
     CDS             complement(3..8)
                     /gene="bla"
                     /product="beta-lactamase"
                     /note="resistance to
                     ampicillin"
                     /translation="MK"
ORIGIN
        1 gattacagat ta
//
"""


def test_genbank_file_is_read_as_descriptions_and_features_without_bases(read):
    result = read(GENBANK.encode(), "plasmid.gbk")
    assert result.title == "Test plasmid"
    assert result.text.splitlines() == [
        "# Test plasmid",
        "",
        "Name: pTest",
        "",
        "Length: 12 bp, circular DNA",
        "",
        "Accessions: X123",
        "",
        "Organism: Escherichia coli",
        "",
        "Miller,J. A plasmid for tests. Plasmid 1, 2-3 (2026)",
        "",
        "Kept at -80 C.",
        "",
        "## Features",
        "",
        "- CDS bla, 3–8, reverse strand: beta-lactamase; resistance to ampicillin",
    ]


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("join(9..12,1..2)", ", 9–2"),
        ("complement(join(9..12,1..2))", ", 9–2, reverse strand"),
        ("join(1..2,9..12)", ", 1–12"),
        ("join(9..12,J00194.1:1..900)", ", 9–12"),
        ("5^6", ", 5^6"),
        ("12^1", ", 12^1"),
        ("complement(-2..8)", ""),
    ],
)
def test_positions_of_a_feature(read, location, place):
    result = read(GENBANK.replace("complement(3..8)", location).encode(), "plasmid.gbk")
    assert f"- CDS bla{place}: beta-lactamase; resistance to ampicillin" in result.text


def test_region_of_a_record_is_no_accession(read):
    text = GENBANK.replace("X123", "X123 AB_2 REGION: complement(5..16)")
    assert "\nAccessions: X123, AB_2\n" in read(text.encode(), "region.gb").text


def test_topology_without_a_division_is_read(read):
    result = read(GENBANK.replace(" SYN ", " ").encode(), "ape.gb")
    assert "Length: 12 bp, circular DNA" in result.text


def test_several_genbank_records_have_no_common_title(read):
    result = read((GENBANK + GENBANK.replace("Test", "Other")).encode(), "plasmids.gb")
    assert result.title is None
    assert "# Other plasmid" in result.text


def test_fasta_file_is_read_as_names_lengths_and_short_sequences(read):
    result = read(f">fwd forward primer\nGATT\nACA\n>chr1\n{'ACGT' * 100}\n".encode(), "a.fasta")
    assert result.text == "- fwd forward primer, 7 letters: GATTACA\n- chr1, 400 letters"


@pytest.mark.parametrize("name", ["broken.gb", "broken.fa"])
def test_broken_sequence_file_is_read_as_plain_text(read, name):
    assert read(b"LOCUS of control", name).text == "LOCUS of control"
