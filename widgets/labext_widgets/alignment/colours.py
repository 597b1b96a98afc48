"""Colours of residues by class; black letters are readable on each of them."""

from __future__ import annotations

from typing import Literal

Kind = Literal["protein", "DNA", "RNA"]

PROTEIN_CLASSES = {
    "hydrophobic": ("AILMFWV", "#77aadd"),
    "positive": ("KR", "#ee8866"),
    "negative": ("DE", "#ffaabb"),
    "polar": ("NQST", "#44bb99"),
    "aromatic": ("HY", "#99ddff"),
    "cysteine": ("C", "#bbaa33"),
    "glycine": ("G", "#bbcc33"),
    "proline": ("P", "#eedd88"),
}
"""Classes as in Clustal, in Paul Tol's light scheme, which is safe for colour blindness."""

NUCLEOTIDE_CLASSES = {
    "A": ("A", "#44bb99"),
    "C": ("C", "#77aadd"),
    "G": ("G", "#eedd88"),
    "T": ("TU", "#ee8866"),
}

OTHER = "#dddddd"
"""Colour of ambiguous and unknown residues."""

GAPS = "-."


def residue_classes(kind: Kind) -> dict[str, str]:
    """Return the class of each residue of a kind of sequence, by its upper-case letter."""
    return {residue: name for name, (residues, _) in _classes(kind).items() for residue in residues}


def palette(kind: Kind) -> dict[str, str]:
    """Return the colour of each residue of a kind of sequence, by its upper-case letter."""
    return {residue: colour for residues, colour in _classes(kind).values() for residue in residues}


def residue_colour(residue: str, kind: Kind) -> str | None:
    """Return the colour of a residue; None for a gap."""
    return None if residue in GAPS else palette(kind).get(residue.upper(), OTHER)


def _classes(kind: Kind) -> dict[str, tuple[str, str]]:
    return PROTEIN_CLASSES if kind == "protein" else NUCLEOTIDE_CLASSES
