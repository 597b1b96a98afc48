"""Embeds a molecule in space (ETKDG), relaxes each conformer, and leaves out those that are alike.

The embedding is S. Wang et al., 2020 (doi 10.1021/acs.jcim.0c00025), the force field MMFF94 of
T. A. Halgren, 1996, as P. Tosco, N. Stiefl and G. Landrum wrote it for RDKit, 2014 (doi
10.1186/s13321-014-0037-3); UFF is that of A. K. Rappé et al., 1992 (doi 10.1021/ja00051a040).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labext.sandbox.jobs.tool import ToolError

FORCE_FIELDS = {"mmff94": "MMFF94", "mmff94s": "MMFF94s", "uff": "UFF"}
_STEPS = 1000
_MAPS = 100
"""How many ways to lay a symmetric molecule on itself are tried."""


@dataclass(frozen=True)
class Conformer:
    """One conformer: RDKit's number for it, its energy in kcal/mol, whether it is a minimum."""

    id: int
    energy: float
    converged: bool


def embed(flat: Any, count: int, seed: int) -> Any:
    """The molecule with its hydrogens and `count` conformers.

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


def relax(full: Any, field: str) -> tuple[str, list[Conformer]]:
    """Relax all conformers in place; the force field that was taken, and what was found.

    Where MMFF94 has no parameters for the molecule it is UFF.

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
            found = fields.UFFOptimizeMoleculeConfs(full, numThreads=1, maxIters=_STEPS)
        else:
            found = fields.MMFFOptimizeMoleculeConfs(
                full, numThreads=1, maxIters=_STEPS, mmffVariant=FORCE_FIELDS[field]
            )
    ids = [conformer.GetId() for conformer in full.GetConformers()]
    conformers = [
        Conformer(place, round(float(energy), 4), left == 0)
        for place, (left, energy) in zip(ids, found, strict=True)
        if left >= 0
    ]
    return FORCE_FIELDS[field], sorted(conformers, key=lambda c: (c.energy, c.id))


class Likeness:
    """How far conformers of a molecule lie apart, hydrogens left out and symmetry taken in."""

    def __init__(self, full: Any) -> None:
        from rdkit import Chem

        self._full = full
        self._bare = Chem.RemoveAllHs(full)
        self._heavy = [atom.GetIdx() for atom in full.GetAtoms() if atom.GetAtomicNum() > 1]
        ways = self._bare.GetSubstructMatches(self._bare, uniquify=False, maxMatches=_MAPS)
        self._ways = [list(enumerate(way)) for way in ways]

    def distance(self, one: Conformer, other: Conformer) -> float:
        """The root mean square distance in ångström, `one` laid on `other` as well as can be."""
        from rdkit.Chem import rdMolAlign

        return float(
            rdMolAlign.GetBestRMS(self._bare, self._bare, one.id, other.id, map=self._ways)
        )

    def unlike(self, ranked: list[Conformer], apart: float) -> list[Conformer]:
        """Of conformers in their order those that are further than `apart` from each before."""
        kept: list[Conformer] = []
        for conformer in ranked:
            if all(self.distance(conformer, other) > apart for other in kept):
                kept.append(conformer)
        return kept

    def lay_on_best(self, kept: list[Conformer]) -> list[float]:
        """Superpose each on the first, hydrogens along with it; their distances to it."""
        from rdkit.Chem import rdMolAlign

        ways = [[(self._heavy[a], self._heavy[b]) for a, b in way] for way in self._ways]
        distances = [
            float(rdMolAlign.GetBestRMS(self._full, self._full, other.id, kept[0].id, map=ways))
            for other in kept[1:]
        ]
        return [0.0, *distances]
