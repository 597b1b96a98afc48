"""Pairwise alignments, compared with published examples and a second implementation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import read_sequences, run_tool

from labext.sandbox.jobs.tools import align_pair

pytest.importorskip("Bio", reason="biopython is in the sandbox extra")

TOOL = align_pair.TOOL
DURBIN = {"molecule": "protein", "matrix": "BLOSUM50", "gapOpen": 8, "gapExtend": 8}
dna = st.text("ACGT", min_size=1, max_size=14)


def align(out: Path, first: str, second: str, **options):
    score = run_tool(TOOL, out, sequence1=first, sequence2=second, **options)
    rows = read_sequences(out / "alignment.fasta")
    assert len(rows[0]) == len(rows[1]) == score["columns"]
    return score, rows


def test_global_alignment_matches_durbin_figure_2_5(tmp_path):
    # Durbin et al., Biological Sequence Analysis, figure 2.5: BLOSUM50, linear gap cost 8
    score, rows = align(tmp_path, "HEAGAWGHEE", "PAWHEAE", **DURBIN)
    assert score["score"] == 1
    assert [row.replace("-", "") for row in rows] == ["HEAGAWGHEE", "PAWHEAE"]


def test_local_alignment_matches_durbin_figure_2_6(tmp_path):
    # figure 2.6
    score, rows = align(tmp_path, "HEAGAWGHEE", "PAWHEAE", mode="local", **DURBIN)
    assert score["score"] == 28
    assert rows == ["AWGHE", "AW-HE"]
    assert (score["identity"], score["gaps"]) == (80.0, 1)
    text = (tmp_path / "alignment.txt").read_text()
    assert "sequence1      5 AWGHE 9\n                 || ||\nsequence2      2 AW-HE 5\n" in text


def test_blosum62_by_hand(tmp_path):
    # W-W 11, K-R 2, L-L 4, A-D -2
    score, rows = align(tmp_path, "WKLA", "WRLD", molecule="protein")
    assert score["score"] == 15
    assert (score["identity"], score["similarity"], score["gaps"]) == (50.0, 75.0, 0)
    assert rows == ["WKLA", "WRLD"]


@pytest.mark.parametrize(("letters", "molecule"), [("ACNN", "DNA"), ("WBXX", "protein")])
def test_unknown_letters_match_nothing(tmp_path, letters, molecule):
    score, _ = align(tmp_path, letters, letters, molecule=molecule)
    assert (score["identity"], score["similarity"]) == (50, 50)


def test_local_alignment_of_unrelated_sequences_is_empty(tmp_path):
    score, rows = align(tmp_path, "AAAA", "TTTT", mode="local")
    assert score == {"score": 0.0, "identity": 0.0, "similarity": 0.0, "gaps": 0, "columns": 0}
    assert rows == ["", ""]


def test_score_of_free_gaps_is_not_negative(tmp_path):
    score, _ = align(tmp_path, "AAAA", "TTTT", gapOpen=0, gapExtend=0)
    assert str(score["score"]) == "0.0"
    assert "score 0," in (tmp_path / "alignment.txt").read_text()


def test_long_alignment_is_wrapped_with_positions(tmp_path):
    align(tmp_path, "ACGT" * 20, "ACGT" * 20)
    lines = (tmp_path / "alignment.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line.startswith("sequence")]
    places = [(row[1], len(row[2]), row[3]) for row in rows]
    assert places == [("1", 60, "60")] * 2 + [("61", 20, "80")] * 2


def gotoh(first: str, second: str, opening: float, extension: float, local: bool) -> float:
    """Return the best score with +5 for a match and -4 for a mismatch (NUC.4.4)."""
    low = float("-inf")
    best = 0.0 if local else low
    pair = {(0, 0): 0.0}
    down: dict[tuple[int, int], float] = {}
    right: dict[tuple[int, int], float] = {}
    for i in range(len(first) + 1):
        for j in range(len(second) + 1):
            down[i, j] = max(
                pair.get((i - 1, j), low) - opening, down.get((i - 1, j), low) - extension
            )
            right[i, j] = max(
                pair.get((i, j - 1), low) - opening, right.get((i, j - 1), low) - extension
            )
            step = low
            if i and j:
                step = pair[i - 1, j - 1] + (5 if first[i - 1] == second[j - 1] else -4)
            floor = 0.0 if local or i == j == 0 else low
            pair[i, j] = max(step, down[i, j], right[i, j], floor)
            if local:
                best = max(best, pair[i, j])
    return best if local else pair[len(first), len(second)]


@settings(deadline=None)
@given(dna, dna, st.booleans(), st.integers(1, 12), st.integers(0, 12))
def test_scores_match_a_reference_implementation(
    tmp_path_factory, first, second, local, opening, extension
):
    extension = min(opening, extension)
    options = {"mode": "local" if local else "global", "gapOpen": opening, "gapExtend": extension}
    score, rows = align(tmp_path_factory.mktemp("align"), first, second, **options)
    assert score["score"] == gotoh(first, second, opening, extension, local)
    if not local:
        assert [row.replace("-", "") for row in rows] == [first, second]
    same = sum(a == b for a, b in zip(*rows, strict=True))
    assert score["identity"] == (round(100 * same / len(rows[0]), 2) if rows[0] else 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sequence1": "ACGM"},
            "sequence1: invalid DNA base 'M' at 4 (allowed: ACGTN); for a protein, set molecule to "
            "protein.",
        ),
        (
            {"sequence1": ">a\nACGT"},
            "sequence1: it is in FASTA format; send the sequence without its header.",
        ),
        ({"sequence2": "A" * 5001}, "sequence2: it has 5,001 letters; 1 to 5,000 are allowed."),
        (
            {"matrix": "BLOSUM62"},
            "matrix: 'BLOSUM62' can't be used for DNA; choose one of NUC.4.4.",
        ),
        ({"gapExtend": 11}, "gapExtend: 11 is more than gapOpen, 10."),
        ({"gapOpen": -1}, "gapOpen: -1 is outside 0 to 100."),
        ({"mode": "semi"}, "mode: 'semi' is not one of global, local."),
        ({"molecule": "RNA"}, "molecule: 'RNA' is not one of DNA, protein."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert TOOL.check({"sequence1": "ACGT", "sequence2": "ACGT", **options}) == message
