"""Digest DNA with restriction enzymes (REBASE, from Biopython)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools._outputs import svg_document, svg_rotated_text, svg_text
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

_ROW_HEIGHT = 12.0
"""Minimum distance of labels in pixels."""


def draw_linear_map(length: int, cuts: list[tuple[int, str]]) -> str:
    """Draw a linear map of `length` base pairs; `cuts` are sorted pairs `(position, enzyme)`."""
    left, right, base = 40.0, 960.0, 200.0
    body = [
        f'<rect x="{left}" y="{base}" width="{right - left}" height="8" fill="#8fa8c8"/>',
        svg_text(left, base + 24, "1"),
        svg_text(right, base + 24, str(length), "end"),
    ]
    positions = [left + (position - 1) * (right - left) / length for position, _ in cuts]
    body += [_line(x, base - 6, x, base + 14) for x in dict.fromkeys(map(round, positions))]
    label_positions = _spread_labels(positions, _ROW_HEIGHT, left, right)
    if label_positions is None:
        body.append(svg_text(left, base - 24, f"{len(cuts)} cuts"))
    else:
        for x, label_x, (position, enzyme) in zip(positions, label_positions, cuts, strict=True):
            body.append(_line(x, base - 6, label_x, base - 22))
            body.append(svg_rotated_text(label_x, base - 26, -90, f"{enzyme} {position}"))
    return svg_document(1000, 240, body)


def draw_circular_map(length: int, cuts: list[tuple[int, str]]) -> str:
    """Draw a circular map of `length` base pairs, clockwise from the top."""
    center, radius = 300.0, 150.0
    body = [
        f'<circle cx="{center}" cy="{center}" r="{radius}" fill="none" stroke="#8fa8c8" '
        'stroke-width="8"/>',
        svg_text(center, center + 4, f"{length} bp", "middle"),
    ]

    def point(angle: float, distance: float) -> tuple[float, float]:
        return center + distance * sin(angle), center - distance * cos(angle)

    angles = [2 * pi * (position - 1) / length for position, _ in cuts]
    ticks = dict.fromkeys(round(angle, 2) for angle in angles)
    body += [_line(*point(angle, radius - 7), *point(angle, radius + 7)) for angle in ticks]
    step = _ROW_HEIGHT / (radius + 26)
    label_angles = _spread_labels(angles, step, 0, 2 * pi - step)
    if label_angles is None:
        body.append(svg_text(center, center + 22, f"{len(cuts)} cuts", "middle"))
    else:
        for angle, label_angle, (position, enzyme) in zip(angles, label_angles, cuts, strict=True):
            body.append(_line(*point(angle, radius + 7), *point(label_angle, radius + 22)))
            turn, anchor = (90, "end") if label_angle > pi else (-90, "start")
            place, degrees = point(label_angle, radius + 26), label_angle * 180 / pi + turn
            body.append(svg_rotated_text(*place, degrees, f"{enzyme} {position}", anchor))
    return svg_document(600, 600, body)


def _spread_labels(
    positions: list[float], gap: float, low: float, high: float
) -> list[float] | None:
    """Move sorted positions to a distance of at least `gap`; None if the range is too small."""
    if len(positions) * gap > high - low + gap:
        return None
    spread: list[float] = []
    for position in positions:
        spread.append(max(position, spread[-1] + gap if spread else low))
    for index in range(len(spread) - 1, -1, -1):
        limit = spread[index + 1] - gap if index + 1 < len(spread) else high
        spread[index] = min(spread[index], limit)
    return spread


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#333333" fill="none"/>'


MAX_LENGTH = 200_000
MAX_ENZYMES = 20


@dataclass(frozen=True)
class _Request:
    sequence: str
    enzymes: list[Any]
    circular: bool


@dataclass(frozen=True)
class _Cut:
    """A double-strand cut before the base at `position` (from 1) of the input strand."""

    position: int
    enzyme: str
    kind: str
    overhang: str


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence = _inputs.read_sequence(values, "sequence", _inputs.IUPAC_DNA, 2, MAX_LENGTH)
    enzymes = _inputs.read_enzymes(values, "enzymes", MAX_ENZYMES)
    for enzyme in enzymes:
        if not (enzyme.cut_once() or enzyme.cut_twice()):
            raise ToolError(f"enzymes: the cut position of {enzyme} is unknown.")
    return _Request(sequence, enzymes, _inputs.read_flag(values, "circular"))


TOOL = Tool(
    name="digest",
    display_name="Restriction digest",
    description=(
        "Cuts linear or circular DNA with one or more restriction enzymes and returns the "
        "fragments with their overhangs as FASTA and CSV, and a map as SVG. Every site is "
        "cut, including overlapping and methylated ones, except sites with an ambiguous base. A "
        "fragment across the origin of circular DNA has a start greater than its end."
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
                f"DNA, including ambiguous bases (N, R, Y, …), 2 to {MAX_LENGTH:,} bases; "
                "whitespace is ignored."
            ),
        ),
        Parameter(
            "enzymes",
            required=True,
            description=(
                f"REBASE names such as EcoRI: a list or comma-separated text, {MAX_ENZYMES} at "
                "most."
            ),
        ),
        Parameter(
            "circular", type="boolean", default=False, description="Whether the DNA is circular."
        ),
    ),
    requires=("Bio",),
    preload=("Bio.Restriction",),
    passes=("fragments.fasta",),
    figures=("fragments.csv",),
    passes_content="DNA",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `fragments.csv`, `fragments.fasta` and `map.svg`; lengths in base pairs."""
    del inputs
    request = _read_request(settings)
    sequence = request.sequence
    cuts = _find_cuts(request)
    fragments = _split_fragments(cuts, len(sequence), request.circular)
    _write_table(fragments, out / "fragments.csv")
    doubled = sequence + sequence  # for fragments across the origin
    records = (
        (f"fragment{number} {start}..{end} {length} bp", doubled[start - 1 : start - 1 + length])
        for number, (start, end, length, *_ends) in enumerate(fragments, 1)
    )
    _outputs.write_fasta(out / "fragments.fasta", records)
    labels = [(cut.position, cut.enzyme) for cut in cuts]
    drawing = draw_circular_map if request.circular else draw_linear_map
    (out / "map.svg").write_text(drawing(len(sequence), labels), encoding="utf-8")
    lengths = [fragment[2] for fragment in fragments]
    return {
        "length": len(sequence),
        "cuts": len(cuts),
        "fragments": len(fragments),
        "longest": max(lengths),
        "shortest": min(lengths),
    }


