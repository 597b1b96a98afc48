"""A peptide in Amber's force field with implicit solvent, and its energy's minimum (OpenMM).

The reference platform computes in double precision on one core: the same peptide gives the same
bytes each time, and no job takes more of the machine than its share. Of 25 residues the CPU
platform would be twice as fast, in single precision.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

TERMS = ("bonds", "angles", "torsions", "nonbonded", "solvent")
_FIELD = "amber14/protein.ff14SB.xml"
_WATER = 78.5
_RADII = {"C": 1.7, "N": 1.55, "O": 1.5, "S": 1.8}
_SCREENING = {"H": 0.85, "C": 0.72, "N": 0.79, "O": 0.85, "S": 0.96}
"""Ångström (mbondi2: hydrogens 1.2, on nitrogen 1.3) and the factors of Hawkins, as Amber has them
for OBC2 (A. Onufriev, D. Bashford, D. A. Case, 2004, doi 10.1002/prot.20033)."""


@dataclass(frozen=True)
class Peptide:
    """A peptide with its hydrogens, and OpenMM's names for it.

    Attributes:
        topology: OpenMM's.
        places: (n, 3), ångström.
        system: the force field; each of its forces has a group, the index of its term in `TERMS`.
    """

    topology: Any
    places: Array
    system: Any

    def heavy(self) -> Array:
        """(n,): which atoms are no hydrogens."""
        import numpy as np

        return np.array([atom.element.symbol != "H" for atom in self.topology.atoms()])

    def write(self, places: Array, path: Path) -> None:
        """Write a PDB file, without the header, which would hold the date."""
        from openmm import app, unit

        with path.open("w", encoding="utf-8", newline="\n") as file:
            app.PDBFile.writeModel(self.topology, places * unit.angstrom, file, keepIds=True)
            app.PDBFile.writeFooter(self.topology, file)


@dataclass(frozen=True)
class Minimum:
    """What a minimisation found.

    Attributes:
        places: (n, 3), ångström.
        before, after: the terms of the energy, kJ/mol.
        energies: of each iteration, kJ/mol.
        force: the root mean square of the force's components at the end, kJ/mol/nm.
    """

    places: Array
    before: dict[str, float]
    after: dict[str, float]
    energies: list[float]
    force: float


def peptide(path: Path, ph: float, solvent: bool) -> Peptide:
    """Read a PDB file of whole residues, and add the hydrogens that it has at this pH.

    OpenMM puts each hydrogen near its place with a random shift, and lets the force field move the
    hydrogens alone; its random numbers are the same for each peptide.
    """
    import numpy as np
    import openmm
    from openmm import app, unit

    read = app.PDBFile(str(path))
    field = app.ForceField(_FIELD)
    modeller = app.Modeller(read.topology, read.positions)
    with _same_numbers():
        modeller.addHydrogens(field, pH=ph, platform=_platform())
    topology = modeller.topology
    system = field.createSystem(topology, nonbondedMethod=app.NoCutoff, removeCMMotion=False)
    groups = {
        openmm.HarmonicBondForce: "bonds",
        openmm.HarmonicAngleForce: "angles",
        openmm.PeriodicTorsionForce: "torsions",
        openmm.NonbondedForce: "nonbonded",
    }
    for force in system.getForces():
        force.setForceGroup(TERMS.index(groups[type(force)]))
    if solvent:
        system.addForce(_solvent(topology, system))
    places = np.array(modeller.positions.value_in_unit(unit.angstrom), dtype=float)
    return Peptide(topology, places, system)


def _solvent(topology: Any, system: Any) -> Any:
    """The implicit solvent OBC2, as OpenMM's own force: its XML file has a tenfold slower one."""
    import openmm

    nonbonded = next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    on_nitrogen = set()
    for bond in topology.bonds():
        for one, other in (bond, reversed(bond)):
            if other.element.symbol == "N":
                on_nitrogen.add(one.index)
    force = openmm.GBSAOBCForce()
    force.setSolventDielectric(_WATER)
    force.setSoluteDielectric(1.0)
    force.setNonbondedMethod(openmm.GBSAOBCForce.NoCutoff)
    force.setForceGroup(TERMS.index("solvent"))
    for atom in topology.atoms():
        element = atom.element.symbol
        radius = _RADII.get(element, 1.3 if atom.index in on_nitrogen else 1.2)
        charge = nonbonded.getParticleParameters(atom.index)[0]
        force.addParticle(charge, radius / 10, _SCREENING[element])
    return force


def minimise(start: Peptide, iterations: int, tolerance: float) -> Minimum:
    """Go downhill (L-BFGS) until the force is below `tolerance`, kJ/mol/nm, or `iterations` end."""
    import numpy as np
    import openmm
    from openmm import unit

    energies: list[float] = []

    class Reporter(openmm.MinimizationReporter):  # type: ignore[misc]
        def report(self, iteration: int, x: Any, grad: Any, args: Any) -> bool:
            del iteration, x, grad
            energies.append(float(args["system energy"]))
            return False

    # Nothing moves by it: a context wants an integrator.
    integrator = openmm.VerletIntegrator(0.001)
    context = openmm.Context(start.system, integrator, _platform())
    context.setPositions(start.places * unit.angstrom)
    before = _terms(context)
    openmm.LocalEnergyMinimizer.minimize(context, tolerance, iterations, Reporter())
    state = context.getState(getPositions=True, getForces=True)
    places = state.getPositions(asNumpy=True).value_in_unit(unit.angstrom)
    forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    return Minimum(
        np.array(places),
        before,
        _terms(context),
        energies,
        float(np.sqrt(np.mean(np.array(forces) ** 2))),
    )


def _terms(context: Any) -> dict[str, float]:
    from openmm import unit

    return {
        term: float(
            context.getState(getEnergy=True, groups={group})
            .getPotentialEnergy()
            .value_in_unit(unit.kilojoule_per_mole)
        )
        for group, term in enumerate(TERMS)
    }


def _platform() -> Any:
    import openmm

    return openmm.Platform.getPlatformByName("Reference")


@contextmanager
def _same_numbers() -> Iterator[None]:
    """Python's random numbers from the same seed; afterwards they go on as if nothing had been."""
    state = random.getstate()
    random.seed(1)
    try:
        yield
    finally:
        random.setstate(state)
