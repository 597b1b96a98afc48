"""Render a sequence as a static map and as text."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from labext.messages import join_words, pluralize
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape
from labext_widgets.sequence import circular_map, linear_map
from labext_widgets.sequence.enzymes import cut_sites
from labext_widgets.sequence.molecule import Annotation, Molecule

MAX_ANNOTATIONS, MAX_LABELS, MAX_CUTS = 400, 40, 40
"""Maximum numbers of annotations, annotation labels and cut sites in the static map.

The longest annotations and the first sites are kept.
"""


def render_html(molecule: Molecule, enzymes: Sequence[str], note: str = "") -> str:
    """Return the map as an image with a line of text below it."""
    encoded = base64.b64encode(render_svg(molecule, enzymes).encode()).decode()
    summary = escape(render_text(molecule, enzymes))
    rows = [
        f'<img src="data:image/svg+xml;base64,{encoded}" alt="{summary}" '
        'style="max-width:100%;height:auto">',
        div(summary, MUTED),
    ]
    if note:
        rows.append(div(escape(note), MUTED))
    body = "".join(rows)
    return f'<div class="labext {UNTYPESET}" style="max-width:640px;font-size:13px">{body}</div>'


def render_svg(molecule: Molecule, enzymes: Sequence[str]) -> str:
    """Return the map as SVG, with the sites of the enzymes that cut once."""
    longest = sorted(
        molecule.annotations,
        key=lambda annotation: -molecule.span(annotation.start, annotation.end),
    )[:MAX_ANNOTATIONS]
    drawn = sorted(longest, key=lambda annotation: (annotation.start, annotation.end))
    named = {id(annotation) for annotation in longest[:MAX_LABELS]}
    labelled = {i for i, annotation in enumerate(drawn) if id(annotation) in named}
    sites_by_enzyme = (cut_sites(molecule, name) for name in enzymes)
    once = [sites[0] for sites in sites_by_enzyme if len(sites) == 1][:MAX_CUTS]
    draw = circular_map.draw if molecule.circular else linear_map.draw
    return draw(molecule, drawn, labelled, once)


def render_text(molecule: Molecule, enzymes: Sequence[str]) -> str:
    """Return a one-line summary of a molecule.

    For example: `pBAD30: 4,923 bp, circular, 10 annotations; cut once by EcoRI, NcoI`.
    """
    summary = (
        f"{molecule.name}: {len(molecule):,} bp, {'circular' if molecule.circular else 'linear'}, "
    )
    summary += pluralize(len(molecule.annotations), "annotation")
    if molecule.omitted:
        summary += f", {pluralize(molecule.omitted, 'mark')} outside the sequence omitted"
    once = [name for name in enzymes if len(cut_sites(molecule, name)) == 1]
    return f"{summary}; cut once by {join_words(once, 8)}" if once else summary


def render_table(molecule: Molecule, enzymes: Sequence[str], most: int = 20) -> str:
    """Return the summary, and a line with range, strand and name for each annotation."""
    rows = [
        render_text(molecule, enzymes),
        *(_row(molecule, annotation) for annotation in molecule.annotations[:most]),
    ]
    if (rest := len(molecule.annotations) - most) > 0:
        rows.append(f"  … and {rest:,} more")
    return "\n".join(rows)


def range_text(start: int, end: int) -> str:
    """Return a range in biological notation, 1-based with an inclusive end: `120-360`."""
    return f"{start + 1}-{end}"


def strand_sign(strand: int) -> str:
    """Return `+`, `-`, or a dot if the strand is unspecified."""
    return "+" if strand > 0 else "-" if strand < 0 else "."


def _row(molecule: Molecule, annotation: Annotation) -> str:
    digits = 2 * len(str(len(molecule))) + 1
    kind = f" ({annotation.type})" if annotation.type and annotation.type != annotation.name else ""
    sign = strand_sign(annotation.strand)
    return (
        f"  {range_text(annotation.start, annotation.end):>{digits}} {sign} {annotation.name}{kind}"
    )
