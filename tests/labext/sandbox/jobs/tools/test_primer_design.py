"""Primers, compared with their template and the nearest-neighbour model."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import (
    COMPLEMENT,
    assert_setting_error,
    genbank_bases,
    read_csv,
    read_sequences,
    run_tool,
)

from labext.sandbox.jobs.tools import primer_design

TOOL = primer_design.TOOL
needs_primer3 = pytest.mark.skipif(
    bool(TOOL.missing_modules()), reason="primer3-py is in the gpl-tools extra"
)


def design(out: Path, sequence: str, **options):
    score = run_tool(TOOL, out, sequence=sequence, **options)
    rows = read_csv(out / "primers.csv")
    assert score["pairs"] == len(rows)
    return score, rows


def numbers(row: dict[str, str], *names: str) -> list[float]:
    return [float(row[name]) for name in names]


@needs_primer3
def test_primers_anneal_at_their_reported_positions(tmp_path):
    sequence = genbank_bases("pBAD30.gb")
    score, rows = design(tmp_path, sequence, pairs=8)
    assert score["pairs"] == 8
    for row, copied in zip(rows, read_sequences(tmp_path / "products.fasta"), strict=True):
        start, end = int(row["forward_start"]), int(row["forward_end"])
        assert sequence[start - 1 : end] == row["forward"]
        back = row["reverse"].translate(COMPLEMENT)[::-1]
        assert sequence[int(row["reverse_start"]) - 1 : int(row["reverse_end"])] == back
        assert copied.startswith(row["forward"])
        assert copied.endswith(back)
        assert len(copied) == int(row["product_size"])
        assert copied == sequence[int(row["product_start"]) - 1 : int(row["product_end"])]
    penalties = [float(row["penalty"]) for row in rows]
    assert penalties == sorted(penalties)
    assert score["penalty"] == penalties[0]


@needs_primer3
def test_melting_temperatures_match_the_nearest_neighbour_model(tmp_path):
    MeltingTemp = pytest.importorskip("Bio.SeqUtils.MeltingTemp", reason="biopython, sandbox extra")
    _, rows = design(tmp_path, genbank_bases("pBAD30.gb")[:1500])
    for row in rows:
        for side in ("forward", "reverse"):
            # SantaLucia 1998, magnesium as sodium after von Ahsen 2001; Primer3 uses a quarter of
            # the 50 nM, which the caller of Biopython must do
            theirs = MeltingTemp.Tm_NN(
                row[side],
                nn_table=MeltingTemp.DNA_NN3,
                dnac1=12.5,
                dnac2=0,
                Na=50,
                Mg=1.5,
                dNTPs=0.6,
                saltcorr=5,
            )
            assert float(row[f"{side}_tm"]) == pytest.approx(theirs, abs=0.1)
            letters = row[side]
            share = 100 * (letters.count("G") + letters.count("C")) / len(letters)
            assert float(row[f"{side}_gc"]) == pytest.approx(share, abs=0.06)


@needs_primer3
@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.integers(300, 500),
    st.integers(1, 120),
    st.integers(15, 20),
    st.integers(50, 60),
)
def test_every_pair_meets_the_constraints(tmp_path_factory, seed, start, length, size, tm):
    out = tmp_path_factory.mktemp("primers")
    sequence = "".join(random.Random(seed).choices("ACGT", k=900))
    end = start + length - 1
    bounds = {"sizeMin": size, "sizeOpt": size + 3, "sizeMax": size + 6, "pairs": 3}
    warmth = {"tmMin": tm, "tmOpt": tm + 3, "tmMax": tm + 6, "gcMin": 35, "gcMax": 65}
    _, rows = design(
        out, sequence, targetStart=start, targetEnd=end, productMax=450, **bounds, **warmth
    )
    for row in rows:
        assert float(row["forward_end"]) < start <= end < float(row["reverse_start"])
        assert 100 <= float(row["product_size"]) <= 450
        for side in ("forward", "reverse"):
            assert size <= len(row[side]) <= size + 6
            warm, share = numbers(row, f"{side}_tm", f"{side}_gc")
            assert tm <= warm <= tm + 6
            assert 35 <= share <= 65


@needs_primer3
def test_table_explains_why_no_primer_fits(tmp_path):
    score, rows = design(tmp_path, genbank_bases("pBAD30.gb")[:400], gcMin=95, gcMax=100)
    assert score == {"pairs": 0}
    assert rows == []
    rows = read_csv(tmp_path / "considered.csv")
    counted = {(row["kind"], row["outcome"]): int(row["count"]) for row in rows}
    assert counted["forward", "GC content failed"] > 0
    assert counted["forward", "ok"] == 0
    assert not (tmp_path / "products.fasta").exists()


@needs_primer3
def test_primers_have_no_unknown_base(tmp_path):
    sequence = genbank_bases("pBAD30.gb")[:600]
    holed = sequence[:300] + "N" * 50 + sequence[350:]
    score, rows = design(tmp_path, holed, targetStart=300, targetEnd=350)
    assert score["pairs"] > 0
    assert not any("N" in row["forward"] + row["reverse"] for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sequence": "ACGU" * 20},
            "sequence: invalid DNA bases 'U' at 4, 'U' at 8, 'U' at 12 and 17 more",
        ),
        ({"sequence": "ACGT"}, "sequence: it has 4 letters; 40 to 10,000 are allowed."),
        ({"sequence": "ACGT" * 100}, "sequence: it is too repetitive: a stretch of 15"),
        ({"targetStart": 5}, "targetStart: the other end of the target is required too."),
        ({"targetStart": 9, "targetEnd": 5}, "targetStart: 9 is more than targetEnd, 5."),
        ({"targetStart": 9, "targetEnd": 9999}, "targetEnd: 9999 is outside 1 to 600."),
        (
            {"targetStart": 1, "targetEnd": 600},
            "targetEnd: the target has 600 bases, more than productMax, 500.",
        ),
        ({"sizeMin": 30}, "sizeMin: 30 is more than sizeOpt, 20."),
        ({"sizeMax": 36}, "sizeMax: 36 is outside 15 to 35."),
        ({"tmOpt": 70}, "tmOpt: 70 is more than tmMax, 63."),
        ({"gcMin": 70}, "gcMin: 70 is more than gcMax, 60."),
        ({"productMin": 800}, "productMin: 800 is more than productMax, 500."),
        ({"productMax": 2000}, "productMax: it exceeds productMin (100) by more than 1,000."),
        (
            {"productMin": 700, "productMax": 900},
            "productMin: 700 is more than the 600 bases of the sequence.",
        ),
        ({"pairs": 21}, "pairs: 21 is outside 1 to 20."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, {"sequence": genbank_bases("pBAD30.gb")[:600], **options}, message)
