"""Reverse complement, comparison and GenBank lines of DNA and RNA sequences."""

from __future__ import annotations

import re

_COMPLEMENT = str.maketrans("ACGTUMRWSYKVHDBNacgtumrwsykvhdbn", "TGCAAKYWSRMBDHVNtgcaakywsrmbdhvn")

_LOCUS_WITHOUT_DIVISION = re.compile(
    r"^LOCUS +(\S+) +(\d+) bp +(\S+) +(linear|circular)(?: +(\d\d-[A-Za-z]{3}-\d{4}))?[ \r]*$", re.M
)


def complete_locus_lines(text: str) -> str:
    """Add the division to LOCUS lines without one, in which Biopython ignores the topology."""
    return _LOCUS_WITHOUT_DIVISION.sub(
        lambda line: "LOCUS       {} {} bp {} {} UNK {}".format(*line.groups("01-JAN-1980")), text
    )


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
