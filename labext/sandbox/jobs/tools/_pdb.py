"""Parse the protein residues of PDB files."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from labext.sandbox.jobs.tools.tool import ToolError

_MAX_FILE_BYTES = 20_000_000


Coordinates = tuple[float, float, float]


@dataclass(frozen=True)
class Atom:
    """An atom: name, element in upper case, coordinates in Å, B-factor in Å² if the file has it."""

    name: str
    element: str
    xyz: Coordinates
    b_factor: float | None = None


@dataclass
class Residue:
    """A residue; `number` includes the insertion code."""

    chain: str
    number: str
    name: str
    atoms: dict[str, Atom] = field(default_factory=dict)

    @property
    def number_column(self) -> str:
        """The number as columns 23 to 27 of a record: the insertion code is in the last one."""
        return f"{self.number if self.number[-1:].isalpha() else f'{self.number} ':>5}"

    @property
    def heavy(self) -> list[Atom]:
        """The non-hydrogen atoms."""
        return [atom for atom in self.atoms.values() if atom.element not in ("H", "D")]


@dataclass(frozen=True)
class _AtomRecord:
    residue: tuple[str, str]
    name: str
    alternative: str
    occupancy: float
    atom: Atom


def read_residues(
    path: Path, parameter: str, model: int = 1, chains: Collection[str] = ()
) -> list[Residue]:
    """Read the protein residues of a model (from 1), in the order of the file.

    Raises:
        ToolError: the file is too large or not a protein in PDB format, a record is malformed, or
            the model or a chain does not exist.
    """
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise ToolError(f"{parameter}: the file is larger than {_MAX_FILE_BYTES // 1_000_000} MB.")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    grouped: dict[tuple[str, str], list[_AtomRecord]] = {}
    for record in _read_records(lines, parameter, model):
        grouped.setdefault(record.residue, []).append(record)
    residues = [
        residue for group in grouped.values() if (residue := _build_residue(group)) is not None
    ]
    if not residues:
        kind = "an mmCIF file" if lines and lines[0].startswith("data_") else "not a PDB file"
        raise ToolError(f"{parameter}: it has no alpha carbons; it may be {kind} or not a protein.")
    existing = dict.fromkeys(residue.chain for residue in residues)
    for chain in chains:
        if chain not in existing:
            raise ToolError(
                f"chains: there is no chain {chain}; the file has {', '.join(existing)}."
            )
    return [residue for residue in residues if not chains or residue.chain in chains]


def _read_records(lines: list[str], parameter: str, model: int) -> Iterator[_AtomRecord]:
    # Modified amino acids are in HETATM records.
    modified = {"MSE"} | {line[12:15].strip() for line in lines if line.startswith("MODRES")}
    keywords = ("MODEL ", "ENDMDL")
    models = max(1, *(sum(line.startswith(keyword) for line in lines) for keyword in keywords))
    if model > models:
        raise ToolError(f"model: there is no model {model}; the file has {models}.")
    current_model = 1
    for line_number, line in enumerate(lines, 1):
        if line.startswith("ENDMDL"):
            current_model += 1
        elif current_model == model and (
            line.startswith("ATOM  ")
            or (line.startswith("HETATM") and line[17:20].strip() in modified)
        ):
            try:
                yield _parse_record(line)
            except ValueError:
                raise ToolError(
                    f"{parameter}: line {line_number} is not a valid ATOM record."
                ) from None


def _parse_record(line: str) -> _AtomRecord:
    """Parse an ATOM record; ValueError if it is malformed."""
    x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    occupancy = float(line[54:60].strip() or 1)
    name = line[12:16].strip()
    if not name or not all(abs(value) < 1e5 for value in (x, y, z, occupancy)):
        raise ValueError("name, coordinates or occupancy")
    return _AtomRecord(
        (line[21].strip() or "_", line[22:27].strip()),
        line[17:20].strip(),
        line[16].strip(),
        occupancy,
        Atom(name, _parse_element(line), (x, y, z), _parse_b_factor(line)),
    )


def _parse_b_factor(line: str) -> float | None:
    """Return the B-factor; None if it is blank or not a number, as in files of some programs."""
    try:
        value = float(line[60:66])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _parse_element(line: str) -> str:
    """Return the element from columns 77 and 78, or from the atom name if they are blank."""
    element = line[76:78].strip().upper()
    if re.fullmatch("[A-Z]{1,2}", element):
        return element
    # Columns 13 and 14 have the element, right-justified; hydrogen names may use all four.
    if line[12:14] == "SE":
        return "SE"
    letters = line[12:16].strip().lstrip("0123456789")
    return letters[:1].upper()


def _build_residue(records: list[_AtomRecord]) -> Residue | None:
    """Build a residue from its main alternative location; None without an alpha carbon."""
    weights: dict[str, float] = {}
    for record in records:
        if record.alternative:
            weights[record.alternative] = weights.get(record.alternative, 0.0) + record.occupancy
    best = max(weights, key=lambda label: weights[label]) if weights else ""
    selected = [record for record in records if record.alternative in ("", best)]
    (chain, number), name = selected[0].residue, selected[0].name
    residue = Residue(chain, number, name)
    for record in selected:
        if record.name == name:
            residue.atoms.setdefault(record.atom.name, record.atom)
    alpha = residue.atoms.get("CA")
    return residue if alpha is not None and alpha.element == "C" else None
