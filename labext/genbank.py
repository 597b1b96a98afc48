"""Repair GenBank files that Biopython misreads, and format locations without writing a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

_LOCUS = re.compile(
    r"^LOCUS +(\S(?:.*\S)?) +(\d+) bp +(?:([dms]s-)?(\S+) +)?(linear|circular)"
    r"(?: +([A-Z]{3}))?(?: +(\d\d?-[A-Z]{3}-\d{4}))?(?:[ \t\r].*)?$",
    re.M | re.I,
)
_JOINED_NAME = re.compile(r"^LOCUS +\S+(?= bp )", re.M)


def complete_locus_lines(text: str) -> str:
    """Complete LOCUS lines that Biopython refuses, or in which it ignores the topology.

    A long name is separated from the length, to which Prokka joins it, spaces in a name become
    underscores, and a missing division and date are added.
    """
    return _LOCUS.sub(_complete_line, _JOINED_NAME.sub(_separate_length, text))


def _separate_length(line: re.Match[str]) -> str:
    """Return the start of a LOCUS line with a space before the length, counted in the record."""
    text, (_, end_of_line) = line.string, line.span()
    end = text.find("\n//", end_of_line)
    _, _, bases = text[text.find("\nORIGIN", end_of_line, end) + 1 : end].partition("\n")
    length = len(re.sub(r"[\d\s]+", "", bases))
    return re.sub(f"(?<=[^ ]){length}$", f" {length}", line[0])


def _complete_line(line: re.Match[str]) -> str:
    name, length, strand, kind, topology, division, date = line.groups("")
    name = "_".join(name.split())
    # Biopython reads the kind of molecule by its columns, and refuses unknown kinds there.
    columns = 27 - len(name) if kind[-2:].upper() in ("NA", "") else 0
    molecule = f"{strand.lower():3}{kind[:-3]}{kind[-3:].upper()}".ljust(10)
    end = f"{topology.lower():8} {division or 'UNK'} {date or '01-JAN-1980':>11}"
    return f"LOCUS       {name} {length.rjust(columns)} bp {molecule} {end}"


def accession_numbers(words: Sequence[str]) -> list[str]:
    """Return the accessions of a record without the region after them, which the NCBI writes."""
    return [*takewhile(lambda word: word != "REGION:", words)]


def record_name(name: str, file: str) -> str:
    """Return a record's name; that of its file if it is `Exported`, which SnapGene writes."""
    return Path(file.removesuffix(".gz")).stem if name == "Exported" else name


def format_location(location: Any, length: int) -> str:
    """Format a Biopython location as in GenBank files, such as `complement(join(1..5,10..20))`."""
    parts = list(location.parts)
    if len(parts) == 1:
        return _format_part(parts[0], length)
    if location.strand != -1:
        return f"{location.operator}({','.join(_format_part(part, length) for part in parts)})"
    spans = ",".join(_format_span(part, length) for part in parts[::-1])
    return f"complement({location.operator}({spans}))"


def _format_part(part: Any, length: int) -> str:
    span = _format_span(part, length)
    return f"complement({span})" if part.strand == -1 else span


def _format_span(part: Any, length: int) -> str:
    start, end = int(part.start), int(part.end)
    if start == end:
        return f"{start or length}^{start % length + 1}"
    return f"{part.start + 1}..{part.end}"
