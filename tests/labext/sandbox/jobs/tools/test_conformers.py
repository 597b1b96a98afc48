"""Conformers of molecules with known shapes, energies and configurations."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import assert_setting_error, read_csv, run_tool

from labext.sandbox.jobs.tools import _protein, conformers
from labext.sandbox.jobs.tools.tool import ToolError

Chem = pytest.importorskip("rdkit.Chem", reason="conformers needs rdkit")

TOOL = conformers.TOOL
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
FRAGMENTS = ("C", "CC", "O", "N", "C(=O)O", "C#N", "c1ccccc1", "C(F)", "C=C", "S", "C1CC1", "Cl")


def run(out: Path, smiles: str, **options):
    score = run_tool(TOOL, out, smiles=smiles, **options)
    return score, read_csv(out / "conformers.csv")


def places(path: Path, element: str = "") -> np.ndarray:
    lines = [x for x in path.read_text().splitlines() if x.startswith("HETATM")]
    atom_lines = [x for x in lines if not element or x[76:78].strip() == element]
    return np.array([[float(x[at : at + 8]) for at in (30, 38, 46)] for x in atom_lines])


def molecules(out: Path) -> list:
    return list(Chem.SDMolSupplier(str(out / "conformers.sdf"), removeHs=False))


def test_benzene_is_planar_and_regular(tmp_path):
    score, _ = run(tmp_path / "out", "c1ccccc1")
    assert (score["conformers"], score["force_field"]) == (1, "MMFF94")
    ring = places(tmp_path / "out" / "rank_1.pdb", "C")
    assert len(ring) == 6
    assert np.linalg.svd(ring - ring.mean(axis=0))[1][-1] < 0.01
    apart = np.linalg.norm(ring[:, None] - ring[None], axis=2)
    assert np.allclose(np.sort(apart, axis=1)[:, 1:3], 1.395, atol=0.01)


def test_butane_ranks_anti_before_gauche(tmp_path):
    score, rows = run(tmp_path / "out", "CCCC", conformers=20, rmsdThreshold=0.1)
    turns = [
        abs(_protein.dihedral_angle(*places(tmp_path / "out" / f"rank_{row['rank']}.pdb", "C")))
        for row in rows
    ]
    assert turns[0] == pytest.approx(180, abs=1)
    assert all(60 < turn < 70 for turn in turns[1:])
    assert len(turns) == 3  # gauche has a mirror image
    # 0.67 kcal/mol by spectroscopy, 0.78 in MMFF94.
    assert score["spread"] == pytest.approx(0.75, abs=0.15)
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-3)
    assert float(rows[1]["share"]) == pytest.approx(float(rows[2]["share"]), abs=0.01)


def test_cyclohexane_is_a_chair(tmp_path):
    run(tmp_path / "out", "C1CCCCC1")
    ring = places(tmp_path / "out" / "rank_1.pdb", "C")
    turns = [_protein.dihedral_angle(*(ring[(i + k) % 6] for k in range(4))) for i in range(6)]
    assert np.allclose(np.abs(turns), 55, atol=3)
    assert all(a * b < 0 for a, b in pairwise(turns))


def test_conformers_are_distinct_and_ranked_by_energy(tmp_path):
    score, rows = run(tmp_path / "out", "OCCCCC(N)=O", conformers=30, rmsdThreshold=0.6)
    energies = [float(row["energy"]) for row in rows]
    assert energies == sorted(energies)
    assert energies[0] == score["energy"]
    assert energies[-1] - energies[0] == pytest.approx(score["spread"], abs=1e-3)
    assert 2 <= score["conformers"] == len(rows) <= score["embedded"] <= 30
    heavy = [Chem.RemoveHs(molecule) for molecule in molecules(tmp_path / "out")]
    best = heavy[0].GetConformer().GetPositions()
    for molecule, row in zip(heavy[1:], rows[1:], strict=True):
        atoms = molecule.GetConformer().GetPositions()
        rmsd = float(row["rmsd_to_best"])
        assert rmsd > 0.6
        # The files are superposed on the best conformer, so no further superposition is needed.
        assert np.sqrt(((atoms - best) ** 2).sum(axis=1).mean()) == pytest.approx(rmsd, abs=2e-3)
        assert _protein.superposed_rmsd(atoms, best) == pytest.approx(rmsd, abs=2e-3)
    wide, _ = run(tmp_path / "wide", "OCCCCC(N)=O", conformers=30, rmsdThreshold=10)
    assert wide["conformers"] == 1


def test_rotating_a_symmetric_group_gives_no_new_conformer(tmp_path):
    score, _ = run(tmp_path / "out", "Cc1ccc(cc1)C(F)(F)F", conformers=10, rmsdThreshold=0.3)
    assert score["conformers"] == 1
    butyls = "CC(C)(C)c1cc(C(C)(C)C)c(O)c(C(C)(C)C)c1"  # has 432 symmetric mappings
    score, _ = run(tmp_path / "three", butyls, conformers=10)
    assert score["conformers"] == 1


@pytest.mark.parametrize("end", ["C(=O)[O-]", "[N+](=O)[O-]", "S(=O)(=O)[O-]", "C(=S)[S-]"])
def test_rotating_a_mesomeric_group_gives_no_new_conformer(tmp_path, end):
    _, rows = run(tmp_path / "out", f"CCC{end}", conformers=20)
    energies = [row["energy"] for row in rows]
    assert all(energies.count(energy) <= 2 for energy in energies)  # mirror images


def test_ends_of_a_carboxylic_acid_differ(tmp_path):
    _, rows = run(tmp_path / "out", "CCCC(=O)O", conformers=20, rmsdThreshold=0.3)
    assert len(rows) > len(run(tmp_path / "ion", "CCCC(=O)[O-]", conformers=20)[1])


def test_files_are_reproducible_for_a_seed(tmp_path):
    results = []
    for turn, seed in enumerate((3, 3, 4)):
        run(tmp_path / str(turn), ASPIRIN, seed=seed)
        files = (tmp_path / str(turn)).iterdir()
        results.append({path.name: path.read_bytes() for path in files})
    assert results[0] == results[1] != results[2]


@pytest.mark.parametrize("seed", [0, 2**31 - 1])
def test_conformers_of_any_seed_differ(tmp_path, seed):
    files = set()
    for turn in "ab":
        score, _ = run(tmp_path / turn, "OCCCCC(N)=O", seed=seed, conformers=20)
        files.add((tmp_path / turn / "conformers.sdf").read_bytes())
    assert score["conformers"] > 5
    assert len(files) == 1


def test_sdf_and_pdb_files_agree(tmp_path):
    score, rows = run(tmp_path / "out", ASPIRIN)
    found_molecules = molecules(tmp_path / "out")
    files = list((tmp_path / "out").glob("rank_*.pdb"))
    assert len(found_molecules) == score["conformers"] == len(files)
    for row, molecule in zip(rows, found_molecules, strict=True):
        assert molecule.GetProp("_Name") == f"rank_{row['rank']}"
        assert float(molecule.GetProp("energy_kcal_mol")) == float(row["energy"])
        assert Chem.MolToSmiles(Chem.RemoveHs(molecule)) == Chem.CanonSmiles(ASPIRIN)
        pdb = places(tmp_path / "out" / f"rank_{row['rank']}.pdb")
        assert np.allclose(molecule.GetConformer().GetPositions(), pdb, atol=0.001)


@pytest.mark.parametrize(
    "smiles",
    ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "F/C=C/F", "F/C=C\\F", "C[C@H]1CC[C@@H](O)CC1"],
)
def test_configuration_is_kept(tmp_path, smiles):
    score, _ = run(tmp_path / "out", smiles)
    assert score["smiles"] == Chem.CanonSmiles(smiles)
    assert score["open_stereocentres"] == 0
    for molecule in molecules(tmp_path / "out"):
        Chem.AssignStereochemistryFrom3D(molecule)
        assert Chem.MolToSmiles(Chem.RemoveHs(molecule)) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize(("smiles", "left"), [("CC(F)Cl", 1), ("FC=CF", 1), ("CC(O)C(F)=CF", 2)])
def test_open_stereocentres_are_the_same_in_all_conformers(tmp_path, smiles, left):
    score, _ = run(tmp_path / "out", smiles, rmsdThreshold=0)
    assert score["open_stereocentres"] == left
    assert set(score["smiles"]) & set("@/\\")
    for molecule in molecules(tmp_path / "out"):
        Chem.AssignStereochemistryFrom3D(molecule)
        assert Chem.MolToSmiles(Chem.RemoveHs(molecule)) == score["smiles"]


def test_uff_is_used_for_atoms_unknown_to_mmff(tmp_path):
    score, _ = run(tmp_path / "out", "OB(O)c1ccccc1")
    assert score["force_field"] == "UFF"
    assert run(tmp_path / "out", "CCO", forceField="uff")[0]["force_field"] == "UFF"
    assert run(tmp_path / "out", "CCO", forceField="mmff94s")[0]["force_field"] == "MMFF94s"
    with pytest.raises(ToolError, match=r"^smiles: no force field has parameters for all"):
        run(tmp_path / "out", "[He]")


@pytest.mark.parametrize(
    "smiles", ["C", "[Na+]", "[2H]C([2H])[2H]", "[C-]#[O+]", "[Cl-]", "C[CH]C"]
)
def test_small_and_unusual_molecules_have_a_conformer(tmp_path, smiles):
    score, rows = run(tmp_path / "out", smiles, rmsdThreshold=0)
    assert score["conformers"] == len(rows) >= 1
    assert rows[0]["rmsd_to_best"] == "0.000"


def test_impossible_configuration_is_an_error(tmp_path):
    with pytest.raises(ToolError, match=r"^smiles: no geometry was found; its configuration"):
        run(tmp_path / "out", "C1C[C@@H]2CC[C@@H]1C2")


def test_drawing_is_valid_xml_and_optional(tmp_path, monkeypatch, capsys):
    pytest.importorskip(
        "rdkit.Chem.Draw.rdMolDraw2D",
        reason="the system has no libX11 or libXrender",
        exc_type=ImportError,
    )
    run(tmp_path / "out", ASPIRIN)
    drawn = ElementTree.parse(tmp_path / "out" / "molecule.svg").getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    import sys

    # As without libXrender.
    monkeypatch.setitem(sys.modules, "rdkit.Chem.Draw", None)
    run(tmp_path / "without", ASPIRIN)
    assert "The molecule could not be drawn" in capsys.readouterr().out
    assert not (tmp_path / "without" / "molecule.svg").exists()


@settings(max_examples=20)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4), st.integers(0, 2**31 - 1))
def test_any_molecule_has_plausible_bonds_and_ranked_energies(tmp_path_factory, parts, seed):
    out = tmp_path_factory.mktemp("any")
    smiles = "C" + "".join(parts)
    if TOOL.check({"smiles": smiles}) is not None:
        return
    score, rows = run(out, smiles, conformers=3, seed=seed)
    energies = [float(row["relative_energy"]) for row in rows]
    assert energies[0] == 0
    assert energies == sorted(energies)
    for molecule in molecules(out):
        atoms = molecule.GetConformer().GetPositions()
        for bond in molecule.GetBonds():
            ends = (bond.GetBeginAtom(), bond.GetEndAtom())
            length = np.linalg.norm(np.subtract(*(atoms[end.GetIdx()] for end in ends)))
            radii = sum(Chem.GetPeriodicTable().GetRcovalent(end.GetAtomicNum()) for end in ends)
            assert 0.6 * radii < length < 1.25 * radii
    assert score["heavy_atoms"] == Chem.MolFromSmiles(smiles).GetNumHeavyAtoms()


@given(st.text("CNOPSFBrcnos[]()=#@+-.123%/\\H* ", max_size=30))
def test_any_text_is_checked_without_an_exception(text):
    message = TOOL.check({"smiles": text})
    assert message is None or (message.startswith("smiles: ") and "\n" not in message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smiles": "(("}, "smiles: '((' can't be read as SMILES."),
        ({"smiles": "C1CC"}, "smiles: 'C1CC' can't be read as SMILES."),
        ({"smiles": "CC O"}, "smiles: it has a space at position 3, which SMILES does not allow."),
        ({"smiles": "C(C)(C)(C)(C)C"}, "smiles: it is not a valid molecule: Explicit valence for"),
        ({"smiles": "c1cccc1"}, "smiles: it is not a valid molecule: Can't kekulize mol."),
        ({"smiles": "CC(=O)[O-].[Na+]"}, "smiles: it is a salt or mixture of 2 parts; send one"),
        ({"smiles": "C*"}, "smiles: it has an atom without an element (*)."),
        ({"smiles": "C[#119]"}, "smiles: 'C[#119]' can't be read as a molecule."),
        ({"smiles": "[Fe]" + "(C)" * 128}, "smiles: '[Fe](C)(C)"),
        ({"smiles": "[H][H]"}, "smiles: it has 0 heavy atoms; 1 to 60 are allowed."),
        ({"smiles": "C" * 61}, "smiles: it has 61 heavy atoms; 1 to 60 are allowed."),
        ({"smiles": "C" * 1001}, "smiles: it has 1,001 characters; at most 1,000 are allowed."),
        ({"conformers": 101}, "conformers: 101 is outside 1 to 100."),
        (
            {"smiles": "C" * 60, "conformers": 21},
            "conformers: 21 are too many for a molecule with 60 heavy atoms; at most 20 are",
        ),
        ({"seed": -1}, "seed: -1 is outside 0 to 2.14748e+09."),
        ({"rmsdThreshold": "far"}, "rmsdThreshold: a number is expected, not 'far'."),
        ({"forceField": "amber"}, "forceField: 'amber' is not one of mmff94, mmff94s, uff."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, {"smiles": "CCO", **options}, message)
