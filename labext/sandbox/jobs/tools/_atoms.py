"""Reads all atoms of the protein residues in a PDB file as it comes.

The rules for HETATM records, insertion codes and chains are those of `_structure`. Of alternative
places a residue has the one that is the most occupied as a whole, at a tie the first, so that no
two are mixed. A residue without an alpha carbon is left out; so are water, ligands and nucleic
acids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from labext.sandbox.jobs.tool import ToolError
from labext.sandbox.jobs.tools import _structure

XYZ = tuple[float, float, float]


@dataclass(frozen=True)
class Atom:
    """One atom: its name as in the file, its element in capitals, its place in ångström."""

    name: str
    element: str
    xyz: XYZ


@dataclass
class Residue:
    """One residue; `number` has the insertion code behind it."""

    chain: str
    number: str
    name: str
    atoms: dict[str, Atom] = field(default_factory=dict)

    @property
    def heavy(self) -> list[Atom]:
        """Its atoms but the hydrogens."""
        return [atom for atom in self.atoms.values() if atom.element not in ("H", "D")]


@dataclass(frozen=True)
class _Record:
    residue: tuple[str, str]
    name: str
    alternative: str
    occupancy: float
    atom: Atom


def residues(
    path: Path, parameter: str, model: int = 1, chains: Collection[str] = ()
) -> list[Residue]:
    """The protein residues of one model, in the order of the file.

    Args:
        path: the PDB file.
        parameter: whose file it is, for the errors.
        model: which one, from 1; a file without MODEL records is one model.
        chains: those to be read; all if there are none.

    Raises:
        ToolError: no PDB file, a record that can't be read (with its line), no such model or chain.
    """
    lines = _structure.pdb_lines(path, parameter)
    grouped: dict[tuple[str, str], list[_Record]] = {}
    for record in _records(lines, parameter, model):
        grouped.setdefault(record.residue, []).append(record)
    found = [residue for group in grouped.values() if (residue := _residue(group)) is not None]
    if not found:
        raise _structure.no_protein(lines, parameter)
    there = list(dict.fromkeys(residue.chain for residue in found))
    _structure.chains_there("chains", chains, there)
    return [residue for residue in found if not chains or residue.chain in chains]


def _records(lines: list[str], parameter: str, model: int) -> Iterator[_Record]:
    modified = _structure.modified_residues(lines)
    models = max(sum(line.startswith(mark) for line in lines) for mark in ("MODEL ", "ENDMDL"))
    models = max(models, 1)
    if model > models:
        raise ToolError(f"model: there is no model {model}; the file has {models}.")
    now = 1
    for place, line in enumerate(lines, 1):
        if line.startswith("ENDMDL"):
            now += 1
        elif now == model and (
            line.startswith("ATOM  ")
            or (line.startswith("HETATM") and line[17:20].strip() in modified)
        ):
            try:
                yield _record(line)
            except ValueError:
                raise ToolError(f"{parameter}: line {place} is no proper ATOM record.") from None


def _record(line: str) -> _Record:
    """One ATOM record.

    Raises:
        ValueError: a number can't be read, or is none.
    """
    occupancy, place = _structure.numbers(line)
    name = line[12:16].strip()
    if not name:
        raise ValueError("name")
    return _Record(
        (line[21].strip() or "_", line[22:27].strip()),
        line[17:20].strip(),
        line[16].strip(),
        occupancy,
        Atom(name, _element(line), place),
    )


def _element(line: str) -> str:
    """The element of columns 77 and 78, or, where they have none, of the atom's name."""
    written = line[76:78].strip().upper()
    if re.fullmatch("[A-Z]{1,2}", written):
        return written
    # Columns 13 and 14 hold it, right-justified; the name of a hydrogen may fill all four.
    if line[12:14] == "SE":
        return "SE"
    letters = line[12:16].strip().lstrip("0123456789")
    return letters[:1].upper()


def _residue(records: list[_Record]) -> Residue | None:
    """The residue in its most occupied alternative; None without an alpha carbon."""
    weights: dict[str, float] = {}
    for record in records:
        if record.alternative:
            weights[record.alternative] = weights.get(record.alternative, 0.0) + record.occupancy
    best = max(weights, key=lambda label: weights[label]) if weights else ""
    taken = [record for record in records if record.alternative in ("", best)]
    (chain, number), name = taken[0].residue, taken[0].name
    residue = Residue(chain, number, name)
    for record in taken:
        if record.name == name:
            residue.atoms.setdefault(record.atom.name, record.atom)
    alpha = residue.atoms.get("CA")
    return residue if alpha is not None and alpha.element == "C" else None
