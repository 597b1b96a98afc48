"""Energy minimisation of peptides: energy, force field and geometry."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import DATA, assert_setting_error, pdb_atom, read_csv, run_tool, write_corrupted

from labext.sandbox.jobs.tools import _protein, peptide_build, peptide_relax
from labext.sandbox.jobs.tools.peptide_relax import ENERGY_TERMS, prepare_peptide
from labext.sandbox.jobs.tools.tool import ToolError

openmm = pytest.importorskip("openmm", reason="peptide_relax needs openmm")

TOOL = peptide_relax.TOOL


def run(out: Path, path: Path | None = None, **options):
    if path is None:
        return run_tool(TOOL, out, **options)
    return run_tool(TOOL, out, {"pdbFile": path}, pdbFile=path.name, **options)


def fragment(tmp_path: Path, first: int, last: int) -> Path:
    """Write a PDB file with residues of the first helix of the domain."""
    path = tmp_path / "fragment.pdb"
    with (DATA / "1A8O.pdb").open() as file:
        atom_lines = [x for x in file if x.startswith("ATOM") and first <= int(x[22:26]) <= last]
    path.write_text("".join(atom_lines))
    return path


def handedness(residues) -> list[int]:
    """Return +1 for L residues, -1 for D residues, 0 for glycine."""
    results = []
    for residue in residues:
        if "CB" not in residue.atoms:
            results.append(0)
            continue
        n, c, cb, ca = (np.array(residue.atoms[name].xyz) for name in ("N", "C", "CB", "CA"))
        results.append(int(np.sign(np.dot(np.cross(n - ca, c - ca), cb - ca))))
    return results


def bond_lengths(residues) -> list[float]:
    return [
        float(np.linalg.norm(np.subtract(first.atoms["C"].xyz, two.atoms["N"].xyz)))
        for first, two in pairwise(residues)
    ]


@pytest.fixture(scope="module")
def magainin(tmp_path_factory):
    """Run the tool on magainin, an amphipathic peptide of frog skin."""
    out = tmp_path_factory.mktemp("magainin")
    return run(out, sequence="GIGKFLHSAKKFGKAFVGEIMNS", iterations=90), out


def test_energy_falls_with_every_iteration(magainin):
    score, out = magainin
    energies = [float(row["energy"]) for row in read_csv(out / "minimisation.csv")]
    assert len(energies) == score["iterations"] == 90
    assert all(later <= earlier for earlier, later in pairwise(energies))
    assert energies[0] <= score["energy_before"]
    assert energies[-1] == pytest.approx(score["energy_after"], abs=0.01)
    assert score["energy_after"] < -1900


def test_energy_terms_add_up(magainin):
    score, out = magainin
    rows = {row["term"]: row for row in read_csv(out / "energies.csv")}
    total = rows.pop("total")
    assert list(rows) == list(ENERGY_TERMS)
    for when in ("before", "after"):
        assert sum(float(row[when]) for row in rows.values()) == pytest.approx(
            float(total[when]), abs=0.01
        )
        assert float(total[when]) == pytest.approx(score[f"energy_{when}"], abs=0.002)
        assert all(float(rows[term][when]) > 0 for term in ("bonds", "angles"))
    # Water always stabilizes the charges of a peptide.
    assert float(rows["solvent"]["after"]) < 0


def test_helix_keeps_its_chirality_and_bonds(magainin):
    score, out = magainin
    start, end = (_protein.read_residues(out / name) for name in ("start.pdb", "rank_1.pdb"))
    assert handedness(start) == handedness(end)
    assert set(handedness(end)) == {0, 1}
    assert [residue.name for residue in start] == [residue.name for residue in end]
    assert all(1.28 < length < 1.40 for length in bond_lengths(end))
    for first, two in pairwise(end):
        atoms = [(first, "CA"), (first, "C"), (two, "N"), (two, "CA")]
        omega = _protein.dihedral_angle(*(residue.atoms[name].xyz for residue, name in atoms))
        assert abs(omega) > 160  # all peptide bonds stay trans
    # Half of the backbone oxygens have a hydrogen bond four residues further.
    reach = [
        np.linalg.norm(np.subtract(end[i].atoms["O"].xyz, end[i + 4].atoms["H"].xyz)) < 2.5
        for i in range(len(end) - 4)
    ]
    assert sum(reach) > len(reach) / 2
    assert 0.1 < score["rmsd"] < 1.5


def test_solvent_energy_matches_the_obc2_file_of_openmm(tmp_path):
    from openmm import app, unit

    peptide_build.run({"sequence": "ACDHKMRWG", "conformation": "strand"}, {}, tmp_path)
    peptide = prepare_peptide(tmp_path / "peptide.pdb", 7.0, solvent=True)
    field = app.ForceField("amber14/protein.ff14SB.xml", "implicit/obc2.xml")
    system = field.createSystem(peptide.topology, nonbondedMethod=app.NoCutoff)
    platform = openmm.Platform.getPlatformByName("Reference")
    energies = []
    for model in (peptide.system, system):
        context = openmm.Context(model, openmm.VerletIntegrator(0.001), platform)
        context.setPositions(peptide.coordinates * unit.angstrom)
        energy = context.getState(getEnergy=True).getPotentialEnergy()
        energies.append(energy.value_in_unit(unit.kilojoule_per_mole))
    assert energies[0] == pytest.approx(energies[1], abs=0.01)


def test_converged_minimum_is_within_the_tolerance(tmp_path):
    score = run(tmp_path / "out", sequence="GA", tolerance=1)
    assert score["converged"] == "yes"
    assert score["force"] <= 1
    again = run(tmp_path / "again", tmp_path / "out" / "rank_1.pdb", tolerance=1)
    # A second run hardly lowers the energy; the hydrogens are placed again.
    assert again["energy_after"] == pytest.approx(score["energy_after"], abs=3)
    assert again["rmsd"] < 0.3
    assert run(tmp_path / "short", sequence="GA", tolerance=1, iterations=2)["converged"] == "no"


def test_number_of_hydrogens_depends_on_ph(tmp_path):
    atoms = [
        run(tmp_path / "out", sequence="GDKHG", ph=ph, iterations=1)["atoms"] for ph in (1, 7, 13)
    ]
    # Asp and His gain a hydrogen at pH 1; Lys loses one at pH 13.
    assert atoms[0] > atoms[1] > atoms[2]


@pytest.mark.parametrize(
    ("sequence", "ph"), [("DGE", 1), ("EGD", 1), ("CGK", 13), ("KGC", 13), ("KCG", 9)]
)
def test_ends_have_the_only_form_that_the_force_field_has(tmp_path, sequence, ph):
    atoms = [
        run(tmp_path / "out", sequence=sequence, ph=value, iterations=1)["atoms"]
        for value in (7, ph)
    ]
    assert atoms[1] - atoms[0] == (-1 if sequence == "KCG" else 0)


def test_disulfide_between_ends_is_kept(tmp_path):
    peptide_build.run({"sequence": "CG"}, {}, tmp_path)
    first, last = _protein.read_residues(tmp_path / "peptide.pdb")
    carbon, sulfur = (np.array(first.atoms[name].xyz) for name in ("CB", "SG"))
    along = (sulfur - carbon) / np.linalg.norm(sulfur - carbon)
    axis = np.cross(along, (1.0, 0.0, 0.0))
    axis /= np.linalg.norm(axis)
    center = sulfur + 1.02 * along  # the middle of the bond; the second chain is turned by 180°
    lines = []
    for chain in "AB":
        for residue in (first, last):
            for atom in residue.heavy:
                offset = np.array(atom.xyz) - center
                turned = 2 * axis * np.dot(axis, offset) - offset if chain == "B" else offset
                number = int(residue.number)
                x, y, z = (float(value) for value in turned)
                kind = {"name": f" {atom.name:<3}", "residue": residue.name, "chain": chain}
                lines.append(pdb_atom(number, (x, y, z), **kind))
    (tmp_path / "dimer.pdb").write_text("".join(lines))
    score = run(tmp_path / "out", tmp_path / "dimer.pdb", iterations=20)
    free = run(tmp_path / "free", sequence="CG", iterations=1)
    assert score["atoms"] == 2 * free["atoms"] - 2  # both sulfurs have no hydrogen


def test_solvent_term_is_zero_without_solvent(tmp_path):
    run(tmp_path / "out", sequence="GAG", solvent="none", iterations=5)
    rows = {row["term"]: float(row["after"]) for row in read_csv(tmp_path / "out" / "energies.csv")}
    assert rows["solvent"] == 0
    assert rows["nonbonded"] != 0


def test_crystal_fragment_hardly_moves(tmp_path):
    path = fragment(tmp_path, 161, 170)
    score = run(tmp_path / "out", path, iterations=20)
    assert score["residues"] == 10
    assert score["rmsd"] < 1
    start = _protein.read_residues(path)
    end = _protein.read_residues(tmp_path / "out" / "start.pdb")
    assert [residue.number for residue in end] == [residue.number for residue in start]
    for first, two in zip(start, end, strict=True):
        for atom in first.heavy:  # the heavy atoms start at the positions of the file
            assert two.atoms[atom.name].xyz == pytest.approx(atom.xyz, abs=0.0011)
    last = end[-1].atoms
    apart = [np.linalg.norm(np.subtract(last["OXT"].xyz, last[x].xyz)) for x in ("C", "O")]
    assert apart == [pytest.approx(1.25, abs=0.01), pytest.approx(2.2, abs=0.15)]


def test_helix_and_strand_are_different_minima(tmp_path):
    radii = []
    for conformation in ("helix", "strand"):
        run(tmp_path / "out", sequence="A" * 10, conformation=conformation, iterations=30)
        ends = _protein.read_residues(tmp_path / "out" / "rank_1.pdb")
        alphas = (ends[0].atoms["CA"].xyz, ends[-1].atoms["CA"].xyz)
        radii.append(np.linalg.norm(np.subtract(*alphas)))
    assert radii[0] == pytest.approx(1.5 * 9, rel=0.15)
    assert radii[1] == pytest.approx(3.3 * 9, rel=0.15)


@settings(max_examples=5)
@given(
    st.text("ACDEFGHIKLMNPQRSTVWY", min_size=2, max_size=5), st.sampled_from(["helix", "strand"])
)
def test_any_peptide_loses_energy_and_keeps_its_chirality(tmp_path_factory, sequence, conformation):
    out = tmp_path_factory.mktemp("any")
    score = run(out, sequence=sequence, conformation=conformation, iterations=40)
    assert score["residues"] == len(sequence)
    assert score["energy_after"] <= score["energy_before"]
    start, end = (_protein.read_residues(out / name) for name in ("start.pdb", "rank_1.pdb"))
    assert handedness(start) == handedness(end)
    assert all(1.2 < length < 1.45 for length in bond_lengths(end))


@settings(max_examples=15)
@given(st.binary(max_size=120), st.integers(0, 79), st.integers(0, 8))
def test_corrupted_file_is_an_error_or_read(tmp_path_factory, junk, where, line):
    folder = tmp_path_factory.mktemp("junk")
    peptide_build.run({"sequence": "GA"}, {}, folder)
    lines = (folder / "peptide.pdb").read_text().splitlines(keepends=True)
    path = write_corrupted(folder / "x.pdb", lines, junk, where, line)
    with suppress(ToolError):
        run(folder / "out", path, iterations=1)


def test_incomplete_or_unknown_residue_is_named(tmp_path):
    text = fragment(tmp_path, 161, 164).read_text()

    def message(changed: str) -> str:
        path = tmp_path / "x.pdb"
        path.write_text(changed)
        with pytest.raises(ToolError) as caught:
            run(tmp_path / "out", path)
        return str(caught.value)

    lines = text.splitlines(keepends=True)
    cut = "".join(x for x in lines if not (x[12:16] == " CG " and int(x[22:26]) == 163))
    assert message(cut) == "pdbFile: ASP 163 of chain A has no CG."
    gap = "".join(x for x in lines if int(x[22:26]) != 163)
    assert message(gap) == "pdbFile: the chain has a gap before TYR 164 of chain A."
    strange = text.replace("ASP A", "SEP A")
    assert message(strange) == "pdbFile: SEP 163 of chain A is not one of the 20 amino acids."
    surplus = text.replace(" CG  ASP", " CX  ASP") + lines[-1].replace(lines[-1][12:16], " CG ")
    assert "has no CG" in message(surplus)
    place = next(x[30:54] for x in lines if x[12:16] == " CA " and int(x[22:26]) == 163)
    same = "".join(
        x[:30] + place + x[54:] if x[12:16] == " CB " and int(x[22:26]) == 163 else x for x in lines
    )
    assert message(same) == (
        "pdbFile: CB of ASP 163 of chain A has the coordinates of CA of ASP 163 of chain A."
    )
    assert message("".join(lines[:11])) == "pdbFile: it has 1 residue; 2 to 25 are allowed."
    whole = (DATA / "1A8O.pdb").read_text()
    assert message(whole) == "pdbFile: it has 70 residues; 2 to 25 are allowed."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "sequence: it is missing; send sequence or pdbFile."),
        ({"sequence": "GA", "pdbFile": "x.pdb"}, "pdbFile: it can't be combined with sequence."),
        ({"pdbFile": "x.pdb", "conformation": "helix"}, "conformation: it applies only if"),
        ({"sequence": "G" * 26}, "sequence: it has 26 letters; 2 to 25 are allowed."),
        ({"sequence": "GAX"}, "sequence: invalid amino acid 'X' at 3"),
        (
            {"sequence": "GA", "conformation": "custom"},
            "conformation: 'custom' is not one of helix,",
        ),
        ({"sequence": "GA", "iterations": 1001}, "iterations: 1001 is outside 1 to 1000."),
        ({"sequence": "GA", "tolerance": 0}, "tolerance: 0 is outside 0.1 to 1000."),
        ({"sequence": "GA", "ph": 15}, "ph: 15 is outside 0 to 14."),
        ({"sequence": "GA", "solvent": "wine"}, "solvent: 'wine' is not one of obc2, none."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, options, message)


def test_global_random_state_is_unchanged(tmp_path):
    import random

    random.seed(7)
    expected = random.Random(7).random()
    run(tmp_path / "out", sequence="GA", iterations=1)
    assert random.random() == expected
