"""Restriction digests, compared with cuts by hand and with text search."""

from __future__ import annotations

import re
import time
import tracemalloc
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import genbank_bases, read_csv, read_sequences, run_tool

from labext.sandbox.jobs.tools import digest as digest_tool

pytest.importorskip("Bio", reason="biopython is in the sandbox extra")

TOOL = digest_tool.TOOL
dna = st.text("ACGT", min_size=2, max_size=80)


def digest(out: Path, sequence: str, enzymes, circular=False):
    score = run_tool(TOOL, out, sequence=sequence, enzymes=enzymes, circular=circular)
    rows = read_csv(out / "fragments.csv")
    pieces = read_sequences(out / "fragments.fasta")
    assert [len(piece) for piece in pieces] == [int(row["length"]) for row in rows]
    assert score["fragments"] == len(rows)
    assert score["longest"] == max(map(len, pieces))
    assert score["shortest"] == min(map(len, pieces))
    assert score["length"] == len(sequence)
    return score, rows, pieces


def test_two_enzymes_on_linear_dna(tmp_path):
    # G^AATTC and A^AGCTT
    score, rows, pieces = digest(tmp_path, "GAATTCAAGCTT", "EcoRI,HindIII")
    assert pieces == ["G", "AATTCA", "AGCTT"]
    assert [(r["start"], r["end"]) for r in rows] == [("1", "1"), ("2", "7"), ("8", "12")]
    assert [r["left_enzyme"] for r in rows] == ["", "EcoRI", "HindIII"]
    assert [r["right_overhang"] for r in rows] == ["AATT", "AGCT", ""]
    assert {r["right_end"] for r in rows} == {"5'", ""}
    assert score["cuts"] == 2


@pytest.mark.parametrize(
    ("enzyme", "site", "pieces", "kind", "overhang"),
    [
        ("KpnI", "TTGGTACCTT", ["TTGGTAC", "CTT"], "3'", "GTAC"),
        ("SmaI", "TTCCCGGGTT", ["TTCCC", "GGGTT"], "blunt", ""),
        ("BsaI", "TTGGTCTCACGTAAA", ["TTGGTCTCA", "CGTAAA"], "5'", "CGTA"),
        # the same site on the other strand: cut before the site
        ("BsaI", "AAACGTATGAGACCTT", ["AAA", "CGTATGAGACCTT"], "5'", "CGTA"),
        # GACNNNN^NNGTC: arbitrary bases within the site, two of them in the 3' overhang
        ("DrdI", "TTGACAAGCATGTCTT", ["TTGACAAGC", "ATGTCTT"], "3'", "GC"),
        # CASTGNN^, 9 bases in the 3' overhang
        ("TspRI", "GTTCACTGAATC", ["GTTCACTGAA", "TC"], "3'", "TTCACTGAA"),
        # BsaI and MlyI, (N)5GACTC, at the same position
        ("BsaI,MlyI", "GGTCTCACGTAAGACTC", ["GGTCTCA", "CGTAAGACTC"], "5'+blunt", "CGTA"),
    ],
)
def test_kinds_of_fragment_ends(tmp_path, enzyme, site, pieces, kind, overhang):
    _, rows, fragments = digest(tmp_path, site, enzyme)
    assert fragments == pieces
    assert rows[0]["right_end"] == rows[1]["left_end"] == kind
    assert rows[0]["right_overhang"] == overhang


def test_enzyme_that_cuts_on_both_sides_of_its_site(tmp_path):
    # BcgI: (10/12)CGA(N)6TGC(12/10), a 3' overhang of two bases on each side
    site = "A" * 20 + "CGA" + "TTTTTT" + "TGC" + "C" * 20
    _, rows, pieces = digest(tmp_path, site, "BcgI")
    assert [len(piece) for piece in pieces] == [10, 34, 8]
    assert [row["right_overhang"] for row in rows] == ["AA", "CC", ""]


def test_cut_beyond_the_end_is_ignored(tmp_path):
    score, _, _ = digest(tmp_path, "TTTTGGTCTCA", "BsaI")
    assert score["cuts"] == 0


def test_site_across_the_origin_of_circular_dna_is_cut(tmp_path):
    score, rows, pieces = digest(tmp_path, "TTCAAAAAAGAA", "EcoRI", circular=True)
    assert score["cuts"] == 1
    assert pieces == ["AATTCAAAAAAG"]
    assert (rows[0]["start"], rows[0]["end"]) == ("11", "10")
    assert rows[0]["left_overhang"] == rows[0]["right_overhang"] == "AATT"


def test_uncut_circular_dna_has_no_ends(tmp_path):
    _, rows, pieces = digest(tmp_path, "ACGTACGT", "EcoRI", circular=True)
    assert pieces == ["ACGTACGT"]
    assert rows[0]["left_enzyme"] == rows[0]["right_enzyme"] == ""


def test_real_plasmid(tmp_path):
    plasmid = genbank_bases("pBAD30.gb")
    score, _, pieces = digest(tmp_path, plasmid, ["EcoRI", "HindIII", "TaqI"], circular=True)
    assert sum(map(len, pieces)) == 4923
    # TaqI is T^CGA, counted across the origin; no two of the three enzymes cut at one position
    letters = plasmid + plasmid[:5]
    sites = len(re.findall("(?=TCGA)", letters[: 4923 + 3]))
    sites += len(re.findall("(?=GAATTC|AAGCTT)", letters))
    assert score["cuts"] == score["fragments"] == sites
    drawing = ET.parse(tmp_path / "map.svg").getroot()
    labels = [node.text for node in drawing.iter() if node.text and " " in node.text.strip()]
    assert {label.split()[0] for label in labels} >= {"EcoRI", "HindIII", "TaqI"}


