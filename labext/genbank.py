"""Repair GenBank files that Biopython misreads."""

from __future__ import annotations

import re
from pathlib import Path

_LOCUS_WITHOUT_DIVISION = re.compile(
    r"^LOCUS +(\S+) +(\d+) bp +(\S+) +(linear|circular)(?: +(\d\d-[A-Za-z]{3}-\d{4}))?[ \r]*$", re.M
)


def complete_locus_lines(text: str) -> str:
    """Add the division to LOCUS lines without one, in which Biopython ignores the topology."""
    return _LOCUS_WITHOUT_DIVISION.sub(
        lambda line: "LOCUS       {} {} bp {} {} UNK {}".format(*line.groups("01-JAN-1980")), text
    )


def record_name(name: str, file: str) -> str:
    """Return a record's name; that of its file if it is `Exported`, which SnapGene writes."""
    return Path(file.removesuffix(".gz")).stem if name == "Exported" else name
