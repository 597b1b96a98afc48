"""Draw a tree and an alignment side by side as SVG, and show them in saved notebooks."""

from __future__ import annotations

import html
import struct
import zlib
from collections.abc import Sequence

from labext.messages import pluralize
from labext_widgets.alignment.rows import Alignment, palette, residue_color
from labext_widgets.alignment.tree import Tree, TreeNode, render_tree
from labext_widgets.core.layout import nice_step
from labext_widgets.core.markup import data_uri, escape, percentage, plain
from labext_widgets.core.picture import drawing_html

MAX_ROWS, MAX_COLUMNS = 60, 2000
"""Maximum numbers of rows and columns in the drawing."""

MAX_LETTERED_COLUMNS = 80
"""Alignments with more columns are drawn as blocks of color, without letters."""

MAX_NAME = 24
"""Maximum number of characters of a name; longer ones are cut in the middle."""

INK, FAINT, BAR = "#7c7c7c", "#a0a0a0", "#8fa3b8"  # for light and dark pages
_SIZE, _LETTER = 11, 6.7  # font size and width of its characters
_ROW, _CELL = 14, 9  # pixels of a row and of a column with letters
_BLOCKS = 640  # pixels of all columns without letters
_TREE, _TREE_ALONE = 140, 420  # pixels of a tree beside an alignment, and alone
_RULER, _BARS, _GAP = 16, 22, 8


def draw(tree: Tree | None, alignment: Alignment | None) -> str:
    """Return the SVG of a tree, an alignment, or both; the rows of both are in the same order."""
    names = list(alignment.names) if alignment else tree.leaves if tree else []
    labels = [_cut(name) for name in names[:MAX_ROWS]]
    tree_width = 0 if tree is None else _TREE if alignment else _TREE_ALONE
    names_width = max(map(len, labels)) * _LETTER + _GAP
    if alignment is not None and tree is None:  # beside a tree, the label has the space above it
        names_width = max(names_width, len(_cells_label(alignment)) * _LETTER + _GAP)
    top = 4 + (_RULER + _BARS + (_ROW if _lettered(alignment) else 0) if alignment else 0)
    height = len(labels) * _ROW
    left = 4 + tree_width + (_GAP if tree_width else 0)
    pieces = []
    if tree is not None:
        pieces += _draw_tree(tree, 4, top, tree_width, len(labels), aligned=alignment is not None)
    tips = _tips(tree, tree_width) if tree is not None and alignment is None else {}
    for row, (name, text) in enumerate(zip(names, labels, strict=False)):
        x = 4 + tips[name] + 5 if tips else left
        pieces.append(_text(text, x, top + (row + 0.5) * _ROW))
    width = left + names_width
    if alignment is not None:
        cells, cells_width = _draw_cells(alignment, width, top)
        pieces += cells
        width += cells_width
    bottom = top + height + (22 if tree is not None and tree.scale_bar() else 4)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 6:.0f} {bottom}" '
        f'width="{width + 6:.0f}" height="{bottom}" font-family="monospace" '
        f'font-size="{_SIZE}" fill="{INK}">{"".join(pieces)}</svg>'
    )


def shown_part(tree: Tree | None, alignment: Alignment | None) -> str:
    """Return a note of the rows and columns that the drawing omits, or an empty string."""
    rows = len(alignment.names) if alignment else len(tree.leaves) if tree else 0
    parts = []
    if rows > MAX_ROWS:
        parts.append(f"the first {MAX_ROWS} of {rows:,} sequences")
    if alignment is not None and alignment.columns > MAX_COLUMNS:
        parts.append(f"the first {MAX_COLUMNS:,} of {alignment.columns:,} columns")
    return f"Drawn: {' and '.join(parts)}." if parts else ""


def _lettered(alignment: Alignment | None) -> bool:
    return alignment is not None and alignment.columns <= MAX_LETTERED_COLUMNS


def _cells_label(alignment: Alignment) -> str:
    return "consensus" if _lettered(alignment) else "conservation"


