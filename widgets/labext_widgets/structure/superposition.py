"""Superpose a structure on another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labext.errors import InputError
from labext_widgets.structure.molecule import Floats, Structure

MIN_RESIDUES = 3
"""Fewer pairs of points do not determine a rotation."""


@dataclass(frozen=True)
class Superposition:
    """A rigid transformation of a structure onto another.

    Attributes:
        rotation: the 3x3 rotation matrix, applied to column vectors.
        translation: the translation in Å, applied after the rotation.
        rmsd: the root-mean-square deviation of the paired trace atoms in Å.
        residues: the number of paired residues, or of atoms of small molecules.
    """

    rotation: Floats
    translation: Floats
    rmsd: float
    residues: int

    def apply(self, coordinates: Floats) -> Floats:
        """Return coordinates of shape (n, 3), transformed."""
        return coordinates @ self.rotation.T + self.translation


def superpose(fixed: Structure, mobile: Structure) -> Superposition:
    """Return the transformation that superposes `mobile` on `fixed`.

    Residues are paired in order if the sequences are equal, else by a sequence alignment. Small
    molecules are paired atom by atom.

    Raises:
        InputError: fewer than `MIN_RESIDUES` residues can be paired.
    """
    first, second = _paired(fixed, mobile)
    if len(first) < MIN_RESIDUES:
        raise InputError(
            f"{mobile.name} cannot be superposed on {fixed.name}: {len(first)} of their residues "
            f"correspond, and {MIN_RESIDUES} are needed.",
            "Compare structures of the same or of related molecules.",
        )
    center_first, center_second = first.mean(axis=0), second.mean(axis=0)
    rotation = _kabsch(first - center_first, second - center_second)
    translation = center_first - rotation @ center_second
    deviation = second @ rotation.T + translation - first
    rmsd = float(np.sqrt((deviation**2).sum(axis=1).mean()))
    return Superposition(rotation, translation, rmsd, len(first))


def _kabsch(fixed: Floats, mobile: Floats) -> Floats:
    """Return the rotation that minimizes the distance of centered points (Kabsch, 1976)."""
    u, _, vt = np.linalg.svd(fixed.T @ mobile)
    signs = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    return np.asarray(u @ signs @ vt, dtype=np.float64)


def _paired(fixed: Structure, mobile: Structure) -> tuple[Floats, Floats]:
    if not fixed.residues and not mobile.residues:
        same = list(fixed.atoms.element) == list(mobile.atoms.element)
        count = len(fixed.atoms.element) if same else 0
        return fixed.coordinates[:count], mobile.coordinates[:count]
    if fixed.letters == mobile.letters:
        return fixed.trace, mobile.trace
    pairs = _aligned_pairs(fixed, mobile)
    return fixed.trace[pairs[:, 0]], mobile.trace[pairs[:, 1]]


def _aligned_pairs(fixed: Structure, mobile: Structure) -> npt.NDArray[np.int64]:
    """Return the indices of residues that a global alignment pairs, shape (n, 2)."""
    import biotite.sequence as seq
    import biotite.sequence.align as align

    sequences = []
    for structure in (fixed, mobile):
        letters = (
            "X" if state == "n" or letter not in "ACDEFGHIKLMNPQRSTVWY" else letter
            for letter, state in zip(structure.letters, structure.secondary, strict=True)
        )
        sequences.append(seq.ProteinSequence("".join(letters)))
    if not all(len(sequence) for sequence in sequences):
        return np.zeros((0, 2), np.int64)
    matrix = align.SubstitutionMatrix.std_protein_matrix()
    alignment = align.align_optimal(
        *sequences, matrix, gap_penalty=(-10, -1), terminal_penalty=False, max_number=1
    )[0]
    trace = np.asarray(alignment.trace, np.int64)
    pairs = trace[(trace >= 0).all(axis=1)]
    same_kind = [
        (fixed.secondary[i] == "n") == (mobile.secondary[j] == "n")
        and (fixed.secondary[i] != "n" or fixed.letters[i] == mobile.letters[j])
        for i, j in pairs
    ]
    return np.asarray(pairs[np.array(same_kind, bool)], np.int64)
