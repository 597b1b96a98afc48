"""Cuts DNA with restriction enzymes (Biopython's copy of REBASE): fragments, their ends, a map."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _enzymes, _letters, _map, _values

LONGEST = 200_000
MOST_ENZYMES = 20


@dataclass(frozen=True)
class _Request:
    sequence: str
    enzymes: list[Any]
    circular: bool


@dataclass(frozen=True)
class _Cut:
    """A double-strand cut, before the base at `place` (from 1) of the strand that was sent."""

    place: int
    enzyme: str
    kind: str
    overhang: str


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence = _letters.sequence(
        values, "sequence", _letters.IUPAC, "DNA base", shortest=2, longest=LONGEST
    )
    enzymes = _enzymes.enzymes(values, "enzymes", MOST_ENZYMES)
    for enzyme in enzymes:
        if not (enzyme.cut_once() or enzyme.cut_twice()):
            raise ToolError(f"enzymes: where {enzyme} cuts is not known.")
    return _Request(sequence, enzymes, _values.flag(values, "circular"))


TOOL = Tool(
    name="digest",
    display_name="Restriction digest",
    description=(
        "Cuts linear or circular DNA with one or more restriction enzymes and gives the "
        "fragments with their overhangs as FASTA and CSV, and a map as SVG. Every site is cut, "
        "also where two overlap; a site with an ambiguous base in it is not. A fragment over the "
        "origin of a circle starts at a higher base than it ends."
    ),
    github="https://github.com/biopython/biopython",
    paper="https://doi.org/10.1093/nar/gku1046",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("DNA",),
            description=(
                f"DNA, ambiguous bases too (N, R, Y, …), 2 to {LONGEST:,} bases; blanks are "
                "left out."
            ),
        ),
        Parameter(
            "enzymes",
            required=True,
            description=(
                "Names as in REBASE, such as EcoRI: a list, or a text parted by commas; "
                f"{MOST_ENZYMES} at most."
            ),
        ),
        Parameter(
            "circular", type="boolean", default=False, description="Whether the DNA is a circle."
        ),
    ),
    requires=("Bio",),
    preload=("labext.sandbox.jobs.tools._enzyme_table",),
    passes=("fragments.fasta",),
    passes_content="DNA",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `fragments.csv`, `fragments.fasta` and `map.svg`; lengths in base pairs."""
    del inputs
    request = _read(settings)
    sequence = request.sequence
    cuts = _cuts(request)
    fragments = _fragments(cuts, len(sequence), request.circular)
    _write_table(fragments, out / "fragments.csv")
    with (out / "fragments.fasta").open("w", encoding="utf-8") as file:
        for place, (start, end, length, *_ends) in enumerate(fragments, 1):
            piece = (sequence + sequence)[start - 1 : start - 1 + length]
            file.write(f">fragment{place} {start}..{end} {length} bp\n")
            file.writelines(f"{piece[i : i + 60]}\n" for i in range(0, length, 60))
    labels = [(cut.place, cut.enzyme) for cut in cuts]
    drawing = _map.circular if request.circular else _map.linear
    (out / "map.svg").write_text(drawing(len(sequence), labels), encoding="utf-8")
    lengths = [fragment[2] for fragment in fragments]
    return {
        "length": len(sequence),
        "cuts": len(cuts),
        "fragments": len(fragments),
        "longest": max(lengths),
        "shortest": min(lengths),
    }


def _cuts(request: _Request) -> list[_Cut]:
    from Bio.Seq import Seq

    size, dna = len(request.sequence), Seq(request.sequence)
    found: dict[int, _Cut] = {}
    for enzyme in sorted(request.enzymes, key=str):
        for place in enzyme.search(dna, linear=not request.circular):
            # Biopython counts the base after the cut from 1; `ovhg` is negative for a 5' overhang.
            low, high = sorted((place, place - enzyme.ovhg))
            if not request.circular and not 1 < low <= high <= size:
                continue
            place = (place - 1) % size + 1
            if place in found:
                other = found[place]
                name = f"{other.enzyme}+{enzyme}"
                found[place] = _Cut(place, name, other.kind, other.overhang)
                continue
            kind = "blunt" if enzyme.ovhg == 0 else "5'" if enzyme.ovhg < 0 else "3'"
            overhang = "".join(request.sequence[(i - 1) % size] for i in range(low, high))
            found[place] = _Cut(place, str(enzyme), kind, overhang)
    return [found[place] for place in sorted(found)]


_Fragment = tuple[int, int, int, _Cut | None, _Cut | None]


def _fragments(cuts: list[_Cut], size: int, circular: bool) -> list[_Fragment]:
    """Start, end (both from 1, inclusive), length, and the cuts at the left and right end."""
    if circular:
        after = [*cuts[1:], *cuts[:1]]
        return [
            (a.place, (b.place - 2) % size + 1, (b.place - a.place - 1) % size + 1, a, b)
            for a, b in zip(cuts, after, strict=True)
        ] or [(1, size, size, None, None)]
    starts = [1, *(cut.place for cut in cuts)]
    ends = [*(cut.place - 1 for cut in cuts), size]
    return [
        (start, end, end - start + 1, left, right)
        for start, end, left, right in zip(starts, ends, [None, *cuts], [*cuts, None], strict=True)
    ]


def _write_table(fragments: list[_Fragment], path: Path) -> None:
    sides = [
        f"{side}_{what}" for side in ("left", "right") for what in ("enzyme", "end", "overhang")
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["fragment", "start", "end", "length", *sides])
        for place, (start, end, length, left, right) in enumerate(fragments, 1):
            table.writerow([place, start, end, length, *_end(left), *_end(right)])


def _end(cut: _Cut | None) -> tuple[str, str, str]:
    return ("", "", "") if cut is None else (cut.enzyme, cut.kind, cut.overhang)