def _tips(tree: Tree, width: float) -> dict[str, float]:
    scale = width / (tree.depth or 1)
    return {node.name: node.x * scale for node in tree.root.walk() if not node.children}


def _draw_tree(
    tree: Tree, left: float, top: float, width: float, rows: int, *, aligned: bool
) -> list[str]:
    """Return the branches, dotted lines from the leaves to the names, and the scale bar."""
    scale = width / (tree.depth or 1)
    bottom = top + rows * _ROW

    def position(node: TreeNode) -> tuple[float, float]:
        return left + node.x * scale, top + (node.y + 0.5) * _ROW

    branches, dots = [], []
    for node in tree.root.walk():
        x, y = position(node)
        for child in node.children:
            end, level = position(child)
            if level < bottom:
                branches.append(f"M{x:.1f} {level:.1f}H{end:.1f}")
        if node.children:
            first, last = (position(child)[1] for child in (node.children[0], node.children[-1]))
            if first < bottom:
                branches.append(f"M{x:.1f} {first:.1f}V{min(last, bottom):.1f}")
        elif aligned and y < bottom and left + width - x > 4:
            dots.append(f"M{x + 3:.1f} {y:.1f}H{left + width + 4:.1f}")
    pieces = [f'<path d="{"".join(branches)}" fill="none" stroke="{INK}" stroke-linecap="square"/>']
    if dots:
        pieces.append(f'<path d="{"".join(dots)}" stroke="{FAINT}" stroke-dasharray="1 3"/>')
    if length := tree.scale_bar():
        y = bottom + 10
        end = left + length * scale
        pieces.append(
            f'<path d="M{left} {y - 3}v6m0 -3H{end:.1f}m0 -3v6" fill="none" stroke="{INK}"/>'
        )
        pieces.append(_text(f"{length:g}", end + 5, y))
    return pieces


def _draw_cells(alignment: Alignment, left: float, top: float) -> tuple[list[str], float]:
    """Return the ruler, conservation, consensus and cells, and the width of the cells."""
    columns = min(alignment.columns, MAX_COLUMNS)
    lettered = _lettered(alignment)
    cell = _CELL if lettered else min(_CELL, _BLOCKS / columns)
    width = columns * cell
    bars_top = 4 + _RULER
    pieces = _draw_ruler(columns, cell, left)
    path = "".join(
        f"h{cell:.4g}V{bars_top + _BARS * (1 - share):.1f}"
        for share in [*alignment.conservation[1:columns], 0.0]
    )
    first = bars_top + _BARS * (1 - alignment.conservation[0])
    pieces.append(
        f'<path d="M{left:.1f} {bars_top + _BARS}V{first:.1f}{path}V{bars_top + _BARS}z" '
        f'fill="{BAR}"/>'
    )
    rows = [row[:columns] for row in alignment.rows[:MAX_ROWS]]
    image = data_uri(_pixels(rows, alignment), "image/png")
    pieces.append(
        f'<image href="{image}" x="{left:.1f}" y="{top}" '
        f'width="{width:.1f}" height="{len(rows) * _ROW}" preserveAspectRatio="none" '
        'style="image-rendering:pixelated"/>'
    )
    if lettered:
        offsets = " ".join(f"{left + (i + 0.5) * cell:.4g}" for i in range(columns))
        pieces.append(_letters(alignment.consensus, offsets, top - _ROW / 2, INK))
        for number, row in enumerate(rows):
            pieces.append(_letters(row, offsets, top + (number + 0.5) * _ROW, "#111"))
    label = 'text-anchor="end" fill-opacity="0.85"'
    label_y = top - _ROW / 2 if lettered else bars_top + _BARS / 2
    pieces.append(_text(_cells_label(alignment), left - _GAP, label_y, label))
    return pieces, width


