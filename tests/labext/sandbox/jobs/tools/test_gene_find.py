"""Predicted genes, compared with the annotation of plasmids."""

from __future__ import annotations

import random
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from job_tools import (
    COMPLEMENT,
    assert_setting_error,
    coding_features,
    genbank_bases,
    read_csv,
    read_sequences,
    run_tool,
)

from labext.dna import reverse_complement
from labext.sandbox.jobs.tools import _inputs, codon_optimise, gene_find
from labext.sandbox.jobs.tools.tool import ToolError

TOOL = gene_find.TOOL
needs_pyrodigal = pytest.mark.skipif(
    bool(TOOL.missing_modules()), reason="pyrodigal is in the gpl-tools extra"
)


def annotated(name: str) -> dict[tuple[int, int, str], str]:
    """Return the coding sequences of a record as (low, high, strand, protein)."""
    return {
        (
            int(feature.location.start) + 1,
            int(feature.location.end),
            "+" if feature.location.strand > 0 else "-",
        ): feature.qualifiers.get("translation", [""])[0]
        for feature in coding_features(name)[1]
    }


def find(out: Path, text: str, **options):
    (out / "in.fasta").write_text(text)
    inputs = {"sequences": out / "in.fasta"}
    score = run_tool(TOOL, out, inputs, sequences="in.fasta", **options)
    rows = read_csv(out / "genes.csv")
    assert score["genes"] == len(rows)
    assert len({row["gene"] for row in rows}) == len(rows)
    return score, rows


def place(row: dict[str, str]) -> tuple[int, int, str]:
    return int(row["start"]), int(row["end"]), row["strand"]


@needs_pyrodigal
def test_genes_of_plasmid_ppcp1_match_its_annotation(tmp_path):
    known = annotated("NC_005816.gb")
    score, rows = find(tmp_path, f">pPCP1\n{genbank_bases('NC_005816.gb')}\n")
    assert score["mode"] == "meta"
    # Genes are matched by their ends, since annotations differ in starts.
    ends = {(e if strand == "+" else s, strand): (s, e, strand) for s, e, strand in known}
    hits = [row for row in rows if stop(row) in ends]
    assert len(hits) >= 7
    assert len(hits) >= 0.8 * len(rows)
    assert sum(place(row) in known for row in rows) >= 6
    proteins = sequences(tmp_path / "proteins.fasta")
    for row in hits:
        if place(row) in known:
            assert proteins[row["gene"]] == known[place(row)]
    assert 50 < score["coding"] < 70
    assert score["gc"] == 45.26


def stop(row: dict[str, str]) -> tuple[int, str]:
    start, end, strand = place(row)
    return (end if strand == "+" else start), strand


def sequences(path: Path) -> dict[str, str]:
    return _inputs.parse_fasta(path.read_text(), "x", _inputs.PROTEIN + "X", 10_000)


@needs_pyrodigal
def test_both_genes_of_pbad30_are_found(tmp_path):
    _, rows = find(tmp_path, f">pBAD30\n{genbank_bases('pBAD30.gb')}\n")
    proteins = sequences(tmp_path / "proteins.fasta")
    found_proteins = set(proteins.values())
    # AraC and the beta-lactamase, by their first and last residues
    assert any(p.startswith("MAEAQNDPLLPGYS") and p.endswith("VAVKLS") for p in found_proteins)
    assert any(
        p.startswith("MSIQHFRVALIPFFAAFCLPVFAHPETLVKVKDAEDQLGARVGYIELD") for p in found_proteins
    )
    assert len(rows) < 10


@needs_pyrodigal
def test_output_files_agree(tmp_path):
    dna = genbank_bases("NC_005816.gb")
    _, rows = find(tmp_path, f">pPCP1\n{dna}\n>b;2=x,y\n{dna[:2000]}\n")
    genes = sequences(tmp_path / "genes.fasta")
    proteins = sequences(tmp_path / "proteins.fasta")
    features = [
        line.split("\t")
        for line in (tmp_path / "genes.gff3").read_text().split("\n")
        if line and not line.startswith("#")
    ]
    assert len(features) == len(rows) == len(genes) == len(proteins)
    for row, feature in zip(rows, features, strict=True):
        start, end, strand = place(row)
        piece = dna[start - 1 : end]
        piece = piece if strand == "+" else piece.translate(COMPLEMENT)[::-1]
        assert genes[row["gene"]] == piece
        assert len(piece) == int(row["length"])
        gc = 100 * (piece.count("G") + piece.count("C")) / len(piece)
        assert float(row["gc"]) == pytest.approx(gc, abs=0.051)
        codons = re.findall("...", piece)
        read = codon_optimise.translate_codons(codons).removesuffix("*")
        if row["start_codon"]:
            assert codons[0] == row["start_codon"]
            read = "M" + read[1:]
        assert proteins[row["gene"]] == read
        assert unquote(feature[0]) == row["sequence"]
        assert feature[2:5] == ["CDS", str(start), str(end)]
        assert feature[6:8] == [strand, "0"]
        attributes = dict(part.split("=") for part in feature[8].split(";"))
        assert unquote(attributes["ID"]) == row["gene"]
        assert ("partial" in attributes) == (row["partial"] != "no")
    assert {row["sequence"] for row in rows} == {"pPCP1", "b;2=x,y"}


