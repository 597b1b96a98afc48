"""Built peptides, compared with textbook geometry."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_tools import assert_setting_error, read_csv, run_tool

from labext.sandbox.jobs.tools import peptide_build

pytest.importorskip("PeptideBuilder", reason="PeptideBuilder is in the sandbox extra")

TOOL = peptide_build.TOOL
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
HEAVY_ATOMS = dict(
    zip(LETTERS, [5, 6, 8, 9, 11, 4, 10, 8, 9, 8, 8, 8, 7, 9, 11, 6, 7, 7, 14, 12], strict=True)
)


def build(out: Path, **options):
    score = run_tool(TOOL, out, **options)
    atoms: dict[tuple[int, str], np.ndarray] = {}
    for line in (out / "peptide.pdb").read_text().splitlines():
        if line.startswith("ATOM"):
            key = (int(line[22:26]), line[12:16].strip())
            atoms[key] = np.array([float(line[i : i + 8]) for i in (30, 38, 46)])
    return score, atoms, read_csv(out / "ramachandran.csv")


def dihedral(a, b, c, d) -> float:
    across = (b - a, c - b, d - c)
    first, second = np.cross(across[0], across[1]), np.cross(across[1], across[2])
    turn = np.linalg.norm(across[1]) * np.dot(across[0], second)
    return math.degrees(math.atan2(turn, np.dot(first, second)))


def test_all_residues_have_their_heavy_atoms(tmp_path):
    score, atoms, rows = build(tmp_path, sequence=LETTERS)
    for place, letter in enumerate(LETTERS, 1):
        count = sum(residue == place for residue, _ in atoms)
        assert count == HEAVY_ATOMS[letter] + (place == len(LETTERS)), letter
    assert score["residues"] == len(rows) == 20
    assert score["atoms"] == len(atoms) == sum(HEAVY_ATOMS.values()) + 1
    assert score["weight"] == pytest.approx(2395.7, abs=0.1)


def test_helix_has_textbook_rise_and_turn(tmp_path):
    score, atoms, _ = build(tmp_path, sequence="A" * 31, conformation="helix")
    alpha = np.array([atoms[i, "CA"] for i in range(1, 32)])
    # 18 residues make 5 turns of an alpha helix
    axis = alpha[18] - alpha[0]
    assert np.linalg.norm(axis) / 18 == pytest.approx(1.5, abs=0.06)
    axis /= np.linalg.norm(axis)
    # the second differences of positions on a helix point to its axis
    inward = [alpha[i - 1] - 2 * alpha[i] + alpha[i + 1] for i in range(1, 30)]
    flat = [step - np.dot(step, axis) * axis for step in inward]
    turns = [
        math.degrees(math.acos(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)))
        for a, b in pairwise(flat)
    ]
    assert np.mean(turns) == pytest.approx(100, abs=3)
    # right-handed
    assert all(np.dot(np.cross(a, b), axis) > 0 for a, b in pairwise(flat))
    assert score["end_to_end"] == pytest.approx(np.linalg.norm(alpha[-1] - alpha[0]), abs=0.01)


def test_residues_are_l_amino_acids_with_standard_bond_lengths(tmp_path):
    _, atoms, _ = build(tmp_path, sequence=LETTERS)
    for i, letter in enumerate(LETTERS, 1):
        n, ca, c = (atoms[i, name] for name in ("N", "CA", "C"))
        assert np.linalg.norm(ca - n) == pytest.approx(1.46, abs=0.02)
        assert np.linalg.norm(c - ca) == pytest.approx(1.52, abs=0.02)
        if letter != "G":
            # the CORN rule: seen with the hydrogen in front, CO, R, N run clockwise
            volume = np.dot(np.cross(n - ca, c - ca), atoms[i, "CB"] - ca)
            assert volume > 0, letter
        if i < 20:
            assert np.linalg.norm(atoms[i + 1, "N"] - c) == pytest.approx(1.33, abs=0.02)


angle = st.sampled_from([0, 90, -90, 180, -180, 1e-9]) | st.floats(-180, 180)
angles = st.lists(st.tuples(angle, angle), min_size=2, max_size=6)


@given(pairs=angles, data=st.data())
def test_structure_has_the_requested_angles(tmp_path_factory, pairs, data):
    out = tmp_path_factory.mktemp("peptide")
    letters = data.draw(st.text(LETTERS, min_size=len(pairs), max_size=len(pairs)))
    phi, psi = (list(column) for column in zip(*pairs, strict=True))
    _, atoms, rows = build(out, sequence=letters, conformation="custom", phi=phi, psi=psi)
    assert all(np.isfinite(place).all() for place in atoms.values())
    for i, row in enumerate(rows, 1):
        if i > 1:
            ends = atoms[i - 1, "C"], atoms[i, "N"], atoms[i, "CA"], atoms[i, "C"]
            for match in (dihedral(*ends), float(row["phi"])):
                assert math.cos(math.radians(match - phi[i - 1])) > 0.9999
            assert abs(float(row["omega"])) > 179
        following = (i + 1, "N") if i < len(rows) else (i, "O")
        ends = atoms[i, "N"], atoms[i, "CA"], atoms[i, "C"], atoms[following]
        expected_angle = psi[i - 1] + (180 if i == len(rows) else 0)
        assert math.cos(math.radians(dihedral(*ends) - expected_angle)) > 0.9999


def test_angles_can_be_text(tmp_path):
    _, _, rows = build(
        tmp_path, sequence="AAA", conformation="custom", phi="-60, -61 -62", psi="10,20,30"
    )
    assert [row["phi"] for row in rows] == ["", "-61.00", "-62.00"]
    assert [row["psi"] for row in rows] == ["10.00", "20.00", ""]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sequence": "ACB"},
            "sequence: invalid amino acid 'B' at 3 (allowed: ACDEFGHIKLMNPQRSTVWY",
        ),
        ({"sequence": "MKß"}, "sequence: invalid amino acid 'ß' at 3"),  # its capital letter is SS
        ({"sequence": "A"}, "sequence: it has 1 letter; 2 to 1,000 are allowed."),
        ({"sequence": "A" * 1001}, "sequence: it has 1,001 letters; 2 to 1,000 are allowed."),
        ({"sequence": "AA", "conformation": "coil"}, "conformation: 'coil' is not one of helix,"),
        (
            {"sequence": "AA", "conformation": "custom"},
            "phi: it is required if conformation is custom.",
        ),
        ({"sequence": "AA", "conformation": "custom", "phi": [1, 2]}, "psi: it is required if"),
        ({"sequence": "AA", "phi": [1, 2]}, "phi: it applies only if conformation is custom."),
        (
            {"sequence": "AAA", "conformation": "custom", "phi": [1, 2], "psi": [1, 2, 3]},
            "phi: it has 2 angles, but the sequence has 3 residues.",
        ),
        (
            {"sequence": "AA", "conformation": "custom", "phi": [1, 181], "psi": [1, 2]},
            "phi, item 2: 181 is outside -180 to 180.",
        ),
        (
            {"sequence": "AA", "conformation": "custom", "phi": "1,x", "psi": [1, 2]},
            "phi, item 2: a number is expected, not 'x'.",
        ),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, options, message)