def _draw_ruler(columns: int, cell: float, left: float) -> list[str]:
    step = nice_step(columns, columns * cell / 60)
    ticks = [1, *range(step, columns + 1, step)] if step > 1 else list(range(1, columns + 1))
    if len(ticks) > 1 and (ticks[1] - 1) * cell < 24:
        del ticks[0]
    marks = "".join(f"M{left + (tick - 0.5) * cell:.1f} {_RULER}v4" for tick in ticks)
    pieces = [f'<path d="{marks}" stroke="{INK}"/>']
    for tick in ticks:
        x = left + (tick - 0.5) * cell
        pieces.append(_text(f"{tick}", x, _RULER - 5, 'text-anchor="middle"'))
    return pieces


def _letters(row: str, offsets: str, y: float, color: str) -> str:
    return (
        f'<text x="{offsets}" y="{y + 0.35 * _SIZE:.1f}" text-anchor="middle" '
        f'fill="{color}">{html.escape(row.replace("-", chr(160)))}</text>'
    )


def _pixels(rows: list[str], alignment: Alignment) -> bytes:
    colors = [None, *sorted({*palette(alignment.kind).values(), "#dddddd"})]
    letters = {letter for row in rows for letter in row}
    index = {letter: colors.index(residue_color(letter, alignment.kind)) for letter in letters}
    return encode_png([[index[letter] for letter in row] for row in rows], colors)


def _text(text: str, x: float, y: float, more: str = "") -> str:
    attributes = f" {more}" if more else ""
    return f'<text x="{x:.1f}" y="{y + 0.35 * _SIZE:.1f}"{attributes}>{escape(text)}</text>'


def _cut(name: str) -> str:
    """Cut a long name in the middle: names often start alike."""
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[: half - 1]}…{name[-half:]}"


def encode_png(rows: Sequence[Sequence[int]], colors: Sequence[str | None]) -> bytes:
    """Return a PNG of equally long rows of color indexes; a color of None is transparent."""
    width = len(rows[0])
    lines = bytearray()
    for row in rows:
        lines.append(0)  # no filter
        pairs = [*row, 0] if width % 2 else row
        lines += bytes(pairs[i] << 4 | pairs[i + 1] for i in range(0, width, 2))
    color_bytes = b"".join(bytes.fromhex((color or "#000000")[1:]) for color in colors)
    alpha = bytes(0 if color is None else 255 for color in colors)
    header = struct.pack(">IIBBBBB", width, len(rows), 4, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", color_bytes),
        (b"tRNS", alpha),
        (b"IDAT", zlib.compress(bytes(lines), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


MAX_TEXT_ROWS, MAX_TEXT_BLOCKS, BLOCK = 50, 10, 60
"""Maximum numbers of rows and blocks as text, and the number of columns of a block."""


def render_html(name: str, tree: Tree | None, alignment: Alignment | None, note: str = "") -> str:
    """Return the drawing as an image with a line of text below it."""
    lines = [render_summary(name, tree, alignment), shown_part(tree, alignment), note]
    return drawing_html(draw(tree, alignment), lines, 1000)


def render_summary(name: str, tree: Tree | None, alignment: Alignment | None) -> str:
    """Return one line, for example: `its: tree of 7 leaves; alignment of 7 DNA sequences, …`."""
    parts = []
    if tree is not None:
        text = f"tree of {len(tree.leaves):,} {'leaf' if len(tree.leaves) == 1 else 'leaves'}"
        if not tree.has_lengths:
            text += " without branch lengths"
        if tree.negative:
            text += f", {pluralize(tree.negative, 'negative branch length')} drawn as 0"
        if tree.has_inner_labels:
            text += ", labels of inner nodes not shown"
        parts.append(text)
    if alignment is not None:
        sequences = pluralize(len(alignment.names), f"{alignment.kind} sequence")
        identical = sum(share == 1 for share in alignment.conservation)
        parts.append(
            f"alignment of {sequences}, {pluralize(alignment.columns, 'column')}, "
            f"{percentage(identical / alignment.columns)} identical"
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
