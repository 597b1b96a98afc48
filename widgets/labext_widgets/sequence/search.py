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
    """Where a pattern was found: 0-based `start`, exclusive `end`, strand 1 or -1.

    Over the origin of a circular molecule `end` is not above `start`.
    """

    start: int
    end: int
    strand: int


def search(on: Molecule, pattern: str) -> list[Hit]:
    """Return every hit in the order of its start, the upper strand's first.

    A letter of the pattern is met by a letter of the sequence that stands for nothing else: `N`
    in the pattern by any, `N` in the sequence by `N` alone. A pattern that reads the same on both
    strands is one hit, on the upper one. U is taken for T.

    Raises:
        InputError: the pattern is empty, or has a letter that IUPAC doesn't have.
    """
    wanted = normalize_pattern(pattern)
    other = reverse_complement(wanted)
    found = [Hit(*each, 1) for each in find_matches(on, wanted)]
    if other != wanted:
        found += [Hit(*each, -1) for each in find_matches(on, other)]
    return sorted(found, key=lambda each: (each.start, -each.strand))


def normalize_pattern(pattern: str) -> str:
    """Return a pattern as capitals of DNA; blanks go."""
    wanted = "".join(pattern.split()).upper().replace("U", "T")
    odd = next((each for each in wanted if each not in IUPAC), None)
    if odd is not None:
        raise InputError(
            f"{quote_value(odd)} is no base of a pattern.",
            f"The letters are {' '.join(IUPAC)} and U.",
        )
    if not wanted:
        raise InputError("The pattern is empty.", 'Give some bases: search("GAATTC").')
    return wanted


def find_matches(on: Molecule, wanted: str) -> list[tuple[int, int]]:
    """Where the upper strand reads `wanted`, as pairs of start and end."""
    length, size = len(on), len(wanted)
    if size > length:
        return []
    read = on.reading + on.reading[: size - 1] if on.circular else on.reading
    find = re.compile("".join(map(_character_class, wanted))).search
    found, at = [], find(read)
    while at is not None:  # from the next base on, so that hits that overlap are all found
        start, end = at.start(), at.end()
        found.append((start, end if end <= length else end - length))
        at = find(read, start + 1)
    return found


def _character_class(letter: str) -> str:
    """Every letter of the sequence that stands for nothing that `letter` excludes."""
    meant = set(IUPAC[letter])
    met = "".join(each for each, bases in IUPAC.items() if set(bases) <= meant)
    return met if len(met) == 1 else f"[{met}]"
