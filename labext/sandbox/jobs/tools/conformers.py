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
    """Parse SMILES into an RDKit molecule with implicit hydrogens."""
    from rdkit import Chem, rdBase

    text = smiles.strip()
    if len(text) > MAX_SMILES_LENGTH:
        raise ToolError(
            f"{name}: it has {len(text):,} characters; at most {MAX_SMILES_LENGTH:,} are allowed."
        )
    if (blank := re.search(r"\s", text)) is not None:
        raise ToolError(
            f"{name}: it has a space at position {blank.start() + 1}, which SMILES does not allow."
        )
    parser = Chem.SmilesParserParams()
    parser.sanitize = False
    parser.removeHs = False
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text, parser)
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
    """Raise ToolError unless the SMILES is a single, complete molecule."""
    from rdkit import Chem

    try:
        problems = Chem.DetectChemistryProblems(molecule)
    except RuntimeError:  # an atomic number of no element, or an atom with more than 127 bonds
        raise ToolError(
            f"{name}: {_inputs.quote_value(text)} can't be read as a molecule."
        ) from None
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
    """Return the number of specified stereocentres, both atoms and double bonds."""
    from rdkit import Chem

    canonical = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    unspecified = Chem.ChiralType.CHI_UNSPECIFIED
    atoms = sum(atom.GetChiralTag() != unspecified for atom in canonical.GetAtoms())
    no_stereo = (Chem.BondStereo.STEREONONE, Chem.BondStereo.STEREOANY)
    bonds = sum(bond.GetStereo() not in no_stereo for bond in canonical.GetBonds())
    return int(atoms + bonds)


FORCE_FIELDS = {"mmff94": "MMFF94", "mmff94s": "MMFF94s", "uff": "UFF"}
_MAX_STEPS = 1000
_SEED_PERIOD = 2**31 - 1
"""RDKit multiplies the seed by the number of the conformer modulo this, which leaves 0 as it is."""
_MAX_SYMMETRY_MAPS = 1000
"""Maximum number of symmetric atom mappings to try per RMSD."""
_EQUIVALENT_ENDS = ("[OX1-]-*=[OX1]", "[SX1-]-*=[SX1]", "[NX3H2]-C=[NX3H2+]")
"""Ends of a mesomeric group, such as a carboxylate, that differ only in the written structure."""


@dataclass(frozen=True)
class Conformer:
    """A conformer: RDKit id, energy in kcal/mol, and True if the minimization converged."""

    id: int
    energy: float
    converged: bool


def embed_conformers(flat: Any, count: int, seed: int) -> Any:
    """Return the molecule with explicit hydrogens and up to `count` conformers.

    Unspecified stereocentres have the configuration of the first embedding in all conformers.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDistGeom

    full = Chem.AddHs(flat)
    options = rdDistGeom.ETKDGv3()
    options.randomSeed = seed % _SEED_PERIOD
    options.enableSequentialRandomSeeds = options.randomSeed == 0
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
    """Minimize all conformers in place; return the force field and the conformers by energy.

    UFF is used if MMFF94 has no parameters for the molecule.
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
    """RMSD between conformers of a molecule, using heavy atoms and considering symmetry."""

    def __init__(self, full: Any) -> None:
        from rdkit import Chem

        self._full = full
        self._bare = Chem.RemoveAllHs(full)
        self._heavy = [atom.GetIdx() for atom in full.GetAtoms() if atom.GetAtomicNum() > 1]
        graph = _with_equivalent_ends(self._bare)
        atom_maps = graph.GetSubstructMatches(graph, uniquify=False, maxMatches=_MAX_SYMMETRY_MAPS)
        self._atom_maps = [list(enumerate(atom_map)) for atom_map in atom_maps]

    def distance(self, first: Conformer, second: Conformer) -> float:
        """Return the RMSD in ångström after optimal superposition."""
        from rdkit.Chem import rdMolAlign

        return float(
            rdMolAlign.GetBestRMS(self._bare, self._bare, first.id, second.id, map=self._atom_maps)
        )

    def select_distinct(self, ranked: list[Conformer], min_distance: float) -> list[Conformer]:
        """Return the conformers that are farther than `min_distance` from all better ones."""
        distinct: list[Conformer] = []
        for conformer in ranked:
            if all(self.distance(conformer, other) > min_distance for other in distinct):
                distinct.append(conformer)
        return distinct

    def align_to_best(self, conformers: list[Conformer]) -> list[float]:
        """Superpose all conformers on the first by heavy atoms; return the distances to it."""
        from rdkit.Chem import rdMolAlign

        atom_maps = [
            [(self._heavy[a], self._heavy[b]) for a, b in atom_map] for atom_map in self._atom_maps
        ]
        best, *others = conformers
        distances = [
            float(rdMolAlign.GetBestRMS(self._full, self._full, other.id, best.id, map=atom_maps))
            for other in others
        ]
        return [0.0, *distances]


