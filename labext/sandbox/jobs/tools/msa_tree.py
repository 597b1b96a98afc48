"""Align several sequences (biotite) and build a neighbour-joining tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.messages import pluralize
from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DECIMALS = 6
"""Decimals of branch lengths in Newick text."""


@dataclass(frozen=True)
class TreeNode:
    """A leaf with a name, or an inner node with branches `(node, length)`."""

    name: str = ""
    branches: tuple[tuple[TreeNode, float], ...] = ()


def join_neighbours(distances: NDArray[Any], names: list[str]) -> TreeNode:
    """Build a neighbour-joining tree of at least 3 leaves, which has three branches at its root.

    Ties are resolved in favour of the first pair. Branch lengths may be negative; see
    `without_negative_lengths`.
    """
    import numpy as np

    table = np.array(distances, dtype=float)
    nodes = [TreeNode(name) for name in names]
    while len(nodes) > 3:
        size = len(nodes)
        sums = table.sum(axis=1)
        criterion = (size - 2) * table - sums[:, None] - sums[None, :]
        np.fill_diagonal(criterion, np.inf)
        # Rounded, so that ties are detected identically on every machine.
        i, j = sorted(int(k) for k in np.unravel_index(criterion.round(9).argmin(), table.shape))
        asymmetry = (sums[i] - sums[j]) / (size - 2)
        first, second = (table[i, j] + asymmetry) / 2, (table[i, j] - asymmetry) / 2
        joined = TreeNode(branches=((nodes[i], first), (nodes[j], second)))
        merged = (table[i] + table[j] - table[i, j]) / 2
        table[i], table[:, i], table[i, i] = merged, merged, 0
        table = np.delete(np.delete(table, j, axis=0), j, axis=1)
        nodes[i] = joined
        del nodes[j]
    half = table.sum() / 4
    lengths = [float(half - table[(k + 1) % 3, (k + 2) % 3]) for k in range(3)]
    return TreeNode(branches=tuple(zip(nodes, lengths, strict=True)))


def without_negative_lengths(tree: TreeNode) -> tuple[TreeNode, list[float]]:
    """Return the tree with negative branch lengths set to 0, and the list of these lengths.

    Non-additive distances result in negative lengths, which have no evolutionary meaning. Lengths
    that round to 0 in the Newick text are set to 0 and not listed.
    """
    negative: list[float] = []

    def clean(node: TreeNode) -> TreeNode:
        branches = []
        for child, length in node.branches:
            if round(length, _DECIMALS) < 0:
                negative.append(length)
            branches.append((clean(child), max(0.0, length)))
        return TreeNode(node.name, tuple(branches))

    return clean(tree), negative


def to_newick(tree: TreeNode) -> str:
    """Return the tree as Newick text with branch lengths; names are quoted if necessary."""
    return f"{_newick_node(tree)};"


def _newick_node(node: TreeNode) -> str:
    if not node.branches:
        is_plain = re.fullmatch(r"[\w.|/+-]+", node.name)
        return node.name if is_plain else "'" + node.name.replace("'", "''") + "'"
    inner = ",".join(
        f"{_newick_node(child)}:{length:.{_DECIMALS}f}" for child, length in node.branches
    )
    return f"({inner})"


MIN_SEQUENCES, MAX_SEQUENCES = 3, 60
MAX_LENGTH = 3000
MAX_CELLS = 400_000_000
"""Limit of the total number of pairwise alignment cells, which take about 10 seconds."""

_ALPHABETS = _inputs.molecule_alphabets(_inputs.IUPAC_DNA)


@dataclass(frozen=True)
class _Request:
    molecule: str
    corrected: bool
    gap_open: int
    gap_extend: int


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    text = _inputs.read_text(values, "sequences")
    request = _Request(
        _inputs.read_choice(values, "molecule", tuple(_ALPHABETS)),
        _inputs.read_choice(values, "distance", ("identity", "corrected")) == "corrected",
        _inputs.read_integer(values, "gapOpen", 1, 100),
        _inputs.read_integer(values, "gapExtend", 0, 100),
    )
    _inputs.check_order("gapExtend", request.gap_extend, "gapOpen", request.gap_open)
    if text.lstrip().startswith(">"):
        _read_records(text, request.molecule)
    return request


def _read_records(text: str, molecule: str) -> dict[str, str]:
    records = _inputs.parse_fasta(text, "sequences", _ALPHABETS[molecule], MAX_SEQUENCES)
    if len(records) < MIN_SEQUENCES:
        raise ToolError(
            f"sequences: {pluralize(len(records), 'sequence')}; {MIN_SEQUENCES} to "
            f"{MAX_SEQUENCES} are allowed."
        )
    for name, letters in records.items():
        _inputs.check_length(f"sequences, {name}", letters, 1, MAX_LENGTH)
    cells = sum(len(a) * len(b) for a, b in combinations(records.values(), 2))
    if cells > MAX_CELLS:
        raise ToolError(
            f"sequences: {len(records)} sequences of this length are too many: their pairwise "
            f"alignments have {cells:,} cells; at most {MAX_CELLS:,} are allowed."
        )
    return records


TOOL = Tool(
    name="msa_tree",
    display_name="Multiple alignment and tree",
    description=(
        "Aligns DNA or protein sequences progressively, most similar first, computes the "
        "distance of each pair from the alignment, and builds a tree by neighbour joining. "
        "Returns the alignment as FASTA, the distances as CSV and the unrooted tree as "
        "Newick. Negative branch lengths are set to 0 and counted. Identities are "
        "percentages of the columns in which both sequences have an unambiguous letter (not a "
        "gap, N or X)."
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
                f"FASTA, {MIN_SEQUENCES} to {MAX_SEQUENCES} sequences of at most {MAX_LENGTH:,} "
                "letters; gaps are removed."
            ),
        ),
        Parameter(
            "molecule",
            default="DNA",
            options=tuple(_ALPHABETS),
            description="DNA: the IUPAC letters; protein: the 20 amino acids, B, Z, X.",
        ),
        Parameter(
            "distance",
            default="identity",
            options=("identity", "corrected"),
            description=(
                "identity: the fraction of different letters without gaps and ambiguous letters; "
                "corrected: the same, corrected by Jukes and Cantor (DNA) or Kimura (protein)."
            ),
        ),
        Parameter(
            "gapOpen",
            type="integer",
            default=10,
            description="Cost of the first letter of a gap, 1 to 100; gaps at the ends are free.",
        ),
        Parameter(
            "gapExtend",
            type="integer",
            default=1,
            description="Cost of each further letter of a gap, 0 to gapOpen.",
        ),
    ),
    requires=("biotite", "numpy"),
    preload=("biotite.sequence.align", "numpy"),
    extra="tools",
    passes=("alignment.fasta",),
    figures=("distances.csv",),
    passes_content="{molecule} alignment",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `alignment.fasta`, `distances.csv` and `tree.nwk`.

    The score: `columns` of the alignment; `mean_identity` and `min_identity` of all pairs, in
    percent of the columns with two unambiguous letters; `negative_branches`, the number of
    negative branch lengths that were set to 0. The log has the lowest of these.
    """
    request = _read_request(settings)
    text = _inputs.read_file(inputs["sequences"], "sequences")
    records = _read_records(text, request.molecule)
    names = list(records)
    aligned = _align(list(records.values()), request)
    identities = _identity_matrix(aligned, request.molecule)
    distances = 1 - identities
    if request.corrected:
        distances = _correct_distances(distances, names, request.molecule)
    _outputs.write_fasta(out / "alignment.fasta", zip(names, aligned, strict=True))
    rows = (
        (name, *(f"{value:.6f}" for value in values))
        for name, values in zip(names, distances, strict=True)
    )
    _outputs.write_csv(out / "distances.csv", ["name", *names], rows)
    tree, negative = without_negative_lengths(join_neighbours(distances, names))
    if negative:
        print(
            f"Neighbour joining resulted in {pluralize(len(negative), 'branch length')} below 0 "
            f"(lowest: {min(negative):.6f}), set to 0 in tree.nwk."
        )
    (out / "tree.nwk").write_text(f"{to_newick(tree)}\n", encoding="utf-8")
    percentages = [100 * float(identities[i, j]) for i, j in combinations(range(len(names)), 2)]
    return {
        "sequences": len(names),
        "columns": len(aligned[0]),
        "mean_identity": round(sum(percentages) / len(percentages), 2),
        "min_identity": round(min(percentages), 2),
        "negative_branches": len(negative),
    }


