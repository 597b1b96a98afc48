"""Reads a molecule from SMILES (RDKit): what is wrong with it, in one sentence."""

from __future__ import annotations

import re
from typing import Any

from labext.sandbox.jobs.tool import ToolError
from labext.sandbox.jobs.tools import _values

LONGEST = 1000


def molecule(name: str, smiles: str, most: int) -> Any:
    """An RDKit molecule without explicit hydrogens.

    Args:
        name: the parameter, for the errors.
        smiles: the text.
        most: heavy atoms.

    Raises:
        ToolError: it is no SMILES, no sound chemistry, several molecules, or too large.
    """
    from rdkit import Chem, rdBase

    text = smiles.strip()
    if len(text) > LONGEST:
        raise ToolError(f"{name}: it has {len(text):,} characters, where {LONGEST:,} are the most.")
    if (blank := re.search(r"\s", text)) is not None:
        raise ToolError(f"{name}: there is a blank at {blank.start() + 1}, and SMILES has none.")
    reading = Chem.SmilesParserParams()
    reading.sanitize = False
    reading.removeHs = False
    with rdBase.BlockLogs():
        found = Chem.MolFromSmiles(text, reading)
        if found is None or found.GetNumAtoms() == 0:
            raise ToolError(f"{name}: {_values.shown(text)} can't be read as SMILES.")
        _check(name, text, found)
        found = Chem.MolFromSmiles(text)
    if found is None:
        raise ToolError(f"{name}: {_values.shown(text)} can't be read as a molecule.")
    heavy = found.GetNumHeavyAtoms()
    if not 1 <= heavy <= most:
        raise ToolError(f"{name}: it has {heavy} heavy atoms, where 1 to {most} are taken.")
    return found


def _check(name: str, text: str, found: Any) -> None:
    """What can be said of a text that is SMILES, but of no molecule to compute with."""
    from rdkit import Chem

    problems = Chem.DetectChemistryProblems(found)
    if problems:
        words = " ".join(problems[0].Message().split()).rstrip(".")
        raise ToolError(f"{name}: it is no sound molecule: {words}.")
    if any(atom.GetAtomicNum() == 0 for atom in found.GetAtoms()):
        raise ToolError(f"{name}: it has an atom without an element (*).")
    parts = text.split(".")
    if len(Chem.GetMolFrags(found)) > 1:
        largest = max(parts, key=len)
        raise ToolError(
            f"{name}: it is a salt or mixture of {len(Chem.GetMolFrags(found))} parts; send one of "
            f"them, such as {_values.shown(largest)}."
        )


def centres(found: Any) -> int:
    """How many stereocentres, atoms and double bonds, have a configuration."""
    from rdkit import Chem

    clean = Chem.MolFromSmiles(Chem.MolToSmiles(found))
    atoms = sum(a.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for a in clean.GetAtoms())
    free = (Chem.BondStereo.STEREONONE, Chem.BondStereo.STEREOANY)
    bonds = sum(bond.GetStereo() not in free for bond in clean.GetBonds())
    return int(atoms + bonds)
