"""Compute the normal modes of a protein with an anisotropic network model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools._protein import Residue, atom_line, check_size, read_residues
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

if TYPE_CHECKING:
    from labext.sandbox.jobs.tools._protein import Array

_RIGID_BODY_MODES = 6
_ZERO_EIGENVALUE = 1e-8
"""Modes with an eigenvalue below this fraction of the highest one are rigid-body motions."""


@dataclass(frozen=True)
class NormalModes:
    """The internal modes, slowest first.

    Attributes:
        eigenvalues: (m,), all positive.
        vectors: (m, n, 3), normalized; the largest component of each mode is positive.
    """

    eigenvalues: Array
    vectors: Array

    def fluctuations(self) -> Array:
        """Return the (n,) mean square displacements of the nodes in kT / spring constant."""
        squared: Array = (self.vectors**2).sum(axis=2)
        return squared.T @ (1 / self.eigenvalues)

    def collectivity(self) -> Array:
        """Return the (m,) collectivity of the modes, from 1/n to 1 (Brüschweiler)."""
        import numpy as np

        squared = np.clip((self.vectors**2).sum(axis=2), 1e-300, None)
        spread: Array = np.exp(-(squared * np.log(squared)).sum(axis=1)) / squared.shape[1]
        return spread


def spring_constants(coordinates: Array, cutoff: float, by_distance: bool) -> Array:
    """Return the (n, n) spring constants between nodes at (n, 3) coordinates in ångström.

    1 up to `cutoff`, or with `by_distance` 1 / distance² between all nodes.
    """
    import numpy as np

    squared = _squared_distances(coordinates)
    np.fill_diagonal(squared, np.inf)
    if (squared < 1e-4).any():
        i, j = np.argwhere(squared < 1e-4)[0]
        raise ToolError(f"pdbFile: residues {i + 1} and {j + 1} have the same coordinates.")
    return 1 / squared if by_distance else (squared <= cutoff**2).astype(float)


def build_hessian(coordinates: Array, constants: Array) -> Array:
    """Return the (3n, 3n) matrix of second derivatives of the spring energy."""
    import numpy as np

    nodes = len(coordinates)
    differences = coordinates[:, None, :] - coordinates[None, :, :]
    squared = _squared_distances(coordinates)
    np.fill_diagonal(squared, 1)
    blocks = -np.einsum("ij,ijk,ijl->ijkl", constants / squared, differences, differences)
    blocks[np.arange(nodes), np.arange(nodes)] = -blocks.sum(axis=1)
    matrix: Array = blocks.transpose(0, 2, 1, 3).reshape(3 * nodes, 3 * nodes)
    return matrix


def compute_modes(matrix: Array) -> NormalModes:
    """Return the internal modes of a rigid network."""
    import numpy as np

    values, vectors = np.linalg.eigh(matrix)
    rigid = int((values < _ZERO_EIGENVALUE * values[-1]).sum())
    if rigid > _RIGID_BODY_MODES:
        raise ToolError(
            f"cutoff: the network has {rigid} zero modes instead of {_RIGID_BODY_MODES}: it is not "
            "connected, parts of it turn freely, or all residues are on one line; use a larger "
            "cutoff."
        )
    shapes = vectors[:, _RIGID_BODY_MODES:].T
    largest = np.abs(shapes).argmax(axis=1)
    signs = np.sign(shapes[np.arange(len(shapes)), largest])
    return NormalModes(
        values[_RIGID_BODY_MODES:], (shapes * signs[:, None]).reshape(len(shapes), -1, 3)
    )


def _squared_distances(coordinates: Array) -> Array:
    differences = coordinates[:, None, :] - coordinates[None, :, :]
    squared: Array = (differences**2).sum(axis=2)
    return squared


MIN_RESIDUES, MAX_RESIDUES = 5, 800
FRAMES = 11


@dataclass(frozen=True)
class _Request:
    cutoff: float
    modes: int
    amplitude: float
    chains: list[str]
    by_distance: bool


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    _inputs.read_text(values, "pdbFile")
    return _Request(
        _inputs.read_number(values, "cutoff", 6, 40),
        _inputs.read_integer(values, "modes", 1, 20),
        _inputs.read_number(values, "amplitude", 0.1, 10),
        _inputs.read_chains(values),
        _inputs.read_choice(values, "springs", ("uniform", "distance")) == "distance",
    )


TOOL = Tool(
    name="normal_modes",
    display_name="Normal modes",
    description=(
        "Computes the slowest motions of a protein with the anisotropic network model, in "
        "which alpha carbons are connected by springs. Returns each mode as a PDB file of 11 "
        "models, the eigenvalues, and the fluctuation of each residue next to its B-factor. "
        "The first model of the file is used, including selenomethionine and modified "
        "residues but no other HETATM records. Eigenvalues and frequencies are in units of "
        "the springs and comparable only within one protein."
    ),
    github="https://github.com/numpy/numpy",
    paper="https://doi.org/10.1016/S0006-3495(01)76033-X",
    parameters=(
        Parameter(
            "pdbFile",
            required=True,
            type="pdb",
            content=("protein structure",),
            description=f"A protein in PDB format, {MIN_RESIDUES} to {MAX_RESIDUES} residues.",
        ),
        Parameter(
            "cutoff",
            type="number",
            default=15.0,
            description="Distance in ångström below which residues are connected, 6 to 40.",
        ),
        Parameter(
            "modes", type="integer", default=3, description="Number of modes to write, 1 to 20."
        ),
        Parameter(
            "amplitude",
            default=2.0,
            description="Amplitude of the written modes in ångström (root mean square), 0.1 to 10.",
        ),
        Parameter("chains", description="Chains such as A,B; by default all."),
        Parameter(
            "springs",
            default="uniform",
            options=("uniform", "distance"),
            description=(
                "uniform: one spring constant up to the cutoff; distance: 1/distance² between all "
                "residues, without a cutoff (doi 10.1073/pnas.0902159106)."
            ),
            gate="advanced",
        ),
    ),
    requires=("numpy",),
    preload=("numpy",),
    passes=("mode*.pdb",),
    figures=("eigenvalues.csv", "fluctuations.csv"),
    passes_content="protein structure",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `mode1.pdb` …, `eigenvalues.csv` and `fluctuations.csv`.

    The score: `contacts`, the number of pairs within the cutoff; `lowest_frequency` in units of
    sqrt(spring constant / mass); `correlation` (Pearson) of fluctuations and B-factors, if the
    file has B-factors.
    """
    request = _read_request(settings)
    residues = read_residues(inputs["pdbFile"], chains=request.chains)
    check_size(residues, MIN_RESIDUES, MAX_RESIDUES)

    import numpy as np

    coordinates = np.array([residue.atoms["CA"].xyz for residue in residues])
    constants = spring_constants(coordinates, request.cutoff, request.by_distance)
    modes = compute_modes(build_hessian(coordinates, constants))
    mode_count = min(request.modes, len(modes.eigenvalues))
    for index in range(mode_count):
        displacement = modes.vectors[index] * np.sqrt(len(residues)) * request.amplitude
        path = out / f"mode{index + 1}.pdb"
        text = _format_trajectory(residues, coordinates, displacement)
        path.write_text(text, encoding="utf-8")
    _write_eigenvalues(modes, out / "eigenvalues.csv")
    correlation = _write_fluctuations(residues, modes.fluctuations(), out / "fluctuations.csv")
    contacts = spring_constants(coordinates, request.cutoff, by_distance=False)
    score: Score = {
        "residues": len(residues),
        "contacts": int(contacts.sum()) // 2,
        "modes": mode_count,
        "lowest_frequency": float(f"{np.sqrt(modes.eigenvalues[0]):.5g}"),
    }
    return score if correlation is None else {**score, "correlation": round(correlation, 4)}


