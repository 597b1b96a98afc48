"""Standard figures of the tables that tools write, chosen by the columns of the tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext_widgets.core.markup import plain, shorten_names
from labext_widgets.plots.chart import (
    COLORS,
    GREY,
    Axis,
    Bars,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Region,
    Scale,
)
from labext_widgets.plots.columns import read_numbers

if TYPE_CHECKING:
    import pandas as pd

BLUE, ORANGE, GREEN = COLORS[:3]

Outline = tuple[tuple[float, float], ...]

ALPHA: Outline = (
    *((-160, -40), (-128, -22), (-100, 0), (-70, -5), (-48, -28), (-44, -50), (-56, -66)),
    *((-90, -62), (-140, -58)),
)
BETA: Outline = (
    *((-180, 100), (-160, 90), (-110, 92), (-72, 106), (-50, 122), (-48, 152), (-62, 178)),
    *((-62, 180), (-180, 180)),
)
BETA_BELOW: Outline = ((-180, -180), (-150, -180), (-158, -165), (-180, -160))
LEFT: Outline = ((48, 20), (62, 18), (68, 32), (64, 52), (52, 66), (46, 54))
"""Approximate outlines of the favored angles of residues except glycine and proline."""

MAX_MODES = 30
MAX_BARS = 40
MAX_NAME = 40  # letters
_STRUCTURES = {"helix": ORANGE, "strand": BLUE, "coil": GREY}


def job_chart(name: str, tables: Mapping[str, pd.DataFrame]) -> Chart | None:
    """Return the standard figures of a job's tables by file name, or None if there are none."""
    panels = [panel for file, table in tables.items() for panel in table_panels(table, file)]
    if not panels:
        return None
    return Chart(name, ", ".join(panel.title for panel in panels), tuple(panels))


def table_panels(table: pd.DataFrame, file: str) -> list[Panel]:
    """Return the standard figures of one table."""
    table = table.rename(columns=str)
    fitting = [panel for panel, columns in FIGURES.items() if columns <= {*table.columns}]
    if _is_distance_matrix(table):
        fitting.append(_distances)
    panels = (panel(table, file) for panel in fitting if len(table))
    return [panel for panel in panels if panel is not None]


def _ramachandran(table: pd.DataFrame, _file: str) -> Panel | None:
    phi, psi = _numbers(table, "phi"), _numbers(table, "psi")
    rows = _complete_rows(phi, psi)
    if not rows:
        return None
    kinds = _texts(table, "name")
    groups: dict[str, list[int]] = {"": [], "glycine": [], "proline": []}
    for row in rows:
        kind = {"GLY": "glycine", "PRO": "proline"}.get(kinds[row].upper(), "") if kinds else ""
        groups[kind].append(row)
    looks: dict[str, Any] = {
        "": {"color": BLUE, "name": "residue"},
        "glycine": {"color": ORANGE, "shape": "triangle", "name": "glycine"},
        "proline": {"color": GREEN, "shape": "square", "name": "proline"},
    }
    regions = Region((ALPHA, BETA, BETA_BELOW, LEFT), "favored (approximate)")
    points: list[Mark] = [
        Points([phi[n] for n in own], [psi[n] for n in own], own, **looks[kind])
        for kind, own in groups.items()
        if own
    ]
    angle = {"limits": (-180.0, 180.0), "step": 60.0}
    return Panel(
        Axis("φ (°)", **angle),  # type: ignore[arg-type]
        Axis("ψ (°)", **angle),  # type: ignore[arg-type]
        (regions, *points),
        table,
        _residue_names(table),
        "Ramachandran plot",
        square=True,
    )


