"""Summarize a protein structure: surface area, secondary structure, size (biotite)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from labext.sandbox.jobs.tools import _inputs, _outputs, _protein
from labext.sandbox.jobs.tools._outputs import svg_document, svg_text
from labext.sandbox.jobs.tools._protein import radius_of_gyration
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

if TYPE_CHECKING:
    from labext.sandbox.jobs.tools._protein import Array

STRUCTURE_COLORS = {"helix": "#c0504d", "strand": "#4f81bd", "coil": "#b8b8b8", "": "#e6e6e6"}
_WIDTH, _LEFT, _RIGHT = 760.0, 60.0, 20.0
_PANEL_HEIGHT, _BAND_HEIGHT, _LABEL_ROOM = 90.0, 10.0, 44.0


def draw_profile(chains: Sequence[tuple[str, Sequence[tuple[str, str, float | None]]]]) -> str:
    """Draw the areas and the secondary structure of residues, with one panel per chain.

    A residue is `(number, structure, area)`: helix, strand or coil, and the area in Å² or None.
    """
    max_area = max((area or 0.0 for _, rows in chains for _, _, area in rows), default=0.0) or 1.0
    body = [_legend()]
    pitch = _PANEL_HEIGHT + _BAND_HEIGHT + _LABEL_ROOM
    for index, (chain, rows) in enumerate(chains):
        body += _panel(chain, rows, 30.0 + index * pitch, max_area)
    return svg_document(_WIDTH, 30.0 + len(chains) * pitch, body)


def _legend() -> str:
    parts = []
    for index, kind in enumerate(("helix", "strand", "coil")):
        x = _LEFT + index * 70
        parts.append(
            f'<rect x="{x:.0f}" y="8" width="10" height="10" fill="{STRUCTURE_COLORS[kind]}"/>'
        )
        parts.append(svg_text(x + 14, 17, kind))
    parts.append(svg_text(_WIDTH - _RIGHT, 17, "Solvent-accessible area per residue", "end"))
    return "".join(parts)


def _panel(
    chain: str, rows: Sequence[tuple[str, str, float | None]], top: float, max_area: float
) -> list[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / len(rows)
    base = top + _PANEL_HEIGHT
    body = [
        svg_text(_LEFT - 6, top + 10, f"{max_area:.0f} Å²", "end"),
        svg_text(_LEFT - 6, base + _BAND_HEIGHT, f"chain {chain}", "end"),
        f'<path d="M{_LEFT:.1f} {top:.1f}V{base:.1f}" stroke="#999999"/>',
    ]
    for index, (_, structure, area) in enumerate(rows):
        x, color = _LEFT + index * step, STRUCTURE_COLORS[structure]
        bar_height = _PANEL_HEIGHT * (area or 0.0) / max_area
        body.append(
            f'<path d="M{x:.2f} {base + 2:.1f}h{step:.2f}v{_BAND_HEIGHT:.1f}h-{step:.2f}z'
            f'M{x:.2f} {base:.1f}v-{bar_height:.1f}h{0.85 * step:.2f}v{bar_height:.1f}z" '
            f'fill="{color}"/>'
        )
    interval = next((n for n in (1, 2, 5, 10, 20, 50, 100, 200) if len(rows) <= 15 * n), 500)
    for index, (number, _, _) in enumerate(rows):
        if number.lstrip("-").isdecimal() and int(number) % interval == 0:
            x = _LEFT + (index + 0.5) * step
            body.append(svg_text(x, base + _BAND_HEIGHT + 15, number, "middle"))
    return body


MAX_RESIDUES, MAX_ATOMS = 3000, 30_000
_MAX_BOX_VOLUME = 1e9
"""Limit of the bounding box in Å³; the surface computation keeps a grid of it in memory."""


@dataclass(frozen=True)
class _Request:
    model: int
    chains: list[str]
    probe: float


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    _inputs.read_text(values, "pdbFile")
    model, chains = _inputs.read_integer(values, "model", 1, 9999), _inputs.read_chains(values)
    return _Request(model, chains, _inputs.read_number(values, "probe", 0.5, 5))


TOOL = Tool(
    name="structure_summary",
    display_name="Structure summary",
    description=(
        "Describes a protein structure: the solvent-accessible surface (Shrake and Rupley), "
        "the secondary structure from alpha carbons (P-SEA, doi "
        "10.1093/bioinformatics/13.3.291), backbone angles and radius of gyration, as a "
        "table of residues and a picture. Hydrogens, water, ligands, nucleic acids and chains that "
        "are not selected are ignored. Surfaces are in Å², the radius of gyration in Å; helix, "
        "strand and coil are fractions."
    ),
    github="https://github.com/biotite-dev/biotite",
    paper="https://doi.org/10.1186/s12859-018-2367-z",
    parameters=(
        Parameter(
            "pdbFile",
            required=True,
            type="pdb",
            content=("protein structure",),
            description=(
                f"A protein in PDB format, at most {MAX_RESIDUES:,} residues; the surface needs "
                "more than alpha carbons."
            ),
        ),
        Parameter(
            "model",
            type="integer",
            default=1,
            description="The model to use if the file has several, from 1.",
        ),
        Parameter("chains", description="Chains such as A,B; by default all."),
        Parameter("probe", default=1.4, description="Probe radius in ångström, 0.5 to 5."),
    ),
    requires=("biotite", "numpy"),
    preload=("biotite.structure", "biotite.structure.info", "numpy"),
    extra="tools",
    passes=("residues.csv",),
    figures=("residues.csv",),
    passes_content="table",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `residues.csv` and `profile.svg`.

    The score: `sasa` in Å², omitted for files of alpha carbons only; `helix`, `strand` and `coil`
    as fractions of the residues; `radius_of_gyration` in ångström (heavy atoms, mass-weighted).
    """
    request = _read_request(settings)
    residues = _protein.read_residues(inputs["pdbFile"], request.model, request.chains)
    atoms = [atom for residue in residues for atom in residue.heavy]
    if len(residues) > MAX_RESIDUES or len(atoms) > MAX_ATOMS:
        raise ToolError(
            f"pdbFile: it has {len(residues):,} residues and {len(atoms):,} heavy atoms; "
            f"at most {MAX_RESIDUES:,} and {MAX_ATOMS:,} are allowed."
        )

    import numpy as np

    coordinates = np.array([atom.xyz for atom in atoms])
    margin = _protein.LARGEST_RADIUS + request.probe
    sides = coordinates.max(axis=0) - coordinates.min(axis=0) + 2 * margin
    if float(sides.prod()) > _MAX_BOX_VOLUME:
        raise ToolError(
            "pdbFile: its bounding box is too large: "
            f"{' × '.join(f'{side:,.0f}' for side in sides)} Å."
        )
    structure = _protein.secondary_structure(residues)
    areas = _protein.accessible_areas(residues, coordinates, request.probe)
    angles = _protein.backbone_angles(residues)
    _write_results(residues, structure, areas, angles, out)
    masses = _protein.atom_masses(atoms)
    score: Score = {
        "residues": len(residues),
        "atoms": len(atoms),
        "chains": len({residue.chain for residue in residues}),
        "radius_of_gyration": round(radius_of_gyration(coordinates, masses), 3),
        **{
            kind: round(structure.count(kind) / len(residues), 4)
            for kind in ("helix", "strand", "coil")
        },
    }
    return score if areas is None else {**score, "sasa": round(float(areas.sum()), 1)}


