"""Codon optimisation, compared with Biopython and exhaustive search."""

from __future__ import annotations

import re
from itertools import product
from math import exp, log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_tools import assert_setting_error, coding_features, read_csv, run_tool

from labext.sandbox.jobs.tools import codon_optimise
from labext.sandbox.jobs.tools.codon_optimise import (
    CODONS,
    GENETIC_CODE,
    HOSTS,
    NoCodonChoiceError,
    PatternMatcher,
    best_codons,
    both_strands,
    load_codon_usage,
)
from labext.sandbox.jobs.tools.tool import ToolError

pytest.importorskip("Bio", reason="biopython is in the sandbox extra")

TOOL = codon_optimise.TOOL
hosts = st.sampled_from(tuple(HOSTS))
proteins = st.text("ACDEFGHIKLMNPQRSTVWY", min_size=1, max_size=40)


def optimise(out: Path, sequence: str, **options):
    score = run_tool(TOOL, out, sequence=sequence, **options)
    header, *lines = (out / "optimised.fasta").read_text().split("\n")
    assert header.startswith(">optimised ")
    rows = read_csv(out / "codons.csv")
    dna = "".join(lines)
    assert [row["codon"] for row in rows] == re.findall("...", dna)
    assert score["codons"] == len(rows)
    assert score["gc"] == round(100 * sum(map(dna.count, "GC")) / len(dna), 2)
    return score, dna, rows


def test_genetic_code_and_codon_shares_are_consistent():
    from Bio.Data import CodonTable

    for number in (1, 11):  # the codes differ only in their start codons
        table = CodonTable.unambiguous_dna_by_id[number]
        assert {c: a for c, a in GENETIC_CODE.items() if a != "*"} == table.forward_table
        assert {c for c, a in GENETIC_CODE.items() if a == "*"} == set(table.stop_codons)
    for host in HOSTS:
        usage = load_codon_usage(host)
        for letter, codons in usage.choices.items():
            assert abs(sum(usage.share[codon] for codon in codons) - 100) <= 1, (host, letter)
            assert usage.weight[codons[0]] == 1
        assert min(usage.share.values()) > 0


def test_preferred_codons_of_known_hosts():
    # E. coli prefers CTG for leucine and hardly has AGG; yeast prefers AGA for arginine
    assert load_codon_usage("e_coli").choices["L"][0] == "CTG"
    assert load_codon_usage("e_coli").choices["R"][-1] == "AGG"
    assert load_codon_usage("s_cerevisiae").choices["R"][0] == "AGA"
    assert load_codon_usage("h_sapiens").choices["*"][0] == "TGA"


def test_peptide_by_hand(tmp_path):
    score, dna, rows = optimise(tmp_path, "MKLR*")
    assert dna == "ATGAAACTGCGCTAA"
    assert score["cai"] == 1
    assert rows[2] == {
        "position": "3",
        "amino_acid": "L",
        "codon": "CTG",
        "share": "50",
        "codon_before": "",
        "share_before": "",
    }


def test_adaptation_index_before_and_after(tmp_path):
    score, dna, rows = optimise(tmp_path, "ATGAAGCTAAGGTGA", molecule="DNA")
    assert dna == "ATGAAACTGCGCTAA"
    logs = [log(24 / 76), log(4 / 50), log(2 / 40)]  # M and the stop are ignored
    assert score["cai_before"] == round(exp(sum(logs) / 3), 4)
    assert score["changed"] == 4
    assert [row["codon_before"] for row in rows] == ["ATG", "AAG", "CTA", "AGG", "TGA"]


def test_adaptation_index_matches_biopython():
    from Bio.SeqUtils import CodonAdaptationIndex

    usage = load_codon_usage("s_cerevisiae")
    theirs = CodonAdaptationIndex([])
    theirs.update(usage.weight)
    codons = [codon for codon in CODONS if GENETIC_CODE[codon] != "*"]
    for part in (codons, codons[:7], codons[20:50]):
        assert usage.adaptation(part) == pytest.approx(theirs.calculate("".join(part)))


def test_alternative_start_codon_is_kept(tmp_path):
    assert optimise(tmp_path, "GTGGTGTTG", molecule="DNA", host="s_cerevisiae")[1] == "GTGGTTTTG"


def genes() -> list[str]:
    """Return the annotated coding sequences of plasmid pPCP1."""
    record, features = coding_features("NC_005816.gb")
    return [str(feature.extract(record.seq)) for feature in features]


@pytest.mark.parametrize("host", ["e_coli", "h_sapiens"])
def test_real_genes_keep_their_protein_and_lose_avoided_sites(tmp_path, host):
    from Bio.Restriction import BsaI, EcoRI, RestrictionBatch
    from Bio.Seq import Seq

    cut = 0
    for gene in genes():
        sites = RestrictionBatch([BsaI, EcoRI])
        cut += any(sites.search(Seq(gene)).values())
        score, dna, _ = optimise(
            tmp_path, gene, molecule="DNA", host=host, avoid="BsaI EcoRI", maxHomopolymer=5
        )
        assert Seq(dna).translate(table=11) == Seq(gene).translate(table=11)
        assert not any(sites.search(Seq(dna)).values())
        assert not re.search("A{6}|C{6}|G{6}|T{6}", dna)
        assert score["cai_before"] < score["cai"] <= 1
    assert cut


