"""Minimize a peptide in the Amber force field with implicit solvent (OpenMM)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from labext.sandbox.jobs.tools import _inputs, _outputs, _protein, peptide_build
from labext.sandbox.jobs.tools._protein import Coordinates, Residue
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

if TYPE_CHECKING:
    from labext.sandbox.jobs.tools._protein import Array

_BACKBONE_ATOMS = ("N", "CA", "C", "O")
_SIDE_CHAIN_ATOMS = {
    "ALA": "CB", "ARG": "CB CG CD NE CZ NH1 NH2", "ASN": "CB CG OD1 ND2", "ASP": "CB CG OD1 OD2",
    "CYS": "CB SG", "GLN": "CB CG CD OE1 NE2", "GLU": "CB CG CD OE1 OE2", "GLY": "",
    "HIS": "CB CG ND1 CD2 CE1 NE2", "ILE": "CB CG1 CG2 CD1", "LEU": "CB CG CD1 CD2",
    "LYS": "CB CG CD CE NZ", "MET": "CB CG SD CE", "PHE": "CB CG CD1 CD2 CE1 CE2 CZ",
    "PRO": "CB CG CD", "SER": "CB OG", "THR": "CB OG1 CG2",
    "TRP": "CB CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2", "TYR": "CB CG CD1 CD2 CE1 CE2 CZ OH",
    "VAL": "CB CG1 CG2",
}  # fmt: skip
"""Side-chain heavy atoms of the 20 amino acids, by their names in the PDB."""
_TERMINAL_BOND_LENGTH = 1.25
"""Length in Å of the bonds from the last carbon to its oxygens."""


def write_complete_residues(residues: Sequence[Residue], path: Path) -> None:
    """Write the heavy atoms as a PDB file, adding a missing terminal oxygen to each chain."""
    places: dict[Coordinates, str] = {}
    links = [*_protein.follows_previous(residues), False]
    lines: list[str] = []
    for index, residue in enumerate(residues):
        name = f"{residue.name} {residue.number} of chain {residue.chain}"
        is_first = index == 0 or residues[index - 1].chain != residue.chain
        if not is_first and not links[index]:
            raise ToolError(f"pdbFile: the chain has a gap before {name}.")
        is_last = index + 1 == len(residues) or residues[index + 1].chain != residue.chain
        for atom, element, xyz in _expected_atoms(residue, name, is_last):
            if other := places.get(xyz):
                raise ToolError(f"pdbFile: {atom} of {name} has the coordinates of {other}.")
            places[xyz] = f"{atom} of {name}"
            lines.append(_protein.atom_line(len(lines) + 1, residue, atom, element, xyz, 0.0))
        if is_last:
            lines.append("TER")
    path.write_text("\n".join([*lines, "END\n"]), encoding="utf-8")


def _expected_atoms(
    residue: Residue, name: str, is_last: bool
) -> list[tuple[str, str, Coordinates]]:
    if residue.name not in _SIDE_CHAIN_ATOMS:
        raise ToolError(f"pdbFile: {name} is not one of the 20 amino acids.")
    expected = [*_BACKBONE_ATOMS, *_SIDE_CHAIN_ATOMS[residue.name].split()]
    atom_by_name = {atom.name: atom for atom in residue.heavy}
    missing = [atom for atom in expected if atom not in atom_by_name]
    if missing:
        raise ToolError(f"pdbFile: {name} has no {', '.join(missing)}.")
    unknown = [atom for atom in atom_by_name if atom not in (*expected, "OXT")]
    if unknown:
        raise ToolError(f"pdbFile: {name} has an unknown atom {unknown[0]}.")
    atoms = [(atom, atom_by_name[atom].element, atom_by_name[atom].xyz) for atom in expected]
    if is_last:
        oxygen = atom_by_name["OXT"].xyz if "OXT" in atom_by_name else _terminal_oxygen(residue)
        atoms.append(("OXT", "O", oxygen))
    return atoms


def _terminal_oxygen(residue: Residue) -> Coordinates:
    """Return the position opposite the bonds of the last carbon, in their plane."""
    import numpy as np

    carbon = np.array(residue.atoms["C"].xyz)
    direction = np.zeros(3)
    for name in ("CA", "O"):
        bond = np.array(residue.atoms[name].xyz) - carbon
        direction -= bond / np.linalg.norm(bond)
    x, y, z = carbon + _TERMINAL_BOND_LENGTH * direction / np.linalg.norm(direction)
    return float(x), float(y), float(z)


ENERGY_TERMS = ("bonds", "angles", "torsions", "nonbonded", "solvent")
_FORCE_FIELD = "amber14/protein.ff14SB.xml"
_SINGLE_TERMINAL_FORMS = ("ASP", "CYS", "GLU", "LYS")
_WATER_DIELECTRIC = 78.5
_BORN_RADII = {"C": 1.7, "N": 1.55, "O": 1.5, "S": 1.8}
_SCREENING = {"H": 0.85, "C": 0.72, "N": 0.79, "O": 0.85, "S": 0.96}
"""Radii in Å (mbondi2: hydrogens 1.2, on nitrogen 1.3) and Hawkins' screening factors, as used in
Amber for OBC2 (A. Onufriev, D. Bashford, D. A. Case, 2004, doi 10.1002/prot.20033)."""


@dataclass(frozen=True)
class PreparedPeptide:
    """A peptide with hydrogens, as OpenMM objects.

    Attributes:
        topology: the `openmm.app.Topology`.
        coordinates: (n, 3) in ångström.
        system: the `openmm.System`; the group of each force is the index of its term in
            `ENERGY_TERMS`.
    """

    topology: Any
    coordinates: Array
    system: Any

    def heavy_atom_mask(self) -> Array:
        """Return the (n,) mask of the heavy atoms."""
        import numpy as np

        return np.array([atom.element.symbol != "H" for atom in self.topology.atoms()])

    def write(self, coordinates: Array, path: Path) -> None:
        """Write a PDB file without the header, which would contain the date."""
        from openmm import app, unit

        with path.open("w", encoding="utf-8", newline="\n") as file:
            app.PDBFile.writeModel(self.topology, coordinates * unit.angstrom, file, keepIds=True)
            app.PDBFile.writeFooter(self.topology, file)


@dataclass(frozen=True)
class MinimizationResult:
    """Result of an energy minimization.

    Attributes:
        coordinates: (n, 3) in ångström.
        before, after: the energy by term in kJ/mol.
        energies: the energy of each iteration in kJ/mol.
        force: the root mean square of the final force components in kJ/mol/nm.
    """

    coordinates: Array
    before: dict[str, float]
    after: dict[str, float]
    energies: list[float]
    force: float


def prepare_peptide(path: Path, ph: float, solvent: bool) -> PreparedPeptide:
    """Read a PDB file of complete residues, and add the hydrogens for this pH.

    OpenMM places hydrogens with a random shift and then minimizes their energy; the random seed is
    fixed.
    """
    import numpy as np
    import openmm
    from openmm import app, unit

    pdb = app.PDBFile(str(path))
    field = app.ForceField(_FORCE_FIELD)
    modeller = app.Modeller(pdb.topology, pdb.positions)
    with _fixed_random_seed():
        modeller.addHydrogens(
            field, pH=ph, variants=_terminal_variants(modeller.topology), platform=_platform()
        )
    topology = modeller.topology
    system = field.createSystem(topology, nonbondedMethod=app.NoCutoff, removeCMMotion=False)
    groups = {
        openmm.HarmonicBondForce: "bonds",
        openmm.HarmonicAngleForce: "angles",
        openmm.PeriodicTorsionForce: "torsions",
        openmm.NonbondedForce: "nonbonded",
    }
    for force in system.getForces():
        force.setForceGroup(ENERGY_TERMS.index(groups[type(force)]))
    if solvent:
        system.addForce(_solvent_force(topology, system))
    coordinates = np.array(modeller.positions.value_in_unit(unit.angstrom), dtype=float)
    return PreparedPeptide(topology, coordinates, system)


def _terminal_variants(topology: Any) -> list[str | None]:
    """Return the forms of the residues; None for those that OpenMM chooses for the pH.

    Amber ff14SB has a single form of `_SINGLE_TERMINAL_FORMS` at the ends of chains, besides that
    of cysteine in a disulfide.
    """
    variants: list[str | None] = [None] * topology.getNumResidues()
    bonded = {
        atom.residue.index
        for bond in topology.bonds()
        if all(atom.name == "SG" for atom in bond)
        for atom in bond
    }
    for chain in topology.chains():
        residues = list(chain.residues())
        for residue in (residues[0], residues[-1]):
            if residue.name in _SINGLE_TERMINAL_FORMS and residue.index not in bonded:
                variants[residue.index] = residue.name
    return variants


def _solvent_force(topology: Any, system: Any) -> Any:
    """Return the force of the implicit solvent OBC2; ten times faster than OpenMM's XML file."""
    import openmm

    nonbonded = next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    on_nitrogen = set()
    for bond in topology.bonds():
        for atom1, atom2 in (bond, reversed(bond)):
            if atom2.element.symbol == "N":
                on_nitrogen.add(atom1.index)
    force = openmm.GBSAOBCForce()
    force.setSolventDielectric(_WATER_DIELECTRIC)
    force.setSoluteDielectric(1.0)
    force.setNonbondedMethod(openmm.GBSAOBCForce.NoCutoff)
    force.setForceGroup(ENERGY_TERMS.index("solvent"))
    for atom in topology.atoms():
        element = atom.element.symbol
        radius = _BORN_RADII.get(element, 1.3 if atom.index in on_nitrogen else 1.2)
        charge = nonbonded.getParticleParameters(atom.index)[0]
        force.addParticle(charge, radius / 10, _SCREENING[element])
    return force


