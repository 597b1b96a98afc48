"""Align several sequences (biotite) and join them to a tree by their distances."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _fasta, _letters, _tree, _values

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST, MOST = 3, 60
LONGEST = 3000
MOST_CELLS = 400_000_000
"""The most products of two lengths, summed over all pairs: what takes some ten seconds."""

_LETTERS = {"DNA": _letters.DNA + "RYSWKMBDHVN", "protein": _letters.PROTEIN + "BZX"}


@dataclass(frozen=True)
class _Request:
    molecule: str
    corrected: bool
    gap_open: int
    gap_extend: int


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    text = _values.text(values, "sequences")
    request = _Request(
        _values.choice(values, "molecule", tuple(_LETTERS)),
        _values.choice(values, "distance", ("identity", "corrected")) == "corrected",
        _values.integer(values, "gapOpen", 1, 100),
        _values.integer(values, "gapExtend", 0, 100),
    )
    if request.gap_extend > request.gap_open:
        raise ToolError(
            f"gapExtend: {request.gap_extend} is more than gapOpen, {request.gap_open}."
        )
    if text.lstrip().startswith(">"):
        _records(text, request.molecule)
    return request


def _records(text: str, molecule: str) -> dict[str, str]:
    kind = "DNA base" if molecule == "DNA" else "amino acid"
    records = _fasta.records(text, "sequences", _LETTERS[molecule], kind)
    if not FEWEST <= len(records) <= MOST:
        raise ToolError(f"sequences: there are {len(records)}, where {FEWEST} to {MOST} are taken.")
    for name, letters in records.items():
        _letters.check_length(f"sequences, {name}", letters, 1, LONGEST)
    cells = sum(len(a) * len(b) for a, b in combinations(records.values(), 2))
    if cells > MOST_CELLS:
        raise ToolError(
            f"sequences: {len(records)} sequences of this length are too many: the products of "
            f"two lengths sum up to {cells:,}, and {MOST_CELLS:,} are the most."
        )
    return records


TOOL = Tool(
    name="msa_tree",
    display_name="Multiple alignment and tree",
    description=(
        "Aligns DNA or protein sequences progressively, most alike first, counts the distance of "
        "each pair in the alignment, and joins them to a tree by neighbour joining. Gives the "
        "alignment as FASTA, the distances as CSV and the tree, which has no root, as Newick. "
        "Branch lengths that come out negative are set to 0 and counted. Identities are in "
        "percent, of the columns where both have a letter."
    ),
    github="https://github.com/biotite-dev/biotite",
    paper="https://doi.org/10.1093/oxfordjournals.molbev.a040454",
    parameters=(
        Parameter(
            "sequences",
            required=True,
            type="file",
            content=("{molecule}", "{molecule} alignment"),
            description=(
                f"FASTA, {FEWEST} to {MOST} sequences of at most {LONGEST:,} letters; gaps in it "
                "are left out."
            ),
        ),
        Parameter(
            "molecule",
            default="DNA",
            options=tuple(_LETTERS),
            description="DNA: the IUPAC letters; protein: the 20 amino acids, B, Z, X.",
        ),
        Parameter(
            "distance",
            default="identity",
            options=("identity", "corrected"),
            description=(
                "identity: the share of different letters, columns with a gap left out; corrected "
                "for repeated changes after Jukes and Cantor (DNA) or Kimura (protein)."
            ),
        ),
        Parameter(
            "gapOpen",
            type="integer",
            default=10,
            description="What a gap's first letter costs, 1 to 100; gaps at the ends are free.",
        ),
        Parameter(
            "gapExtend",
            type="integer",
            default=1,
            description="What each further letter of a gap costs, 0 to gapOpen.",
        ),
    ),
    requires=("biotite", "numpy"),
    preload=("biotite.sequence.align", "numpy"),
    extra="tools",
    passes=("alignment.fasta",),
    passes_content="{molecule} alignment",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `alignment.fasta`, `distances.csv` and `tree.nwk`.

    The score: `columns` of the alignment; `mean_identity` and `least_identity` of the pairs, in
    percent of the columns where both have a letter; `negative_branches`, how many branch lengths of
    the tree came out negative and were set to 0. The log names the lowest of them.
    """
    request = _read(settings)
    text = inputs["sequences"].read_text(encoding="utf-8", errors="replace")
    records = _records(text, request.molecule)
    names = list(records)
    aligned = _align(list(records.values()), request)
    same = _identities(aligned)
    distances = 1 - same
    if request.corrected:
        distances = _corrected(distances, names, request.molecule)
    with (out / "alignment.fasta").open("w", encoding="utf-8") as file:
        for name, row in zip(names, aligned, strict=True):
            file.write(f">{name}\n")
            file.writelines(f"{row[i : i + 60]}\n" for i in range(0, len(row), 60))
    with (out / "distances.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["name", *names])
        for name, values in zip(names, distances, strict=True):
            table.writerow([name, *(f"{value:.6f}" for value in values)])
    tree, negative = _tree.without_negative_lengths(_tree.neighbour_joining(distances, names))
    if negative:
        lengths = "1 branch length" if len(negative) == 1 else f"{len(negative)} branch lengths"
        print(
            f"Neighbour joining gave {lengths} below 0 (the lowest: {min(negative):.6f}); in "
            "tree.nwk they are 0."
        )
    (out / "tree.nwk").write_text(f"{_tree.newick(tree)}\n", encoding="utf-8")
    shares = [100 * float(same[i, j]) for i, j in combinations(range(len(names)), 2)]
    return {
        "sequences": len(names),
        "columns": len(aligned[0]),
        "mean_identity": round(sum(shares) / len(shares), 2),
        "least_identity": round(min(shares), 2),
        "negative_branches": len(negative),
    }


def _align(sequences: list[str], request: _Request) -> list[str]:
    """The rows of the alignment, in the order of `sequences`.

    biotite would make its guide tree from scores against those of shuffled sequences, and refuses
    pairs that are no better than chance. The guide tree here is made from the identity over all
    columns, so that a sequence with a large gap joins late and does not lead the others.
    """
    import biotite.sequence as bio
    import numpy as np
    from biotite.sequence import align

    if request.molecule == "DNA":
        matrix = align.SubstitutionMatrix.std_nucleotide_matrix()
        coded: list[Any] = [bio.NucleotideSequence(s, ambiguous=True) for s in sequences]
    else:
        matrix = align.SubstitutionMatrix.std_protein_matrix()
        coded = [bio.ProteinSequence(s) for s in sequences]
    # Gaps at the ends are free: sequences of one gene seldom start and end at the same base.
    costs = {"gap_penalty": (-request.gap_open, -request.gap_extend), "terminal_penalty": False}
    guide = np.zeros((len(coded), len(coded)), dtype=np.float32)
    for i, j in combinations(range(len(coded)), 2):
        pair = align.align_optimal(coded[i], coded[j], matrix, max_number=1, **costs)[0]
        guide[i, j] = guide[j, i] = 1 - align.get_sequence_identity(pair, mode="all")
    alignment, *_ = align.align_multiple(coded, matrix, distances=guide, **costs)
    rows = []
    for letters, trace in zip(sequences, alignment.trace.T, strict=True):
        rows.append("".join(letters[place] if place >= 0 else "-" for place in trace))
    return rows


def _identities(rows: list[str]) -> NDArray[Any]:
    """(n, n): the share of equal letters in the columns where both rows have one; 0 if none has."""
    import numpy as np

    letters = np.array([list(row) for row in rows])
    there = letters != "-"
    same = np.ones((len(rows), len(rows)))
    for i, j in combinations(range(len(rows)), 2):
        both = there[i] & there[j]
        equal = (letters[i] == letters[j]) & both
        same[i, j] = same[j, i] = equal.sum() / both.sum() if both.any() else 0.0
    return same


def _corrected(distances: NDArray[Any], names: list[str], molecule: str) -> NDArray[Any]:
    """Changes a site, from the share of sites that differ.

    DNA by Jukes and Cantor, d = -3/4 ln(1 - 4/3 p); protein by Kimura's formula of 1983,
    d = -ln(1 - p - p²/5).
    """
    corrected = distances.copy()
    for i, j in combinations(range(len(names)), 2):
        p = float(distances[i, j])
        rest = 1 - 4 * p / 3 if molecule == "DNA" else 1 - p - p * p / 5
        if rest <= 0:
            raise ToolError(
                f"distance: {names[i]} and {names[j]} differ in {p:.0%} of the sites, which can't "
                "be corrected; take identity."
            )
        found = -0.75 * log(rest) if molecule == "DNA" else -log(rest)
        corrected[i, j] = corrected[j, i] = abs(found)
    return corrected
