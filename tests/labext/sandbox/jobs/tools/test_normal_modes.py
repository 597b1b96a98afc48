"""The elastic network against physics, and the PDB reader against files as they come."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.sandbox.jobs.tools import catalogue, normal_modes
from labext.sandbox.jobs.tools._pdb import read_alpha_carbons
from labext.sandbox.jobs.tools.tool import ToolError

DATA = Path(__file__).resolve().parents[5] / "example_notebooks" / "data"
TOOL = catalogue.all_tools()[4]
TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)


def atom(
    number=1,
    xyz=(0.0, 0.0, 0.0),
    *,
    record="ATOM",
    atom=" CA ",
    alternative=" ",
    name="ALA",
    chain="A",
    insertion=" ",
    occupancy=" 1.00",
    b_factor="10.00",
) -> str:
    x, y, z = xyz
    return (
        f"{record:<6}{number:5d} {atom}{alternative}{name:>3} {chain}{number:4d}{insertion}   "
        f"{x:8.3f}{y:8.3f}{z:8.3f} {occupancy:>5}{b_factor:>6}           C\n"
    )


def globule(seed: int, nodes: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 14, (nodes, 3)).round(3)


def pdb(path: Path, places, b_factors=None) -> Path:
    lines = [
        atom(i, xyz, b_factor="10.00" if b_factors is None else f"{b_factors[i - 1]:.2f}")
        for i, xyz in enumerate(places, 1)
    ]
    path.write_text("".join(lines))
    return path


def run(out: Path, path: Path, **sent):
    sent = {"pdbFile": path.name, **sent}
    assert TOOL.check(sent) is None
    out.mkdir(exist_ok=True)
    score = catalogue.run_tool("normal_modes", sent, {"pdbFile": path}, out)
    tables = []
    for name in ("eigenvalues.csv", "fluctuations.csv"):
        with (out / name).open(newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return score, *tables


def analysis(places, cutoff=12.0, by_distance=False) -> normal_modes.NormalModes:
    return normal_modes.compute_modes(
        normal_modes.build_hessian(
            places, normal_modes.spring_constants(places, cutoff, by_distance)
        )
    )


def test_the_tetrahedron_has_its_textbook_spectrum():
    # Four unit masses joined by six unit springs: breathing 4, a triplet at 2, a doublet at 1.
    assert np.allclose(analysis(TETRAHEDRON).eigenvalues, [1, 1, 2, 2, 2, 4])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_the_hessian_is_the_second_derivative_of_the_springs_energy(seed, by_distance):
    places = globule(seed, 8)
    constants = normal_modes.spring_constants(places, 12, by_distance)
    found = normal_modes.build_hessian(places, constants)
    assert np.allclose(found, found.T, rtol=0, atol=1e-12)
    rest = np.linalg.norm(places[:, None] - places[None], axis=2)

    def force(at: np.ndarray) -> np.ndarray:
        apart = at[:, None] - at[None]
        length = np.linalg.norm(apart, axis=2)
        stretch = np.divide(
            constants * (length - rest), length, out=np.zeros_like(length), where=length > 0
        )
        return (stretch[:, :, None] * apart).sum(axis=1).ravel()

    step = 1e-6
    for which in range(24):
        shift = np.zeros(24)
        shift[which] = step
        slope = force(places + shift.reshape(8, 3)) - force(places - shift.reshape(8, 3))
        assert np.allclose(slope / 2 / step, found[which], atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_six_motions_are_free_and_turning_the_protein_changes_nothing(seed):
    places = globule(seed)
    matrix = normal_modes.build_hessian(places, normal_modes.spring_constants(places, 15, False))
    values = np.linalg.eigvalsh(matrix)
    assert (np.abs(values) < 1e-9 * values[-1]).sum() == 6
    first = analysis(places, 15)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3))).Q
    turned = places @ turn + np.array([5, -7, 11])
    second = analysis(turned, 15)
    assert np.allclose(first.eigenvalues, second.eigenvalues, rtol=1e-6)
    assert np.allclose(first.fluctuations(), second.fluctuations(), rtol=1e-6)


def test_fluctuations_are_the_diagonal_of_the_inverse():
    places = globule(3)
    matrix = normal_modes.build_hessian(places, normal_modes.spring_constants(places, 15, False))
    blocks = np.diag(np.linalg.pinv(matrix, rcond=1e-9)).reshape(-1, 3).sum(axis=1)
    assert np.allclose(analysis(places, 15).fluctuations(), blocks)


def test_modes_are_orthonormal_and_leave_momentum_alone():
    vectors = analysis(globule(5), 15).vectors
    flat = vectors.reshape(len(vectors), -1)
    assert np.allclose(flat @ flat.T, np.eye(len(flat)), atol=1e-9)
    assert np.allclose(vectors.sum(axis=1), 0, atol=1e-8)


def test_collectivity_is_one_where_all_move_alike():
    breathing = normal_modes.NormalModes(np.ones(1), analysis(TETRAHEDRON).vectors[-1:])
    assert breathing.collectivity() == pytest.approx(1)


def test_a_real_domain_moves_as_its_b_factors_say(tmp_path):
    score, eigenvalues, rows = run(tmp_path / "out", DATA / "1A8O.pdb", modes=2)
    assert score["residues"] == len(rows) == 70
    assert [row["name"] for row in rows].count("MSE") == 4
    assert (rows[0]["residue"], rows[-1]["residue"]) == ("151", "220")
    assert len(eigenvalues) == 3 * 70 - 6
    assert score["lowest_frequency"] == pytest.approx(float(eigenvalues[0]["frequency"]), rel=1e-4)
    assert sum(float(row["share"]) for row in eigenvalues) == pytest.approx(1, abs=1e-4)
    columns = [[float(row[name]) for row in rows] for name in ("fluctuation", "b_factor")]
    assert score["correlation"] == pytest.approx(np.asarray(np.corrcoef(columns))[0, 1], abs=1e-3)
    assert score["correlation"] > 0.5
    fitted = [float(row["fitted_b_factor"]) for row in rows]
    assert np.mean(fitted) == pytest.approx(np.mean(columns[1]), abs=0.01)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.pdb")) == [
        "mode1.pdb",
        "mode2.pdb",
    ]


def test_a_written_mode_swings_about_the_structure_by_the_amplitude(tmp_path):
    run(tmp_path / "out", DATA / "1A8O.pdb", modes=1, amplitude=3)
    text = (tmp_path / "out" / "mode1.pdb").read_text()
    structures = []
    for part in text.split("MODEL")[1:]:
        (tmp_path / "model.pdb").write_text(part)
        residues = read_alpha_carbons(tmp_path / "model.pdb", "x")
        structures.append([residue.xyz for residue in residues])
    models = np.array(structures)
    assert models.shape == (11, 70, 3)
    start = [residue.xyz for residue in read_alpha_carbons(DATA / "1A8O.pdb", "x")]
    assert np.allclose(models[5], start, atol=0.001)
    for end in (models[0], models[-1]):
        rms = np.sqrt(((end - start) ** 2).sum(axis=1).mean())
        assert rms == pytest.approx(3, abs=0.01)
    assert np.allclose(models[0] + models[-1], 2 * np.array(start), atol=0.003)


def test_springs_by_distance_need_no_cutoff(tmp_path):
    path = pdb(tmp_path / "g.pdb", globule(7), np.arange(20))
    scores = [
        run(tmp_path / "out", path, springs="distance", cutoff=cutoff)[0] for cutoff in (8, 30)
    ]
    assert scores[0]["lowest_frequency"] == scores[1]["lowest_frequency"]
    assert scores[0]["contacts"] < scores[1]["contacts"] == 190


def test_without_b_factors_there_is_no_correlation(tmp_path):
    score, _, rows = run(tmp_path / "out", pdb(tmp_path / "g.pdb", globule(9)))
    assert "correlation" not in score
    assert {row["b_factor"] for row in rows} == {""}


def test_no_more_modes_are_written_than_there_are(tmp_path):
    score, *_ = run(tmp_path / "out", pdb(tmp_path / "g.pdb", globule(1, 5)), modes=20)
    assert score["modes"] == 3 * 5 - 6


@pytest.mark.parametrize(
    ("places", "fault"),
    [
        (
            np.concatenate([globule(1), globule(1) + 200]),
            "cutoff: the network is loose: it has 12 motions without a spring, where a body has "
            "6; take a larger cutoff.",
        ),
        ([(3.8 * i, 0, 0) for i in range(8)], None),
        ([(0, 0, 0), (0, 0, 0), *TETRAHEDRON], "pdbFile: residues 1 and 2 lie at the same place."),
        (TETRAHEDRON, "pdbFile: it has 4 residues; 5 to 800 are allowed."),
        (
            [(i % 10 * 4, i // 10 % 10 * 4, i // 100 * 4) for i in range(801)],
            "pdbFile: it has 801 residues; 5 to 800 are allowed.",
        ),
    ],
)
def test_networks_that_will_not_do(tmp_path, places, fault):
    path = pdb(tmp_path / "p.pdb", places)
    with pytest.raises(ToolError) as caught:
        run(tmp_path / "out", path)
    assert fault is None or str(caught.value) == fault
    assert "\n" not in str(caught.value)


def carbons(tmp_path: Path, text: str, chains=()):
    (tmp_path / "x.pdb").write_text(text)
    return read_alpha_carbons(tmp_path / "x.pdb", "pdbFile", chains)


def test_the_first_model_is_read(tmp_path):
    text = f"MODEL        1\n{atom(1)}ENDMDL\nMODEL        2\n{atom(2)}ENDMDL\n"
    assert [a.number for a in carbons(tmp_path, text)] == ["1"]


def test_of_alternatives_the_most_occupied_is_read_and_the_first_at_a_tie(tmp_path):
    text = "".join(
        [
            atom(1, (1, 0, 0), alternative="A", occupancy="0.40"),
            atom(1, (2, 0, 0), alternative="B", occupancy="0.60"),
            atom(2, (3, 0, 0), alternative="A", occupancy="0.50"),
            atom(2, (4, 0, 0), alternative="B", occupancy="0.50"),
        ]
    )
    assert [a.xyz[0] for a in carbons(tmp_path, text)] == [2, 3]


def test_insertion_codes_part_residues(tmp_path):
    text = atom(52) + atom(52, insertion="A") + atom(52, insertion="B")
    assert [a.number + a.insertion for a in carbons(tmp_path, text)] == ["52", "52A", "52B"]


def test_hetero_atoms_are_left_out_but_for_links_of_the_chain(tmp_path):
    text = "".join(
        [
            "MODRES 1ABC SEP A    3  SER  PHOSPHOSERINE\n",
            atom(1),
            atom(2, record="HETATM", name="MSE"),
            atom(3, record="HETATM", name="SEP"),
            atom(4, record="HETATM", name="LIG"),
            atom(5, record="HETATM", atom="CA  ", name="CA"),
            atom(6, atom=" CB "),
        ]
    )
    assert [a.number for a in carbons(tmp_path, text)] == ["1", "2", "3"]


def test_chains_are_chosen_and_a_missing_one_is_told(tmp_path):
    text = atom(1, chain="A") + atom(1, chain="b") + atom(1, chain=" ")
    assert len(carbons(tmp_path, text)) == 3
    assert [a.chain for a in carbons(tmp_path, text, ["b"])] == ["b"]
    with pytest.raises(ToolError, match=r"^chains: there is no chain B; the file has A, b, _\.$"):
        carbons(tmp_path, text, ["B"])


def test_short_lines_without_occupancy_are_read(tmp_path):
    assert carbons(tmp_path, atom(1, (1, 2, 3))[:54])[0].xyz == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no alpha carbons"),
        (">seq\nACGT\n", "no alpha carbons"),
        ("data_1ABC\nloop_\n", "an mmCIF file"),
        ("REMARK\n" + atom(1).replace("   0.000", "   x.000"), "line 2 is not a valid ATOM record"),
        (atom(1).replace("   0.000", "     nan"), "line 1 is not a valid ATOM record"),
        (atom(1)[:40], "line 1 is not a valid ATOM record"),
    ],
)
def test_files_that_will_not_do(tmp_path, text, fault):
    with pytest.raises(ToolError, match=fault) as caught:
        carbons(tmp_path, text)
    assert str(caught.value).startswith("pdbFile: ")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 79), st.integers(0, 3))
def test_no_file_gives_a_traceback(tmp_path_factory, junk, where, line):
    folder = tmp_path_factory.mktemp("junk")
    lines = [bytearray(atom(i, xyz).encode()) for i, xyz in enumerate(globule(2, 6), 1)]
    lines[line][where : where + len(junk)] = junk
    (folder / "x.pdb").write_bytes(b"".join(lines))
    with suppress(ToolError):
        run(folder / "out", folder / "x.pdb", cutoff=40)


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"pdbFile": ""}, "pdbFile: it is empty."),
        ({"cutoff": 3}, "cutoff: 3 is outside 6 to 40."),
        ({"modes": 2.5}, "modes: a whole number is expected, not 2.5."),
        ({"modes": 21}, "modes: 21 is outside 1 to 20."),
        ({"amplitude": "big"}, "amplitude: a number is expected, not 'big'."),
        ({"springs": "soft"}, "springs: 'soft' is none of uniform, distance."),
        ({"chains": {}}, "chains: a list of names is expected, not {}."),
    ],
)
def test_faults(sent, fault):
    assert TOOL.check({"pdbFile": "1A8O.pdb", **sent}) == fault