def minimize_energy(
    start: PreparedPeptide, iterations: int, tolerance: float
) -> MinimizationResult:
    """Minimize the energy (L-BFGS) until the root mean square force is `tolerance` kJ/mol/nm."""
    import numpy as np
    import openmm
    from openmm import unit

    energies: list[float] = []

    class Reporter(openmm.MinimizationReporter):  # type: ignore[misc]
        def report(self, iteration: int, x: Any, grad: Any, args: Any) -> bool:
            del iteration, x, grad
            energies.append(float(args["system energy"]))
            return False

    # Required by the context, and not used.
    integrator = openmm.VerletIntegrator(0.001)
    context = openmm.Context(start.system, integrator, _platform())
    context.setPositions(start.coordinates * unit.angstrom)
    before = _energy_terms(context)
    openmm.LocalEnergyMinimizer.minimize(context, tolerance, iterations, Reporter())
    state = context.getState(getPositions=True, getForces=True)
    coordinates = state.getPositions(asNumpy=True).value_in_unit(unit.angstrom)
    forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    force, after = float(np.sqrt(np.mean(np.array(forces) ** 2))), _energy_terms(context)
    return MinimizationResult(np.array(coordinates), before, after, energies, force)


def _energy_terms(context: Any) -> dict[str, float]:
    from openmm import unit

    energies = {}
    for group, term in enumerate(ENERGY_TERMS):
        energy = context.getState(getEnergy=True, groups={group}).getPotentialEnergy()
        energies[term] = float(energy.value_in_unit(unit.kilojoule_per_mole))
    return energies


