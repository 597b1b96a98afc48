"""Draw a structure as SVG: a depth-shaded ribbon, with small molecules as sticks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from labext.messages import pluralize
from labext_widgets.core.markup import MUTED, WRAPPED, div, escape, span, view_html
from labext_widgets.core.picture import image_html, picture_type
from labext_widgets.structure.colors import (
    COMPARED,
    Legend,
    Scheme,
    element_color,
    residue_colors,
    rgb,
)
from labext_widgets.structure.molecule import Floats, Structure
from labext_widgets.structure.superposition import Superposition

WIDTH, HEIGHT, MIN_HEIGHT = 640, 400, 160
MAX_SEGMENTS = 1600
"""Ribbons of large structures have fewer segments per residue, so that a saved view is small."""

MAX_OTHER_ATOMS = 500
"""Maximum number of atoms of the ligands in a drawing; otherwise the ligands are omitted."""

_RIBBON = {"h": 2.3, "s": 2.1, "c": 1.1, "n": 1.7}  # widths in Å
_BOND, _ATOM = 0.32, 0.42  # radii in Å
_FOG = np.array([0.93, 0.94, 0.96])
_COVALENT = {"H": 0.31, "C": 0.76, "N": 0.71, "O": 0.66, "S": 1.05, "P": 1.07, "F": 0.57}


@dataclass(frozen=True)
class _Stroke:
    """A line of the drawing: points in pixels, depth from 0 (back) to 1, width in pixels."""

    points: Floats
    depth: float
    width: float
    color: str


_Compared = tuple[Structure, Superposition]


@dataclass(frozen=True)
class _Scene:
    """The strokes of a picture, the rear ones first, and its size in pixels."""

    strokes: Sequence[_Stroke]
    width: int
    height: int


def draw_structure(structure: Structure, scheme: Scheme, other: _Compared | None = None) -> str:
    """Return an SVG picture, seen along the axis of the smallest extent.

    Args:
        structure: the structure.
        scheme: how its residues are colored; `model` colors it as the first of two.
        other: a structure that is superposed on it, with the transformation.
    """
    return _svg(_project(structure, scheme, other, WIDTH, HEIGHT), structure.name)


def draw_thumbnail(
    structure: Structure,
    scheme: Scheme,
    other: _Compared | None,
    width: int,
    height: int,
    max_bytes: int,
) -> bytes:
    """Return the picture of `draw_structure`, as PNG if its SVG has more than `max_bytes`.

    The resolution is the highest of several that fits, from 2 pixels per CSS pixel to 0.7.
    """
    scene = _project(structure, scheme, other, width, height)
    svg = _svg(scene, structure.name).encode()
    if len(svg) <= max_bytes:
        return svg
    for resolution in (2.0, 1.5, 1.0, 0.7):
        png = _png(scene, resolution)
        if len(png) <= max_bytes:
            break
    return png


def _project(
    structure: Structure, scheme: Scheme, other: _Compared | None, width: int, height: int
) -> _Scene:
    parts = [(structure, structure.trace, structure.coordinates, 0)]
    if other is not None:
        second, transformation = other
        trace, atoms = (
            transformation.apply(points) for points in (second.trace, second.coordinates)
        )
        parts.append((second, trace, atoms, 1))
    axes, center = principal_axes(structure)
    everything = np.concatenate([(atoms - center) @ axes.T for _, _, atoms, _ in parts])
    low, high = everything.min(axis=0), everything.max(axis=0)
    extent = np.maximum(high - low, 4.0)
    scale = min((width - 24) / extent[0], (height - 24) / extent[1], 28.0)
    middle = (low + high) / 2
    height = round(min(max(extent[1] * scale + 48, MIN_HEIGHT), height))

    def project(points: Floats) -> Floats:
        rotated = ((points - center) @ axes.T - middle) * (scale, -scale, 1)
        rotated += (width / 2, height / 2, 0)
        rotated[:, 2] = (rotated[:, 2] + middle[2] - low[2]) / extent[2]
        return np.asarray(rotated, dtype=np.float64)

    strokes: list[_Stroke] = []
    budget = MAX_SEGMENTS // len(parts)
    for part, trace, atoms, position in parts:
        single = COMPARED[position] if scheme == "model" or position else None
        colors = (
            residue_colors(part, scheme)[0] if single is None else [single] * len(part.residues)
        )
        if len(part.residues) > 1:
            strokes += _ribbon(part, project(trace), colors, scale, budget)
        strokes += _sticks(part, project(atoms), atoms, scale, single)
    strokes.sort(key=lambda stroke: stroke.depth)
    return _Scene(strokes, width, height)


def principal_axes(structure: Structure) -> tuple[Floats, Floats]:
    """Return the axes of a structure (rows) by decreasing extent, and its center.

    The oxygen atoms of a backbone count, so that a strand is seen from its flat side.
    """
    points = structure.coordinates
    if len(structure.residues) > 3:
        polymer = structure.polymer_atoms
        is_oxygen = np.char.strip(structure.atoms.atom_name[polymer]) == "O"
        points = np.concatenate([structure.trace, points[polymer[is_oxygen]]])
    center = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    if np.linalg.det(axes) < 0:
        axes[2] *= -1  # a mirrored helix would be left-handed
    return axes, center


def _ribbon(
    structure: Structure, points: Floats, colors: Sequence[str], scale: float, budget: int
) -> list[_Stroke]:
    per_residue = max(1, min(6, budget // max(len(structure.residues), 1)))
    skip = max(1, -(-len(structure.residues) // budget))
    strokes = []
    for start, stop in structure.segments():
        indices = np.unique(np.append(np.arange(start, stop, skip), stop - 1))
        if len(indices) < 2:
            continue
        curve = _spline(points[indices], per_residue)
        for i, index in enumerate(indices):
            first = max(i * per_residue - per_residue // 2, 0)
            last = min(i * per_residue + (per_residue + 1) // 2, len(curve) - 1)
            if last <= first:
                continue
            piece = curve[first : last + 1]
            width = _RIBBON[structure.secondary[index]] * scale
            depth = float(piece[:, 2].mean())
            strokes.append(_Stroke(piece, depth, width, colors[index]))
    return strokes


def _spline(points: Floats, steps: int) -> Floats:
    """Return a Catmull-Rom curve through points, with `steps` pieces between neighbours."""
    if steps == 1 or len(points) < 3:
        return points
    padded = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    p0, p1, p2, p3 = (padded[i : len(padded) - 3 + i, None] for i in range(4))
    t = np.linspace(0, 1, steps, endpoint=False)[None, :, None]
    curve = 0.5 * (
        2 * p1
        + (p2 - p0) * t
        + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2
        + (3 * p1 - p0 - 3 * p2 + p3) * t**3
    )
    return np.concatenate([curve.reshape(-1, 3), points[-1:]])


def _sticks(
    structure: Structure, points: Floats, atoms: Floats, scale: float, carbon: str | None
) -> list[_Stroke]:
    """Return the bonds of ligands, or all bonds if there is no ribbon."""
    drawn = _stick_atoms(structure)
    elements = [str(element).upper() for element in structure.atoms.element]
    if not 0 < len(drawn) <= MAX_OTHER_ATOMS:
        return []
    colors = [
        carbon if carbon and element == "C" else element_color(element) for element in elements
    ]
    strokes = []
    bonded: set[int] = set()
    for i, j in _bonds(atoms, elements, drawn):
        bonded |= {i, j}
        middle = (points[i] + points[j]) / 2
        for index in (i, j):
            line = np.array([points[index], middle])
            depth = float(line[:, 2].mean())
            strokes.append(_Stroke(line, depth, 2 * _BOND * scale, colors[index]))
    for i in drawn:
        radius = _BOND if i in bonded else 3 * _ATOM  # ions are drawn larger
        strokes.append(_Stroke(points[[i, i]], float(points[i, 2]), 2 * radius * scale, colors[i]))
    return strokes


def _stick_atoms(structure: Structure) -> npt.NDArray[np.int64]:
    """Return the indices of the atoms of ligands, or of all atoms if there is no ribbon."""
    atoms = np.arange(structure.atoms.array_length())
    drawn = structure.other_atoms if len(structure.residues) > 1 else atoms
    if structure.format == "sdf":
        return drawn
    is_heavy = np.char.upper(structure.atoms.element[drawn].astype(str)) != "H"
    heavy: npt.NDArray[np.int64] = drawn[is_heavy]
    return heavy


def omission_note(*structures: Structure) -> str:
    """Return how many atoms the drawing of each structure omits; empty if it has all."""
    counts = [(structure.name, len(_stick_atoms(structure))) for structure in structures]
    omitted = [(name, count) for name, count in counts if count > MAX_OTHER_ATOMS]
    kind = "atoms outside proteins and nucleic acids"
    return " ".join(f"{count:,} {kind} of {name} are not drawn." for name, count in omitted)


def _bonds(
    atoms: Floats, elements: Sequence[str], drawn: npt.NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Return the pairs of atoms that are close enough for a covalent bond."""
    radii = np.array([_COVALENT.get(elements[i], 1.2) for i in drawn])
    distances = np.linalg.norm(atoms[drawn, None] - atoms[None, drawn], axis=2)
    close = np.triu(distances < radii[:, None] + radii[None] + 0.3, k=1)
    return [(int(drawn[i]), int(drawn[j])) for i, j in np.argwhere(close)]


