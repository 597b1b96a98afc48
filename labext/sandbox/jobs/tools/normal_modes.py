"""The slow motions of a protein by the anisotropic network model, in numpy."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _elastic, _values
from labext.sandbox.jobs.tools._structure import AlphaCarbon, alpha_carbons

if TYPE_CHECKING:
    from labext.sandbox.jobs.tools._elastic import Array

FEWEST, MOST = 5, 800
FRAMES = 11


@dataclass(frozen=True)
class _Request:
    cutoff: float
    modes: int
    amplitude: float
    chains: list[str]
    by_distance: bool


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    _values.text(values, "pdbFile")
    return _Request(
        _values.number(values, "cutoff", 6, 40),
        _values.integer(values, "modes", 1, 20),
        _values.number(values, "amplitude", 0.1, 10),
        _values.words(values, "chains") if values.get("chains") is not None else [],
        _values.choice(values, "springs", ("uniform", "distance")) == "distance",
    )


TOOL = Tool(
    name="normal_modes",
    display_name="Normal modes",
    description=(
        "The slow motions of a protein by the anisotropic network model: its alpha carbons, joined "
        "by springs. Gives each mode as a PDB file of 11 models, the eigenvalues, and how far each "
        "residue moves beside its B-factor. The first model of the file is read, with "
        "selenomethionine and modified residues and without other HETATM records. Eigenvalues and "
        "frequencies are in units of the springs, and compare within a protein only."
    ),
    github="https://github.com/numpy/numpy",
    paper="https://doi.org/10.1016/S0006-3495(01)76033-X",
    parameters=(
        Parameter(
            "pdbFile",
            required=True,
            type="pdb",
            content=("protein structure",),
            description=f"A protein in PDB format, {FEWEST} to {MOST} residues.",
        ),
        Parameter(
            "cutoff",
            type="number",
            default=15.0,
            description="Ångström: nearer residues are joined by a spring; 6 to 40.",
        ),
        Parameter(
            "modes", type="integer", default=3, description="How many modes are written, 1 to 20."
        ),
        Parameter(
            "amplitude",
            default=2.0,
            description="Ångström, 0.1 to 10: how far (root mean square) the written modes swing.",
        ),
        Parameter("chains", description="Chains such as A,B; all if it is not sent."),
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
    passes_content="protein structure",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `mode1.pdb` …, `eigenvalues.csv` and `fluctuations.csv`.

    The score: `contacts`, the pairs within the cutoff; `lowest_frequency` in units of
    sqrt(spring constant / mass); `correlation` (Pearson) of fluctuations and B-factors, where the
    file has them.
    """
    request = _read(settings)
    residues = alpha_carbons(inputs["pdbFile"], "pdbFile", request.chains)
    if not FEWEST <= len(residues) <= MOST:
        raise ToolError(
            f"pdbFile: it has {len(residues)} residues, where {FEWEST} to {MOST} are taken."
        )

    import numpy as np

    places = np.array([residue.xyz for residue in residues])
    constants = _elastic.springs(places, request.cutoff, request.by_distance)
    found = _elastic.modes(_elastic.hessian(places, constants))
    written = min(request.modes, len(found.eigenvalues))
    for place in range(written):
        swing = found.vectors[place] * np.sqrt(len(residues)) * request.amplitude
        path = out / f"mode{place + 1}.pdb"
        path.write_text(_trajectory(residues, places, swing), encoding="utf-8")
    _write_eigenvalues(found, out / "eigenvalues.csv")
    correlation = _write_fluctuations(residues, found.fluctuations(), out / "fluctuations.csv")
    near = _elastic.springs(places, request.cutoff, by_distance=False)
    score: Score = {
        "residues": len(residues),
        "contacts": int(near.sum()) // 2,
        "modes": written,
        "lowest_frequency": float(f"{np.sqrt(found.eigenvalues[0]):.5g}"),
    }
    return score if correlation is None else {**score, "correlation": round(correlation, 4)}


def _trajectory(residues: Sequence[AlphaCarbon], places: Array, swing: Array) -> str:
    """Models from -`swing` to +`swing`; the B-factor column has each residue's share, 0 to 100."""
    import numpy as np

    size = np.linalg.norm(swing, axis=1)
    share = 100 * size / size.max()
    lines = []
    for model, factor in enumerate(np.linspace(-1, 1, FRAMES), 1):
        lines.append(f"MODEL     {model:4d}")
        for serial, (residue, (x, y, z)) in enumerate(
            zip(residues, places + factor * swing, strict=True), 1
        ):
            lines.append(
                f"ATOM  {serial:5d}  CA  {residue.name:>3} {residue.chain}{residue.number:>4}"
                f"{residue.insertion or ' '}   {x:8.3f}{y:8.3f}{z:8.3f}  1.00"
                f"{share[serial - 1]:6.2f}           C"
            )
        lines.append("ENDMDL")
    return "\n".join([*lines, "END\n"])


def _write_eigenvalues(found: _elastic.Modes, path: Path) -> None:
    """One row a mode: its eigenvalue, frequency, share of all motion, and collectivity."""
    inverse = 1 / found.eigenvalues
    rows = zip(
        found.eigenvalues,
        found.eigenvalues**0.5,
        inverse / inverse.sum(),
        found.collectivity(),
        strict=True,
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["mode", "eigenvalue", "frequency", "share", "collectivity"])
        table.writerows(
            [place, *(f"{value:.6g}" for value in row)] for place, row in enumerate(rows, 1)
        )


def _write_fluctuations(
    residues: Sequence[AlphaCarbon], fluctuations: Array, path: Path
) -> float | None:
    """One row a residue; returns the correlation with the B-factors, None where they are all one.

    `fitted_b_factor` is the fluctuation scaled to the B-factors' mean.
    """
    import numpy as np

    measured = np.array([residue.b_factor for residue in residues])
    known = float(np.ptp(measured)) > 0
    scale = measured.mean() / fluctuations.mean()
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["chain", "residue", "name", "fluctuation", "b_factor", "fitted_b_factor"])
        for residue, fluctuation in zip(residues, fluctuations, strict=True):
            table.writerow(
                [
                    residue.chain,
                    residue.number + residue.insertion,
                    residue.name,
                    f"{fluctuation:.6g}",
                    f"{residue.b_factor:.2f}" if known else "",
                    f"{fluctuation * scale:.2f}" if known else "",
                ]
            )
    if not known:
        return None
    return float(np.corrcoef(fluctuations, measured)[0, 1])
