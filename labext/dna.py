"""Reverse complement and comparison of DNA and RNA sequences."""

from __future__ import annotations

_COMPLEMENT = str.maketrans("ACGTUMRWSYKVHDBNacgtumrwsykvhdbn", "TGCAAKYWSRMBDHVNtgcaakywsrmbdhvn")


def reverse_complement(bases: str) -> str:
    """Return the other strand, read the other way; the letters of IUPAC are known."""
    return bases.translate(_COMPLEMENT)[::-1]


def same_molecule(one: str, other: str, *, circular: bool) -> bool:
    """Return whether two texts are one molecule, as the platform's filter `bases` compares them.

    In any case of letters, on either strand, and of a circle wherever it is opened.
    """
    if len(one) != len(other):
        return False
    first, second = one.upper(), other.upper()
    around = second + second if circular else second
    return first in around or reverse_complement(first) in around
