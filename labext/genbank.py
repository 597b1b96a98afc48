"""Repair GenBank files that Biopython misreads."""

from __future__ import annotations

import re
from pathlib import Path

_LOCUS = re.compile(
    r"^LOCUS +(\S+) +(\d+) bp +(?:([dms]s-)?(\S+) +)?(linear|circular)"
    r"(?: +([A-Z]{3}))?(?: +(\d\d?-[A-Z]{3}-\d{4}))?(?:[ \t\r].*)?$",
    re.M | re.I,
)


def complete_locus_lines(text: str) -> str:
    """Add a missing division and date to LOCUS lines, in which Biopython ignores the topology."""
    return _LOCUS.sub(_complete_line, text)


def _complete_line(line: re.Match[str]) -> str:
    name, length, strand, kind, topology, division, date = line.groups("")
    # Biopython reads the kind of molecule by its columns, and refuses unknown kinds there.
    columns = 27 - len(name) if kind[-2:].upper() in ("NA", "") else 0
    molecule = f"{strand.lower():3}{kind[:-3]}{kind[-3:].upper()}".ljust(10)
    end = f"{topology.lower():8} {division or 'UNK'} {date or '01-JAN-1980':>11}"
    return f"LOCUS       {name} {length.rjust(columns)} bp {molecule} {end}"


def record_name(name: str, file: str) -> str:
    """Return a record's name; that of its file if it is `Exported`, which SnapGene writes."""
    return Path(file.removesuffix(".gz")).stem if name == "Exported" else name
