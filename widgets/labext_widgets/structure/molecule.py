"""Parse PDB, mmCIF and SDF files into residues, traces and bonds."""

from __future__ import annotations

import io
import itertools
import re
import struct
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.messages import quote_value
from labext.text_files import decode_text
from labext_widgets.core.markup import plain

Format = Literal["pdb", "cif", "sdf"]
Floats = npt.NDArray[np.float64]

MAX_BYTES = 50_000_000
"""Largest file that is parsed."""

_REACH = 500.0
"""Å from the middle of a chain beyond which residues, such as dummies at 9999.999, are coil.

biotite's search for contacts allocates memory for the volume between all of them.
"""

_MAX_PDB_RESIDUE = 9999

_MAX_BOND = 2.0
"""Å between the atoms of a bond that joins two residues."""

_EXPERIMENT = re.compile(r"^(?:EXPDTA|_exptl\.method)\b(?!.*THEORETICAL)", re.M | re.I)
"""The method of a structure that was determined by an experiment, in a PDB or mmCIF file."""

_QUALITY, _CONFIDENCE = re.compile(r"^_ma_qa_metric\.", re.M), re.compile(r"\bplddt\b", re.I)
"""The declaration of the B-factors as confidences, in an mmCIF file."""

_WATER = {"HOH", "WAT", "DOD", "H2O", "SOL", "TIP3"}
_AMINO_ACIDS = {
    "ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "CYS": "C", "GLN": "Q", "GLU": "E", "GLY": "G",
    "HIS": "H", "ILE": "I", "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F", "PRO": "P", "SER": "S",
    "THR": "T", "TRP": "W", "TYR": "Y", "VAL": "V", "MSE": "M", "SEC": "U", "PYL": "O", "SEP": "S",
    "TPO": "T", "PTR": "Y", **dict.fromkeys(("HSD", "HSE", "HSP", "HID", "HIE", "HIP"), "H"),
    "ASH": "D", "CYM": "C", "CYX": "C", "GLH": "E", "LYN": "K",
}  # fmt: skip
_BASES = {"A": "A", "C": "C", "G": "G", "U": "U", "T": "T", "I": "I", "N": "N"}
_NUCLEOTIDES = _BASES | {f"D{base}": letter for base, letter in _BASES.items()}


@dataclass(frozen=True)
class Residue:
    """A residue by its chain, its number in the file (with insertion code), and its name."""

    chain: str
    number: int
    name: str
    insertion: str = ""


