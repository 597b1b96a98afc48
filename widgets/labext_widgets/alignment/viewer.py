"""Views of an alignment, and of a tree beside an alignment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.messages import closest_match, quote_value
from labext.text_files import decode_text
from labext_widgets.alignment import drawing
from labext_widgets.alignment.drawing import draw
from labext_widgets.alignment.rows import (
    OTHER,
    Alignment,
    palette,
    parse_alignment,
    residue_classes,
)
from labext_widgets.alignment.tree import Tree, match_rows, parse_newick
from labext_widgets.core.arguments import read_source
from labext_widgets.core.markup import plain
from labext_widgets.core.placeholder import LiveOutput

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

MAX_LIVE_CELLS = 4_000_000
"""Maximum number of rows times columns in the live view; larger alignments are static."""


def alignment_view(source: str | Path, *, name: str | None = None) -> AlignmentView:
    """Return a view of an alignment, for display in a cell.

    Args:
        source: the aligned sequences: a FASTA or Clustal file as a `Path`, or its text.
        name: the title; by default the name of the file.

    Raises:
        InputError: the file cannot be read, or is not an alignment.
    """
    text, file_name = _read_text(source)
    return AlignmentView(parse_alignment(text), name or file_name or "alignment")


def tree_view(
    source: str | Path, alignment: str | Path | None = None, *, name: str | None = None
) -> TreeView:
    """Return a view of a tree beside an alignment, for display in a cell.

    Args:
        source: the tree: a Newick file as a `Path`, or its text.
        alignment: the aligned sequences of its leaves: a FASTA or Clustal file as a `Path`,
            or its text.
        name: the title; by default the name of the tree's file.

    Raises:
        InputError: a file cannot be read or is invalid, or the names of leaves and sequences
            differ.
    """
    newick, file_name = _read_text(source)
    tree = parse_newick(newick)
    rows = None
    if alignment is not None:
        rows = match_rows(tree, parse_alignment(_read_text(alignment)[0]))
    return TreeView(tree, rows, name or file_name or "tree")


def _read_text(source: str | Path) -> tuple[str, str]:
    """Return the text and the name of a file, or a text and an empty name."""
    content, name = read_source(source)
    if isinstance(content, str):
        return content, name
    try:
        return decode_text(content), name
    except ValueError as error:
        raise InputError(f"{name} {error}.", "Check the file.") from None


class _View(LiveOutput):
    """A tree, an alignment, or both, with the selected sequences."""

    def __init__(self, tree: Tree | None, alignment: Alignment | None, name: str) -> None:
        super().__init__()
        self.name = name
        self._tree = tree
        self._alignment = alignment
        self._selection: list[str] = []

    @property
    def svg(self) -> str:
        """The drawing as SVG, of at most the first 60 rows and 2,000 columns."""
        return draw(self._tree, self._alignment)

    @property
    def sequences(self) -> dict[str, str]:
        """The aligned sequences by name, in the order of display."""
        if self._alignment is None:
            return {}
        return dict(zip(self._alignment.names, self._alignment.rows, strict=True))

    @property
    def selection(self) -> list[str]:
        """The names of the selected sequences, in the order of display."""
        return list(self._selection)

    def select(self, names: Iterable[str]) -> list[str]:
        """Select sequences by name, in the live view too, and return them; `[]` clears it.

        Raises:
            InputError: there is no such sequence.
        """
        selected = {names} if isinstance(names, str) else set(names)
        known = self._names()
        if unknown := sorted(selected.difference(known)):
            near = closest_match(unknown[0], known)
            raise InputError(
                f"{self.name} has no sequence {quote_value(unknown[0])}.",
                f"Did you mean {quote_value(near)}?" if near else f"It has {len(known):,} others.",
            )
        self._select(selected, "")
        return self.selection

    def __repr__(self) -> str:
        """Return one line."""
        summary = drawing.render_summary(self.name, self._tree, self._alignment)
        return f"<{type(self).__name__} {summary}>"

    def __str__(self) -> str:
        """Return the tree as text and the alignment in blocks."""
        return drawing.render_text(plain(self.name), self._tree, self._alignment)

    def _mount(self, output: Placeholder) -> None:
        if self._cells() <= MAX_LIVE_CELLS:
            output.live("alignment", self._state(), self._receive)

    def _names(self) -> list[str]:
        if self._alignment is not None:
            return list(self._alignment.names)
        return [] if self._tree is None else self._tree.leaves

    def _cells(self) -> int:
        return len(self._names()) * (1 if self._alignment is None else self._alignment.columns)

    def _render(self) -> tuple[str, str]:
        note = ""
        if self._cells() > MAX_LIVE_CELLS:
            note = f"Up to {MAX_LIVE_CELLS:,} cells are interactive; this view is static."
        return (
            drawing.render_html(self.name, self._tree, self._alignment, note),
            drawing.render_summary(self.name, self._tree, self._alignment),
        )

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "name": plain(self.name),
            "summary": drawing.render_summary(self.name, self._tree, self._alignment),
            "names": self._names(),
            "alignment": None,
            "tree": None,
            "selection": {"names": self._selection, "sender": ""},
        }
        if self._alignment is not None:
            state["alignment"] = {
                "kind": self._alignment.kind,
                "rows": list(self._alignment.rows),
                "consensus": self._alignment.consensus,
                "conservation": [round(share, 3) for share in self._alignment.conservation],
                "colors": palette(self._alignment.kind),
                "other": OTHER,
                "classes": residue_classes(self._alignment.kind),
            }
        if self._tree is not None:
            state["tree"] = _tree_state(self._tree)
        return state

    def _select(self, names: Iterable[str], sender: str) -> None:
        chosen = set(names)
        self._selection = [name for name in self._names() if name in chosen]
        self._send_change({"selection": {"names": self._selection, "sender": sender}})

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Apply a selection made in a live view, and forward it to the other views."""
        if not isinstance(content, dict) or content.get("do") != "select":
            return
        names = content.get("names")
        if isinstance(names, list):
            self._select((name for name in names if isinstance(name, str)), str(content["sender"]))


class AlignmentView(_View):
    """An alignment, displayed as the value of a cell.

    Attributes:
        name: the title.
    """

    def __init__(self, alignment: Alignment, name: str) -> None:
        super().__init__(None, alignment, name)


class TreeView(_View):
    """A tree, optionally with its alignment, displayed as the value of a cell.

    Attributes:
        name: the title.
        tree: the tree, with the positions of its nodes.
    """

    def __init__(self, tree: Tree, alignment: Alignment | None, name: str) -> None:
        super().__init__(tree, alignment, name)
        self.tree = tree


def _tree_state(tree: Tree) -> dict[str, Any]:
    """Return the branches: x from 0 to 1, y in rows."""
    depth = tree.depth or 1
    horizontal, vertical, tips = [], [], []
    for node in tree.root.walk():
        x = round(node.x / depth, 5)
        horizontal += [[x, round(child.x / depth, 5), child.y] for child in node.children]
        if node.children:
            vertical.append([x, node.children[0].y, node.children[-1].y])
        else:
            tips.append(x)
    length = tree.scale_bar()
    return {
        "horizontal": horizontal,
        "vertical": vertical,
        "tips": tips,
        "scale": length / depth,
        "label": f"{length:g}" if length else "",
    }