def test_lowercase_and_ambiguous_letters(tmp_path):
    score, _, pieces = digest(tmp_path, "ttgaattcRYSWKMBDHVNGAANTC", "EcoRI")
    assert pieces == ["TTG", "AATTCRYSWKMBDHVNGAANTC"]
    assert score["cuts"] == 1
    assert "'U' at 3" in TOOL.check({"sequence": "ACU", "enzymes": "EcoRI"})


def test_crowded_map_shows_the_number_of_cuts(tmp_path):
    score, _, _ = digest(tmp_path, "GATC" * 400, "DpnII")
    assert f"{score['cuts']} cuts" in (tmp_path / "map.svg").read_text()


@settings(deadline=None)
@given(dna, st.booleans())
def test_cuts_match_text_search(tmp_path_factory, sequence, circular):
    out = tmp_path_factory.mktemp("digest")
    score, rows, pieces = digest(out, sequence, ["MboI", "TaqI"], circular)
    joined = "".join(pieces)
    start = int(rows[0]["start"]) - 1
    assert joined == sequence[start:] + sequence[:start]
    # MboI is ^GATC, TaqI is T^CGA; a cut needs both strands within the molecule
    size = len(sequence)
    letters = sequence + sequence[:3] if circular else sequence
    expected = {(match.start()) % size for match in re.finditer("(?=GATC)", letters)}
    expected |= {(match.start() + 1) % size for match in re.finditer("(?=TCGA)", letters)}
    if not circular:
        overhang = {cut: 4 if sequence.startswith("GATC", cut) else 2 for cut in expected}
        expected = {cut for cut in expected if cut > 0 and cut + overhang[cut] < size}
    if size > 4:
        assert {int(row["start"]) - 1 for row in rows if row["left_enzyme"]} == expected
        assert score["cuts"] == len(expected)


@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize(
    ("enzyme", "site", "cuts"),
    [
        # CCDG(10/14): a site of both strands at the same bases
        ("LpnPI", "CCGG", [20 - 14, 20 + 4 + 10]),
        # TGGCCA(11/9): a palindromic site, cut on both sides
        ("HauII", "TGGCCA", [20 - 9, 20 + 6 + 11]),
    ],
)
def test_sites_of_both_strands_at_the_same_bases_are_cut(tmp_path, enzyme, site, cuts, circular):
    _, rows, _ = digest(tmp_path, "A" * 20 + site + "T" * 20, enzyme, circular)
    assert [int(row["start"]) - 1 for row in rows if row["left_enzyme"]] == cuts


def test_enzyme_names_ignore_case_and_duplicates(tmp_path):
    score, rows, _ = digest(tmp_path, "GAATTCAAGCTT", "ecori EcoRI, HINDIII")
    assert score["cuts"] == 2
    assert rows[1]["left_enzyme"] == "EcoRI"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"sequence": "GAXTTCZ", "enzymes": "EcoRI"},
            "sequence: invalid DNA bases 'X' at 3, 'Z' at 7 (allowed: ACGTRYSWKMBDHVN).",
        ),
        (
            {"sequence": "GA XTTC", "enzymes": "EcoRI"},
            "sequence: invalid DNA base 'X' at 3 (allowed: ACGTRYSWKMBDHVN).",
        ),
        (
            {"sequence": "GAATTC", "enzymes": "EcoR1"},
            "enzymes: 'EcoR1' is not in REBASE; did you mean EcoRI?",
        ),
        (
            {"sequence": "GAATTC", "enzymes": ["Hind3"]},
            "enzymes: 'Hind3' is not in REBASE; did you mean HindIII?",
        ),
        ({"sequence": "GAATTC", "enzymes": "§"}, "enzymes: '§' is not in REBASE."),
        ({"sequence": "GAATTC", "enzymes": []}, "enzymes: it is empty."),
        ({"sequence": "GAATTC", "enzymes": " , "}, "enzymes: it is empty."),
        (
            {"sequence": "A" * 200_001, "enzymes": "EcoRI"},
            "sequence: it has 200,001 letters; 2 to 200,000 are allowed.",
        ),
        (
            {"sequence": "GAATTC", "enzymes": ["EcoRI"] * 21},
            "enzymes: 21 enzymes; at most 20 are allowed.",
        ),
        (
            {"sequence": "GAATTC", "enzymes": "EcoRI", "circular": "yes"},
            "circular: true or false is expected, not 'yes'.",
        ),
    ],
)
def test_invalid_setting_is_named(settings, message):
    assert TOOL.check(settings) == message


def test_unknown_enzyme_of_any_length_is_refused_quickly():
    TOOL.check({"sequence": "GAATTC", "enzymes": "EcoR1"})  # loads the enzymes
    started = time.process_time()
    error = TOOL.check({"sequence": "GAATTC", "enzymes": ["A" * 10_000_000]})
    assert error is not None
    assert "is not in REBASE" in error
    assert time.process_time() - started < 1


def test_large_text_of_another_molecule_is_refused_in_little_memory():
    TOOL.check({"sequence": "L", "enzymes": "EcoRI"})
    tracemalloc.start()
    message = TOOL.check({"sequence": "L" * 1_000_000, "enzymes": "EcoRI"})
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    assert "'L' at 1, 'L' at 2, 'L' at 3 and 999997 more" in message


def test_enzyme_with_unknown_cuts_is_refused():
    from Bio.Restriction import AllEnzymes

    unknown = next(e for e in sorted(AllEnzymes, key=str) if not (e.cut_once() or e.cut_twice()))
    settings = {"sequence": "GAATTC", "enzymes": str(unknown)}
    assert TOOL.check(settings) == f"enzymes: the cut position of {unknown} is unknown."