@dataclass
class Structure:
    """The first model of a file, and its drawn coordinates.

    Attributes:
        name: the name for display.
        format: `pdb`, `cif` or `sdf`.
        content: the file's text.
        atoms: biotite's atoms of the first model, without water.
        models: the number of models, or of records of an SDF file.
        residues: the residues of proteins and nucleic acids, chain by chain; no ligands.
        letters: their one-letter codes.
        secondary: `h` (helix), `s` (strand), `c` (coil) or `n` (nucleotide) for each.
        trace: the coordinates of each residue's C-alpha, or C1' or P of a nucleotide.
        confidence: True if the B-factors look like pLDDT.
    """

    name: str
    format: Format
    content: str
    atoms: Any
    models: int
    residues: list[Residue] = field(default_factory=list)
    letters: str = ""
    secondary: str = ""
    trace: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    b_factors: Floats = field(default_factory=lambda: np.zeros(0))
    confidence: bool = False
    polymer_atoms: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def chains(self) -> list[str]:
        """The ids of the polymer chains, in order."""
        return list(dict.fromkeys(residue.chain for residue in self.residues))

    @property
    def coordinates(self) -> Floats:
        """The coordinates of all atoms."""
        return np.asarray(self.atoms.coord, dtype=np.float64)

    @property
    def trace_only(self) -> bool:
        """True if every residue has a single atom, as in coarse-grained models."""
        return len(self.polymer_atoms) == len(self.residues) > 0

    @cached_property
    def other_atoms(self) -> npt.NDArray[np.int64]:
        """The indices of the atoms of ligands, ions and small molecules."""
        return np.setdiff1d(np.arange(self.atoms.array_length()), self.polymer_atoms)

    def positions(self, chain: str, start: int, end: int) -> list[int]:
        """Return the indices of a chain's residues numbered `start` to `end`."""
        return [
            i
            for i, residue in enumerate(self.residues)
            if residue.chain == chain and start <= residue.number <= end
        ]

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of residues that are joined without a gap."""
        start = 0
        for i in range(1, len(self.residues) + 1):
            if i == len(self.residues) or not self._joined(i - 1, i):
                yield start, i
                start = i

    def _joined(self, first: int, second: int) -> bool:
        nucleotide = self.secondary[first] == "n"
        if self.residues[first].chain != self.residues[second].chain:
            return False
        if nucleotide != (self.secondary[second] == "n"):
            return False
        gap = float(np.linalg.norm(self.trace[second] - self.trace[first]))
        return gap < _reach(nucleotide)


def parse_structure(
    content: str | bytes, format: Format | None = None, name: str = ""
) -> Structure:
    """Return the first model of a file, with its secondary structure.

    Raises:
        InputError: the file is too large, or not of the format.
        SetupError: biotite is not installed.
    """
    text = decode(content)
    kind = format or detect_format(text, name)
    with warnings.catch_warnings():  # such as elements guessed from atom names
        warnings.simplefilter("ignore")
        return _parse_text(text, kind, name)


def _parse_text(text: str, kind: Format, name: str) -> Structure:
    if kind == "pdb":
        text = "\n".join(_complete_lines(text.splitlines()))
    atoms, models = _read(text, kind, name)
    keep = ~np.isin(atoms.res_name, list(_WATER))
    if keep.any():
        atoms = atoms[keep]
    if not np.isfinite(atoms.coord).all():
        raise _unreadable(kind, name, "it has coordinates that are not numbers")
    structure = Structure(plain(name, 80), kind, text, atoms, models)
    if kind != "sdf":
        _find_residues(structure)
    if kind == "pdb" and models > 2 and structure.trace_only:
        _use_middle_model(structure)
    return structure


def live_file(structure: Structure) -> tuple[Format, str]:
    """Return the format and the content of the file that the live view reads.

    3Dmol ignores the models, the insertion codes and the alternate locations of mmCIF files. They
    are converted to PDB, or reduced to the first model if their names or numbers are too long.
    """
    import biotite.file
    from biotite.structure import BadStructureError
    from biotite.structure.io import pdb, pdbx

    if structure.format != "cif":
        return structure.format, structure.content
    cif = pdbx.CIFFile.read(io.StringIO(structure.content))
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            models = list(pdbx.get_structure(cif))
        except (biotite.file.InvalidFileError, BadStructureError):  # they differ in their atoms
            numbers = range(1, structure.models + 1)
            models = [pdbx.get_structure(cif, model=number) for number in numbers]
        for number, atoms in enumerate(models, 1):
            atoms.box = None
            atoms.chain_id[atoms.chain_id == ""] = " "
            file = pdb.PDBFile()
            try:
                if atoms.res_id.max() > _MAX_PDB_RESIDUE:
                    raise BadStructureError("PDB has no such number")
                file.set_structure(atoms)
            except BadStructureError:
                reduced = pdbx.CIFFile()
                pdbx.set_structure(reduced, atoms)
                return "cif", reduced.serialize()
            lines += [f"MODEL     {number:4}", *file.lines, "ENDMDL"]
    return "pdb", "\n".join(lines)


def _use_middle_model(structure: Structure) -> None:
    """Use the secondary structure of the middle model; the first is an extreme of a motion."""
    from biotite.structure.io import pdb

    file = pdb.PDBFile.read(io.StringIO(structure.content))
    atoms = file.get_structure(model=structure.models // 2 + 1)
    atoms = atoms[~np.isin(atoms.res_name, list(_WATER))]
    if atoms.array_length() == structure.atoms.array_length():
        nucleotides = [state == "n" for state in structure.secondary]
        structure.secondary = _secondary_structure(atoms[structure.polymer_atoms], nucleotides)


def decode(content: str | bytes) -> str:
    """Return a file's text; raise InputError if it is empty or too large."""
    if len(content) > MAX_BYTES:
        raise InputError(
            f"The structure has {len(content):,} bytes; the viewer reads up to {MAX_BYTES:,}.",
            "Save a part of it, such as a chain, to a separate file.",
        )
    try:
        text = content if isinstance(content, str) else decode_text(content, MAX_BYTES)
    except ValueError as error:
        raise InputError(f"The structure {error}.", "Check the file.") from None
    if not text.strip():
        raise InputError("The structure is empty.", "Pass the content of a PDB, mmCIF or SDF file.")
    return text


