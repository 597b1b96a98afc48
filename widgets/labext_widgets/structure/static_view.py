"""The static views of a structure: HTML with a picture, and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from labext.messages import pluralize
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape, span
from labext_widgets.core.picture import image_html, picture_type
from labext_widgets.structure.colours import COMPARED, Legend, Scheme
from labext_widgets.structure.molecule import Structure
from labext_widgets.structure.superposition import Superposition

Style = Literal["cartoon", "stick", "surface"]

SCHEME_LABELS: dict[Scheme, str] = {
    "model": "Structure",
    "chain": "Chain",
    "secondary": "Secondary structure",
    "residue": "Residue class",
    "b_factor": "B-factor",
    "confidence": "Confidence (pLDDT)",
    "element": "Element",
}
PNG = b"\x89PNG\r\n\x1a\n"
MIN_CARTOON_RESIDUES = 4
_LINE = 60
_SWATCH = "display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 4px 0 0"


def styles(structure: Structure) -> tuple[Style, ...]:
    """Return the styles of a structure, the default first; small molecules have no cartoon."""
    if structure.trace_only:  # nothing to draw sticks between
        return ("cartoon", "surface")
    if len(structure.residues) < MIN_CARTOON_RESIDUES:
        return ("stick", "surface")
    return ("cartoon", "stick", "surface")


def model_colours(structure: Structure, other: Structure) -> tuple[list[str], Legend]:
    """Return the colours that tell two superposed structures apart, and their legend."""
    legend = [(structure.name, COMPARED[0]), (other.name, COMPARED[1])]
    return [COMPARED[0]] * len(structure.residues), legend


def summarize(
    structure: Structure, other: Structure | None, superposition: Superposition | None
) -> str:
    """Return one line: the name, its size, and the RMSD of a superposed structure."""
    if structure.residues:
        size = pluralize(len(structure.residues), "residue")
        if len(structure.chains) > 1:
            size += f" in {pluralize(len(structure.chains), 'chain')}"
    else:
        size = pluralize(len(structure.coordinates), "atom")
    parts = [size]
    if structure.models > 1:
        parts.append(pluralize(structure.models, "model"))
    line = f"{structure.name}: {', '.join(parts)}"
    if other is not None and superposition is not None:
        paired = "residue" if structure.residues else "atom"
        states = set(structure.secondary)
        atoms = "P " if states == {"n"} else "Cα " if states and "n" not in states else ""
        line += (
            f"; {other.name} superposed, {atoms}RMSD {superposition.rmsd:.2f} Å "
            f"over {pluralize(superposition.residues, paired)}"
        )
    return line


def render_html(summary: str, legend: Legend, picture: bytes, note: str = "") -> str:
    """Return the summary, a legend and a picture as HTML with inline styles only."""
    swatches = "".join(
        span(f'<span style="{_SWATCH};background-color:{colour}"></span>{escape(label)}', _ENTRY)
        for label, colour in legend
    )
    rows = [
        div(f"<strong>{escape(summary)}</strong>"),
        div(swatches, "display:flex;flex-wrap:wrap;font-size:13px"),
        image_html(picture, picture_type(picture), summary),
        div(escape(note), MUTED) if note else "",
    ]
    return f'<div class="labext {UNTYPESET}">{"".join(rows)}</div>'


_ENTRY = "margin:0 14px 4px 0;white-space:nowrap"


def render_text(structure: Structure, summary: str) -> str:
    """Return the summary, and each chain's sequence above its secondary structure."""
    rows = [summary]
    for chain in structure.chains:
        indices = [i for i, residue in enumerate(structure.residues) if residue.chain == chain]
        rows += ["", f"Chain {chain or '(unnamed)'}, {pluralize(len(indices), 'residue')}"]
        for line in _lines(indices):
            number = structure.residues[line[0]].number
            rows.append(f"{number:>6} {''.join(structure.letters[i] for i in line)}")
            states = "".join(structure.secondary[i] for i in line)
            rows.append(f"       {states.translate(_STATES)}".rstrip())
    if structure.residues:
        rows += ["", "H helix, E strand"]
    return "\n".join(rows)


_STATES = str.maketrans({"h": "H", "s": "E", "c": "-", "n": " "})


def _lines(indices: Sequence[int]) -> list[Sequence[int]]:
    return [indices[i : i + _LINE] for i in range(0, len(indices), _LINE)]