def _modes(table: pd.DataFrame, _file: str) -> Panel | None:
    modes, share = _numbers(table, "mode"), _numbers(table, "share")
    rows = _complete_rows(modes, share)[:MAX_MODES]
    if not rows:
        return None
    percents = [100 * share[n] for n in rows]
    total = [sum(percents[: n + 1]) for n in range(len(rows))]
    xs = [modes[n] for n in rows]
    texts = [f"mode {modes[n]:g}: {100 * share[n]:.2f} %" for n in rows]
    marks = (
        _columns(xs, percents, rows, texts, name="mode", color=BLUE),
        Line(xs, total, rows, "sum of the first modes", ORANGE),
    )
    names = [f"mode {mode:g}" for mode in modes]
    limits = (xs[0] - 0.7, xs[-1] + 0.7)
    return Panel(
        Axis("mode", limits=limits, whole=True),
        Axis("share of all motion (%)", limits=(0, max(total) * 1.05)),
        marks,
        table,
        names,
        "Mode spectrum",
        note=f"the first {len(rows)} of {len(table):,} modes" if len(rows) < len(table) else "",
    )


def _fluctuations(table: pd.DataFrame, _file: str) -> Panel | None:
    xs, axis = _residue_axis(table)
    measured, fitted = _numbers(table, "b_factor"), _numbers(table, "fitted_b_factor")
    marks: list[Mark] = []
    if _complete_rows(fitted):
        marks += _lines(xs, measured, table, "B-factor", GREY)
        marks += _lines(xs, fitted, table, "fluctuation, scaled", BLUE)
        label = "B-factor (Å²)"
    else:
        marks += _lines(xs, _numbers(table, "fluctuation"), table, "", BLUE)
        label = "fluctuation (relative)"
    if not marks:
        return None
    names, title = _residue_names(table), "Fluctuation per residue"
    return Panel(axis, Axis(label), tuple(marks), table, names, title)


def _pairs(table: pd.DataFrame, _file: str) -> Panel | None:
    i, j, probability = (_numbers(table, column) for column in ("i", "j", "probability"))
    rows = _complete_rows(i, j, probability)
    if not rows:
        return None
    rows.sort(key=lambda n: probability[n])  # likely pairs are drawn over unlikely ones
    # As in other dot plots, the origin is at the top left and probabilities are above the diagonal.
    best = _numbers(table, "in_mfe")
    structure = [n for n in rows if best[n] == 1]
    texts = [f"{i[n]:g}–{j[n]:g}: {probability[n]:.3g}" for n in rows]
    xs, ys, values = ([column[n] for n in rows] for column in (j, i, probability))
    marks: list[Mark] = [_cells(xs, ys, rows, values, texts)]
    if structure:
        texts = [f"{i[n]:g}–{j[n]:g}, in the structure of minimum free energy" for n in structure]
        xs, ys = ([column[n] for n in structure] for column in (i, j))
        marks.append(_cells(xs, ys, structure, [], texts, "minimum free energy", ORANGE))
    last = max(max(i[n], j[n]) for n in rows)
    limits = (0.5, last + 0.5)
    return Panel(
        Axis("base", limits=limits, whole=True),
        Axis("base", limits=limits, reverse=True, whole=True),
        tuple(marks),
        table,
        [f"{a:g}–{b:g}" for a, b in zip(i, j, strict=True)],
        "Pair probabilities",
        scale=Scale("probability", 0, 1),
        square=True,
    )


def _cells(
    xs: Sequence[float],
    ys: Sequence[float],
    rows: Sequence[int],
    values: Sequence[float],
    texts: Sequence[str],
    name: str = "",
    color: str = BLUE,
) -> Bars:
    """Return squares of one unit around points."""
    (x0, x1), (y0, y1) = (([n - 0.5 for n in at], [n + 0.5 for n in at]) for at in (xs, ys))
    return Bars(x0, x1, y0, y1, [[row] for row in rows], texts, name, color, values)


def _minimisation(table: pd.DataFrame, file: str) -> Panel | None:
    xs, energies = _numbers(table, "iteration"), _numbers(table, "energy")
    marks = _lines(xs, energies, table, "", BLUE)
    if not marks:
        return None
    label = "energy (kJ/mol)" if _is(file, "minimisation.csv") else "energy"
    names = [f"iteration {x:g}" for x in xs]
    x = Axis("iteration", whole=True)
    return Panel(x, Axis(label), tuple(marks), table, names, "Energy by iteration")


