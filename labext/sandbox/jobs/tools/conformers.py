"""Generate and rank conformers of a small molecule (RDKit ETKDG and MMFF94)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

MAX_SMILES_LENGTH = 1000


def parse_smiles(name: str, smiles: str, max_atoms: int) -> Any:
    """Parse a molecule; its hydrogens are implicit.

    Raises:
        ToolError: it is no SMILES, no sound chemistry, several molecules, or too large.
    """
    from rdkit import Chem, rdBase

    text = smiles.strip()
    if len(text) > MAX_SMILES_LENGTH:
        raise ToolError(
            f"{name}: it has {len(text):,} characters; at most {MAX_SMILES_LENGTH:,} are allowed."
        )
    if (blank := re.search(r"\s", text)) is not None:
        raise ToolError(
            f"{name}: there is a space at {blank.start() + 1}, which SMILES does not allow."
        )
    reading = Chem.SmilesParserParams()
    reading.sanitize = False
    reading.removeHs = False
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text, reading)
        if molecule is None or molecule.GetNumAtoms() == 0:
            raise ToolError(f"{name}: {_inputs.quote_value(text)} can't be read as SMILES.")
        _check_molecule(name, text, molecule)
        molecule = Chem.MolFromSmiles(text)
    if molecule is None:
        raise ToolError(f"{name}: {_inputs.quote_value(text)} can't be read as a molecule.")
    heavy = molecule.GetNumHeavyAtoms()
    if not 1 <= heavy <= max_atoms:
        raise ToolError(f"{name}: it has {heavy} heavy atoms; 1 to {max_atoms} are allowed.")
    return molecule


def _check_molecule(name: str, text: str, molecule: Any) -> None:
    """Refuse valid SMILES that is not a single, complete molecule."""
    from rdkit import Chem

    problems = Chem.DetectChemistryProblems(molecule)
    if problems:
        message = " ".join(problems[0].Message().split()).rstrip(".")
        raise ToolError(f"{name}: it is not a valid molecule: {message}.")
    if any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms()):
        raise ToolError(f"{name}: it has an atom without an element (*).")
    parts = text.split(".")
    if len(Chem.GetMolFrags(molecule)) > 1:
        largest = max(parts, key=len)
        raise ToolError(
            f"{name}: it is a salt or mixture of {len(Chem.GetMolFrags(molecule))} parts; send one "
            f"of them, such as {_inputs.quote_value(largest)}."
        )


def count_stereocentres(molecule: Any) -> int:
    """Return the number of stereocentres, atoms and double bonds, with a configuration."""
    from rdkit import Chem

    clean = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    atoms = sum(a.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for a in clean.GetAtoms())
    free = (Chem.BondStereo.STEREONONE, Chem.BondStereo.STEREOANY)
    bonds = sum(bond.GetStereo() not in free for bond in clean.GetBonds())
    return int(atoms + bonds)


FORCE_FIELDS = {"mmff94": "MMFF94", "mmff94s": "MMFF94s", "uff": "UFF"}
_MAX_STEPS = 1000
_MAX_SYMMETRY_MAPS = 100
"""Maximum number of symmetric atom mappings of a molecule that are tried."""


@dataclass(frozen=True)
class Conformer:
    """A conformer: its RDKit id, its energy in kcal/mol, and whether the minimization converged."""

    id: int
    energy: float
    converged: bool


def embed_conformers(flat: Any, count: int, seed: int) -> Any:
    """Return the molecule with hydrogens and `count` conformers.

    Stereocentres that are left open get the configuration of the first embedding, in all of them.

    Raises:
        ToolError: it can't be embedded.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDistGeom

    full = Chem.AddHs(flat)
    options = rdDistGeom.ETKDGv3()
    options.randomSeed = seed
    options.numThreads = 1
    with rdBase.BlockLogs():
        if rdDistGeom.EmbedMolecule(full, options) < 0:
            options.useRandomCoords = True
            if rdDistGeom.EmbedMolecule(full, options) < 0:
                raise ToolError(
                    "smiles: no geometry was found; its configuration may be impossible."
                )
        Chem.AssignStereochemistryFrom3D(full)
        rdDistGeom.EmbedMultipleConfs(full, count, options)
    if full.GetNumConformers() == 0:
        raise ToolError("smiles: no geometry was found; another seed may find one.")
    return full


