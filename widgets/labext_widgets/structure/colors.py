"""Colors of structures, readable on light and dark backgrounds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from labext.messages import join_words
from labext_widgets.core.markup import plain
from labext_widgets.structure.molecule import Floats, Structure

Scheme = Literal["chain", "secondary", "residue", "b_factor", "confidence", "element", "model"]

CHAINS = (
    *("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#2fa8a0", "#e15759", "#d9b62f", "#9c755f"),
    *("#f08bb4", "#8a8f98"),
)
SECONDARY = {
    "h": ("Helix", "#d1495b"),
    "s": ("Strand", "#e3a22c"),
    "c": ("Coil", "#93a4b5"),
    "n": ("Nucleotide", "#4f8fbf"),
}
RESIDUES = {
    "AVLIMFWXO": ("Hydrophobic", "#c9a227"),
    "STNQYU": ("Polar", "#4aa564"),
    "KRH": ("Positive", "#4472c4"),
    "DE": ("Negative", "#d64550"),
    "CGP": ("Cys, Gly, Pro", "#a06cc0"),
}
NUCLEOTIDES = {
    "A": ("A", "#4aa564"),
    "C": ("C", "#4472c4"),
    "G": ("G", "#c9a227"),
    "TU": ("T, U", "#d64550"),
    "IN": ("Other", "#8a8f98"),
}
CONFIDENCE = (
    (90, "Very high (≥ 90)", "#0053d6"),
    (70, "High (70-90)", "#65cbf3"),
    (50, "Low (50-70)", "#ffdb13"),
    (float("-inf"), "Very low (< 50)", "#ff7d45"),
)
B_FACTOR = ("#3b6fb6", "#d9d4cf", "#c8443c")
ELEMENTS = {
    "C": "#8d99a6", "H": "#c9ced4", "N": "#4a6ee0", "O": "#e0483e", "S": "#d9b52c", "P": "#f08a24",
    "F": "#5fbf5a", "CL": "#39a845", "BR": "#a5472f", "I": "#8a3fb0", "FE": "#d26b2e",
    "ZN": "#7d80b0", "MG": "#5aa02c", "NA": "#a763d1", "CA": "#4fa36b",
}  # fmt: skip
COMPARED = ("#4e79a7", "#f28e2b")
"""The first structure and the one superposed on it."""

Legend = list[tuple[str, str]]


def default_scheme(structure: Structure) -> Scheme:
    """Return the scheme in which a structure is displayed first."""
    if not structure.residues:
        return "element"
    if structure.confidence:
        return "confidence"
    return "secondary" if len(structure.chains) == 1 else "chain"


def schemes(structure: Structure) -> tuple[Scheme, ...]:
    """Return the schemes that distinguish residues of a structure."""
    if not structure.residues:
        return ("element",)
    result: list[Scheme] = ["chain", "secondary", "residue"]
    if structure.confidence:
        result.append("confidence")
    elif np.ptp(structure.b_factors) > 0:
        result.append("b_factor")
    return tuple(result)


def residue_colors(structure: Structure, scheme: Scheme) -> tuple[list[str], Legend]:
    """Return a color for each residue, and the legend as labels with their colors."""
    if scheme == "element":
        elements = dict.fromkeys(plain(str(e), 3).capitalize() for e in structure.atoms.element)
        carbon_first = sorted(elements, key=lambda element: (element != "C", element))
        return [], [(element, element_color(element)) for element in carbon_first]
    if scheme == "chain":
        chains = structure.chains
        colors = {chain: CHAINS[i % len(CHAINS)] for i, chain in enumerate(chains)}
        labels = [
            (_chain_label(chains[i :: len(CHAINS)]), color)
            for i, color in enumerate(CHAINS[: len(chains)])
        ]
        return [colors[residue.chain] for residue in structure.residues], labels
    if scheme == "confidence":
        pairs = [
            next((label, color) for limit, label, color in CONFIDENCE if value >= limit)
            for value in structure.b_factors
        ]
        return [color for _, color in pairs], [(label, color) for _, label, color in CONFIDENCE]
    if scheme == "b_factor":
        low, high = b_factor_range(structure)
        fractions = np.clip((structure.b_factors - low) / max(high - low, 1e-9), 0, 1)
        marks = zip("≤=≥", (low, (low + high) / 2, high), B_FACTOR, strict=True)
        stops = [(f"B {sign} {value:.3g} Å²", color) for sign, value, color in marks]
        return [_blend(float(fraction)) for fraction in fractions], stops
    if scheme == "residue":
        pairs = [
            _residue_class(letter, state == "n")
            for letter, state in zip(structure.letters, structure.secondary, strict=True)
        ]
    else:
        pairs = [SECONDARY[state] for state in structure.secondary]
    present = set(pairs)
    order = [*SECONDARY.values(), *RESIDUES.values(), *NUCLEOTIDES.values()]
    return [color for _, color in pairs], [pair for pair in order if pair in present]


def _chain_label(chains: list[str]) -> str:
    names = [plain(chain, 12) or "(unnamed)" for chain in chains]
    if len(names) > 1:
        return f"Chains {join_words(names, 2)}"
    return f"Chain {names[0]}" if chains[0] else "Chain"


def b_factor_range(structure: Structure) -> tuple[float, float]:
    """Return the 5th and 95th percentile of the B-factors."""
    if not len(structure.b_factors):
        return 0.0, 0.0
    low, high = np.percentile(structure.b_factors, (5, 95))
    return float(low), float(high)


def element_color(element: str) -> str:
    """Return the color of an element."""
    return ELEMENTS.get(element.upper(), "#b07aa1")


def rgb(color: str) -> Floats:
    """Return a color's red, green and blue, from 0 to 1."""
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _residue_class(letter: str, nucleotide: bool) -> tuple[str, str]:
    classes = NUCLEOTIDES if nucleotide else RESIDUES
    default = NUCLEOTIDES["IN"] if nucleotide else RESIDUES["AVLIMFWXO"]
    return next((pair for letters, pair in classes.items() if letter in letters), default)


def _blend(fraction: float) -> str:
    low, middle, high = (rgb(color) for color in B_FACTOR)
    mixed = (
        low + (middle - low) * fraction * 2
        if fraction < 0.5
        else middle + (high - middle) * (fraction - 0.5) * 2
    )
    return "#" + "".join(f"{round(float(value) * 255):02x}" for value in mixed)