def _energies(table: pd.DataFrame, file: str) -> Panel | None:
    terms = _texts(table, "term")
    marks: list[Mark] = []
    for number, (column, color) in enumerate((("before", GREY), ("after", BLUE))):
        values = _numbers(table, column)
        rows = _complete_rows(values)
        texts = [f"{terms[n]}, {column}: {values[n]:,.4g}" for n in rows]
        places = [n - 0.19 + 0.38 * number for n in rows]
        heights = [values[n] for n in rows]
        marks.append(_columns(places, heights, rows, texts, 0.36, column, color))
    label = "energy (kJ/mol)" if _is(file, "energies.csv") else "energy"
    x = Axis("", "category", tuple(terms), (-0.6, len(terms) - 0.4))
    return Panel(x, Axis(label), tuple(marks), table, terms, "Energy by term")


def _surface(table: pd.DataFrame, _file: str) -> Panel | None:
    xs, axis = _residue_axis(table)
    areas = _numbers(table, "sasa")
    kinds = _texts(table, "structure") or [""] * len(table)
    names = _residue_names(table)
    marks: list[Mark] = []
    for kind in [*_STRUCTURES, *sorted({*kinds} - {*_STRUCTURES})]:
        rows = [n for n in _complete_rows(areas) if kinds[n] == kind]
        texts = [f"{names[n]}{f', {kind}' if kind else ''}: {areas[n]:.4g} Å²" for n in rows]
        heights, color = [areas[n] for n in rows], _STRUCTURES.get(kind, GREEN)
        if rows:
            bars = _columns([xs[n] for n in rows], heights, rows, texts, 0.84, kind, color)
            marks.append(bars)
    if not marks:
        return None
    y = Axis("accessible surface (Å²)")
    legend = "secondary structure"
    return Panel(axis, y, tuple(marks), table, names, "Surface per residue", legend)


def _conformers(table: pd.DataFrame, file: str) -> Panel | None:
    ranks, energies = _numbers(table, "rank"), _numbers(table, "relative_energy")
    rows = _complete_rows(ranks, energies)
    if not rows:
        return None
    apart = _numbers(table, "rmsd_to_best")
    colored = not any(math.isnan(apart[n]) for n in rows)
    values = [apart[n] for n in rows] if colored else []
    xs, ys = [ranks[n] for n in rows], [energies[n] for n in rows]
    unit = " (kcal/mol)" if _is(file, "conformers.csv") else ""
    return Panel(
        Axis("rank", whole=True),
        Axis(f"energy above the best{unit}"),
        (Line(xs, ys, rows, color=GREY), Points(xs, ys, rows, values=values, size=9)),
        table,
        [f"conformer {rank:g}" for rank in ranks],
        "Energies of the conformers",
        scale=Scale("RMSD to the best (Å)", 0, max(values) or 1) if colored else None,
    )


def _hits(table: pd.DataFrame, _file: str) -> Panel | None:
    scores, expected = _numbers(table, "score"), _numbers(table, "evalue")
    targets = _texts(table, "target")
    domains = _texts(table, "domain")
    names = [f"{t}{f' domain {domains[n]}' if domains else ''}" for n, t in enumerate(targets)]
    members = _texts(table, "member")
    whole = [*map(str, table["target"])]  # long names may differ at their ends only
    best = {whole[n]: n for n in reversed(_complete_rows(scores))}
    ranked = sorted(best.values(), key=lambda n: -scores[n])[:MAX_BARS]
    if not ranked:
        return None
    marks: list[Mark] = []
    for is_member, name, color in ((True, "member of the family", BLUE), (False, "other", GREY)):
        own = [n for n in ranked if (bool(members) and members[n] == "yes") == is_member]
        texts = [f"{targets[n]}: {scores[n]:g} bits, E-value {expected[n]:.2g}" for n in own]
        places, heights = [float(ranked.index(n)) for n in own], [scores[n] for n in own]
        if own:
            marks.append(_columns(places, heights, own, texts, 0.8, name, color))
    labels = tuple(targets[n] for n in ranked)
    x = Axis("target", "category", labels, (-0.6, len(labels) - 0.4))
    note = f"the best {MAX_BARS} of {len(best):,} targets" if len(best) > MAX_BARS else ""
    title = "Scores of the hits"
    return Panel(x, Axis("score (bits)"), tuple(marks), table, names, title, note=note)


