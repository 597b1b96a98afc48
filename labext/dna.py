"""Reverse complement and comparison of DNA and RNA sequences."""

from __future__ import annotations

_COMPLEMENT = str.maketrans("ACGTUMRWSYKVHDBNacgtumrwsykvhdbn", "TGCAAKYWSRMBDHVNtgcaakywsrmbdhvn")


def reverse_complement(bases: str) -> str:
    """Return the reverse complement; IUPAC ambiguity codes are supported."""
    return bases.translate(_COMPLEMENT)[::-1]


def same_molecule(one: str, other: str, *, circular: bool) -> bool:
    """Return whether two sequences are the same molecule, by the rule of the filter `bases`.

    The comparison ignores case, strand and, for circular sequences, the origin.
    """
    if len(one) != len(other):
        return False
    first, second = one.upper(), other.upper()
    around = second + second if circular else second
    return first in around or reverse_complement(first) in around
