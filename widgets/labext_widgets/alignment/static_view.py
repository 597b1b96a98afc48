"""Render a tree and an alignment as HTML and as text."""

from __future__ import annotations

import base64

from labext.messages import pluralize
from labext_widgets.alignment.drawing import MAX_NAME, draw, shown_part
from labext_widgets.alignment.rows import Alignment
from labext_widgets.alignment.tree import Tree, render_tree
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape, plain

MAX_TEXT_ROWS, MAX_TEXT_BLOCKS, BLOCK = 50, 10, 60
"""Maximum numbers of rows and blocks as text, and the number of columns of a block."""


def render_html(name: str, tree: Tree | None, alignment: Alignment | None, note: str = "") -> str:
    """Return the drawing as an image with a line of text below it."""
    encoded = base64.b64encode(draw(tree, alignment).encode()).decode()
    summary = escape(render_summary(name, tree, alignment))
    parts = [
        f'<img src="data:image/svg+xml;base64,{encoded}" alt="{summary}" '
        'style="max-width:100%;height:auto">',
        div(summary, MUTED),
    ]
    for sentence in (shown_part(tree, alignment), note):
        if sentence:
            parts.append(div(escape(sentence), MUTED))
    body = "".join(parts)
    return f'<div class="labext {UNTYPESET}" style="max-width:1000px;font-size:13px">{body}</div>'


def render_summary(name: str, tree: Tree | None, alignment: Alignment | None) -> str:
    """Return one line, for example: `its: tree of 7 leaves; alignment of 7 DNA sequences, …`."""
    parts = []
    if tree is not None:
        text = f"tree of {len(tree.leaves):,} leaves"
        if not tree.has_lengths:
            text += " without branch lengths"
        if tree.negative:
            text += f", {pluralize(tree.negative, 'negative branch length')} drawn as 0"
        parts.append(text)
    if alignment is not None:
        sequences = pluralize(len(alignment.names), f"{alignment.kind} sequence")
        identical = sum(share == 1 for share in alignment.conservation)
        parts.append(
            f"alignment of {sequences}, {pluralize(alignment.columns, 'column')}, "
            f"{identical / alignment.columns:.0%} identical"
        )
    return f"{plain(name)}: {'; '.join(parts)}"


def render_text(name: str, tree: Tree | None, alignment: Alignment | None) -> str:
    """Return the summary, the tree, and the alignment in blocks of 60 columns."""
    parts = [render_summary(name, tree, alignment)]
    if tree is not None:
        if len(tree.leaves) <= MAX_TEXT_ROWS:
            parts.append(render_tree(tree))
        else:
            parts.append(f"The tree is drawn as text for up to {MAX_TEXT_ROWS} leaves.")
    if alignment is not None:
        parts += _blocks(alignment)
    return "\n\n".join(parts)


def _blocks(alignment: Alignment) -> list[str]:
    names = [name[:MAX_NAME] for name in alignment.names[:MAX_TEXT_ROWS]]
    width = max(len(name) for name in names)
    digits = len(str(alignment.columns))
    blocks = []
    for start in range(0, min(alignment.columns, MAX_TEXT_BLOCKS * BLOCK), BLOCK):
        end = min(start + BLOCK, alignment.columns)
        lines = [
            f"{name:<{width}}  {start + 1:>{digits}} {row[start:end]} {end}"
            for name, row in zip(names, alignment.rows, strict=False)
        ]
        marks = "".join("*" if share == 1 else " " for share in alignment.conservation[start:end])
        lines.append(f"{'':<{width}}  {'':>{digits}} {marks}".rstrip())
        blocks.append("\n".join(lines))
    hidden = []
    if (rows := len(alignment.names) - MAX_TEXT_ROWS) > 0:
        hidden.append(f"{rows:,} more sequences")
    if (columns := alignment.columns - MAX_TEXT_BLOCKS * BLOCK) > 0:
        hidden.append(f"{columns:,} more columns")
    if hidden:
        blocks.append(f"… and {' and '.join(hidden)}")
    return blocks