def _fragments(table: pd.DataFrame, _file: str) -> Panel | None:
    lengths = _numbers(table, "length")
    every = [n for n in range(len(table)) if lengths[n] > 0]
    rows = sorted(every, key=lambda n: -lengths[n])[: 2 * MAX_BARS]
    if not rows:
        return None
    numbers = _texts(table, "fragment")
    heights = [lengths[n] for n in rows]
    low = 10.0 ** math.floor(math.log10(min(heights) / 1.5))
    texts = [f"fragment {numbers[n]}: {lengths[n]:,.0f} bp" for n in rows]
    bars = replace(_columns(range(len(rows)), heights, rows, texts), y0=[low] * len(rows))
    labels = tuple(numbers[n] for n in rows)
    x = Axis("fragment, by length", "category", labels, (-0.6, len(labels) - 0.4))
    extent = (min(heights), max(heights))
    y = Axis("length (bp)", limits=(low, 1.6 * extent[1]), extent=extent, log=True)
    note = f"the longest {len(rows)} of {len(every):,} fragments" if len(every) > len(rows) else ""
    names = [f"fragment {n}" for n in numbers]
    return Panel(x, y, (bars,), table, names, "Fragment sizes", note=note)


def _distances(table: pd.DataFrame, _file: str) -> Panel | None:
    names = shorten_names([plain(value) for value in table.iloc[:, 0]], MAX_NAME)
    columns = [_numbers(table, str(column)) for column in table.columns[1:]]
    everywhere = itertools.product(range(len(names)), repeat=2)
    at = [(row, column) for row, column in everywhere if not math.isnan(columns[column][row])]
    if not at:
        return None
    ys, xs = zip(*at, strict=True)
    values = [columns[x][y] for y, x in at]
    texts = [f"{names[y]} – {names[x]}: {columns[x][y]:.3g}" for y, x in at]
    limits = (-0.5, len(names) - 0.5)
    x = Axis("", "category", tuple(names), limits)
    y = Axis("", "category", tuple(names), limits, reverse=True)
    scale = Scale("distance", 0, max(values) or 1)
    marks = (_cells(xs, ys, ys, values, texts),)
    return Panel(x, y, marks, table, names, "Distances", scale=scale, square=True)


def _codons(table: pd.DataFrame, _file: str) -> Panel | None:
    places, share = _numbers(table, "position"), _numbers(table, "share")
    before = _numbers(table, "share_before")
    letters, codons = _texts(table, "amino_acid"), _texts(table, "codon")
    rows = _complete_rows(places, share)
    if not rows:
        return None
    names = [f"{a}{p:g} {c}" for a, p, c in zip(letters, places, codons, strict=True)]
    texts = [f"{names[n]}: {share[n]:g} %" for n in rows]
    xs = [places[n] for n in rows]
    marks: list[Mark] = [_columns(xs, [share[n] for n in rows], rows, texts, 0.84, "codon", BLUE)]
    earlier = _complete_rows(places, share, before)
    if earlier:
        xs_before, ys_before = [places[n] for n in earlier], [before[n] for n in earlier]
        points = Points(xs_before, ys_before, earlier, "codon before", ORANGE, "diamond", size=6)
        marks.append(points)
    return Panel(
        Axis("codon", limits=(min(xs) - 0.7, max(xs) + 0.7), whole=True),
        Axis("use among codons of the amino acid (%)", limits=(0, 105)),
        tuple(marks),
        table,
        names,
        "Codon usage",
    )


