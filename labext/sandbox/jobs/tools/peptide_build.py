"""Build an all-atom peptide from its sequence and backbone angles (PeptideBuilder)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.messages import pluralize
from labext.sandbox.jobs.tools import _inputs, _outputs, _protein
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

MAX_LENGTH = 1000
CONFORMATION_ANGLES = {"helix": (-57.0, -47.0), "strand": (-139.0, 135.0)}
"""Backbone angles phi and psi in degrees of the alpha helix and the antiparallel beta strand
(IUPAC-IUB Commission on Biochemical Nomenclature 1970, doi 10.1021/bi00820a001)."""


@dataclass(frozen=True)
class _Request:
    sequence: str
    phi: Sequence[float]
    psi: Sequence[float]


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence = _inputs.read_sequence(values, "sequence", _inputs.PROTEIN, 2, MAX_LENGTH)
    conformation = _inputs.read_choice(values, "conformation", (*CONFORMATION_ANGLES, "custom"))
    if conformation != "custom":
        for name in ("phi", "psi"):
            if name in settings:
                raise ToolError(f"{name}: it applies only if conformation is custom.")
        phi, psi = CONFORMATION_ANGLES[conformation]
        return _Request(sequence, [phi] * len(sequence), [psi] * len(sequence))
    angles = (_read_angles(values, name, len(sequence)) for name in ("phi", "psi"))
    return _Request(sequence, *angles)


def _read_angles(settings: Settings, name: str, residues: int) -> list[float]:
    if settings.get(name) is None:
        raise ToolError(f"{name}: it is required if conformation is custom.")
    angles = _inputs.read_numbers(settings, name, -180, 180)
    if len(angles) != residues:
        raise ToolError(
            f"{name}: it has {pluralize(len(angles), 'angle')}, but the sequence has {residues:,} "
            "residues."
        )
    return angles


TOOL = Tool(
    name="peptide_build",
    display_name="Peptide builder",
    description=(
        "Builds a peptide with all its heavy atoms from its sequence, as an alpha helix, as "
        "a beta strand or with custom backbone angles, and returns a PDB file and the angles "
        "of each residue. Bond lengths, bond angles and side chains have standard values; "
        "the structure is not relaxed, so side chains may clash. Lengths are in ångström, "
        "the weight in Da."
    ),
    github="https://github.com/clauswilke/PeptideBuilder",
    paper="https://doi.org/10.7717/peerj.80",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("protein",),
            description=f"The 20 amino acids in one-letter code, 2 to {MAX_LENGTH:,} residues.",
        ),
        Parameter(
            "conformation",
            default="helix",
            options=(*CONFORMATION_ANGLES, "custom"),
            description="helix: phi -57, psi -47 degrees; strand: -139, 135; custom: phi and psi.",
        ),
        Parameter(
            "phi",
            when=("conformation", ("custom",)),
            description=(
                "Only with conformation=custom, and then required: degrees from -180 to 180, "
                "one for each residue (the first is not used)."
            ),
        ),
        Parameter(
            "psi",
            when=("conformation", ("custom",)),
            description=(
                "Only with conformation=custom, and then required: degrees from -180 to 180, "
                "one for each residue (the last rotates the two terminal oxygens)."
            ),
        ),
    ),
    requires=("PeptideBuilder", "Bio"),
    preload=("PeptideBuilder.PeptideBuilder", "Bio.PDB", "Bio.SeqUtils"),
    passes=("peptide.pdb",),
    figures=("ramachandran.csv",),
    passes_content="protein structure",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `peptide.pdb` and `ramachandran.csv`.

    The score: `weight` in daltons; `end_to_end` (first to last alpha carbon) and
    `radius_of_gyration` (heavy atoms, mass-weighted) in ångström.
    """
    del inputs
    request = _read_request(settings)

    import numpy as np
    from Bio.PDB import PDBIO
    from Bio.SeqUtils import molecular_weight

    structure = _build(request)
    writer = PDBIO()
    writer.set_structure(structure)
    writer.save(str(out / "peptide.pdb"))
    residues = list(structure.get_residues())
    atoms = list(structure.get_atoms())
    coordinates = np.array([atom.coord for atom in atoms], dtype=float)
    masses = np.array([atom.mass for atom in atoms])
    _write_angles(residues, out / "ramachandran.csv")
    return {
        "residues": len(residues),
        "atoms": len(atoms),
        "weight": round(float(molecular_weight(request.sequence, "protein")), 2),
        "end_to_end": round(float(residues[-1]["CA"] - residues[0]["CA"]), 3),
        "radius_of_gyration": round(_protein.radius_of_gyration(coordinates, masses), 3),
    }


def _build(request: _Request) -> Any:
    from Bio.PDB.Atom import Atom
    from Bio.PDB.vectors import Vector, rotaxis
    from PeptideBuilder import Geometry
    from PeptideBuilder import PeptideBuilder as builder

    structure = builder.initialize_res(Geometry.geometry(request.sequence[0]))
    # Rotated away from the axes, where PeptideBuilder may divide by zero.
    structure.transform(rotaxis(1.0, Vector(1.0, 2.0, 3.0)), [0.0, 0.0, 0.0])
    residues = zip(request.sequence[1:], request.phi[1:], request.psi, strict=False)
    for letter, phi, psi in residues:
        geometry = Geometry.geometry(letter)
        geometry.phi, geometry.psi_im1, geometry.omega = phi, psi, 180.0
        structure = builder.add_residue(structure, geometry)
    last = list(structure.get_residues())[-1]
    geometry = Geometry.geometry(request.sequence[-1])
    # The terminal OXT takes the position of a following nitrogen; O is on the opposite side.
    oxygen, terminal_oxygen = (
        builder.calculateCoordinates(
            last["N"], last["CA"], last["C"], geometry.C_O_length, geometry.CA_C_O_angle, angle
        )
        for angle in (request.psi[-1] + 180.0, request.psi[-1])
    )
    last["O"].set_coord(oxygen)
    last.add(Atom("OXT", terminal_oxygen, 0.0, 1.0, " ", " OXT", 0, "O"))
    if not all(math.isfinite(x) for atom in structure.get_atoms() for x in atom.coord):
        raise ToolError("phi, psi: with these angles a residue can't be placed.")
    return structure


def _write_angles(residues: list[Any], path: Path) -> None:
    """Write the backbone angles of the structure in degrees."""

    def angle(*atoms: Any) -> str:
        # Adding 0 turns -0.00 into 0.00.
        return f"{round(_protein.dihedral_angle(*(atom.coord for atom in atoms)), 2) + 0:.2f}"

    neighbours = zip([None, *residues], residues, [*residues[1:], None], strict=False)
    rows = (
        (
            *(number, residue.get_resname()),
            angle(previous["C"], residue["N"], residue["CA"], residue["C"]) if previous else "",
            angle(residue["N"], residue["CA"], residue["C"], following["N"]) if following else "",
            angle(previous["CA"], previous["C"], residue["N"], residue["CA"]) if previous else "",
        )
        for number, (previous, residue, following) in enumerate(neighbours, 1)
    )
    _outputs.write_csv(path, ("residue", "name", "phi", "psi", "omega"), rows)