def detect_format(text: str, name: str = "") -> Format:
    """Return the format by a file's content, or by its name.

    Raises:
        InputError: the file has none of the formats.
    """
    head = text[:200_000]
    lines = head.splitlines()
    if "$$$$" in head or any(line.rstrip().endswith(("V2000", "V3000")) for line in lines[3:4]):
        return "sdf"
    if any(line.startswith(("_atom_site.", "data_")) for line in lines):
        return "cif"
    if any(line.startswith(("ATOM  ", "HETATM", "MODEL ")) for line in lines):
        return "pdb"
    endings: dict[str, Format] = {
        "pdb": "pdb", "ent": "pdb", "cif": "cif", "mmcif": "cif", "sdf": "sdf", "mol": "sdf",
    }  # fmt: skip
    ending = name.rpartition(".")[2].lower()
    if ending in endings:
        return endings[ending]
    raise InputError(
        f"{quote_value(name) if name else 'The content'} is not a structure file.",
        "Pass the content of a PDB, mmCIF or SDF file.",
    )


def _read(text: str, kind: Format, name: str) -> tuple[Any, int]:
    try:
        import biotite.file
        from biotite.structure import BadStructureError
        from biotite.structure.io import mol, pdbx
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "biotite":
            raise
        raise SetupError(
            "Structures need biotite, in the extra `views`.", f"Install it: {install_line('views')}"
        ) from None

    try:
        if kind == "pdb":
            return _read_pdb(text)
        if kind == "cif":
            file = pdbx.CIFFile.read(io.StringIO(text))
            atoms = pdbx.get_structure(file, model=1, extra_fields=["b_factor"])
            return _not_empty(atoms), pdbx.get_model_count(file)
        if "$$$$" not in text:
            text = f"{text.rstrip()}\n$$$$\n"
        records = list(mol.SDFile.read(io.StringIO(text)).values())
        return _not_empty(records[0].get_structure()), len(records)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        NotImplementedError,
        struct.error,
        BadStructureError,
        biotite.file.InvalidFileError,
        biotite.file.SerializationError,
        biotite.file.DeserializationError,
    ) as error:
        raise _unreadable(kind, name, str(error)) from error


def _read_pdb(text: str) -> tuple[Any, int]:
    from biotite.file import InvalidFileError
    from biotite.structure.io import pdb

    file = pdb.PDBFile.read(io.StringIO(text))
    models = file.get_model_count()
    if not models:
        raise ValueError("it has no atoms")
    try:
        return file.get_structure(model=1, extra_fields=["b_factor"]), models
    except (ValueError, InvalidFileError):
        _check_columns(text)
        raise