def _align(sequences: list[str], request: _Request) -> list[str]:
    """Return the rows of the alignment in the order of `sequences`.

    The guide tree uses the identity over all columns, so that sequences with large gaps are added
    last. biotite's default guide tree compares scores with those of shuffled sequences, and fails
    for pairs that are not more similar than random ones.
    """
    import biotite.sequence as bio
    import numpy as np
    from biotite.sequence import align

    if request.molecule == "DNA":
        matrix = align.SubstitutionMatrix.std_nucleotide_matrix()
        encoded: list[Any] = [bio.NucleotideSequence(s, ambiguous=True) for s in sequences]
    else:
        matrix = align.SubstitutionMatrix.std_protein_matrix()
        encoded = [bio.ProteinSequence(s) for s in sequences]
    # Terminal gaps are free, since sequences of a gene rarely start and end at the same base.
    costs = {"gap_penalty": (-request.gap_open, -request.gap_extend), "terminal_penalty": False}
    guide = np.zeros((len(encoded), len(encoded)), dtype=np.float32)
    for i, j in combinations(range(len(encoded)), 2):
        pair = align.align_optimal(encoded[i], encoded[j], matrix, max_number=1, **costs)[0]
        guide[i, j] = guide[j, i] = 1 - align.get_sequence_identity(pair, mode="all")
    alignment, *_ = align.align_multiple(encoded, matrix, distances=guide, **costs)
    rows = []
    for letters, trace in zip(sequences, alignment.trace.T, strict=True):
        rows.append("".join(letters[index] if index >= 0 else "-" for index in trace))
    return rows


