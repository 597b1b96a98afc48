"""Parse Newick text and lay the tree out as a phylogram, also as text."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from labext.errors import InputError
from labext.messages import join_words, quote_value
from labext_widgets.alignment.rows import Alignment, missing_biopython
from labext_widgets.core.markup import plain

_NEXT_STEP = "Pass a tree such as (A:0.1,(B:0.2,C:0.3):0.1);"
_QUOTED = re.compile(r"'(?:[^']|'')*'|\[[^\]]*\]")
"""Quoted names and comments."""

_WRONG_LENGTH = re.compile(
    r":(?!\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*[_,();])\s*([^,();]*)"
)


@dataclass(eq=False)
class TreeNode:
    """A node of a tree; leaves have a name.

    Attributes:
        length: the length of the branch to its parent, not negative.
        x: the distance from the root, or the number of branches if the tree has no lengths.
        y: the row: 0 for the first leaf; an inner node is midway between its outer branches.
    """

    name: str = ""
    length: float = 0.0
    children: list[TreeNode] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    def walk(self) -> Iterator[TreeNode]:
        """Yield the node and those below it, parents first, in the order of display."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True)
class Tree:
    """A ladderized tree with positions.

    Attributes:
        root: the root.
        has_lengths: False if the text has no branch lengths; each is then drawn as 1.
        negative: the number of negative branch lengths, which are drawn as 0.
        has_inner_labels: True if inner nodes have names or support values, which are not drawn.
    """

    root: TreeNode
    has_lengths: bool
    negative: int
    has_inner_labels: bool

    @property
    def leaves(self) -> list[str]:
        """The names of the leaves, from the top."""
        return [node.name for node in self.root.walk() if not node.children]

    @property
    def depth(self) -> float:
        """The largest distance of a leaf from the root."""
        return max(node.x for node in self.root.walk())

    def scale_bar(self) -> float:
        """Return a round length of about a fifth of the depth; 0 if there are no lengths."""
        if not self.has_lengths or not self.depth:
            return 0.0
        power: float = 10 ** math.floor(math.log10(self.depth / 5))
        return max(f * power for f in (1, 2, 5) if f * power <= self.depth / 5 * (1 + 1e-9))


def parse_newick(text: str) -> Tree:
    """Return the ladderized tree in Newick text.

    Raises:
        InputError: it is not Newick, or has leaves without a name or with the same name.
    """
    try:
        from Bio import Phylo
        from Bio.Phylo.NewickIO import NewickError
    except ImportError:
        raise missing_biopython() from None
    content = text.strip("\ufeff\r\n\t ")
    structure = _QUOTED.sub("_", content)
    if not structure.lstrip("_ ").startswith("("):
        raise InputError("The tree is not Newick: it starts with a parenthesis.", _NEXT_STEP)
    if not content.endswith(";"):
        raise InputError("The tree is not Newick: it ends with a semicolon.", _NEXT_STEP)
    if wrong := _WRONG_LENGTH.search(structure):
        raise InputError(
            f"The tree is not valid Newick: {quote_value(wrong[1])} is not a branch length.",
            _NEXT_STEP,
        )
    try:
        clade = Phylo.read(io.StringIO(content), "newick").root
    except (NewickError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"The tree is not valid Newick: {plain(error, 120)}", _NEXT_STEP) from None
    root = TreeNode()
    lengths: list[float | None] = []
    has_inner_labels = False
    waiting = [(clade, root)]
    while waiting:
        source, node = waiting.pop()
        node.name = plain(source.name or "") if not source.clades else ""
        if source.clades and (source.name or source.confidence is not None):
            has_inner_labels = True
        if (length := source.branch_length) is not None and math.isinf(length):
            raise InputError(
                "The tree is not valid Newick: a branch length is infinite.", _NEXT_STEP
            )
        lengths.append(length)
        node.length = length or 0.0
        node.children = [TreeNode() for _ in source.clades]
        waiting.extend(zip(source.clades, node.children, strict=True))
    has_lengths = any(lengths[1:])
    for node in root.walk():
        node.length = max(node.length, 0.0) if has_lengths else 1.0
    root.length = 0.0  # a branch that leads to the root is not drawn
    _ladderize(root)
    _place(root)
    negative = sum(length is not None and length < 0 for length in lengths[1:])
    tree = Tree(root, has_lengths, negative, has_inner_labels)
    _check_names(tree.leaves)
    return tree


def match_rows(tree: Tree, alignment: Alignment) -> Alignment:
    """Return the alignment with its rows in the order of the tree's leaves.

    Raises:
        InputError: the leaves and the sequences don't have the same names.
    """
    leaves, rows = dict.fromkeys(tree.leaves), dict.fromkeys(alignment.names)
    for names, others, lacking, having in (
        (leaves, rows, "alignment", "tree"),
        (rows, leaves, "tree", "alignment"),
    ):
        if missing := [name for name in names if name not in others]:
            raise InputError(
                f"The {lacking} has no {join_words([quote_value(n) for n in missing], 3)}, which "
                f"the {having} has.",
                "Use a tree and an alignment of the same sequences.",
            )
    return alignment.ordered(leaves)


def _check_names(names: list[str]) -> None:
    if "" in names:
        raise InputError("The tree has a leaf without a name.", "Name all leaves.")
    counts = Counter(names)
    if duplicate := next((name for name in names if counts[name] > 1), None):
        raise InputError(
            f"The tree has two leaves called {quote_value(duplicate)}.", "Rename one of the two."
        )


def _ladderize(root: TreeNode) -> None:
    """Sort the branches of each node: those with fewer leaves first."""
    leaves: dict[TreeNode, int] = {}
    for node in reversed(list(root.walk())):
        leaves[node] = sum(leaves[child] for child in node.children) or 1
        node.children.sort(key=leaves.__getitem__)


def _place(root: TreeNode) -> None:
    nodes = list(root.walk())
    row = 0
    for node in nodes:
        for child in node.children:
            child.x = node.x + child.length
        if not node.children:
            node.y = row
            row += 1
    for node in reversed(nodes):
        if node.children:
            node.y = (node.children[0].y + node.children[-1].y) / 2


_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = " │││─┘┐┤─└┌├─┴┬┼"
"""The character with lines in each combination of directions, by the sum of their numbers."""

_TEXT_WIDTH = 50
"""Number of characters of a tree as text, without the names."""


def render_tree(tree: Tree) -> str:
    """Return the tree as text, two lines per leaf."""
    grid = [[0] * (_TEXT_WIDTH + 1) for _ in range(2 * len(tree.leaves) - 1)]
    scale = (_TEXT_WIDTH - 1) / (tree.depth or 1)

    def column(node: TreeNode) -> int:
        return round(node.x * scale)

    for node in tree.root.walk():
        line = round(node.y * 2)
        for child in node.children:
            start, end, row = column(node), column(child), round(child.y * 2)
            for x in range(start, max(end, start + 1)):  # a branch of length 0 has one character
                grid[row][x] |= _RIGHT
                grid[row][x + 1] |= _LEFT
            low, high = sorted((line, row))
            for y in range(low, high):
                grid[y][start] |= _DOWN
                grid[y + 1][start] |= _UP
    names = {round(n.y * 2): n.name for n in tree.root.walk() if not n.children}
    lines = []
    for number, masks in enumerate(grid):
        drawn = "".join(_LINES[mask] for mask in masks).rstrip()
        lines.append(f"{drawn} {names[number]}" if number in names else drawn)
    return "\n".join(lines)