def _format_trajectory(residues: Sequence[Residue], coordinates: Array, displacement: Array) -> str:
    """Format models from -1 to +1 `displacement`; B-factors are the relative motion, 0 to 100."""
    import numpy as np

    distances = np.linalg.norm(displacement, axis=1)
    relative_motion = 100 * distances / distances.max()
    lines = []
    for model, factor in enumerate(np.linspace(-1, 1, FRAMES), 1):
        lines.append(f"MODEL     {model:4d}")
        nodes = zip(residues, coordinates + factor * displacement, relative_motion, strict=True)
        for serial, (residue, xyz, motion) in enumerate(nodes, 1):
            lines.append(atom_line(serial, residue, "CA", "C", xyz, motion))
        lines.append("ENDMDL")
    return "\n".join([*lines, "END\n"])


def _write_eigenvalues(modes: NormalModes, path: Path) -> None:
    """Write one row per mode: eigenvalue, frequency, share of total motion and collectivity."""
    values, inverse = modes.eigenvalues, 1 / modes.eigenvalues
    columns = zip(values, values**0.5, inverse / inverse.sum(), modes.collectivity(), strict=True)
    rows = ((number, *(f"{value:.6g}" for value in row)) for number, row in enumerate(columns, 1))
    _outputs.write_csv(path, ("mode", "eigenvalue", "frequency", "share", "collectivity"), rows)


def _write_fluctuations(
    residues: Sequence[Residue], fluctuations: Array, path: Path
) -> float | None:
    """Write one row per residue; return the correlation with the B-factors.

    `fitted_b_factor` is the fluctuation scaled to the mean B-factor. Returns None if the B-factors
    are constant.
    """
    import numpy as np

    b_factors = [residue.atoms["CA"].b_factor for residue in residues]
    measured = np.array([b_factor or 0.0 for b_factor in b_factors])
    has_b_factors = None not in b_factors and float(np.ptp(measured)) > 0
    scale = measured.mean() / fluctuations.mean()
    rows = (
        (
            *(residue.chain, residue.number, residue.name),
            f"{fluctuation:.6g}",
            f"{b_factor:.2f}" if has_b_factors else "",
            f"{fluctuation * scale:.2f}" if has_b_factors else "",
        )
        for residue, fluctuation, b_factor in zip(residues, fluctuations, measured, strict=True)
    )
    columns = ("chain", "residue", "name", "fluctuation", "b_factor", "fitted_b_factor")
    _outputs.write_csv(path, columns, rows)
    return float(np.corrcoef(fluctuations, measured)[0, 1]) if has_b_factors else None