def _platform() -> Any:
    import openmm

    return openmm.Platform.getPlatformByName("Reference")


@contextmanager
def _fixed_random_seed() -> Iterator[None]:
    """Fix the seed of Python's random numbers, and restore their state afterwards."""
    state = random.getstate()
    random.seed(1)
    try:
        yield
    finally:
        random.setstate(state)


MIN_RESIDUES, MAX_RESIDUES = 2, 25
MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class _Request:
    sequence: str | None
    conformation: str
    iterations: int
    tolerance: float
    ph: float
    solvent: bool


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence, conformation = None, "helix"
    if values.get("sequence") is not None:
        if values.get("pdbFile") is not None:
            raise ToolError("pdbFile: it can't be combined with sequence.")
        sequence = _inputs.read_sequence(
            values, "sequence", _inputs.PROTEIN, MIN_RESIDUES, MAX_RESIDUES
        )
        if values.get("conformation") is not None:
            conformation = _inputs.read_choice(
                values, "conformation", tuple(peptide_build.CONFORMATION_ANGLES)
            )
    elif values.get("pdbFile") is None:
        raise ToolError("sequence: it is missing; send sequence or pdbFile.")
    else:
        _inputs.read_text(values, "pdbFile")
        if values.get("conformation") is not None:
            raise ToolError("conformation: it applies only if sequence is sent.")
    return _Request(
        sequence,
        conformation,
        _inputs.read_integer(values, "iterations", 1, MAX_ITERATIONS),
        _inputs.read_number(values, "tolerance", 0.1, 1000),
        _inputs.read_number(values, "ph", 0, 14),
        _inputs.read_choice(values, "solvent", ("obc2", "none")) == "obc2",
    )


