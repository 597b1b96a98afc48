"""Parse the alpha carbons and protein residues of PDB files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labext.sandbox.jobs.tools.tool import ToolError

_MAX_FILE_BYTES = 20_000_000


@dataclass(frozen=True)
class AlphaCarbon:
    """The alpha carbon of a residue; coordinates in Å, B-factor in Å², `number` as in the file."""

    chain: str
    number: str
    insertion: str
    name: str
    xyz: tuple[float, float, float]
    b_factor: float


def read_alpha_carbons(
    path: Path, parameter: str, chains: Collection[str] = ()
) -> list[AlphaCarbon]:
    """Read the alpha carbons of the first model, in the order of the file.

    Raises:
        ToolError: the file is too large or not a protein in PDB format, a record is malformed, or a
            chain does not exist.
    """
    lines = read_pdb_lines(path, parameter)
    modified = find_modified_residues(lines)
    best: dict[tuple[str, str, str], tuple[float, AlphaCarbon]] = {}
    for line_number, line in enumerate(lines, 1):
        if line.startswith("ENDMDL"):
            break
        if not _is_alpha_carbon(line, modified):
            continue
        try:
            occupancy, atom = _parse_alpha_carbon(line)
        except ValueError:
            raise _record_error(parameter, line_number) from None
        key = (atom.chain, atom.number, atom.insertion)
        if key not in best or occupancy > best[key][0]:
            best[key] = (occupancy, atom)
    atoms = [atom for _, atom in best.values()]
    if not atoms:
        raise no_protein_error(lines, parameter)
    check_chains("chains", chains, list(dict.fromkeys(atom.chain for atom in atoms)))
    return [atom for atom in atoms if not chains or atom.chain in chains]


def read_pdb_lines(path: Path, parameter: str) -> list[str]:
    """Return the lines of a file; raise ToolError if it is too large."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise ToolError(f"{parameter}: the file is larger than {_MAX_FILE_BYTES // 1_000_000} MB.")
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def find_modified_residues(lines: Collection[str]) -> set[str]:
    """Return the names of modified amino acids, which are in HETATM records."""
    return {"MSE"} | {line[12:15].strip() for line in lines if line.startswith("MODRES")}


def no_protein_error(lines: Sequence[str], parameter: str) -> ToolError:
    """Return the error for a file without alpha carbons."""
    kind = "an mmCIF file" if lines and lines[0].startswith("data_") else "not a PDB file"
    return ToolError(f"{parameter}: it has no alpha carbons; it may be {kind} or not a protein.")


def _record_error(parameter: str, line_number: int) -> ToolError:
    return ToolError(f"{parameter}: line {line_number} is not a valid ATOM record.")


def check_chains(parameter: str, chains: Collection[str], existing: Sequence[str]) -> None:
    """Raise ToolError if a chain is not in the file."""
    for chain in chains:
        if chain not in existing:
            raise ToolError(
                f"{parameter}: there is no chain {chain}; the file has {', '.join(existing)}."
            )


def _is_alpha_carbon(line: str, modified: Collection[str]) -> bool:
    if line[12:16].strip() != "CA":
        return False
    name = line[17:20].strip()
    if line.startswith("HETATM"):
        return name in modified
    return line.startswith("ATOM") and name != "CA"


def parse_position(line: str) -> tuple[float, tuple[float, float, float]]:
    """Return the occupancy (1 if blank) and the coordinates of an ATOM record.

    Raises:
        ValueError: a number is malformed.
    """
    x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    occupancy = float(line[54:60].strip() or 1)
    if not all(abs(value) < 1e5 for value in (x, y, z, occupancy)):
        raise ValueError("coordinates or occupancy")
    return occupancy, (x, y, z)


def _parse_alpha_carbon(line: str) -> tuple[float, AlphaCarbon]:
    """Return the occupancy and the atom; ValueError for a malformed record."""
    occupancy, xyz = parse_position(line)
    b_factor = float(line[60:66].strip() or 0)
    if not abs(b_factor) < 1e5:
        raise ValueError("B-factor")
    chain = line[21].strip() or "_"
    atom = AlphaCarbon(
        chain, line[22:26].strip(), line[26].strip(), line[17:20].strip(), xyz, b_factor
    )
    return occupancy, atom


Coordinates = tuple[float, float, float]


@dataclass(frozen=True)
class Atom:
    """An atom: name, element in upper case, and coordinates in ångström."""

    name: str
    element: str
    xyz: Coordinates


@dataclass
class Residue:
    """A residue; `number` includes the insertion code."""

    chain: str
    number: str
    name: str
    atoms: dict[str, Atom] = field(default_factory=dict)

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
    lines = read_pdb_lines(path, parameter)
    grouped: dict[tuple[str, str], list[_AtomRecord]] = {}
    for record in _read_records(lines, parameter, model):
        grouped.setdefault(record.residue, []).append(record)
    residues = [
        residue for group in grouped.values() if (residue := _build_residue(group)) is not None
    ]
    if not residues:
        raise no_protein_error(lines, parameter)
    existing_chains = list(dict.fromkeys(residue.chain for residue in residues))
    check_chains("chains", chains, existing_chains)
    return [residue for residue in residues if not chains or residue.chain in chains]


def _read_records(lines: list[str], parameter: str, model: int) -> Iterator[_AtomRecord]:
    modified = find_modified_residues(lines)
    models = max(
        sum(line.startswith(keyword) for line in lines) for keyword in ("MODEL ", "ENDMDL")
    )
    models = max(models, 1)
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
                raise _record_error(parameter, line_number) from None


def _parse_record(line: str) -> _AtomRecord:
    """Parse an ATOM record; ValueError if it is malformed."""
    occupancy, xyz = parse_position(line)
    name = line[12:16].strip()
    if not name:
        raise ValueError("name")
    return _AtomRecord(
        (line[21].strip() or "_", line[22:27].strip()),
        line[17:20].strip(),
        line[16].strip(),
        occupancy,
        Atom(name, _parse_element(line), xyz),
    )


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
