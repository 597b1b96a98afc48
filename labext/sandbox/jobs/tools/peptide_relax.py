"""Relaxes a peptide in Amber's force field with implicit solvent (OpenMM)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import (
    _amber,
    _atoms,
    _geometry,
    _letters,
    _values,
    _whole,
    peptide_build,
)

FEWEST, MOST = 2, 25
MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class _Request:
    sequence: str | None
    conformation: str
    iterations: int
    tolerance: float
    ph: float
    solvent: bool


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence, conformation = None, "helix"
    if values.get("sequence") is not None:
        if values.get("pdbFile") is not None:
            raise ToolError("pdbFile: it can't be sent together with sequence.")
        sequence = _letters.sequence(
            values, "sequence", _letters.PROTEIN, "amino acid", shortest=FEWEST, longest=MOST
        )
        if values.get("conformation") is not None:
            conformation = _values.choice(values, "conformation", tuple(peptide_build.ANGLES))
    elif values.get("pdbFile") is None:
        raise ToolError("sequence: it is missing; send it, or a structure as pdbFile.")
    else:
        _values.text(values, "pdbFile")
        if values.get("conformation") is not None:
            raise ToolError("conformation: it applies only where sequence is sent.")
    return _Request(
        sequence,
        conformation,
        _values.integer(values, "iterations", 1, MOST_ITERATIONS),
        _values.number(values, "tolerance", 0.1, 1000),
        _values.number(values, "ph", 0, 14),
        _values.choice(values, "solvent", ("obc2", "none")) == "obc2",
    )


TOOL = Tool(
    name="peptide_relax",
    display_name="Peptide relaxation",
    description=(
        "Relaxes a peptide, built from its sequence or sent as a structure, to the nearest minimum "
        "of its energy: force field Amber ff14SB, implicit solvent OBC2, no cutoff. Hydrogens are "
        "added as they are at the pH. Nothing is simulated: a fold is not found by it. Gives the "
        "start and the minimum as PDB files, and the energy by its terms and by the iterations, "
        "in kJ/mol; rmsd is that of the heavy atoms to the start, in ångström."
    ),
    github="https://github.com/openmm/openmm",
    paper="https://doi.org/10.1021/acs.jpcb.3c06662",
    parameters=(
        Parameter(
            "sequence",
            type="string",
            content=("protein",),
            description=(
                "The 20 amino acids in one-letter code, "
                f"{FEWEST} to {MOST} residues. Either this or pdbFile must be sent."
            ),
        ),
        Parameter(
            "pdbFile",
            type="pdb",
            content=("protein structure",),
            description=(
                f"A peptide in PDB format instead of sequence, {FEWEST} to {MOST} whole residues "
                "of the 20 amino acids; its hydrogens are replaced, water and ligands left out."
            ),
        ),
        Parameter(
            "conformation",
            options=tuple(peptide_build.ANGLES),
            description="Only with sequence: what it is built as; helix if it is not sent.",
        ),
        Parameter(
            "iterations",
            type="integer",
            default=500,
            description=f"When to end at the latest, 1 to {MOST_ITERATIONS:,} iterations.",
        ),
        Parameter(
            "tolerance",
            type="number",
            default=10.0,
            description=(
                "kJ/mol/nm, 0.1 to 1,000: it ends where the force (root mean square) is smaller."
            ),
        ),
        Parameter("ph", default=7.0, description="The pH, 0 to 14, which decides on hydrogens."),
        Parameter(
            "solvent",
            default="obc2",
            options=("obc2", "none"),
            description="obc2: water as a continuum (doi 10.1002/prot.20033); none: a vacuum.",
        ),
    ),
    requires=("openmm", "numpy", "PeptideBuilder", "Bio"),
    # Not openmm: on import it loads what drives graphics cards, whose threads no fork survives.
    preload=("numpy",),
    extra="tools",
    passes=("rank_1.pdb",),
    passes_content="protein structure",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `rank_1.pdb`, `start.pdb`, `energies.csv` and `minimisation.csv`.

    The score: `energy_before` (with the hydrogens in place) and `energy_after` in kJ/mol; `rmsd` in
    ångström of the heavy atoms, superposed on their start; `force` at the end in kJ/mol/nm.
    """
    request = _read(settings)
    with TemporaryDirectory() as folder:
        start = _start(request, inputs, Path(folder))
        peptide = _amber.peptide(start, request.ph, request.solvent)
    found = _amber.minimise(peptide, request.iterations, request.tolerance)
    peptide.write(peptide.places, out / "start.pdb")
    peptide.write(found.places, out / "rank_1.pdb")
    _write(found, out)
    heavy = peptide.heavy()
    return {
        "residues": peptide.topology.getNumResidues(),
        "atoms": len(heavy),
        "energy_before": round(sum(found.before.values()), 3),
        "energy_after": round(sum(found.after.values()), 3),
        "rmsd": round(_geometry.superposed_rmsd(peptide.places[heavy], found.places[heavy]), 3),
        "force": round(found.force, 3),
        "iterations": len(found.energies),
        "converged": "yes" if found.force <= request.tolerance else "no",
    }


def _start(request: _Request, inputs: Mapping[str, Path], folder: Path) -> Path:
    """A PDB file of the heavy atoms: the peptide that is built, or the one that was sent."""
    if request.sequence is not None:
        sent = {"sequence": request.sequence, "conformation": request.conformation}
        peptide_build.run(sent, {}, folder)
        return folder / "peptide.pdb"
    residues = _atoms.residues(inputs["pdbFile"], "pdbFile")
    if not FEWEST <= len(residues) <= MOST:
        raise ToolError(
            f"pdbFile: it has {len(residues)} residues, where {FEWEST} to {MOST} are taken."
        )
    _whole.write_atomic(residues, "pdbFile", folder / "whole.pdb")
    return folder / "whole.pdb"


def _write(found: _amber.Minimum, out: Path) -> None:
    """The energies by their terms, and by the iterations."""
    with (out / "energies.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["term", "before", "after"])
        for term in _amber.TERMS:
            table.writerow([term, f"{found.before[term]:.3f}", f"{found.after[term]:.3f}"])
        totals = (sum(terms.values()) for terms in (found.before, found.after))
        table.writerow(["total", *(f"{total:.3f}" for total in totals)])
    with (out / "minimisation.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["iteration", "energy"])
        table.writerows([n, f"{energy:.3f}"] for n, energy in enumerate(found.energies, 1))