def _find_cuts(request: _Request) -> list[_Cut]:
    from Bio.Seq import Seq

    size, dna = len(request.sequence), Seq(request.sequence)
    cuts: dict[int, list[_Cut]] = {}
    for enzyme in sorted(request.enzymes, key=str):
        overhang_length = _overhang_length(enzyme)
        for position in _cut_positions(enzyme, dna, linear=not request.circular):
            low, high = sorted((position, position - overhang_length))
            if not request.circular and not 1 < low <= high <= size:
                continue
            kind = "blunt" if overhang_length == 0 else "5'" if overhang_length < 0 else "3'"
            overhang = "".join(request.sequence[(i - 1) % size] for i in range(low, high))
            start = (position - 1) % size + 1
            cuts.setdefault(start, []).append(_Cut(start, str(enzyme), kind, overhang))
    return [_merge_cuts(cuts[position]) for position in sorted(cuts)]


def _merge_cuts(cuts: list[_Cut]) -> _Cut:
    """Return the cuts of several enzymes at one position as one, with each different end."""
    return _Cut(
        cuts[0].position,
        "+".join(cut.enzyme for cut in cuts),
        "+".join(dict.fromkeys(cut.kind for cut in cuts)),
        "+".join(dict.fromkeys(cut.overhang for cut in cuts if cut.overhang)),
    )


def _overhang_length(enzyme: Any) -> int:
    """Return the position of the cut minus that on the other strand: negative for a 5' overhang.

    Computed from the cuts, since Biopython's `ovhg` of TspRI and TscAI is 10 instead of 9.
    """
    return int(enzyme.fst5 - enzyme.fst3 - enzyme.size)


def _cut_positions(enzyme: Any, dna: Any, linear: bool) -> list[int]:
    """Return the positions after the cuts of the input strand, from 1, in ascending order.

    Both strands are searched. Biopython finds a site of the other strand only if none of the input
    strand begins at the same base, as those of LpnPI (CCDG) in CCGG, and ignores that palindromic
    sites that are cut on one side, as those of HauII, are sites of both strands.
    """
    other_strand = enzyme.search(dna.reverse_complement(), linear=linear)
    mirrored = {len(dna) + 2 - (position - _overhang_length(enzyme)) for position in other_strand}
    return sorted(mirrored.union(enzyme.search(dna, linear=linear)))


_Fragment = tuple[int, int, int, _Cut | None, _Cut | None]


def _split_fragments(cuts: list[_Cut], size: int, circular: bool) -> list[_Fragment]:
    """Return start and end (from 1, inclusive), length, and the cuts at both ends."""
    if circular:
        after = [*cuts[1:], *cuts[:1]]
        return [
            (
                a.position,
                (b.position - 2) % size + 1,
                (b.position - a.position - 1) % size + 1,
                a,
                b,
            )
            for a, b in zip(cuts, after, strict=True)
        ] or [(1, size, size, None, None)]
    starts = [1, *(cut.position for cut in cuts)]
    ends = [*(cut.position - 1 for cut in cuts), size]
    return [
        (start, end, end - start + 1, left, right)
        for start, end, left, right in zip(starts, ends, [None, *cuts], [*cuts, None], strict=True)
    ]


def _write_table(fragments: list[_Fragment], path: Path) -> None:
    sides = [
        f"{side}_{column}" for side in ("left", "right") for column in ("enzyme", "end", "overhang")
    ]
    rows = (
        (number, start, end, length, *_describe_end(left), *_describe_end(right))
        for number, (start, end, length, left, right) in enumerate(fragments, 1)
    )
    _outputs.write_csv(path, ["fragment", "start", "end", "length", *sides], rows)


def _describe_end(cut: _Cut | None) -> tuple[str, str, str]:
    return ("", "", "") if cut is None else (cut.enzyme, cut.kind, cut.overhang)