def _identity_matrix(rows: list[str], molecule: str) -> NDArray[Any]:
    """Return the (n, n) fractions of identical letters among columns of unambiguous letters."""
    import numpy as np

    letters = np.array([list(row) for row in rows])
    is_letter = np.isin(letters, [*(_inputs.DNA if molecule == "DNA" else _inputs.PROTEIN).letters])
    identities = np.ones((len(rows), len(rows)))
    for i, j in combinations(range(len(rows)), 2):
        both = is_letter[i] & is_letter[j]
        equal = (letters[i] == letters[j]) & both
        identity = equal.sum() / both.sum() if both.any() else 0.0
        identities[i, j] = identities[j, i] = identity
    return identities


def _correct_distances(distances: NDArray[Any], names: list[str], molecule: str) -> NDArray[Any]:
    """Return the substitutions per site for the fractions p of differing sites.

    Jukes and Cantor for DNA: d = -3/4 ln(1 - 4/3 p). Kimura (1983) for protein: d = -ln(1 - p -
    p²/5).
    """
    corrected = distances.copy()
    for i, j in combinations(range(len(names)), 2):
        p = float(distances[i, j])
        argument = 1 - 4 * p / 3 if molecule == "DNA" else 1 - p - p * p / 5
        if argument <= 0:
            raise ToolError(
                f"distance: {names[i]} and {names[j]} differ in {p:.0%} of the sites, too many for "
                "a correction; use identity."
            )
        distance = -0.75 * log(argument) if molecule == "DNA" else -log(argument)
        corrected[i, j] = corrected[j, i] = abs(distance)
    return corrected
