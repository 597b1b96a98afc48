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
"""Maximum numbers of annotations, annotation labels and cut sites in the static map.

The longest annotations and the first sites are kept.
"""


def render_html(on: Molecule, enzymes: Sequence[str], note: str = "") -> str:
    """Return the map as an image with a line of text below it."""
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
    longest = sorted(
        on.annotations, key=lambda annotation: -on.span(annotation.start, annotation.end)
    )[:DRAWN]
    drawn = sorted(longest, key=lambda annotation: (annotation.start, annotation.end))
    named = {id(annotation) for annotation in longest[:LABELLED]}
    labelled = {i for i, annotation in enumerate(drawn) if id(annotation) in named}
    sites_by_enzyme = (cut_sites(on, name) for name in enzymes)
    once = [sites[0] for sites in sites_by_enzyme if len(sites) == 1][:CUTS]
    draw = circular_map.draw if on.circular else linear_map.draw
    return draw(on, drawn, labelled, once)


def render_text(on: Molecule, enzymes: Sequence[str]) -> str:
    """Return a one-line summary of a molecule.

    For example: `pBAD30: 4,923 bp, circular, 10 annotations; once cut by EcoRI, NcoI`.
    """
    summary = f"{on.name}: {len(on):,} bp, {'circular' if on.circular else 'linear'}, "
    summary += pluralize(len(on.annotations), "annotation")
    if on.left_out:
        summary += f", {pluralize(on.left_out, 'mark')} outside the sequence left out"
    once = [name for name in enzymes if len(cut_sites(on, name)) == 1]
    return f"{summary}; once cut by {join_words(once, 8)}" if once else summary


def render_table(on: Molecule, enzymes: Sequence[str], most: int = 20) -> str:
    """Return the summary, and a line with range, strand and name for each annotation."""
    rows = [
        render_text(on, enzymes),
        *(_row(on, annotation) for annotation in on.annotations[:most]),
    ]
    if (rest := len(on.annotations) - most) > 0:
        rows.append(f"  … and {rest:,} more")
    return "\n".join(rows)


def range_text(start: int, end: int) -> str:
    """Return a range in biological notation, 1-based with an inclusive end: `120-360`."""
    return f"{start + 1}-{end}"


def strand_sign(strand: int) -> str:
    """Return `+`, `-`, or a dot if the strand is unspecified."""
    return "+" if strand > 0 else "-" if strand < 0 else "."


def _row(on: Molecule, annotation: Annotation) -> str:
    digits = 2 * len(str(len(on))) + 1
    kind = f" ({annotation.type})" if annotation.type and annotation.type != annotation.name else ""
    sign = strand_sign(annotation.strand)
    return (
        f"  {range_text(annotation.start, annotation.end):>{digits}} {sign} {annotation.name}{kind}"
    )
