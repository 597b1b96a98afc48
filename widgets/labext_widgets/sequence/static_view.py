"""Render a sequence as a static map and as text."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from labext.messages import join_words, pluralize
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape
from labext_widgets.sequence import circular_map, linear_map
from labext_widgets.sequence.enzymes import cut_sites
from labext_widgets.sequence.molecule import Annotation, Molecule

DRAWN, LABELLED, CUTS = 400, 40, 40
"""How many annotations, names of annotations, and cut sites the picture has at most: the longest
and the first."""


def render_html(on: Molecule, enzymes: Sequence[str], note: str = "") -> str:
    """Return the map as an image with its line of words below it."""
    encoded = base64.b64encode(render_svg(on, enzymes).encode()).decode()
    rows = [
        f'<img src="data:image/svg+xml;base64,{encoded}" alt="{escape(render_text(on, enzymes))}" '
        'style="max-width:100%;height:auto">',
        div(escape(render_text(on, enzymes)), MUTED),
    ]
    if note:
        rows.append(div(escape(note), MUTED))
    body = "".join(rows)
    return f'<div class="labext {UNTYPESET}" style="max-width:640px;font-size:13px">{body}</div>'


def render_svg(on: Molecule, enzymes: Sequence[str]) -> str:
    """Return the map as SVG, with the sites of the enzymes that cut once."""
    longest = sorted(on.annotations, key=lambda each: -on.span(each.start, each.end))[:DRAWN]
    shown = sorted(longest, key=lambda each: (each.start, each.end))
    named = {id(each) for each in longest[:LABELLED]}
    labelled = {i for i, each in enumerate(shown) if id(each) in named}
    found = (cut_sites(on, each) for each in enzymes)
    once = [each[0] for each in found if len(each) == 1][:CUTS]
    draw = circular_map.draw if on.circular else linear_map.draw
    return draw(on, shown, labelled, once)


def render_text(on: Molecule, enzymes: Sequence[str]) -> str:
    """Return one line: `pBAD30: 4,923 bp, circular, 10 annotations; once cut by EcoRI, NcoI`."""
    told = f"{on.name}: {len(on):,} bp, {'circular' if on.circular else 'linear'}, "
    told += pluralize(len(on.annotations), "annotation")
    if on.left_out:
        told += f", {pluralize(on.left_out, 'mark')} outside the sequence left out"
    once = [each for each in enzymes if len(cut_sites(on, each)) == 1]
    return f"{told}; once cut by {join_words(once, 8)}" if once else told


def render_table(on: Molecule, enzymes: Sequence[str], most: int = 20) -> str:
    """Return the line, and a line for each annotation: place, strand, name."""
    rows = [render_text(on, enzymes), *(_row(on, each) for each in on.annotations[:most])]
    if (rest := len(on.annotations) - most) > 0:
        rows.append(f"  … and {rest:,} more")
    return "\n".join(rows)


def range_text(start: int, end: int) -> str:
    """Return a range as biologists count it, from 1 and with its last base: `120-360`."""
    return f"{start + 1}-{end}"


def strand_sign(strand: int) -> str:
    """Return `+`, `-`, or a dot where there is none."""
    return "+" if strand > 0 else "-" if strand < 0 else "."


def _row(on: Molecule, each: Annotation) -> str:
    digits = 2 * len(str(len(on))) + 1
    kind = f" ({each.type})" if each.type and each.type != each.name else ""
    sign = strand_sign(each.strand)
    return f"  {range_text(each.start, each.end):>{digits}} {sign} {each.name}{kind}"
