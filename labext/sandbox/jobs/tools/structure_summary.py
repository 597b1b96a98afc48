"""A protein structure in figures: bare surface, secondary structure, size (biotite)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _atoms, _geometry, _profile, _protein, _values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

MOST_RESIDUES, MOST_ATOMS = 3000, 30_000
_LARGEST_BOX = 1e9
"""Å³: the surface is found with a grid over the structure's box, which must fit into memory."""


@dataclass(frozen=True)
class _Request:
    model: int
    chains: list[str]
    probe: float


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    _values.text(values, "pdbFile")
    return _Request(
        _values.integer(values, "model", 1, 9999),
        _values.words(values, "chains") if values.get("chains") is not None else [],
        _values.number(values, "probe", 0.5, 5),
    )


TOOL = Tool(
    name="structure_summary",
    display_name="Structure summary",
    description=(
        "A protein structure in figures: the surface that water can reach (Shrake and Rupley), the "
        "secondary structure by its alpha carbons (P-SEA, doi 10.1093/bioinformatics/13.3.291), "
        "backbone angles and radius of gyration, as a table of the residues and a picture. "
        "Hydrogens, water and ligands are left out; chains that are not chosen don't count. "
        "Surfaces are in Å², the radius of gyration in Å; helix, strand and coil are shares."
    ),
    github="https://github.com/biotite-dev/biotite",
    paper="https://doi.org/10.1186/s12859-018-2367-z",
    parameters=(
        Parameter(
            "pdbFile",
            required=True,
            type="pdb",
            content=("protein structure",),
            description=(
                f"A protein in PDB format, at most {MOST_RESIDUES:,} residues; the surface needs "
                "more than alpha carbons."
            ),
        ),
        Parameter(
            "model",
            type="integer",
            default=1,
            description="Which model is read, where the file has several; from 1.",
        ),
        Parameter("chains", description="Chains such as A,B; all if it is not sent."),
        Parameter(
            "probe",
            default=1.4,
            description="Ångström, 0.5 to 5: the radius of the ball that rolls over the surface.",
        ),
    ),
    requires=("biotite", "numpy"),
    preload=("biotite.structure", "biotite.structure.info", "numpy"),
    extra="tools",
    passes=("residues.csv",),
    passes_content="table",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `residues.csv` and `profile.svg`.

    The score: `sasa` in Å², absent where the file has alpha carbons alone; `helix`, `strand` and
    `coil` as shares of the residues; `radius_of_gyration` in ångström, heavy atoms by mass.
    """
    request = _read(settings)
    residues = _atoms.residues(inputs["pdbFile"], "pdbFile", request.model, request.chains)
    atoms = [atom for residue in residues for atom in residue.heavy]
    if len(residues) > MOST_RESIDUES or len(atoms) > MOST_ATOMS:
        raise ToolError(
            f"pdbFile: it has {len(residues):,} residues and {len(atoms):,} heavy atoms, where "
            f"{MOST_RESIDUES:,} and {MOST_ATOMS:,} are the most."
        )

    import numpy as np

    places = np.array([atom.xyz for atom in atoms])
    sides = places.max(axis=0) - places.min(axis=0) + 2 * (_protein.LARGEST_RADIUS + request.probe)
    if float(sides.prod()) > _LARGEST_BOX:
        raise ToolError(
            "pdbFile: its atoms lie too far apart, in a box of "
            f"{' × '.join(f'{side:,.0f}' for side in sides)} Å."
        )
    structure = _protein.secondary_structure(residues)
    areas = _protein.areas(residues, places, request.probe)
    angles = _protein.backbone_angles(residues)
    _write(residues, structure, areas, angles, out)
    masses = _protein.masses(atoms, "pdbFile")
    score: Score = {
        "residues": len(residues),
        "atoms": len(atoms),
        "chains": len({residue.chain for residue in residues}),
        "radius_of_gyration": round(_geometry.radius_of_gyration(places, masses), 3),
        **{
            kind: round(structure.count(kind) / len(residues), 4)
            for kind in ("helix", "strand", "coil")
        },
    }
    return score if areas is None else {**score, "sasa": round(float(areas.sum()), 1)}


def _write(
    residues: Sequence[_atoms.Residue],
    structure: Sequence[str],
    areas: Array | None,
    angles: Sequence[tuple[float | None, float | None]],
    out: Path,
) -> None:
    """The table, areas in Å² and angles in degrees, and the picture."""
    sizes = [None] * len(residues) if areas is None else [float(area) for area in areas]

    def figure(value: float | None, places: int) -> str:
        # Adding 0 turns -0.0 into 0.0.
        return "" if value is None else f"{round(value, places) + 0:.{places}f}"

    with (out / "residues.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["chain", "residue", "name", "structure", "sasa", "relative_sasa", "phi", "psi"]
        )
        rows = zip(residues, structure, sizes, angles, strict=True)
        for residue, kind, area, (phi, psi) in rows:
            bare = _protein.MOST_BARE.get(residue.name)
            share = None if area is None or bare is None else area / bare
            table.writerow(
                [
                    *(residue.chain, residue.number, residue.name, kind),
                    *(figure(area, 2), figure(share, 3), figure(phi, 1), figure(psi, 1)),
                ]
            )
    drawn = zip(residues, structure, sizes, strict=True)
    panels = [
        (chain, [(residue.number, kind, area) for residue, kind, area in rows])
        for chain, rows in groupby(drawn, key=lambda row: row[0].chain)
    ]
    (out / "profile.svg").write_text(_profile.profile(panels), encoding="utf-8")
