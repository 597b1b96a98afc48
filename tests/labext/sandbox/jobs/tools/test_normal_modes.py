"""Normal modes of an elastic network, compared with theory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import DATA, pdb_atom, read_csv, run_tool

from labext.sandbox.jobs.tools import normal_modes
from labext.sandbox.jobs.tools._protein import read_residues
from labext.sandbox.jobs.tools.tool import ToolError

TOOL = normal_modes.TOOL
TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)


def globule(seed: int, nodes: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 14, (nodes, 3)).round(3)


def pdb(path: Path, places, b_factors=None) -> Path:
    lines = [
        pdb_atom(i, xyz, b_factor="10.00" if b_factors is None else f"{b_factors[i - 1]:.2f}")
        for i, xyz in enumerate(places, 1)
    ]
    path.write_text("".join(lines))
    return path


def run(out: Path, path: Path, **options):
    score = run_tool(TOOL, out, {"pdbFile": path}, pdbFile=path.name, **options)
    return score, read_csv(out / "eigenvalues.csv"), read_csv(out / "fluctuations.csv")


def analysis(places, cutoff=12.0, by_distance=False) -> normal_modes.NormalModes:
    constants = normal_modes.spring_constants(places, cutoff, by_distance)
    return normal_modes.compute_modes(normal_modes.build_hessian(places, constants))


def test_tetrahedron_has_its_textbook_spectrum():
    # Four unit masses joined by six unit springs: breathing 4, a triplet at 2, a doublet at 1.
    assert np.allclose(analysis(TETRAHEDRON).eigenvalues, [1, 1, 2, 2, 2, 4])


@settings(max_examples=8)
@given(st.integers(0, 2**32), st.booleans())
def test_hessian_is_the_second_derivative_of_the_energy(seed, by_distance):
    places = globule(seed, 8)
    constants = normal_modes.spring_constants(places, 12, by_distance)
    hessian = normal_modes.build_hessian(places, constants)
    assert np.allclose(hessian, hessian.T, rtol=0, atol=1e-12)
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
        assert np.allclose(slope / 2 / step, hessian[which], atol=1e-5)


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_six_zero_modes_and_invariance_under_rotation(seed):
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


def test_fluctuations_are_the_diagonal_of_the_pseudoinverse():
    places = globule(3)
    matrix = normal_modes.build_hessian(places, normal_modes.spring_constants(places, 15, False))
    blocks = np.diag(np.linalg.pinv(matrix, rcond=1e-9)).reshape(-1, 3).sum(axis=1)
    assert np.allclose(analysis(places, 15).fluctuations(), blocks)


def test_modes_are_orthonormal_without_net_translation():
    vectors = analysis(globule(5), 15).vectors
    flat = vectors.reshape(len(vectors), -1)
    assert np.allclose(flat @ flat.T, np.eye(len(flat)), atol=1e-9)
    assert np.allclose(vectors.sum(axis=1), 0, atol=1e-8)


def test_collectivity_of_breathing_is_one():
    breathing = normal_modes.NormalModes(np.ones(1), analysis(TETRAHEDRON).vectors[-1:])
    assert breathing.collectivity() == pytest.approx(1)


def test_fluctuations_of_a_real_domain_correlate_with_b_factors(tmp_path):
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
    written = {path.name for path in (tmp_path / "out").glob("*.pdb")}
    assert written == {"mode1.pdb", "mode2.pdb"}


def test_written_mode_oscillates_with_the_amplitude(tmp_path):
    run(tmp_path / "out", DATA / "1A8O.pdb", modes=1, amplitude=3)
    text = (tmp_path / "out" / "mode1.pdb").read_text()
    structures = []
    for part in text.split("MODEL")[1:]:
        (tmp_path / "model.pdb").write_text(part)
        residues = read_residues(tmp_path / "model.pdb")
        structures.append([residue.atoms["CA"].xyz for residue in residues])
    models = np.array(structures)
    assert models.shape == (11, 70, 3)
    start = [residue.atoms["CA"].xyz for residue in read_residues(DATA / "1A8O.pdb")]
    assert np.allclose(models[5], start, atol=0.001)
    for end in (models[0], models[-1]):
        rms = np.sqrt(((end - start) ** 2).sum(axis=1).mean())
        assert rms == pytest.approx(3, abs=0.01)
    assert np.allclose(models[0] + models[-1], 2 * np.array(start), atol=0.003)


def test_distance_springs_need_no_cutoff(tmp_path):
    path = pdb(tmp_path / "g.pdb", globule(7), np.arange(20))
    scores = [
        run(tmp_path / "out", path, springs="distance", cutoff=cutoff)[0] for cutoff in (8, 30)
    ]
    assert scores[0]["lowest_frequency"] == scores[1]["lowest_frequency"]
    assert scores[0]["contacts"] < scores[1]["contacts"] == 190


def test_no_correlation_without_b_factors(tmp_path):
    score, _, rows = run(tmp_path / "out", pdb(tmp_path / "g.pdb", globule(9)))
    assert "correlation" not in score
    assert {row["b_factor"] for row in rows} == {""}


def test_number_of_modes_is_limited_by_the_structure(tmp_path):
    score, *_ = run(tmp_path / "out", pdb(tmp_path / "g.pdb", globule(1, 5)), modes=20)
    assert score["modes"] == 3 * 5 - 6


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            np.concatenate([globule(1), globule(1) + 200]),
            "cutoff: the network has 12 zero modes instead of 6: it is not connected, ",
        ),
        (
            [(3.8 * i, 0, 0) for i in range(8)],
            "cutoff: the network has 17 zero modes instead of 6: it is not connected, parts of it "
            "turn freely, or all residues are on one line; use a larger cutoff.",
        ),
        (
            [(0, 0, 0), (0, 0, 0), *TETRAHEDRON],
            "pdbFile: residues 1 and 2 have the same coordinates.",
        ),
        (TETRAHEDRON, "pdbFile: it has 4 residues; 5 to 800 are allowed."),
        (
            [(i % 10 * 4, i // 10 % 10 * 4, i // 100 * 4) for i in range(801)],
            "pdbFile: it has 801 residues; 5 to 800 are allowed.",
        ),
    ],
)
def test_unsuitable_network_is_an_error(tmp_path, places, message):
    path = pdb(tmp_path / "p.pdb", places)
    with pytest.raises(ToolError) as caught:
        run(tmp_path / "out", path)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pdbFile": ""}, "pdbFile: it is empty."),
        ({"cutoff": 3}, "cutoff: 3 is outside 6 to 40."),
        ({"modes": 2.5}, "modes: a whole number is expected, not 2.5."),
        ({"modes": 21}, "modes: 21 is outside 1 to 20."),
        ({"amplitude": "big"}, "amplitude: a number is expected, not 'big'."),
        ({"springs": "soft"}, "springs: 'soft' is not one of uniform, distance."),
        ({"chains": {}}, "chains: a list of names is expected, not {}."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert TOOL.check({"pdbFile": "1A8O.pdb", **options}) == message
