"""Repair GenBank files that Biopython misreads."""

from __future__ import annotations

import re
from pathlib import Path

_LOCUS = re.compile(
    r"^LOCUS +(\S+) +(\d+) bp +(\S+) +(linear|circular)"
    r"(?: +([A-Z]{3}))?(?: +(\d\d?-[A-Z]{3}-\d{4}))?[ \r]*$",
    re.M | re.I,
)


def complete_locus_lines(text: str) -> str:
    """Add a missing division and date to LOCUS lines, in which Biopython ignores the topology."""
    return _LOCUS.sub(_complete_line, text)


def _complete_line(line: re.Match[str]) -> str:
    name, length, kind, topology, division, date = line.groups()
    end = f"{topology.lower()} {division or 'UNK'} {date or '01-JAN-1980'}"
    return f"LOCUS       {name} {length} bp {kind} {end}"


def record_name(name: str, file: str) -> str:
    """Return a record's name; that of its file if it is `Exported`, which SnapGene writes."""
    return Path(file.removesuffix(".gz")).stem if name == "Exported" else name