def test_gc_content_stays_within_its_bounds(tmp_path):
    gene = max(genes(), key=len)
    free, _, _ = optimise(tmp_path, gene, molecule="DNA", host="h_sapiens")
    assert free["gc"] > 58
    for bounds in ((0, 45), (44.9, 45.1), (62, 100)):
        score, _, _ = optimise(
            tmp_path, gene, molecule="DNA", host="h_sapiens", gcMin=bounds[0], gcMax=bounds[1]
        )
        assert bounds[0] <= score["gc"] <= bounds[1]
        assert 0.4 < score["cai"] < free["cai"]
    # identical residues, which all change at the same value of a G or C
    assert 40 <= optimise(tmp_path, "L" * 100, gcMin=40, gcMax=41)[0]["gc"] <= 41


@given(proteins, hosts, st.booleans())
def test_optimised_dna_translates_back_to_the_protein(tmp_path_factory, protein, host, stop):
    from Bio.Seq import Seq

    out = tmp_path_factory.mktemp("codons")
    score, dna, _ = optimise(out, protein + "*" * stop, host=host)
    assert str(Seq(dna).translate()) == protein + "*" * stop
    assert score["cai"] == 1
    again, same, _ = optimise(out, dna, molecule="DNA", host=host)
    assert same == dna
    assert again["changed"] == 0
    assert again["cai"] == again["cai_before"]


@given(
    st.text("LKGEAF", min_size=1, max_size=5),
    st.lists(st.text("ACGTRYN", min_size=2, max_size=5), max_size=3),
)
def test_choice_is_the_best_of_all_codon_combinations(protein, patterns):
    usage = load_codon_usage("e_coli")
    choices = [[(c, log(usage.weight[c])) for c in usage.choices[a]] for a in protein]
    texts = [pattern.translate(CLASSES) for pattern in patterns]
    clear = [
        codons
        for codons in product(*choices)
        if not any(re.search(text, "".join(codon for codon, _ in codons)) for text in texts)
    ]
    if not clear:
        with pytest.raises(NoCodonChoiceError):
            best_codons(choices, PatternMatcher(patterns))
        return
    best = max(sum(worth for _, worth in codons) for codons in clear)
    result = best_codons(choices, PatternMatcher(patterns))
    assert any(result == [codon for codon, _ in codons] for codons in clear)
    assert sum(log(usage.weight[codon]) for codon in result) == pytest.approx(best)


CLASSES = str.maketrans({"R": "[AG]", "Y": "[CT]", "N": "."})


def test_both_strands_of_a_recognition_site():
    assert both_strands("GAATTC") == ("GAATTC",)
    assert both_strands("GGTCTC") == ("GGTCTC", "GAGACC")
    assert both_strands("GACRTN") == ("GACRTN", "NAYGTC")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sequence": "WG", "maxHomopolymer": 3},
            "maxHomopolymer: every choice of codons up to G at 2 creates a site or run to avoid.",
        ),
        (
            {"sequence": "WM", "avoid": "FokI"},
            "avoid: every choice of codons up to M at 2 creates a site or run to avoid.",
        ),
        ({"sequence": "KK", "gcMin": 90}, "gcMin: the highest possible GC content is 33.33"),
        ({"sequence": "GG", "gcMax": 20}, "gcMax: the lowest possible GC content is 66.67 %"),
        ({"sequence": "KK", "gcMin": 20, "gcMax": 30}, "gcMin, gcMax: no DNA was found between 20"),
    ],
)
def test_impossible_constraints_are_an_error(tmp_path, options, message):
    with pytest.raises(ToolError) as caught:
        run_tool(TOOL, tmp_path, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence": "ATGGCTCTGAAATGGTGCTA"}, "molecule: send it, DNA or protein, since the"),
        ({"sequence": "MKJ"}, "sequence: invalid amino acid 'J' at 3"),
        (
            {"sequence": "MK*L"},
            "sequence: it has a stop codon at 3, before the end of the protein.",
        ),
        ({"sequence": "*"}, "sequence: it contains only a stop codon."),
        ({"sequence": "ATGTAAAAA", "molecule": "DNA"}, "sequence: it has a stop codon at 2,"),
        ({"sequence": "ATGA", "molecule": "DNA"}, "sequence: its length 4 is not a multiple of 3."),
        ({"sequence": "A" * 2001}, "sequence: it has 2,001 letters; 1 to 2,000 are allowed."),
        ({"sequence": "MK", "host": "yeti"}, "host: 'yeti' is not one of e_coli, b_subtilis,"),
        ({"sequence": "MK", "avoid": "EcoR1"}, "avoid: 'EcoR1' is not in REBASE; did you mean"),
        ({"sequence": "MK", "avoid": ["EcoRI"] * 21}, "avoid: 21 enzymes; at most 20 are allowed."),
        ({"sequence": "MK", "maxHomopolymer": 2}, "maxHomopolymer: 2 is outside 3 to 20."),
        ({"sequence": "MK", "gcMin": 60, "gcMax": 40}, "gcMin: 60 is more than gcMax, 40."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, options, message)


def test_letters_of_dna_are_a_protein_if_the_molecule_is_set():
    assert TOOL.check({"sequence": "ACGT" * 5, "molecule": "protein"}) is None
    assert TOOL.check({"sequence": "GA" * 20}) is None