@needs_pyrodigal
def test_genes_keep_their_ambiguous_bases(tmp_path):
    dna = genbank_bases("NC_005816.gb")[:3000]
    dna = "".join("RYKMSW"[i % 6] if i % 97 == 0 else base for i, base in enumerate(dna))
    for strand in (dna, reverse_complement(dna)):
        _, rows = find(tmp_path, f">a\n{strand}\n")
        both = strand + reverse_complement(strand)
        genes = read_sequences(tmp_path / "genes.fasta")
        assert len(genes) == len(rows) >= 2
        assert all(gene in both and {*gene} & {*"RYKMSW"} for gene in genes)


@needs_pyrodigal
def test_closed_ends_exclude_partial_genes(tmp_path):
    cut = genbank_bases("NC_005816.gb")[200:1500]  # through two genes
    _, rows = find(tmp_path, f">cut\n{cut}\n")
    assert [row["partial"] for row in rows] == ["left", "right"]
    assert rows[0]["start_codon"] == ""
    score, rows = find(tmp_path, f">cut\n{cut}\n", closedEnds=True)
    assert all(row["partial"] == "no" for row in rows)
    assert score["genes"] == len(rows)


@needs_pyrodigal
def test_single_mode_trains_on_the_genome(tmp_path):
    # Genes of the same composition, separated by stop codons
    chance = random.Random(4)
    letters = [
        c for c in codon_optimise.CODONS if codon_optimise.GENETIC_CODE[c] != "*" and c[2] in "GC"
    ]
    expected_genes, dna = {}, ""
    for _ in range(40):
        dna += "TTAATTAATTAA" + "".join(chance.choices("AT", k=60)) + "AGGAGGTATATA"
        gene = "ATG" + "".join(chance.choices(letters, k=chance.randint(150, 300))) + "TAA"
        expected_genes[len(dna) + 1, len(dna) + len(gene), "+"] = gene
        dna += gene
    score, rows = find(tmp_path, f">made\n{dna}\n", mode="single")
    assert score["mode"] == "single"
    found_stops = {stop(row) for row in rows}
    assert len(found_stops & {(end, strand) for _, end, strand in expected_genes}) >= 36
    first_row = find(tmp_path, f">made\n{dna}\n")[0]
    assert first_row["mode"] == "meta"  # a good model needs 100,000


@needs_pyrodigal
def test_unknown_bases_have_no_genes(tmp_path):
    score, rows = find(tmp_path, f">n\n{'N' * 500}\n>short\nA\n")
    assert score == {"sequences": 2, "genes": 0, "mode": "meta", "coding": 0.0, "gc": 0.0}
    assert rows == []
    assert not (tmp_path / "proteins.fasta").exists()


@needs_pyrodigal
def test_gc_content_is_that_of_the_known_bases(tmp_path):
    assert find(tmp_path, f">a\nACGG{'N' * 60}\n")[0]["gc"] == 75


@needs_pyrodigal
@pytest.mark.parametrize("table", [4, 11])
def test_gff_names_another_genetic_code(tmp_path, table):
    dna = genbank_bases("NC_005816.gb") * 3
    _, rows = find(tmp_path, f">a\n{dna}\n", mode="single", translationTable=table)
    text = (tmp_path / "genes.gff3").read_text()
    assert text.count(";transl_table=4\n") == (len(rows) if table == 4 else 0)


@needs_pyrodigal
def test_single_mode_refuses_short_sequences(tmp_path):
    with pytest.raises(ToolError, match=r"^mode: single needs at least 20,000 bases, not 4"):
        find(tmp_path, ">a\nACGT\n", mode="single")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequences": ">a\nACGE"}, "sequences, a: invalid DNA base 'E' at 4"),
        (
            {"sequences": "".join(f">s{i}\nA\n" for i in range(2001))},
            "sequences: 2,001 sequences; at most 2,000 are allowed.",
        ),
        (
            {"sequences": ">a\n" + "A" * 2_000_001, "mode": "meta"},
            "sequences: they have 2,000,001 bases; at most 2,000,000 are allowed in mode meta.",
        ),
        ({"mode": "fast"}, "mode: 'fast' is not one of auto, single, meta."),
        ({"translationTable": 4}, "translationTable: it applies only if mode is single."),
        ({"mode": "single", "translationTable": 1}, "translationTable: 1 is not one of 4, 11, 25."),
        ({"closedEnds": "yes"}, "closedEnds: true or false is expected, not 'yes'."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, {"sequences": "in.fasta", **options}, message)