FIGURES: Mapping[Callable[[pd.DataFrame, str], Panel | None], set[str]] = {
    _surface: {"residue", "sasa"},
    _ramachandran: {"phi", "psi"},
    _modes: {"mode", "eigenvalue", "share"},
    _fluctuations: {"residue", "fluctuation"},
    _pairs: {"i", "j", "probability"},
    _minimisation: {"iteration", "energy"},
    _energies: {"term", "before", "after"},
    _conformers: {"rank", "relative_energy"},
    _hits: {"target", "evalue", "score"},
    _fragments: {"fragment", "length"},
    _codons: {"position", "amino_acid", "codon", "share"},
}
"""The functions that return the panel of a table, or None if it has no values, from the table and
the name of its file; each with the columns that the table must have.
"""


def _is_distance_matrix(table: pd.DataFrame) -> bool:
    """Return whether the names of the columns after the first equal the row names in the first."""
    names = [str(column) for column in table.columns[1:]]
    return len(names) > 1 and [str(value) for value in table.iloc[:, 0]] == names


def _is(file: str, name: str) -> bool:
    return file.rpartition("/")[2] == name


def _numbers(table: pd.DataFrame, column: str) -> list[float]:
    """Return a column as numbers, with NaN for missing and infinite values, or a missing column."""
    if column not in table:
        return [math.nan] * len(table)
    return read_numbers(table.iloc[:, [*table.columns].index(column)])


def _complete_rows(*columns: Sequence[float]) -> list[int]:
    """Return the positions at which no column is NaN."""
    return [n for n, row in enumerate(zip(*columns, strict=True)) if not any(map(math.isnan, row))]


def _texts(table: pd.DataFrame, column: str) -> list[str]:
    if column not in table:
        return []
    texts = ["" if value is None or value != value else plain(value) for value in table[column]]
    return shorten_names(texts, MAX_NAME)


def _residue_names(table: pd.DataFrame) -> list[str]:
    """Return residues as `ALA 12`, or `A ALA 12` if there are several chains."""
    kinds, numbers, chains = (_texts(table, column) for column in ("name", "residue", "chain"))
    positions = [str(n) for n in range(1, len(table) + 1)]
    columns = (chains if len(set(chains)) > 1 else [], kinds, numbers or positions)
    return [" ".join(filter(None, row)) for row in zip(*filter(None, columns), strict=True)]


def _residue_axis(table: pd.DataFrame) -> tuple[list[float], Axis]:
    """Return the place of each residue: its number, or its position if numbers are not unique."""
    numbers = _numbers(table, "residue")
    if len(set(numbers)) == len(numbers) and not any(math.isnan(n) for n in numbers):
        return numbers, Axis("residue", whole=True)
    places = [float(n) for n in range(1, len(table) + 1)]
    return places, Axis("residue, counted from the first", whole=True)


def _lines(
    xs: Sequence[float], ys: Sequence[float], table: pd.DataFrame, name: str, color: str
) -> list[Line]:
    """Return a line, broken between chains."""
    chains = _texts(table, "chain") or [""] * len(table)
    lines: list[Line] = []
    for chain in dict.fromkeys(chains):
        rows = [n for n in _complete_rows(xs, ys) if chains[n] == chain]
        if rows:
            own = "" if lines else name
            lines.append(Line([xs[n] for n in rows], [ys[n] for n in rows], rows, own, color))
    return lines


def _columns(
    places: Sequence[float],
    heights: Sequence[float],
    rows: Sequence[int],
    texts: Sequence[str],
    width: float = 0.8,
    name: str = "",
    color: str = BLUE,
) -> Bars:
    """Return vertical bars from zero."""
    return Bars(
        [place - width / 2 for place in places],
        [place + width / 2 for place in places],
        [min(height, 0.0) for height in heights],
        [max(height, 0.0) for height in heights],
        [[row] for row in rows],
        texts,
        name,
        color,
    )
