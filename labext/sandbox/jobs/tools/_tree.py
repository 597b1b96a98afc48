"""Neighbour joining (Saitou and Nei, doi 10.1093/oxfordjournals.molbev.a040454), and Newick.

The selection criterion is that of Studier and Keppler, doi 10.1093/oxfordjournals.molbev.a040527.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


_DECIMALS = 6
"""Decimals of a branch length in Newick text."""


@dataclass(frozen=True)
class Node:
    """A leaf with a name, or an inner node with its branches `(node, length)`."""

    name: str = ""
    branches: tuple[tuple[Node, float], ...] = ()


def neighbour_joining(distances: NDArray[Any], names: list[str]) -> Node:
    """Return the tree of `names` by their `distances` (n, n), with three branches at its root.

    `n` is 2 or more. At a tie the pair that comes first is joined. A branch length may be negative,
    as the method gives it; see `without_negative_lengths`.
    """
    import numpy as np

    table = np.array(distances, dtype=float)
    nodes = [Node(name) for name in names]
    while len(nodes) > 3:
        size = len(nodes)
        sums = table.sum(axis=1)
        criterion = (size - 2) * table - sums[:, None] - sums[None, :]
        np.fill_diagonal(criterion, np.inf)
        # Rounded, so that a tie is a tie on every machine.
        i, j = sorted(int(k) for k in np.unravel_index(criterion.round(9).argmin(), table.shape))
        lean = (sums[i] - sums[j]) / (size - 2)
        joined = Node(
            branches=(
                (nodes[i], (table[i, j] + lean) / 2),
                (nodes[j], (table[i, j] - lean) / 2),
            )
        )
        merged = (table[i] + table[j] - table[i, j]) / 2
        table[i], table[:, i], table[i, i] = merged, merged, 0
        table = np.delete(np.delete(table, j, axis=0), j, axis=1)
        nodes[i] = joined
        del nodes[j]
    if len(nodes) == 2:
        return Node(branches=tuple((node, float(table[0, 1]) / 2) for node in nodes))
    half = table.sum() / 4
    ends = [float(half - table[(k + 1) % 3, (k + 2) % 3]) for k in range(3)]
    return Node(branches=tuple(zip(nodes, ends, strict=True)))


def without_negative_lengths(tree: Node) -> tuple[Node, list[float]]:
    """Return the tree with its negative branch lengths set to 0, and what these lengths were.

    Distances that are not additive give negative lengths; no evolutionary distance is below 0. One
    that rounds to 0 in the Newick text is set to 0 and not counted.
    """
    negative: list[float] = []

    def cleaned(node: Node) -> Node:
        branches = []
        for child, length in node.branches:
            if round(length, _DECIMALS) < 0:
                negative.append(length)
            branches.append((cleaned(child), max(0.0, length)))
        return Node(node.name, tuple(branches))

    return cleaned(tree), negative


def newick(tree: Node) -> str:
    """Return the tree as Newick text with branch lengths; names are quoted if they need to be."""
    return f"{_written(tree)};"


def _written(node: Node) -> str:
    if not node.branches:
        return node.name if re.fullmatch(r"[\w.|/+-]+", node.name) else _quoted(node.name)
    inner = ",".join(f"{_written(child)}:{length:.{_DECIMALS}f}" for child, length in node.branches)
    return f"({inner})"


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