def _with_equivalent_ends(molecule: Any) -> Any:
    """Return a copy in which the ends of a mesomeric group have the same charge and bond."""
    from rdkit import Chem

    matches = [
        match
        for smarts in _EQUIVALENT_ENDS
        for match in molecule.GetSubstructMatches(Chem.MolFromSmarts(smarts))
    ]
    copy = Chem.RWMol(molecule)
    for first, center, second in matches:
        for end in (first, second):
            copy.GetAtomWithIdx(end).SetFormalCharge(0)
            copy.GetBondBetweenAtoms(center, end).SetBondType(Chem.BondType.ONEANDAHALF)
    return copy


MAX_ATOMS, MAX_CONFORMERS, MAX_TOTAL_ATOMS = 60, 100, 1200
"""Limits of heavy atoms, conformers, and their product (about 15 seconds)."""
_THERMAL_ENERGY = 0.0019872043 * 298.15
"""kT in kcal/mol at 25 °C."""


@dataclass(frozen=True)
class _Request:
    molecule: Any
    count: int
    seed: int
    min_distance: float
    field: str


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    request = _Request(
        parse_smiles("smiles", _inputs.read_text(values, "smiles"), MAX_ATOMS),
        _inputs.read_integer(values, "conformers", 1, MAX_CONFORMERS),
        _inputs.read_integer(values, "seed", 0, 2**31 - 1),
        _inputs.read_number(values, "rmsdThreshold", 0, 10),
        _inputs.read_choice(values, "forceField", tuple(FORCE_FIELDS)),
    )
    heavy = request.molecule.GetNumHeavyAtoms()
    max_count = MAX_TOTAL_ATOMS // heavy
    if request.count > max_count:
        raise ToolError(
            f"conformers: {request.count} are too many for a molecule with {heavy} heavy atoms; "
            f"at most {max_count} are allowed."
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
            "rmsdThreshold",
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
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `rank_1.pdb` …, `conformers.sdf`, `conformers.csv` and `molecule.svg`.

    The score: `energy` of the best conformer and `spread` to the worst selected one in kcal/mol;
    `smiles`, the canonical SMILES; `open_stereocentres`, the number of unspecified stereocentres in
    the input; `force_field`, the force field used.
    """
    del inputs
    request = _read_request(settings)

    from rdkit import Chem
    from rdkit.Chem import rdMolDescriptors

    full = embed_conformers(request.molecule, request.count, request.seed)
    field, ranked = relax_conformers(full, request.field)
    distances_between = ConformerDistances(full)
    distinct = distances_between.select_distinct(ranked, request.min_distance)
    bare = Chem.RemoveHs(full)
    smiles = Chem.MolToSmiles(bare)
    unspecified = count_stereocentres(bare) - count_stereocentres(request.molecule)
    distances = distances_between.align_to_best(distinct)
    weights = [
        exp((distinct[0].energy - conformer.energy) / _THERMAL_ENERGY) for conformer in distinct
    ]
    _write_structures(full, distinct, smiles, out)
    _write_table(distinct, distances, weights, out / "conformers.csv")
    _draw_formula(smiles, out / "molecule.svg")
    return {
        "conformers": len(distinct),
        "embedded": len(ranked),
        "energy": distinct[0].energy,
        "spread": round(distinct[-1].energy - distinct[0].energy, 4),
        "force_field": field,
        "smiles": smiles,
        "open_stereocentres": max(unspecified, 0),
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
    conformers: Sequence[Conformer],
    distances: Sequence[float],
    weights: Sequence[float],
    path: Path,
) -> None:
    """Write energies in kcal/mol, RMSD to the best in ångström, and Boltzmann populations."""
    columns = ("rank", "energy", "relative_energy", "rmsd_to_best", "share", "converged")
    ranked = enumerate(zip(conformers, distances, weights, strict=True), 1)
    rows = (
        (
            *(rank, f"{conformer.energy:.4f}", f"{conformer.energy - conformers[0].energy:.4f}"),
            *(f"{distance:.3f}", f"{weight / sum(weights):.4f}"),
            "yes" if conformer.converged else "no",
        )
        for rank, (conformer, distance, weight) in ranked
    )
    _outputs.write_csv(path, columns, rows)


def _draw_formula(smiles: str, path: Path) -> None:
    """Draw the structural formula with stereochemistry."""
    from rdkit import Chem

    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError as error:  # libX11 or libXrender is missing
        print(f"The molecule could not be drawn: {error}")
        return
    drawing = rdMolDraw2D.MolDraw2DSVG(480, 360)
    rdMolDraw2D.PrepareAndDrawMolecule(drawing, Chem.MolFromSmiles(smiles))
    drawing.FinishDrawing()
    path.write_text(drawing.GetDrawingText(), encoding="utf-8")
