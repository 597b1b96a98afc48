"""RNA folds, compared with nearest-neighbour sums and thermodynamics."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_tools import read_csv, run_tool

from labext.sandbox.jobs.tools import rna_fold

RNA = pytest.importorskip("RNA", reason="ViennaRNA is an extra of its own")

TOOL = rna_fold.TOOL
HAIRPIN = "GGGGAAAACCCC"
GAS = 1.98717e-3
"""kcal/mol/K"""


def fold(out: Path, sequence: str, **options):
    score = run_tool(TOOL, out, sequence=sequence, **options)
    lines = (out / "structure.dbn").read_text().splitlines()
    pairs = {(int(row["i"]), int(row["j"])): row for row in read_csv(out / "pairs.csv")}
    return score, lines, pairs


def test_hairpin_energy_by_hand(tmp_path):
    # Turner 2004: three stacks GG/CC of -3.3, a loop of four 5.6, its mismatch G-AA-C -1.1
    score, lines, pairs = fold(tmp_path, HAIRPIN)
    assert score["mfe"] == pytest.approx(3 * -3.3 + 5.6 - 1.1)
    assert lines[:3] == [">mfe -5.40 kcal/mol", HAIRPIN, "((((....))))"]
    assert score["pairs"] == 4
    best = {pair for pair, row in pairs.items() if row["in_mfe"] == "1"}
    assert best == {(1, 12), (2, 11), (3, 10), (4, 9)}


@pytest.mark.parametrize("temperature", [20.0, 37.0, 55.0])
def test_frequency_is_the_boltzmann_weight_of_the_mfe_structure(tmp_path, temperature):
    score, _, _ = fold(tmp_path, HAIRPIN, temperature=temperature)
    exact = math.exp((score["ensemble"] - score["mfe"]) / GAS / (temperature + 273.15))
    # both energies are rounded to 0.01 kcal/mol
    assert score["frequency"] == pytest.approx(exact, rel=0.02)


def test_structure_melts_with_temperature(tmp_path):
    energies = [fold(tmp_path, HAIRPIN, temperature=t)[0]["mfe"] for t in (20, 37, 55, 90)]
    assert energies == sorted(energies)
    assert energies[-1] == 0


def test_energies_are_those_of_the_structures(tmp_path):
    sequence = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
    score, lines, _ = fold(tmp_path, sequence)
    plain = RNA.fold_compound(sequence)
    for structure, energy in ((lines[2], score["mfe"]), (lines[5], score["centroid"])):
        assert plain.eval_structure(structure) == pytest.approx(energy, abs=0.005)
    assert score["ensemble"] < score["mfe"] <= score["centroid"]


@given(st.text("ACGUNacgt", min_size=1, max_size=60))
def test_pair_probabilities_are_at_most_one_per_base(tmp_path_factory, sequence):
    out = tmp_path_factory.mktemp("rna")
    score, lines, pairs = fold(out, sequence)
    sums = dict.fromkeys(range(1, len(sequence) + 1), 0.0)
    for (i, j), row in pairs.items():
        assert j - i > 3
        sums[i] += float(row["probability"])
        sums[j] += float(row["probability"])
    assert all(0 <= total < 1.001 for total in sums.values())
    assert score["mfe"] <= 0 < score["frequency"] <= 1.0001
    assert list(rna_fold.base_pairs(lines[2])) == sorted(
        ((i, j) for (i, j), row in pairs.items() if row["in_mfe"] == "1"), key=lambda p: p[1]
    )
    drawing = ET.parse(out / "structure.svg").getroot()
    letters = [node.text for node in drawing.iter() if node.tag.endswith("}text")]
    assert "".join(letters) == lines[1] == sequence.upper().replace("T", "U")


def test_single_base_is_drawn_and_has_the_energy_zero(tmp_path):
    score, _, _ = fold(tmp_path, "A")
    assert str(score["ensemble"]) == "0.0"
    assert "nan" not in (tmp_path / "structure.svg").read_text()


def test_t_is_read_as_u(tmp_path):
    assert fold(tmp_path, "GGGTAAAACCC") == fold(tmp_path, "gggu aaaa ccc")


def test_lonely_pairs_can_be_excluded(tmp_path):
    sequence = "GACAAAAGUCAAGGCAAAAGCCAUCAAAAGAUAC"
    for lonely in (True, "false"):
        _, lines, _ = fold(tmp_path, sequence, lonelyPairs=lonely)
        pairs = set(rna_fold.base_pairs(lines[2]))
        stacked = {(i, j) for i, j in pairs if {(i + 1, j - 1), (i - 1, j + 1)} & pairs}
        if lonely == "false":
            assert pairs == stacked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence": "ACGX"}, "sequence: invalid RNA base 'X' at 4 (allowed: ACGUTN)."),
        ({"sequence": "A" * 1001}, "sequence: it has 1,001 letters; 1 to 1,000 are allowed."),
        ({"temperature": 101}, "temperature: 101 is outside 0 to 100."),
        ({"temperature": float("nan")}, "temperature: a finite number is expected, not nan."),
        ({"lonelyPairs": 1}, "lonelyPairs: true or false is expected, not 1."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert TOOL.check({"sequence": HAIRPIN, **options}) == message
