"""Chooses codons so that the DNA keeps clear of patterns, and no other such DNA is better.

Read from left to right, all that matters of the bases so far is which patterns they have begun.
That is one number, a bit for each letter of each pattern (Baeza-Yates and Gonnet 1992, doi
10.1145/135239.135243). For each such number the best way there is kept, codon by codon, so the best
way at the end is the best of all: nothing is searched at random and nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Sequence

from labext.bases import reverse_complement

_BASES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip

MOST_WAYS = 6000
"""The most ways kept at one codon; DNA of 20 enzymes at once needs some hundred."""

_TIE = 1e-12


class DeadEnd(Exception):
    """No choice keeps clear of the patterns; `place` is the first codon that has none, from 0."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class TooManyWays(Exception):
    """The patterns leave open so many ways that following all of them would take too long."""


class Patterns:
    """Patterns that DNA must not have, in the IUPAC letters."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._first = self._last = 0
        self._fits = dict.fromkeys("ACGT", 0)
        place = 0
        for pattern in dict.fromkeys(patterns):
            self._first |= 1 << place
            for letter in pattern:
                for base in _BASES[letter]:
                    self._fits[base] |= 1 << place
                place += 1
            self._last |= 1 << (place - 1)
        self._known: dict[tuple[int, str], int] = {}

    def after(self, begun: int, codon: str) -> int:
        """What is begun after one more codon; -1 where a pattern is complete within it."""
        found = self._known.get((begun, codon))
        if found is None:
            found = begun
            for base in codon:
                found = ((found << 1) | self._first) & self._fits[base]
                if found & self._last:
                    found = -1
                    break
            self._known[begun, codon] = found
        return found


def both_strands(site: str) -> tuple[str, ...]:
    """A site as it reads on the one strand and on the other; once where that is the same."""
    return tuple(dict.fromkeys((site, reverse_complement(site))))


def best(choices: Sequence[Sequence[tuple[str, float]]], patterns: Patterns) -> list[str]:
    """The codons with the largest sum of values that keep clear of the patterns.

    Where two ways are worth the same, the one whose codons come first in `choices` is taken.

    Args:
        choices: for each place its codons, each with its value.
        patterns: what their bases must not have.

    Raises:
        DeadEnd: there is no such choice.
        TooManyWays: there are too many to follow.
    """
    steps: list[dict[int, tuple[int, str]]] = []
    ways = {0: 0.0}
    for place, codons in enumerate(choices):
        step: dict[int, tuple[int, str]] = {}
        further: dict[int, float] = {}
        for begun, worth in ways.items():
            for codon, value in codons:
                state = patterns.after(begun, codon)
                if state < 0:
                    continue
                total = worth + value
                if state not in further or total > further[state] + _TIE:
                    further[state] = total
                    step[state] = (begun, codon)
        if not further:
            raise DeadEnd(place)
        if len(further) > MOST_WAYS:
            raise TooManyWays
        steps.append(step)
        ways = further
    state = max(ways, key=lambda state: round(ways[state], 9))
    found = []
    for step in reversed(steps):
        state, codon = step[state]
        found.append(codon)
    return found[::-1]