def _write_results(
    residues: Sequence[_protein.Residue],
    structure: Sequence[str],
    areas: Array | None,
    angles: Sequence[tuple[float | None, float | None]],
    out: Path,
) -> None:
    """Write `residues.csv`, with areas in Å² and angles in degrees, and `profile.svg`."""
    sizes = [None] * len(residues) if areas is None else [float(area) for area in areas]

    def format_number(value: float | None, decimals: int) -> str:
        # Adding 0 turns -0.0 into 0.0.
        return "" if value is None else f"{round(value, decimals) + 0:.{decimals}f}"

    def relative(area: float | None, name: str) -> float | None:
        max_area = _protein.max_accessible_area(name)
        return None if area is None or max_area is None else area / max_area

    rows = (
        (
            *(residue.chain, residue.number, residue.name, kind, format_number(area, 2)),
            format_number(relative(area, residue.name), 3),
            *(format_number(phi, 1), format_number(psi, 1)),
        )
        for residue, kind, area, (phi, psi) in zip(residues, structure, sizes, angles, strict=True)
    )
    columns = ("chain", "residue", "name", "structure", "sasa", "relative_sasa", "phi", "psi")
    _outputs.write_csv(out / "residues.csv", columns, rows)
    profile = zip(residues, structure, sizes, strict=True)
    panels = [
        (chain, [(residue.number, kind, area) for residue, kind, area in rows])
        for chain, rows in groupby(profile, key=lambda row: row[0].chain)
    ]
    (out / "profile.svg").write_text(draw_profile(panels), encoding="utf-8")
