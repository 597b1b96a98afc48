"""Search both strands for IUPAC patterns, also across the origin."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labext.dna import reverse_complement
from labext.errors import InputError
from labext.messages import quote_value
from labext_widgets.sequence.molecule import Molecule

IUPAC = {
    "A": "A", "C": "C", "G": "G", "T": "T", "M": "AC", "R": "AG", "W": "AT", "S": "CG", "Y": "CT",
    "K": "GT", "V": "ACG", "H": "ACT", "D": "AGT", "B": "CGT", "N": "ACGT",
}  # fmt: skip


@dataclass(frozen=True)
class Hit:
    """A match of a pattern: 0-based `start`, exclusive `end`, strand 1 or -1.

    If it spans the origin of a circular molecule, `end` is not greater than `start`.
    """

    start: int
    end: int
    strand: int


def search(molecule: Molecule, pattern: str) -> list[Hit]:
    """Return all hits sorted by start, those on the upper strand first.

    A pattern letter matches the sequence letters that represent a subset of its bases: `N` in the
    pattern matches any letter, `N` in the sequence is matched by `N` only. A palindromic pattern is
    reported once, on the upper strand. U is treated as T.

    Raises:
        InputError: the pattern is empty, or contains a letter that is not an IUPAC code.
    """
    normalized = normalize_pattern(pattern)
    other = reverse_complement(normalized)
    hits = [Hit(*match, 1) for match in find_matches(molecule, normalized)]
    if other != normalized:
        hits += [Hit(*match, -1) for match in find_matches(molecule, other)]
    return sorted(hits, key=lambda match: (match.start, -match.strand))


def normalize_pattern(pattern: str) -> str:
    """Return a pattern in upper-case DNA letters, without blanks."""
    normalized = "".join(pattern.split()).upper().replace("U", "T")
    invalid = next((letter for letter in normalized if letter not in IUPAC), None)
    if invalid is not None:
        raise InputError(
            f"{quote_value(invalid)} is not an IUPAC code.", f"Use {' '.join(IUPAC)} and U."
        )
    if not normalized:
        raise InputError("The pattern is empty.", 'Enter some bases: search("GAATTC").')
    return normalized


def find_matches(molecule: Molecule, pattern: str) -> list[tuple[int, int]]:
    """Return start and end of every match on the upper strand."""
    length, size = len(molecule), len(pattern)
    if size > length:
        return []
    read = (
        molecule.reading + molecule.reading[: size - 1] if molecule.circular else molecule.reading
    )
    find = re.compile("".join(map(_character_class, pattern))).search
    matches, at = [], find(read)
    while at is not None:  # from the next base, to include overlapping hits
        start, end = at.start(), at.end()
        matches.append((start, end if end <= length else end - length))
        at = find(read, start + 1)
    return matches


def _character_class(letter: str) -> str:
    """Return a regular expression for the letters whose bases are a subset of those of `letter`."""
    allowed = set(IUPAC[letter])
    letters = "".join(base for base, bases in IUPAC.items() if set(bases) <= allowed)
    return letters if len(letters) == 1 else f"[{letters}]"
