"""Protein structures: PDB files, dihedral angles, secondary structure and accessible area."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.messages import pluralize
from labext.sandbox.jobs.tools._inputs import read_file
from labext.sandbox.jobs.tools.tool import ToolError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]


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
    def heavy(self) -> list[Atom]:
        """The non-hydrogen atoms."""
        return [atom for atom in self.atoms.values() if atom.element not in ("H", "D")]


def atom_line(
    serial: int, residue: Residue, name: str, element: str, xyz: Sequence[float], b_factor: float
) -> str:
    """Return an ATOM record; the insertion code of the residue is in column 27."""
    number = residue.number if residue.number[-1:].isalpha() else f"{residue.number} "
    return (
        f"ATOM  {serial:5d}  {name:<3} {residue.name:>3} {residue.chain}{number:>5}   "
        f"{xyz[0]:8.3f}{xyz[1]:8.3f}{xyz[2]:8.3f}  1.00{b_factor:6.2f}          {element:>2}"
    )


@dataclass(frozen=True)
class _AtomRecord:
    residue: tuple[str, str]
    name: str
    alternative: str
    occupancy: float
    atom: Atom


def read_residues(path: Path, model: int = 1, chains: Collection[str] = ()) -> list[Residue]:
    """Read the protein residues of a model (from 1) of the input file, in the order of the file."""
    lines = read_file(path, "pdbFile", _MAX_FILE_BYTES).splitlines()
    content = (line for line in lines if line and not line.startswith("#"))
    if next(content, "").startswith("data_"):
        raise ToolError("pdbFile: it is an mmCIF file; send the structure in PDB format.")
    grouped: dict[tuple[str, str], list[_AtomRecord]] = {}
    for record in _read_records(lines, model):
        grouped.setdefault(record.residue, []).append(record)
    residues = [
        residue for group in grouped.values() if (residue := _build_residue(group)) is not None
    ]
    if not residues:
        raise ToolError("pdbFile: it has no alpha carbons; a protein in PDB format is required.")
    existing = dict.fromkeys(residue.chain for residue in residues)
    for chain in chains:
        if chain not in existing:
            raise ToolError(
                f"chains: there is no chain {chain}; the file has {', '.join(existing)}."
            )
    return [residue for residue in residues if not chains or residue.chain in chains]


def check_size(residues: Sequence[Residue], low: int, high: int) -> None:
    """Raise ToolError if a protein is too small or too large."""
    if not low <= len(residues) <= high:
        count = pluralize(len(residues), "residue")
        raise ToolError(f"pdbFile: it has {count}; {low} to {high} are allowed.")


def _read_records(lines: list[str], model: int) -> Iterator[_AtomRecord]:
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
                    f"pdbFile: line {line_number} is not a valid ATOM record."
                ) from None


def _parse_record(line: str) -> _AtomRecord:
    """Parse an ATOM record; ValueError if it is malformed."""
    x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    occupancy = float(line[54:60].strip() or 1)
    name = line[12:16].strip()
    # A line that was cut within its coordinates has wrong ones.
    if not name or len(line) < 54 or not all(abs(value) < 1e5 for value in (x, y, z, occupancy)):
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
    if line[17:20].strip() in ("CA", "CAL"):  # a calcium ion, also of simulations
        return "CA"
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
        # Some files leave the label of the first location of an atom blank.
        if record.name == name and (record.alternative or record.atom.name not in residue.atoms):
            residue.atoms[record.atom.name] = record.atom
    alpha = residue.atoms.get("CA")
    if alpha is None or alpha.element != "C":
        return None
    alphas = [
        record.alternative
        for record in selected
        if (record.atom.name, record.atom.element) == ("CA", "C")
    ]
    if len(alphas) > len({*alphas}):
        raise ToolError(
            f"pdbFile: residue {number} of chain {chain} occurs twice; give each chain its own "
            "letter, and each model MODEL and ENDMDL records."
        )
    return residue


def dihedral_angle(
    first: ArrayLike, second: ArrayLike, third: ArrayLike, fourth: ArrayLike
) -> float:
    """Return the dihedral angle of four points in degrees, -180 to 180."""
    import numpy as np

    points = [np.asarray(point, dtype=float) for point in (first, second, third, fourth)]
    bond1, bond2, bond3 = (end - start for start, end in pairwise(points))
    normal1, normal2 = np.cross(bond1, bond2), np.cross(bond2, bond3)
    return math.degrees(
        math.atan2(np.linalg.norm(bond2) * np.dot(bond1, normal2), np.dot(normal1, normal2))
    )


def radius_of_gyration(coordinates: Array, masses: Array) -> float:
    """Return the mass-weighted radius of gyration in the unit of the (n, 3) coordinates."""
    import numpy as np

    center = np.average(coordinates, axis=0, weights=masses)
    return float(np.sqrt(np.average(((coordinates - center) ** 2).sum(axis=1), weights=masses)))


def superposed_rmsd(coords: Array, reference: Array) -> float:
    """Return the RMSD of two (n, 3) arrays after optimal superposition (Kabsch)."""
    import numpy as np

    first, second = coords - coords.mean(axis=0), reference - reference.mean(axis=0)
    left, sizes, right = np.linalg.svd(first.T @ second)
    # Exclude reflections: flip the sign of the smallest singular value.
    sizes[-1] *= np.sign(np.linalg.det(left) * np.linalg.det(right))
    squared_distance = (first**2).sum() + (second**2).sum() - 2 * sizes.sum()
    return float(np.sqrt(max(squared_distance, 0.0) / len(coords)))


LARGEST_RADIUS = 1.88
"""Radius of an sp3 carbon with its hydrogens, in Å; the largest of all atoms."""

_ELEMENT_RADII = {"C": LARGEST_RADIUS, "N": 1.64, "O": 1.42, "S": 1.77}
_PLANAR_CARBONS = {
    "ARG": "CZ", "ASN": "CG", "ASP": "CG", "GLN": "CD", "GLU": "CD", "HIS": "CG", "PHE": "CG",
    "TRP": "CG CD2 CE2", "TYR": "CG CZ",
}  # fmt: skip
_PLANAR_CARBONS_WITH_HYDROGEN = {
    "HIS": "CD2 CE1", "PHE": "CD1 CD2 CE1 CE2 CZ", "TRP": "CD1 CE3 CZ2 CZ3 CH2",
    "TYR": "CD1 CD2 CE1 CE2",
}  # fmt: skip
_HYDROXYL_OXYGENS = {"SER": "OG", "THR": "OG1", "TYR": "OH", "ASP": "OD2", "GLU": "OE2"}
"""ProtOr's atom groups for the 20 amino acids; acids are protonated, as in the chemical component
dictionary. biotite would load that dictionary, which takes half a second per job."""

MAX_ACCESSIBLE_AREA = {
    "ALA": 129, "ARG": 274, "ASN": 195, "ASP": 193, "CYS": 167, "GLN": 225, "GLU": 223,
    "GLY": 104, "HIS": 224, "ILE": 197, "LEU": 201, "LYS": 236, "MET": 224, "MSE": 224,
    "PHE": 240, "PRO": 159, "SER": 155, "THR": 172, "TRP": 285, "TYR": 263, "VAL": 174,
}  # fmt: skip
"""Maximum area of a residue between two glycines in Å²; M. Z. Tien et al., 2013, table 1,
theoretical values (doi 10.1371/journal.pone.0080635)."""

_PROTONATED = {
    "ASH": "ASP", "CYM": "CYS", "CYX": "CYS", "GLH": "GLU", "LYN": "LYS",
    **dict.fromkeys(("HID", "HIE", "HIP", "HSD", "HSE", "HSP"), "HIS"),
}  # fmt: skip
"""Names of amino acids in files of Amber and CHARMM, which tell their protonation."""

_MAX_LINK_DISTANCE = 4.3
"""Maximum distance of linked alpha carbons in Å; 3.8 in a chain, 2.9 at a cis bond."""
_UNKNOWN_RADIUS = 1.8
"""Radius in Å of heavy atoms that are missing in the chemical component dictionary."""
_STRUCTURE_NAMES = {
    "a": "helix", "b": "strand", "c": "coil", "": "", 1: "helix", 2: "strand", 0: "coil", -1: "",
}  # fmt: skip
"""By the letters of biotite 1 and the codes of biotite 2 (`PSeaElement`)."""


def follows_previous(residues: Sequence[Residue]) -> list[bool]:
    """Return for each residue whether it is linked to the previous residue."""
    import numpy as np

    alphas = np.array([residue.atoms["CA"].xyz for residue in residues])
    is_near = np.linalg.norm(np.diff(alphas, axis=0), axis=1) < _MAX_LINK_DISTANCE
    pairs = zip(residues, residues[1:], is_near, strict=False)
    return [False, *(bool(close) and first.chain == second.chain for first, second, close in pairs)]


def secondary_structure(residues: Sequence[Residue]) -> list[str]:
    """Return the secondary structure of each residue: helix, strand or coil.

    Uses the alpha carbons only. biotite detects gaps by residue numbers, so residues are renumbered
    with a number skipped at every gap.
    """
    import biotite.structure as bio
    import numpy as np

    trace = bio.AtomArray(len(residues))
    trace.coord = np.array([residue.atoms["CA"].xyz for residue in residues], dtype=np.float32)
    trace.chain_id[:], trace.res_name[:] = "A", "ALA"
    trace.atom_name[:], trace.element[:] = "CA", "C"
    trace.res_id = np.cumsum([1 if link else 2 for link in follows_previous(residues)])
    # Angles of collinear or coinciding alpha carbons are undefined; these residues are coil.
    with np.errstate(invalid="ignore", divide="ignore"):
        elements = bio.annotate_sse(trace)
    return [_STRUCTURE_NAMES[element] for element in elements.tolist()]


def accessible_areas(residues: Sequence[Residue], coordinates: Array, probe: float) -> Array | None:
    """Return the accessible area of each residue in Å²; None for alpha carbons only.

    Uses the ProtOr radii, which include the hydrogens of heavy atoms (J. Tsai et al., 1999, doi
    10.1006/jmbi.1999.2829), and 1,000 points per atom.
    """
    import biotite.structure as bio
    import numpy as np

    if all(len(residue.heavy) == 1 for residue in residues):
        return None
    owners = np.repeat(np.arange(len(residues)), [len(residue.heavy) for residue in residues])
    array = bio.AtomArray(len(coordinates))
    array.coord = coordinates.astype(np.float32)
    array.res_id, array.res_name[:], array.element[:] = owners, "ALA", "C"
    radii = np.array(
        [_protor_radius(residue.name, atom.name) for residue in residues for atom in residue.heavy]
    )
    atom_areas = bio.sasa(
        array, probe_radius=probe, ignore_ions=False, point_number=1000, vdw_radii=radii
    )
    areas: Array = np.bincount(owners, weights=atom_areas, minlength=len(residues))
    return areas


def max_accessible_area(residue: str) -> int | None:
    """Return the area in `MAX_ACCESSIBLE_AREA` of a residue; None if it is unknown."""
    return MAX_ACCESSIBLE_AREA.get(_PROTONATED.get(residue, residue))


def _protor_radius(residue: str, atom: str) -> float:
    """Return the ProtOr radius of a heavy atom in Å."""
    residue = _PROTONATED.get(residue, residue)
    if residue in MAX_ACCESSIBLE_AREA and residue != "MSE":
        if atom == "C" or atom in _PLANAR_CARBONS.get(residue, "").split():
            return 1.61
        if atom in _PLANAR_CARBONS_WITH_HYDROGEN.get(residue, "").split():
            return 1.76
        if atom == "OXT" or atom == _HYDROXYL_OXYGENS.get(residue):
            return 1.46
        return _ELEMENT_RADII.get(atom[:1], _UNKNOWN_RADIUS)

    from biotite.structure.info import vdw_radius_protor

    try:
        return float(vdw_radius_protor(residue, atom) or _UNKNOWN_RADIUS)
    except (KeyError, ValueError):  # the residue or the atom is unknown
        return _UNKNOWN_RADIUS


def backbone_angles(residues: Sequence[Residue]) -> list[tuple[float | None, float | None]]:
    """Return the angles phi and psi of each residue in degrees.

    An angle is None at the end of a chain, at a gap, or if an atom is missing.
    """

    def angle(*atoms: tuple[Residue, str]) -> float | None:
        if any(name not in residue.atoms for residue, name in atoms):
            return None
        one, two, three, four = (residue.atoms[name].xyz for residue, name in atoms)
        return dihedral_angle(one, two, three, four)

    links = [*follows_previous(residues), False]
    angles = []
    for index, residue in enumerate(residues):
        phi = psi = None
        if links[index]:
            phi = angle((residues[index - 1], "C"), (residue, "N"), (residue, "CA"), (residue, "C"))
        if links[index + 1]:
            psi = angle((residue, "N"), (residue, "CA"), (residue, "C"), (residues[index + 1], "N"))
        angles.append((phi, psi))
    return angles


def atom_masses(atoms: Sequence[Atom]) -> Array:
    """Return the masses of atoms in daltons."""
    import numpy as np
    from biotite.structure.info import mass

    mass_by_element: dict[str, float] = {}
    for element in {atom.element for atom in atoms}:
        try:
            mass_by_element[element] = float(mass(element, is_residue=False))
        except KeyError:
            raise ToolError(f"pdbFile: {element!r} is not a chemical element.") from None
    return np.array([mass_by_element[atom.element] for atom in atoms])