def relax_conformers(full: Any, field: str) -> tuple[str, list[Conformer]]:
    """Relax all conformers in place; return the force field and the conformers by energy.

    UFF is used if MMFF94 has no parameters for the molecule.

    Raises:
        ToolError: neither has parameters.
    """
    from rdkit import rdBase
    from rdkit.Chem import rdForceFieldHelpers as fields

    with rdBase.BlockLogs():
        if field != "uff" and not fields.MMFFHasAllMoleculeParams(full):
            field = "uff"
        if field == "uff" and not fields.UFFHasAllMoleculeParams(full):
            raise ToolError("smiles: no force field has parameters for all of its atoms.")
        if field == "uff":
            results = fields.UFFOptimizeMoleculeConfs(full, numThreads=1, maxIters=_MAX_STEPS)
        else:
            results = fields.MMFFOptimizeMoleculeConfs(
                full, numThreads=1, maxIters=_MAX_STEPS, mmffVariant=FORCE_FIELDS[field]
            )
    ids = [conformer.GetId() for conformer in full.GetConformers()]
    conformers = [
        Conformer(conformer_id, round(float(energy), 4), status == 0)
        for conformer_id, (status, energy) in zip(ids, results, strict=True)
        if status >= 0
    ]
    return FORCE_FIELDS[field], sorted(conformers, key=lambda c: (c.energy, c.id))


class ConformerDistances:
    """Distances between conformers of a molecule, without hydrogens and up to symmetry."""

    def __init__(self, full: Any) -> None:
        from rdkit import Chem

        self._full = full
        self._bare = Chem.RemoveAllHs(full)
        self._heavy = [atom.GetIdx() for atom in full.GetAtoms() if atom.GetAtomicNum() > 1]
        atom_maps = self._bare.GetSubstructMatches(
            self._bare, uniquify=False, maxMatches=_MAX_SYMMETRY_MAPS
        )
        self._atom_maps = [list(enumerate(atom_map)) for atom_map in atom_maps]

    def distance(self, first: Conformer, second: Conformer) -> float:
        """Return the RMSD in ångström after optimal superposition."""
        from rdkit.Chem import rdMolAlign

        return float(
            rdMolAlign.GetBestRMS(self._bare, self._bare, first.id, second.id, map=self._atom_maps)
        )

    def select_distinct(self, ranked: list[Conformer], min_distance: float) -> list[Conformer]:
        """Return the conformers that differ by more than `apart` from all selected before."""
        distinct: list[Conformer] = []
        for conformer in ranked:
            if all(self.distance(conformer, other) > min_distance for other in distinct):
                distinct.append(conformer)
        return distinct

    def align_to_best(self, conformers: list[Conformer]) -> list[float]:
        """Superpose all on the first, including hydrogens; return the distances to it."""
        from rdkit.Chem import rdMolAlign

        atom_maps = [
            [(self._heavy[a], self._heavy[b]) for a, b in atom_map] for atom_map in self._atom_maps
        ]
        distances = [
            float(
                rdMolAlign.GetBestRMS(
                    self._full, self._full, other.id, conformers[0].id, map=atom_maps
                )
            )
            for other in conformers[1:]
        ]
        return [0.0, *distances]


MAX_ATOMS, MAX_CONFORMERS, MAX_TOTAL_ATOMS = 60, 100, 1200
"""Limits of heavy atoms, conformers and their product, which takes about 15 seconds."""
_THERMAL_ENERGY = 0.0019872043 * 298.15
"""kcal/mol at 25 °C."""


@dataclass(frozen=True)
class _Request:
    molecule: Any
    count: int
    seed: int
    apart: float
    field: str


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    request = _Request(
        parse_smiles("smiles", _inputs.read_text(values, "smiles"), MAX_ATOMS),
        _inputs.read_integer(values, "conformers", 1, MAX_CONFORMERS),
        _inputs.read_integer(values, "seed", 0, 2**31 - 1),
        _inputs.read_number(values, "apart", 0, 10),
        _inputs.read_choice(values, "forceField", tuple(FORCE_FIELDS)),
    )
    heavy = request.molecule.GetNumHeavyAtoms()
    most = MAX_TOTAL_ATOMS // heavy
    if request.count > most:
        raise ToolError(
            f"conformers: {request.count} are too many for a molecule with {heavy} heavy atoms; "
            f"at most {most} are allowed."
        )
    return request