def _svg(scene: _Scene, name: str) -> str:
    width, height = scene.width, scene.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(name)}" '
        'fill="none" stroke-linecap="round" stroke-linejoin="round">'
    ]
    for stroke in scene.strokes:
        xy = [f"{x:.1f} {y:.1f}" for x, y in stroke.points[:, :2]]
        path = f"M{xy[0]}L{' '.join(xy[1:])}"
        outline, fill = _shade(stroke.color, stroke.depth)
        cap = ' stroke-linecap="butt"' if len(stroke.points) > 2 else ""
        lines.append(
            f'<path d="{path}" stroke="{outline}" stroke-width="{stroke.width + 1.8:.1f}"{cap}/>'
        )
        lines.append(f'<path d="{path}" stroke="{fill}" stroke-width="{stroke.width:.1f}"/>')
    return "".join([*lines, "</svg>"])


_SUPERSAMPLING = 2
_PNG_COLORS = 48


def _png(scene: _Scene, resolution: float) -> bytes:
    """Return a picture on a transparent ground, with `resolution` pixels per CSS pixel."""
    from PIL import Image, ImageDraw

    size = (round(scene.width * resolution), round(scene.height * resolution))
    scale = resolution * _SUPERSAMPLING
    image = Image.new("RGBA", (size[0] * _SUPERSAMPLING, size[1] * _SUPERSAMPLING))
    pen = ImageDraw.Draw(image)
    for stroke in scene.strokes:
        points = [(x * scale, y * scale) for x, y in stroke.points[:, :2].tolist()]
        outline, fill = _shade(stroke.color, stroke.depth)
        for color, thickness, is_round in (
            (outline, stroke.width + 1.8, len(points) == 2),
            (fill, stroke.width, True),
        ):
            pen.line(points, fill=color, width=max(round(thickness * scale), 1), joint="curve")
            radius = thickness * scale / 2
            for x, y in (points[0], points[-1]) if is_round else ():
                pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color)
    small = image.resize(size, Image.Resampling.BOX)
    out = io.BytesIO()
    small.quantize(_PNG_COLORS, method=Image.Quantize.FASTOCTREE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _shade(color: str, depth: float) -> tuple[str, str]:
    """Return the outline and the fill of a stroke, which fade with the distance."""
    fog = 0.55 * min(max(1 - depth, 0.0), 1.0) ** 1.3  # curves overshoot a little
    fill = rgb(color) * (1 - fog) + _FOG * fog
    return _hex(fill * 0.62), _hex(fill)


def _hex(values: Floats) -> str:
    return "#" + "".join(f"{round(float(value) * 255):02x}" for value in values)


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
MIN_CARTOON_RESIDUES = 4
_LINE = 60
_SWATCH = (
    "display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 4px 0 0;"
    "forced-color-adjust:none"
)


def styles(structure: Structure) -> tuple[Style, ...]:
    """Return the styles of a structure, the default first; small molecules have no cartoon."""
    if structure.trace_only:  # nothing to draw sticks between
        return ("cartoon", "surface")
    if len(structure.residues) < MIN_CARTOON_RESIDUES:
        return ("stick", "surface")
    return ("cartoon", "stick", "surface")


def model_colors(structure: Structure, other: Structure) -> tuple[list[str], Legend]:
    """Return the colors that distinguish two superposed structures, and their legend."""
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
        span(f'<span style="{_SWATCH};background-color:{color}"></span>{escape(label)}', _ENTRY)
        for label, color in legend
    )
    rows = [
        div(f"<strong>{escape(summary)}</strong>"),
        div(swatches, "display:flex;flex-wrap:wrap;font-size:13px"),
        image_html(picture, picture_type(picture), summary),
        div(escape(note), MUTED) if note else "",
    ]
    return view_html("".join(rows), WRAPPED)


_ENTRY = "margin:0 14px 4px 0;white-space:nowrap"


def render_text(structure: Structure, summary: str) -> str:
    """Return the summary, and each chain's sequence above its secondary structure."""
    rows = [summary]
    for chain in structure.chains:
        indices = [i for i, residue in enumerate(structure.residues) if residue.chain == chain]
        rows += ["", f"Chain {chain or '(unnamed)'}, {pluralize(len(indices), 'residue')}"]
        for line in (indices[n : n + _LINE] for n in range(0, len(indices), _LINE)):
            number = structure.residues[line[0]].number
            rows.append(f"{number:>6} {''.join(structure.letters[i] for i in line)}")
            states = "".join(structure.secondary[i] for i in line)
            rows.append(f"       {states.translate(_STATES)}".rstrip())
    if structure.residues:
        rows += ["", "H helix, E strand"]
    return "\n".join(rows)


_STATES = str.maketrans({"h": "H", "s": "E", "c": "-", "n": " "})
