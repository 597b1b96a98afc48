"""Conformers of a small molecule from its SMILES, ranked by energy (RDKit: ETKDG and MMFF94)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _conformers, _molecule, _values
from labext.sandbox.jobs.tools._conformers import Conformer

MOST_ATOMS, MOST, MOST_TOGETHER = 60, 100, 1200
"""Heavy atoms, conformers, and the product of the two: what takes a quarter of a minute."""
_KT = 0.0019872043 * 298.15
"""kcal/mol at 25 °C."""


@dataclass(frozen=True)
class _Request:
    molecule: Any
    count: int
    seed: int
    apart: float
    field: str


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    request = _Request(
        _molecule.molecule("smiles", _values.text(values, "smiles"), MOST_ATOMS),
        _values.integer(values, "conformers", 1, MOST),
        _values.integer(values, "seed", 0, 2**31 - 1),
        _values.number(values, "apart", 0, 10),
        _values.choice(values, "forceField", tuple(_conformers.FORCE_FIELDS)),
    )
    heavy = request.molecule.GetNumHeavyAtoms()
    most = MOST_TOGETHER // heavy
    if request.count > most:
        raise ToolError(
            f"conformers: {request.count} are too many for a molecule with {heavy} heavy atoms; "
            f"{most} are the most."
        )
    return request


TOOL = Tool(
    name="conformers",
    display_name="Conformers",
    description=(
        "Conformers of a small molecule from its SMILES: embedded by ETKDG, relaxed in the force "
        "field MMFF94, ranked by energy, without those that are alike. Gives a PDB file of each, "
        "an SDF file of all, a table with energies and shares at 25 °C, and a drawing. Energies, "
        "in kcal/mol, are those of the molecule alone, in a vacuum; open stereocentres are set at "
        "random and told."
    ),
    github="https://github.com/rdkit/rdkit",
    paper="https://doi.org/10.1021/acs.jcim.0c00025",
    parameters=(
        Parameter(
            "smiles",
            required=True,
            type="string",
            content=("SMILES",),
            description=(
                f"One molecule, at most {MOST_ATOMS} heavy atoms; hydrogens are added as it "
                "stands: write charges out."
            ),
        ),
        Parameter(
            "conformers",
            type="integer",
            default=10,
            description=(
                f"How many are embedded, 1 to {MOST}; times heavy atoms at most {MOST_TOGETHER:,}."
            ),
        ),
        Parameter(
            "seed",
            type="integer",
            default=1,
            description="The same seed gives the same conformers; 0 to 2147483647.",
        ),
        Parameter(
            "apart",
            default=0.5,
            description=(
                "Ångström, 0 to 10: of two whose heavy atoms lie nearer (root mean square, "
                "superposed) the one of higher energy is left out."
            ),
        ),
        Parameter(
            "forceField",
            default="mmff94",
            options=tuple(_conformers.FORCE_FIELDS),
            description=(
                "mmff94, mmff94s (flat nitrogens) or uff; where MMFF94 does not know an atom, UFF "
                "is taken, and told."
            ),
        ),
    ),
    requires=("rdkit",),
    preload=(
        "rdkit.Chem",
        "rdkit.Chem.rdDistGeom",
        "rdkit.Chem.rdForceFieldHelpers",
        "rdkit.Chem.rdMolAlign",
        "rdkit.Chem.rdMolDescriptors",
    ),
    extra="tools",
    passes=("rank_1.pdb",),
    passes_content="small molecule",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `rank_1.pdb` …, `conformers.sdf`, `conformers.csv` and `molecule.svg`.

    The score: `energy` of the best and `spread` to the worst that was kept, kcal/mol; `smiles`,
    what the conformers are of, in RDKit's canonical form; `open_stereocentres`, how many of its
    centres the SMILES that was sent left open; `force_field`, the one that was taken.
    """
    del inputs
    request = _read(settings)

    from rdkit import Chem
    from rdkit.Chem import rdMolDescriptors

    full = _conformers.embed(request.molecule, request.count, request.seed)
    field, ranked = _conformers.relax(full, request.field)
    likeness = _conformers.Likeness(full)
    kept = likeness.unlike(ranked, request.apart)
    bare = Chem.RemoveHs(full)
    smiles = Chem.MolToSmiles(bare)
    opened = _molecule.centres(bare) - _molecule.centres(request.molecule)
    distances = likeness.lay_on_best(kept)
    shares = [exp((kept[0].energy - conformer.energy) / _KT) for conformer in kept]
    _write_structures(full, kept, smiles, out)
    _write_table(kept, distances, shares, out / "conformers.csv")
    _draw(smiles, out / "molecule.svg")
    return {
        "conformers": len(kept),
        "embedded": len(ranked),
        "energy": kept[0].energy,
        "spread": round(kept[-1].energy - kept[0].energy, 4),
        "force_field": field,
        "smiles": smiles,
        "open_stereocentres": max(opened, 0),
        "heavy_atoms": request.molecule.GetNumHeavyAtoms(),
        "rotatable_bonds": int(rdMolDescriptors.CalcNumRotatableBonds(request.molecule)),
    }


def _write_structures(full: Any, kept: Sequence[Conformer], smiles: str, out: Path) -> None:
    from rdkit import Chem

    with Chem.SDWriter(str(out / "conformers.sdf")) as writer:
        for rank, conformer in enumerate(kept, 1):
            text = Chem.MolToPDBBlock(full, confId=conformer.id)
            (out / f"rank_{rank}.pdb").write_text(text, encoding="utf-8")
            full.SetProp("_Name", f"rank_{rank}")
            full.SetProp("smiles", smiles)
            full.SetProp("energy_kcal_mol", f"{conformer.energy:.4f}")
            writer.write(full, confId=conformer.id)


def _write_table(
    kept: Sequence[Conformer], distances: Sequence[float], shares: Sequence[float], path: Path
) -> None:
    """Energies in kcal/mol, the distance to the best in ångström, shares after Boltzmann."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["rank", "energy", "relative_energy", "rmsd_to_best", "share", "converged"])
        rows = zip(kept, distances, shares, strict=True)
        for rank, (conformer, distance, share) in enumerate(rows, 1):
            table.writerow(
                [
                    rank,
                    f"{conformer.energy:.4f}",
                    f"{conformer.energy - kept[0].energy:.4f}",
                    f"{distance:.3f}",
                    f"{share / sum(shares):.4f}",
                    "yes" if conformer.converged else "no",
                ]
            )


def _draw(smiles: str, path: Path) -> None:
    """The structural formula, with its configuration."""
    from rdkit import Chem

    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError as error:  # it wants the system's libX11 and libXrender
        print(f"There is no drawing: {error}")
        return
    drawing = rdMolDraw2D.MolDraw2DSVG(480, 360)
    rdMolDraw2D.PrepareAndDrawMolecule(drawing, Chem.MolFromSmiles(smiles))
    drawing.FinishDrawing()
    path.write_text(drawing.GetDrawingText(), encoding="utf-8")