TOOL = Tool(
    name="peptide_relax",
    display_name="Peptide relaxation",
    description=(
        "Minimises the energy of a peptide, built from its sequence or sent as a structure, "
        "with the force field Amber ff14SB and the implicit solvent OBC2, without a cutoff. "
        "Hydrogens are added for the given pH. There is no dynamics, so this does not "
        "predict a fold. Returns the initial and the minimised structure as PDB files, and "
        "the energy by term and by iteration in kJ/mol; rmsd is between the heavy atoms of "
        "both structures, in ångström."
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
                f"{MIN_RESIDUES} to {MAX_RESIDUES} residues. Either this or pdbFile must be sent."
            ),
        ),
        Parameter(
            "pdbFile",
            type="pdb",
            content=("protein structure",),
            description=(
                f"A peptide in PDB format instead of sequence, {MIN_RESIDUES} to {MAX_RESIDUES} "
                "whole residues of the 20 amino acids; its hydrogens are replaced, and water "
                "and ligands are removed."
            ),
        ),
        Parameter(
            "conformation",
            options=tuple(peptide_build.CONFORMATION_ANGLES),
            description="Only with sequence: the initial conformation; by default helix.",
        ),
        Parameter(
            "iterations",
            type="integer",
            default=500,
            description=f"Maximum number of iterations, 1 to {MAX_ITERATIONS:,}.",
        ),
        Parameter(
            "tolerance",
            type="number",
            default=10.0,
            description=(
                "Root mean square force in kJ/mol/nm below which minimisation stops, 0.1 to 1,000."
            ),
        ),
        Parameter(
            "ph",
            default=7.0,
            description=(
                "The pH for which hydrogens are added, 0 to 14. Both ends of a chain, and Asp, "
                "Cys, Glu or Lys there, keep their form of pH 7, the only one of the force field."
            ),
        ),
        Parameter(
            "solvent",
            default="obc2",
            options=("obc2", "none"),
            description="obc2: implicit water (doi 10.1002/prot.20033); none: vacuum.",
        ),
    ),
    requires=("openmm", "numpy", "PeptideBuilder", "Bio"),
    # openmm is omitted: its import loads GPU drivers, whose threads do not survive a fork.
    preload=("numpy",),
    extra="tools",
    passes=("rank_1.pdb",),
    figures=("minimisation.csv", "energies.csv"),
    passes_content="protein structure",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `rank_1.pdb`, `start.pdb`, `energies.csv` and `minimisation.csv`.

    The score: `energy_before` (after adding hydrogens) and `energy_after` in kJ/mol; `rmsd` of the
    superposed heavy atoms from their start in ångström; the final `force` in kJ/mol/nm.
    """
    request = _read_request(settings)
    with TemporaryDirectory() as folder:
        start = _write_start(request, inputs, Path(folder))
        peptide = prepare_peptide(start, request.ph, request.solvent)
    result = minimize_energy(peptide, request.iterations, request.tolerance)
    peptide.write(peptide.coordinates, out / "start.pdb")
    peptide.write(result.coordinates, out / "rank_1.pdb")
    _write_tables(result, out)
    heavy = peptide.heavy_atom_mask()
    rmsd = _protein.superposed_rmsd(peptide.coordinates[heavy], result.coordinates[heavy])
    return {
        "residues": peptide.topology.getNumResidues(),
        "atoms": len(heavy),
        "energy_before": round(sum(result.before.values()), 3),
        "energy_after": round(sum(result.after.values()), 3),
        "rmsd": round(rmsd, 3),
        "force": round(result.force, 3),
        "iterations": len(result.energies),
        "converged": "yes" if result.force <= request.tolerance else "no",
    }


def _write_start(request: _Request, inputs: Mapping[str, Path], folder: Path) -> Path:
    """Write the heavy atoms of the built or uploaded peptide as a PDB file."""
    if request.sequence is not None:
        build_settings = {"sequence": request.sequence, "conformation": request.conformation}
        peptide_build.run(build_settings, {}, folder)
        return folder / "peptide.pdb"
    residues = _protein.read_residues(inputs["pdbFile"])
    _protein.check_size(residues, MIN_RESIDUES, MAX_RESIDUES)
    write_complete_residues(residues, folder / "complete.pdb")
    return folder / "complete.pdb"


def _write_tables(result: MinimizationResult, out: Path) -> None:
    """Write `energies.csv` by term and `minimisation.csv` by iteration."""
    before, after = (
        terms | {"total": sum(terms.values())} for terms in (result.before, result.after)
    )
    rows = ((term, f"{before[term]:.3f}", f"{after[term]:.3f}") for term in before)
    _outputs.write_csv(out / "energies.csv", ("term", "before", "after"), rows)
    iterations = ((n, f"{energy:.3f}") for n, energy in enumerate(result.energies, 1))
    _outputs.write_csv(out / "minimisation.csv", ("iteration", "energy"), iterations)