def _complete_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a PDB file with one location per residue, and no missing values.

    The first of alternate locations is kept, as biotite does; 3Dmol would keep those called A only.
    Biotite needs an occupancy and a B-factor.
    """
    locations: dict[str, str] = {}
    for line in lines:
        if line.startswith("MODEL "):
            locations.clear()
        if not line.startswith(("ATOM", "HETATM")):
            yield line
            continue
        location = line[16:17].strip()
        if location and locations.setdefault(line[21:27], location) != location:
            continue
        occupancy, b_factor = line[54:60].strip() or "1.00", line[60:66].strip() or "0.00"
        yield f"{line[:16]:16} {line[17:54]:37}{occupancy:>6}{b_factor:>6}{line[66:]}"


def _check_columns(text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("ATOM", "HETATM")):
            try:
                [float(line[start : start + 8]) for start in (30, 38, 46)]
            except ValueError:
                problem = f"line {number:,} has no coordinates in columns 31 to 54"
                raise ValueError(problem) from None


def _not_empty(atoms: Any) -> Any:
    if atoms.array_length() == 0:
        raise ValueError("it has no atoms")
    return atoms


def _unreadable(kind: str, name: str, reason: str) -> InputError:
    title = {"pdb": "PDB", "cif": "mmCIF", "sdf": "SDF"}[kind]
    return InputError(
        f"{quote_value(name) if name else 'The content'} could not be read as {title}: "
        f"{plain(reason, 160).rstrip('.')}.",
        "Check that the file is complete and of this format.",
    )


@dataclass
class _PolymerResidue:
    """A residue of a polymer: its letter, trace atom and atoms, by their indices."""

    residue: Residue
    letter: str
    center: int
    atoms: npt.NDArray[np.int64]
    nucleotide: bool
    hetero: bool


def _find_residues(structure: Structure) -> None:
    """Find the polymer's residues, chain by chain, their trace atoms and secondary structure."""
    atoms = structure.atoms
    candidates = list(_polymer_residues(atoms))
    found = [
        item
        for n, item in enumerate(candidates)
        if not item.hetero
        or any(_bonded(item, other, atoms) for other in candidates[max(n - 1, 0) : n + 2])
    ]
    if not found:
        return
    order = {chain: n for n, chain in enumerate(dict.fromkeys(p.residue.chain for p in found))}
    found.sort(key=lambda item: order[item.residue.chain])  # chains may be in several parts
    trace = [item.center for item in found]
    polymer = [item.atoms for item in found]
    structure.residues = [item.residue for item in found]
    structure.letters = "".join(item.letter for item in found)
    structure.polymer_atoms = np.concatenate(polymer)
    structure.trace = structure.coordinates[trace]
    structure.b_factors = np.asarray(atoms.b_factor[trace], dtype=np.float64)
    nucleotides = [item.nucleotide for item in found]
    structure.secondary = _secondary_structure(atoms[trace], nucleotides)
    structure.confidence = _is_confidence(structure, polymer)


def _polymer_residues(atoms: Any) -> Iterator[_PolymerResidue]:
    """Yield the residues with the atoms of an amino acid or a nucleotide, ligands among them."""
    import biotite.structure as bio

    starts = bio.get_residue_starts(atoms, add_exclusive_stop=True)
    names = np.char.strip(atoms.atom_name)
    for start, stop in itertools.pairwise(starts):
        residue = str(atoms.res_name[start])
        positions = {str(names[i]): i for i in range(start, stop)}
        nucleotide = "C1'" in positions and ("P" in positions or "O4'" in positions)
        if "CA" in positions and (residue in _AMINO_ACIDS or "N" in positions):
            center, letter = positions["CA"], _AMINO_ACIDS.get(residue, "X")
            if atoms.element[center] == "CA" and stop - start == 1:
                continue  # a calcium ion
        elif nucleotide or (residue in _NUCLEOTIDES and "P" in positions):
            center = positions.get("P", positions.get("C1'", start))
            letter = _NUCLEOTIDES.get(residue, "N")
        else:
            continue
        chain, insertion = (str(a[start]).strip() for a in (atoms.chain_id, atoms.ins_code))
        yield _PolymerResidue(
            Residue(chain, int(atoms.res_id[start]), residue, insertion),
            letter,
            center,
            np.arange(start, stop),
            "CA" not in positions,
            bool(atoms.hetero[start]),
        )


