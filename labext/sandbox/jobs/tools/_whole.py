"""Whether a peptide of a file is whole, residue by residue; the last oxygen is added."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labext.sandbox.jobs.tool import ToolError
from labext.sandbox.jobs.tools import _protein
from labext.sandbox.jobs.tools._atoms import XYZ, Residue

_BACKBONE = ("N", "CA", "C", "O")
_SIDE_CHAINS = {
    "ALA": "CB",
    "ARG": "CB CG CD NE CZ NH1 NH2",
    "ASN": "CB CG OD1 ND2",
    "ASP": "CB CG OD1 OD2",
    "CYS": "CB SG",
    "GLN": "CB CG CD OE1 NE2",
    "GLU": "CB CG CD OE1 OE2",
    "GLY": "",
    "HIS": "CB CG ND1 CD2 CE1 NE2",
    "ILE": "CB CG1 CG2 CD1",
    "LEU": "CB CG CD1 CD2",
    "LYS": "CB CG CD CE NZ",
    "MET": "CB CG SD CE",
    "PHE": "CB CG CD1 CD2 CE1 CE2 CZ",
    "PRO": "CB CG CD",
    "SER": "CB OG",
    "THR": "CB OG1 CG2",
    "TRP": "CB CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2",
    "TYR": "CB CG CD1 CD2 CE1 CE2 CZ OH",
    "VAL": "CB CG1 CG2",
}
"""The heavy atoms beside the backbone, by their names in the PDB."""
_END = 1.25
"""Å: from the last carbon to its oxygens."""


def write_atomic(residues: Sequence[Residue], parameter: str, path: Path) -> None:
    """Write the heavy atoms as a PDB file, each chain with its last oxygen.

    Raises:
        ToolError: a gap in a chain, a residue that is none of the 20, or atoms that are missing.
    """
    links = [*_protein.linked(residues), False]
    lines: list[str] = []
    for place, residue in enumerate(residues):
        name = f"{residue.name} {residue.number} of chain {residue.chain}"
        starts = place == 0 or residues[place - 1].chain != residue.chain
        if not starts and not links[place]:
            raise ToolError(f"{parameter}: before {name} the chain has a gap.")
        ends = place + 1 == len(residues) or residues[place + 1].chain != residue.chain
        for atom, element, (x, y, z) in _atoms(residue, name, parameter, ends):
            number = residue.number if residue.number[-1:].isalpha() else f"{residue.number} "
            # A chain without a name stands as `_`.
            lines.append(
                f"ATOM  {len(lines) + 1:5d}  {atom:<3} {residue.name} {residue.chain}{number:>5}   "
                f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {element:>2}"
            )
        if ends:
            lines.append("TER")
    path.write_text("\n".join([*lines, "END\n"]), encoding="utf-8")


def _atoms(residue: Residue, name: str, parameter: str, ends: bool) -> list[tuple[str, str, XYZ]]:
    if residue.name not in _SIDE_CHAINS:
        raise ToolError(f"{parameter}: {name} is none of the 20 amino acids.")
    expected = [*_BACKBONE, *_SIDE_CHAINS[residue.name].split()]
    there = {atom.name: atom for atom in residue.heavy}
    missing = [atom for atom in expected if atom not in there]
    if missing:
        raise ToolError(f"{parameter}: {name} has no {', '.join(missing)}.")
    surplus = [atom for atom in there if atom not in (*expected, "OXT")]
    if surplus:
        raise ToolError(f"{parameter}: {name} has an atom {surplus[0]}, which is not known.")
    atoms = [(atom, there[atom].element, there[atom].xyz) for atom in expected]
    if ends:
        last = there["OXT"].xyz if "OXT" in there else _last_oxygen(residue)
        atoms.append(("OXT", "O", last))
    return atoms


def _last_oxygen(residue: Residue) -> XYZ:
    """Opposite the bonds from the last carbon to its neighbours, in their plane."""
    import numpy as np

    carbon = np.array(residue.atoms["C"].xyz)
    away = np.zeros(3)
    for name in ("CA", "O"):
        bond = np.array(residue.atoms[name].xyz) - carbon
        away -= bond / np.linalg.norm(bond)
    x, y, z = carbon + _END * away / np.linalg.norm(away)
    return float(x), float(y), float(z)
