"""Surface areas, secondary structures and sizes, compared with geometry and a real domain."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import DATA, read_csv, run_tool, write_corrupted
from job_tools import pdb_atom as atom

from labext.sandbox.jobs.tools import _protein, peptide_build, structure_summary
from labext.sandbox.jobs.tools.tool import ToolError

biotite = pytest.importorskip("biotite.structure", reason="structure_summary needs biotite")

TOOL = structure_summary.TOOL


def run(out: Path, path: Path, **options):
    score = run_tool(TOOL, out, {"pdbFile": path}, pdbFile=path.name, **options)
    return score, read_csv(out / "residues.csv")


def peptide(folder: Path, sequence: str, conformation: str = "helix") -> Path:
    folder.mkdir(exist_ok=True)
    peptide_build.run({"sequence": sequence, "conformation": conformation}, {}, folder)
    return folder / "peptide.pdb"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "x.pdb"
    path.write_text(text)
    return path


def test_helices_of_a_real_domain_match_its_file(tmp_path):
    score, rows = run(tmp_path / "out", DATA / "1A8O.pdb")
    named = set()
    for line in (DATA / "1A8O.pdb").read_text().splitlines():
        if line.startswith("HELIX"):
            named |= set(range(int(line[21:25]), int(line[33:37]) + 1))
    helix_residues = {int(row["residue"]) for row in rows if row["structure"] == "helix"}
    assert len(helix_residues & named) / len(helix_residues | named) > 0.75
    assert score["helix"] == pytest.approx(len(helix_residues) / 70, abs=1e-4)
    assert score["helix"] + score["coil"] == pytest.approx(1, abs=2e-4)
    assert (score["residues"], score["chains"], score["strand"]) == (70, 1, 0)
    # REMARK 3 of the file has 556 heavy protein atoms; the 88 waters are ignored.
    assert score["atoms"] == 556
    helix = [row for row in rows if 162 <= int(row["residue"]) <= 173]
    assert all(-90 < float(row["phi"]) < -40 and -60 < float(row["psi"]) < -10 for row in helix)


def test_radius_of_gyration_matches_the_atoms_of_the_file(tmp_path):
    mass = {"C": 12.011, "N": 14.007, "O": 15.999, "S": 32.06, "SE": 78.971}
    places, weights = [], []
    for line in (DATA / "1A8O.pdb").read_text().splitlines():
        if line.startswith(("ATOM", "HETATM")) and line[17:20] != "HOH" and line[16] in " A":
            places.append([float(line[at : at + 8]) for at in (30, 38, 46)])
            weights.append(mass[line[76:78].strip()])
    positions, masses = np.array(places), np.array(weights)
    apart = ((positions[:, None] - positions[None]) ** 2).sum(axis=2)
    pairs = masses @ apart @ masses / 2 / masses.sum() ** 2  # Lagrange's identity
    score, _ = run(tmp_path / "out", DATA / "1A8O.pdb")
    assert score["radius_of_gyration"] == pytest.approx(math.sqrt(pairs), abs=0.01)


def test_residue_areas_add_up_and_are_bounded(tmp_path):
    score, rows = run(tmp_path / "out", DATA / "1A8O.pdb")
    areas = [float(row["sasa"]) for row in rows]
    assert score["sasa"] == pytest.approx(sum(areas), abs=0.5)
    assert min(areas) >= 0
    assert all(0 <= float(row["relative_sasa"]) < 1.1 for row in rows)
    # Some of the 70 residues are completely buried in the monomer.
    assert 2 <= sum(area < 5 for area in areas) <= 30


def test_isolated_atom_exposes_its_whole_sphere(tmp_path):
    text = atom(1) + atom(1, (500, 0, 0), " O  ")
    for probe in (1.4, 3.0):
        score, _ = run(tmp_path / "out", written(tmp_path, text), probe=probe)
        spheres = 4 * math.pi * ((1.88 + probe) ** 2 + (1.42 + probe) ** 2)  # ProtOr: CH, C=O
        assert score["sasa"] == pytest.approx(spheres, abs=0.06)


def test_atom_radii_match_biotite(tmp_path):
    from biotite.structure.info import vdw_radius_protor

    residues = _protein.read_residues(peptide(tmp_path, "ACDEFGHIKLMNPQRSTVWY"))
    assert {residue.name for residue in residues} == {*_protein.MAX_ACCESSIBLE_AREA} - {"MSE"}
    names = [(residue.name, place.name) for residue in residues for place in residue.heavy]
    for name in [*names, ("ALA", "OXT"), ("MSE", "SE")]:
        radius = vdw_radius_protor(*name) or 1.8
        assert _protein._protor_radius(*name) == pytest.approx(radius), name


def test_names_of_protonated_residues_do_not_change_their_areas(tmp_path):
    score, rows = run(tmp_path / "out", path := peptide(tmp_path, "CDEHKGH"))
    for standard, name in {"CYS": "CYX", "ASP": "ASH", "GLU": "GLH", "HIS": "HIE"}.items():
        path.write_text(path.read_text().replace(standard, name))
    amber_score, amber_rows = run(tmp_path / "amber", path)
    assert " ".join(row["name"] for row in amber_rows) == "CYX ASH GLH HIE LYS GLY HIE"
    assert amber_score == score
    columns = ("sasa", "relative_sasa")
    assert [[row[c] for c in columns] for row in amber_rows] == [
        [row[c] for c in columns] for row in rows
    ]


def test_overlapping_spheres_hide_their_caps(tmp_path):
    radius, apart = 1.88 + 1.4, 3.0
    text = atom(1) + atom(1, (apart, 0, 0), " CB ")
    score, _ = run(tmp_path / "out", written(tmp_path, text))
    cap = 2 * math.pi * radius * (radius - apart / 2)
    assert score["sasa"] == pytest.approx(2 * (4 * math.pi * radius**2 - cap), rel=0.005)


@pytest.mark.parametrize(
    ("conformation", "phi", "psi"), [("helix", -57, -47), ("strand", -139, 135)]
)
def test_built_peptide_has_its_angles_and_structure(tmp_path, conformation, phi, psi):
    path = peptide(tmp_path / "p", "ACDEFGHIKLMNPQRSTVWY", conformation)
    score, rows = run(tmp_path / "out", path)
    assert score[conformation] > 0.7
    assert rows[0]["phi"] == rows[-1]["psi"] == ""
    assert all(float(row["phi"]) == pytest.approx(phi, abs=0.3) for row in rows[1:])
    assert all(float(row["psi"]) == pytest.approx(psi, abs=0.3) for row in rows[:-1])
    built = read_csv(tmp_path / "p" / "ramachandran.csv")
    assert [row["name"] for row in rows] == [row["name"] for row in built]


@settings(max_examples=8)
@given(st.text("ACDEFGHIKLMNPQRSTVWY", min_size=2, max_size=12), st.integers(0, 2**32))
def test_rotation_changes_the_result_only_slightly(tmp_path_factory, sequence, seed):
    folder = tmp_path_factory.mktemp("turned")
    path = peptide(folder, sequence)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3))).Q
    turn *= np.linalg.det(turn)
    moved = []
    for line in path.read_text().splitlines():
        if line.startswith("ATOM"):
            place = np.array([float(line[at : at + 8]) for at in (30, 38, 46)]) @ turn + 20
            line = line[:30] + "".join(f"{x:8.3f}" for x in place) + line[54:]
        moved.append(line)
    first_rows, _ = run(folder / "out", path)
    two, _ = run(folder / "out", written(folder, "\n".join(moved)))
    assert two["sasa"] == pytest.approx(first_rows["sasa"], rel=0.02)
    assert two["radius_of_gyration"] == pytest.approx(first_rows["radius_of_gyration"], abs=0.003)
    assert {two[k] - first_rows[k] for k in ("residues", "atoms", "helix", "strand")} == {0}


def test_hydrogens_are_ignored(tmp_path):
    bare = peptide(tmp_path / "p", "ACDEFG").read_text()
    nitrogens = [line for line in bare.splitlines() if line[12:16] == " N  "]
    more = "".join(f"{line[:12]} H  {line[16:76]} H\n" for line in nitrogens)
    first, _ = run(tmp_path / "out", written(tmp_path, bare))
    second, _ = run(tmp_path / "out", written(tmp_path, more + bare))
    assert first == second


def test_alpha_carbons_have_a_structure_but_no_surface(tmp_path):
    whole = (DATA / "1A8O.pdb").read_text().splitlines(keepends=True)
    atoms = ("ATOM", "HETATM")
    text = "".join(x for x in whole if not x.startswith(atoms) or x[12:16] == " CA ")
    score, rows = run(tmp_path / "out", written(tmp_path, text))
    assert "sasa" not in score
    assert {row["sasa"] for row in rows} == {row["relative_sasa"] for row in rows} == {""}
    assert score["helix"] == run(tmp_path / "out", DATA / "1A8O.pdb")[0]["helix"]


def test_selected_chain_is_measured_alone(tmp_path):
    near = peptide(tmp_path / "p", "A" * 10).read_text().splitlines(keepends=True)
    atoms = [line for line in near if line.startswith("ATOM")]
    other = [f"{line[:21]}B{line[22:30]}{float(line[30:38]) + 5:8.3f}{line[38:]}" for line in atoms]
    path = written(tmp_path, "".join([*atoms, *other]))
    both, rows = run(tmp_path / "out", path)
    alone, _ = run(tmp_path / "out", path, chains="B")
    assert (both["chains"], alone["chains"]) == (2, 1)
    assert both["sasa"] < 2 * alone["sasa"]
    first_of_b = next(row for row in rows if row["chain"] == "B")
    assert first_of_b["phi"] == ""


def test_model_can_be_selected(tmp_path):
    text = "".join(
        f"MODEL     {n:4d}\n{atom(1)}{atom(1, (n, 0, 0), ' CB ')}ENDMDL\n" for n in (1, 4)
    )
    path = written(tmp_path, text)
    gyrations = [run(tmp_path / "out", path, model=n)[0]["radius_of_gyration"] for n in (1, 2)]
    assert gyrations == [0.5, 2.0]
    with pytest.raises(ToolError, match=r"^model: there is no model 3; the file has 2\.$"):
        run(tmp_path / "out", path, model=3)


@pytest.mark.parametrize("codes", [[-1, 0, 1, 2], ["", "c", "a", "b"]])
def test_structure_codes_of_biotite_1_and_2_are_read(tmp_path, monkeypatch, codes):
    monkeypatch.setattr(biotite, "annotate_sse", lambda _trace: np.array(codes))
    text = "".join(atom(n, (3.8 * n, 0, 0)) for n in range(4))
    score, rows = run(tmp_path / "out", written(tmp_path, text))
    assert [row["structure"] for row in rows] == ["", "coil", "helix", "strand"]
    assert [score[kind] for kind in ("helix", "strand", "coil")] == [0.25, 0.25, 0.25]


def test_picture_is_valid_xml_with_a_panel_per_chain(tmp_path):
    text = "".join(atom(n, (3.8 * n, 0, 0), chain=c) for c in "AB<" for n in range(1, 4))
    run(tmp_path / "out", written(tmp_path, text))
    drawn = ElementTree.parse(tmp_path / "out" / "profile.svg").getroot()
    texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if "chain" in text] == ["chain A", "chain B", "chain <"]


def test_unknown_residue_is_measured(tmp_path):
    text = atom(1, residue="QQ@") + atom(1, (1.5, 0, 0), " CB ", residue="QQ@")
    score, rows = run(tmp_path / "out", written(tmp_path, text))
    assert score["sasa"] > 100
    assert rows[0]["relative_sasa"] == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (atom(1) + atom(1, name=" XX ", element="XX"), "pdbFile: 'XX' is not a chemical element."),
        (
            atom(1) + atom(2, (9000, 9000, 9000)),
            "pdbFile: its bounding box is too large: 9,007 × 9,007 × 9,007 Å.",
        ),
        (
            "".join(atom(n, (n % 10 * 4, n // 10 % 10 * 4, n // 100 * 4)) for n in range(3001)),
            "pdbFile: it has 3,001 residues and 3,001 heavy atoms; at most 3,000 and 30,000 are",
        ),
    ],
)
def test_invalid_file_is_an_error(tmp_path, text, message):
    with pytest.raises(ToolError) as caught:
        run(tmp_path / "out", written(tmp_path, text))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=300), st.integers(0, 79), st.integers(0, 7))
def test_corrupted_file_is_an_error_or_read(tmp_path_factory, junk, where, line):
    folder = tmp_path_factory.mktemp("junk")
    lines = [
        atom(n, (3.8 * n, m, n % 2), name)
        for n in range(1, 8)
        for m, name in enumerate((" CA ", " C  "))
    ]
    path = write_corrupted(folder / "x.pdb", lines, junk, where, line)
    with suppress(ToolError):
        run(folder / "out", path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pdbFile": ""}, "pdbFile: it is empty."),
        ({"model": 0}, "model: 0 is outside 1 to 9999."),
        ({"probe": "wide"}, "probe: a number is expected, not 'wide'."),
        ({"chains": 5}, "chains: a list of names is expected, not 5."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert TOOL.check({"pdbFile": "1A8O.pdb", **options}) == message