TOOL = Tool(
    name="conformers",
    display_name="Conformers",
    description=(
        "Generates conformers of a small molecule from its SMILES: embedded with ETKDG, "
        "minimised with the force field MMFF94 and ranked by energy, without "
        "near-duplicates. Returns a PDB file of each, an SDF file of all, a table of "
        "energies and populations at 25 °C, and a drawing. Energies are in kcal/mol, for the "
        "isolated molecule in vacuum. Unspecified stereocentres are assigned at random and "
        "reported."
    ),
    github="https://github.com/rdkit/rdkit",
    paper="https://doi.org/10.1021/acs.jcim.0c00025",
    parameters=(
        Parameter(
            "smiles",
            required=True,
            type="string",
            content=("SMILES",),
            description=(
                f"One molecule, at most {MAX_ATOMS} heavy atoms; hydrogens are added without "
                "changing charges, so write charges explicitly."
            ),
        ),
        Parameter(
            "conformers",
            type="integer",
            default=10,
            description=(
                f"Number of conformers to embed, 1 to {MAX_CONFORMERS}; multiplied by the "
                f"number of heavy atoms, at most {MAX_TOTAL_ATOMS:,}."
            ),
        ),
        Parameter(
            "seed",
            type="integer",
            default=1,
            description="The same seed gives the same conformers; 0 to 2147483647.",
        ),
        Parameter(
            "apart",
            default=0.5,
            description=(
                "RMSD of superposed heavy atoms in ångström, 0 to 10: of two conformers that "
                "are closer, the one with the higher energy is dropped."
            ),
        ),
        Parameter(
            "forceField",
            default="mmff94",
            options=tuple(FORCE_FIELDS),
            description=(
                "mmff94, mmff94s (planar nitrogens) or uff. If MMFF94 has no parameters for an "
                "atom, UFF is used, which is reported."
            ),
        ),
    ),
    requires=("rdkit",),
    preload=(
        "rdkit.Chem",
        "rdkit.Chem.rdDistGeom",
        "rdkit.Chem.rdForceFieldHelpers",
        "rdkit.Chem.rdMolAlign",
        "rdkit.Chem.rdMolDescriptors",
    ),
    extra="tools",
    passes=("rank_1.pdb",),
    figures=("conformers.csv",),
    passes_content="small molecule",
    check=_inputs.settings_check(_read_request),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `rank_1.pdb` …, `conformers.sdf`, `conformers.csv` and `molecule.svg`.

    The score: `energy` of the best and `spread` to the worst selected conformer, kcal/mol;
    `smiles`, the canonical SMILES of RDKit; `open_stereocentres`, the number of centres without a
    configuration in the input; `force_field`, the force field used.
    """
    del inputs
    request = _read_request(settings)

    from rdkit import Chem
    from rdkit.Chem import rdMolDescriptors

    full = embed_conformers(request.molecule, request.count, request.seed)
    field, ranked = relax_conformers(full, request.field)
    distances_between = ConformerDistances(full)
    distinct = distances_between.select_distinct(ranked, request.apart)
    bare = Chem.RemoveHs(full)
    smiles = Chem.MolToSmiles(bare)
    opened = count_stereocentres(bare) - count_stereocentres(request.molecule)
    distances = distances_between.align_to_best(distinct)
    shares = [
        exp((distinct[0].energy - conformer.energy) / _THERMAL_ENERGY) for conformer in distinct
    ]
    _write_structures(full, distinct, smiles, out)
    _write_table(distinct, distances, shares, out / "conformers.csv")
    _draw_formula(smiles, out / "molecule.svg")
    return {
        "conformers": len(distinct),
        "embedded": len(ranked),
        "energy": distinct[0].energy,
        "spread": round(distinct[-1].energy - distinct[0].energy, 4),
        "force_field": field,
        "smiles": smiles,
        "open_stereocentres": max(opened, 0),
        "heavy_atoms": request.molecule.GetNumHeavyAtoms(),
        "rotatable_bonds": int(rdMolDescriptors.CalcNumRotatableBonds(request.molecule)),
    }


def _write_structures(full: Any, conformers: Sequence[Conformer], smiles: str, out: Path) -> None:
    from rdkit import Chem

    with Chem.SDWriter(str(out / "conformers.sdf")) as writer:
        for rank, conformer in enumerate(conformers, 1):
            text = Chem.MolToPDBBlock(full, confId=conformer.id)
            (out / f"rank_{rank}.pdb").write_text(text, encoding="utf-8")
            full.SetProp("_Name", f"rank_{rank}")
            full.SetProp("smiles", smiles)
            full.SetProp("energy_kcal_mol", f"{conformer.energy:.4f}")
            writer.write(full, confId=conformer.id)


def _write_table(
    conformers: Sequence[Conformer], distances: Sequence[float], shares: Sequence[float], path: Path
) -> None:
    """Write energies in kcal/mol, distances to the best in ångström and Boltzmann shares."""
    columns = ("rank", "energy", "relative_energy", "rmsd_to_best", "share", "converged")
    ranked = enumerate(zip(conformers, distances, shares, strict=True), 1)
    rows = (
        (
            *(rank, f"{conformer.energy:.4f}", f"{conformer.energy - conformers[0].energy:.4f}"),
            *(f"{distance:.3f}", f"{share / sum(shares):.4f}"),
            "yes" if conformer.converged else "no",
        )
        for rank, (conformer, distance, share) in ranked
    )
    _outputs.write_csv(path, columns, rows)


def _draw_formula(smiles: str, path: Path) -> None:
    """Draw the structural formula with its configuration."""
    from rdkit import Chem

    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError as error:  # it wants the system's libX11 and libXrender
        print(f"The molecule could not be drawn: {error}")
        return
    drawing = rdMolDraw2D.MolDraw2DSVG(480, 360)
    rdMolDraw2D.PrepareAndDrawMolecule(drawing, Chem.MolFromSmiles(smiles))
    drawing.FinishDrawing()
    path.write_text(drawing.GetDrawingText(), encoding="utf-8")
