"""Where a feature of Biopython lies: as a start and an end, and as GenBank writes it."""

from __future__ import annotations

import itertools
from typing import Any

from Bio.SeqFeature import AfterPosition, BeforePosition, Location


def located(location: Location, length: int, *, circular: bool) -> tuple[int, int]:
    """Return the start and the end that cover a location; over the origin the end comes first."""
    parts = _in_order(location)
    first, last = parts[0], parts[-1]
    if circular and _over_origin(parts, length) and int(last.end) <= int(first.start):
        return int(first.start), int(last.end)
    if len(parts) == 1 and int(first.start) == int(first.end):  # between two bases: both are shown
        return max(int(first.start) - 1, 0), min(int(first.end) + 1, length)
    return min(int(part.start) for part in parts), max(int(part.end) for part in parts)


def pieced(location: Location, length: int, *, circular: bool) -> bool:
    """Tell whether a start, an end and a strand don't say all of a location."""
    parts = _in_order(location)
    if any(part.ref for part in parts):
        return False  # a piece of another record
    if any(type(each) in (BeforePosition, AfterPosition) for each in _ends(parts)):
        return True
    if len(parts) == 2 and circular and _over_origin(parts, length):
        return int(parts[1].end) > int(parts[0].start) or parts[0].strand != parts[1].strand
    return len(parts) > 1 or int(parts[0].start) == int(parts[0].end)


def insdc(location: Location) -> str:
    """Return a location as GenBank writes it, like `complement(join(1..5,10..20))`."""
    parts = list(location.parts)
    if len(parts) == 1:
        return _strands(parts[0])
    if all(part.strand == -1 for part in parts):
        inner = ",".join(_span(part) for part in parts[::-1])
        return f"complement({_operator(location)}({inner}))"
    return f"{_operator(location)}({','.join(map(_strands, parts))})"


def _in_order(location: Location) -> list[Any]:
    """Return the pieces by their order on the first strand: they are listed as they are read."""
    parts = list(location.parts)
    return parts[::-1] if location.strand == -1 else parts


def _over_origin(parts: list[Any], length: int) -> bool:
    pairs = itertools.pairwise(parts)
    return any(int(one.end) == length and int(other.start) == 0 for one, other in pairs)


def _ends(parts: list[Any]) -> list[Any]:
    return [end for part in parts for end in (part.start, part.end)]


def _operator(location: Any) -> str:
    return str(getattr(location, "operator", "join"))


def _strands(part: Any) -> str:
    return f"complement({_span(part)})" if part.strand == -1 else _span(part)


def _span(part: Any) -> str:
    start, end = int(part.start), int(part.end)
    if start == end:
        return f"{start}^{start + 1}"
    return f"{_mark(part.start)}{start + 1}..{_mark(part.end)}{end}"


def _mark(position: Any) -> str:
    return {BeforePosition: "<", AfterPosition: ">"}.get(type(position), "")
