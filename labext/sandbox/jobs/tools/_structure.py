"""Reads the alpha carbons of a PDB file as it comes: models, alternatives, insertions, MSE.

Columns as in the wwPDB format 3.3. Of several models the first is read; of alternative places the
one with the highest occupancy, at a tie the first; residues with an insertion code are residues of
their own. HETATM records are left out, but for selenomethionine and what a MODRES record names as a
modified residue: those are links of the chain. A calcium ion is also called CA: it is told from an
alpha carbon by its residue.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.jobs.tool import ToolError

_LARGEST = 20_000_000


@dataclass(frozen=True)
class AlphaCarbon:
    """One residue's alpha carbon; `number` keeps the file's own text, ångström and Å² as there."""

    chain: str
    number: str
    insertion: str
    name: str
    xyz: tuple[float, float, float]
    b_factor: float


def alpha_carbons(path: Path, parameter: str, chains: Collection[str] = ()) -> list[AlphaCarbon]:
    """The alpha carbons in the order of the file.

    Args:
        path: the PDB file.
        parameter: whose file it is, for the errors.
        chains: those to be read; all if there are none.

    Raises:
        ToolError: no PDB file, a record that can't be read (with its line), no such chain.
    """
    lines = pdb_lines(path, parameter)
    modified = modified_residues(lines)
    best: dict[tuple[str, str, str], tuple[float, AlphaCarbon]] = {}
    for place, line in enumerate(lines, 1):
        if line.startswith("ENDMDL"):
            break
        if not _is_alpha_carbon(line, modified):
            continue
        try:
            occupancy, atom = _atom(line)
        except ValueError:
            raise ToolError(f"{parameter}: line {place} is no proper ATOM record.") from None
        key = (atom.chain, atom.number, atom.insertion)
        if key not in best or occupancy > best[key][0]:
            best[key] = (occupancy, atom)
    atoms = [atom for _, atom in best.values()]
    if not atoms:
        raise no_protein(lines, parameter)
    chains_there("chains", chains, list(dict.fromkeys(atom.chain for atom in atoms)))
    return [atom for atom in atoms if not chains or atom.chain in chains]


def pdb_lines(path: Path, parameter: str) -> list[str]:
    """The lines of a file that is not too large to be read."""
    if path.stat().st_size > _LARGEST:
        raise ToolError(f"{parameter}: the file is larger than {_LARGEST // 1_000_000} MB.")
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def modified_residues(lines: Collection[str]) -> set[str]:
    """The residues that are links of the chain though they stand in HETATM records."""
    return {"MSE"} | {line[12:15].strip() for line in lines if line.startswith("MODRES")}


def no_protein(lines: Sequence[str], parameter: str) -> ToolError:
    """What is said of a file without alpha carbons."""
    kind = "an mmCIF file" if lines and lines[0].startswith("data_") else "not a PDB file"
    return ToolError(f"{parameter}: it has no alpha carbons; it may be {kind}, or no protein.")


def chains_there(parameter: str, chains: Collection[str], there: Sequence[str]) -> None:
    """Refuse a chain that the file has not."""
    for chain in chains:
        if chain not in there:
            raise ToolError(
                f"{parameter}: there is no chain {chain}; the file has {', '.join(there)}."
            )


def _is_alpha_carbon(line: str, modified: Collection[str]) -> bool:
    if line[12:16].strip() != "CA":
        return False
    name = line[17:20].strip()
    if line.startswith("HETATM"):
        return name in modified
    return line.startswith("ATOM") and name != "CA"


def numbers(line: str) -> tuple[float, tuple[float, float, float]]:
    """The occupancy (1 where it is blank) and the place of an ATOM record.

    Raises:
        ValueError: a number can't be read, or is none.
    """
    x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    occupancy = float(line[54:60].strip() or 1)
    if not all(abs(value) < 1e5 for value in (x, y, z, occupancy)):
        raise ValueError("coordinates or occupancy")
    return occupancy, (x, y, z)


def _atom(line: str) -> tuple[float, AlphaCarbon]:
    """The occupancy and the atom.

    Raises:
        ValueError: a number can't be read, or is none.
    """
    occupancy, place = numbers(line)
    b_factor = float(line[60:66].strip() or 0)
    if not abs(b_factor) < 1e5:
        raise ValueError("B-factor")
    chain = line[21].strip() or "_"
    atom = AlphaCarbon(
        chain, line[22:26].strip(), line[26].strip(), line[17:20].strip(), place, b_factor
    )
    return occupancy, atom