def _bonded(one: _PolymerResidue, other: _PolymerResidue, atoms: Any) -> bool:
    """Return whether two residues are neighbours in a chain; a ligand such as ATP has none."""
    if one is other or one.residue.chain != other.residue.chain:
        return False
    if one.nucleotide != other.nucleotide:
        return False
    distance = np.linalg.norm(atoms.coord[one.center] - atoms.coord[other.center])
    if distance < _reach(one.nucleotide):
        return True
    between = atoms.coord[one.atoms][:, None] - atoms.coord[other.atoms]
    return bool(np.linalg.norm(between, axis=-1).min() < _MAX_BOND)


def _reach(nucleotide: bool) -> float:
    """Return the largest distance in Å of the trace atoms of two bonded residues."""
    return 9.0 if nucleotide else 4.6


def _secondary_structure(trace: Any, nucleotides: list[bool]) -> str:
    """Return the secondary structure by the P-SEA algorithm."""
    import biotite.structure as bio

    states = ["n" if nucleotide else "c" for nucleotide in nucleotides]
    trace = trace.copy()
    trace.res_name[:] = "ALA"  # modified residues would be left out
    trace.hetero[:] = False
    trace.ins_code[:] = ""
    for chain in dict.fromkeys(trace.chain_id):
        is_part = (trace.chain_id == chain) & (trace.atom_name == "CA")
        indices = np.flatnonzero(is_part & ~np.array(nucleotides))
        if len(indices):
            offsets = trace.coord[indices] - np.median(trace.coord[indices], axis=0)
            indices = indices[(np.abs(offsets) < _REACH).all(axis=1)]
        if len(indices) < 4:
            continue
        part = trace[indices]
        part.res_id = np.arange(len(indices)) + _gaps(part.coord)
        elements = bio.annotate_sse(part)
        if elements.dtype.kind == "i":  # biotite 2
            elements = bio.PSeaElement.to_symbols(elements)
        for i, element in zip(indices, elements, strict=True):
            states[i] = {"a": "h", "b": "s"}.get(str(element), "c")
    return "".join(states)


def _gaps(coordinates: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return for each residue the number of chain breaks before it."""
    steps = np.linalg.norm(np.diff(coordinates, axis=0), axis=1)
    return np.concatenate([[0], np.cumsum(steps > _reach(nucleotide=False))]).astype(np.int64)


def _is_confidence(structure: Structure, polymer: list[npt.NDArray[Any]]) -> bool:
    """Return whether B-factors are predicted confidences, from 0 to 100.

    The file says so, as those of AlphaFold 3, which has one for each atom, or they are equal within
    each residue. Refinement against data of low resolution has such B-factors, too.
    """
    if _EXPERIMENT.search(structure.content):
        return False
    values = structure.b_factors
    if values.min() < 0 or values.max() > 100 or np.ptp(values) == 0:
        return False
    is_fraction = values.max() <= 1
    patterns = (_QUALITY, _CONFIDENCE)
    is_declared = all(pattern.search(structure.content) for pattern in patterns)
    if not is_declared and not _has_equal_b_factors(structure, polymer, is_fraction=is_fraction):
        return False
    if is_fraction:
        structure.b_factors = values * 100
    return True


def _has_equal_b_factors(
    structure: Structure, polymer: list[npt.NDArray[Any]], *, is_fraction: bool
) -> bool:
    full = [indices for indices in polymer if len(indices) > 1]
    if len(full) < len(polymer) / 2 or (not is_fraction and structure.b_factors.mean() < 25):
        return False
    b_factor = structure.atoms.b_factor
    equal = sum(bool(np.ptp(b_factor[indices]) < 0.02) for indices in full)
    return equal >= 0.98 * len(full)
