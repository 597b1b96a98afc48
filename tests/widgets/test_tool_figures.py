"""The figures of the tables that the job tools write."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labext_widgets.plots import Plot, job_plot
from labext_widgets.plots.chart import Bars, Line, Points, Region


def residues(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"chain": "A", "residue": [1, 2], "name": ["ALA", "GLY"]} | columns)


TABLES = {
    "ramachandran.csv": residues(phi=[np.nan, -57], psi=[-47, -47]),
    "eigenvalues.csv": pd.DataFrame(
        {"mode": [1, 2], "eigenvalue": [0.9, 1.1], "share": [0.05, 0.04]}
    ),
    "fluctuations.csv": residues(
        fluctuation=[0.3, 0.4], b_factor=[18.6, 20], fitted_b_factor=[17, 24]
    ),
    "pairs.csv": pd.DataFrame(
        {"i": [1, 2], "j": [9, 8], "probability": [0.9, 0.1], "in_mfe": [1, 0]}
    ),
    "minimisation.csv": pd.DataFrame({"iteration": [1, 2], "energy": [-653, -742]}),
    "energies.csv": pd.DataFrame(
        {"term": ["bonds", "total"], "before": [51, 374], "after": [18, -124]}
    ),
    "residues.csv": residues(structure=["helix", "coil"], sasa=[71.4, 26.4]),
    "conformers.csv": pd.DataFrame(
        {"rank": [1, 2], "relative_energy": [0, 0.4], "rmsd_to_best": [0, 1.1]}
    ),
    "hits.csv": pd.DataFrame(
        {"target": ["t0", "t1"], "evalue": [1e-22, 0], "score": [61, 5], "member": ["yes", "no"]}
    ),
    "fragments.csv": pd.DataFrame({"fragment": [1, 2], "length": [67, 4835]}),
    "distances.csv": pd.DataFrame({"name": ["a", "b"], "a": [0, 0.2], "b": [0.2, 0]}),
    "codons.csv": pd.DataFrame(
        {"position": [1], "amino_acid": "M", "codon": "ATG", "share": 100, "share_before": 40}
    ),
}
TITLES = {
    "ramachandran.csv": ("Ramachandran plot", "φ (°)", "ψ (°)"),
    "eigenvalues.csv": ("Mode spectrum", "mode", "share of all motion (%)"),
    "fluctuations.csv": ("Fluctuation per residue", "residue", "B-factor (Å²)"),
    "pairs.csv": ("Pair probabilities", "base", "base"),
    "minimisation.csv": ("Energy by iteration", "iteration", "energy (kJ/mol)"),
    "energies.csv": ("Energy by term", "", "energy (kJ/mol)"),
    "residues.csv": ("Surface per residue", "residue", "accessible surface (Å²)"),
    "conformers.csv": ("Energies of the conformers", "rank", "energy above the best (kcal/mol)"),
    "hits.csv": ("Scores of the hits", "target", "score (bits)"),
    "fragments.csv": ("Fragment sizes", "fragment, by length", "length (bp)"),
    "distances.csv": ("Distances", "", ""),
    "codons.csv": ("Codon usage", "codon", "use among codons of the amino acid (%)"),
}


@pytest.mark.parametrize("file", TABLES)
def test_table_of_a_tool_has_its_figure(file: str) -> None:
    table = TABLES[file]
    plot = job_plot("job", {file: table, "other.csv": pd.DataFrame({"q": [1]})})
    assert isinstance(plot, Plot)
    (panel,) = plot._chart.panels
    assert (panel.title, panel.x.label, panel.y.label) == TITLES[file]
    assert plot.frame.equals(table)
    json.dumps(plot._state(), allow_nan=False)
    assert job_plot("job", {file: table.iloc[:0]}) is None


PLACES: dict[str, list[Any]] = {
    "ramachandran.csv": [(-57, -47)],
    "eigenvalues.csv": [(0.6, 1.4, 0, 5), (1.6, 2.4, 0, 4), (1, 5), (2, 9)],
    "fluctuations.csv": [(1, 18.6), (2, 20), (1, 17), (2, 24)],
    # Probabilities are above the diagonal from the top left, the structure is below it.
    "pairs.csv": [(7.5, 8.5, 1.5, 2.5), (8.5, 9.5, 0.5, 1.5), (0.5, 1.5, 8.5, 9.5)],
    "minimisation.csv": [(1, -653), (2, -742)],
    "energies.csv": [
        *((-0.37, -0.01, 0, 51), (0.63, 0.99, 0, 374)),
        *((0.01, 0.37, 0, 18), (1.01, 1.37, -124, 0)),
    ],
    "residues.csv": [(0.58, 1.42, 0, 71.4), (1.58, 2.42, 0, 26.4)],
    "conformers.csv": [(1, 0), (2, 0.4), (1, 0), (2, 0.4)],
    "hits.csv": [(-0.4, 0.4, 0, 61), (0.6, 1.4, 0, 5)],
    "fragments.csv": [(-0.4, 0.4, 10, 4835), (0.6, 1.4, 10, 67)],
    "distances.csv": [
        *((-0.5, 0.5, -0.5, 0.5), (0.5, 1.5, -0.5, 0.5)),
        *((-0.5, 0.5, 0.5, 1.5), (0.5, 1.5, 0.5, 1.5)),
    ],
    "codons.csv": [(0.58, 1.42, 0, 100), (1, 40)],
}
LIMITS: dict[str, Any] = {
    "ramachandran.csv": ((-180, 180), (-180, 180)),
    "eigenvalues.csv": ((0.3, 2.7), (0, 9.45)),
    "pairs.csv": ((0.5, 9.5), (0.5, 9.5)),
    "energies.csv": ((-0.6, 1.6), None),
    "hits.csv": ((-0.6, 1.6), None),
    "fragments.csv": ((-0.6, 1.6), (10, 7736)),
    "distances.csv": ((-0.5, 1.5), (-0.5, 1.5)),
    "codons.csv": ((0.3, 1.7), (0, 105)),
}


def panel_of(table: pd.DataFrame, file: str = "some.csv") -> Any:
    """Return the only figure of a table."""
    plot = job_plot("job", {file: table})
    assert plot is not None
    (panel,) = plot._chart.panels
    return panel


@pytest.mark.parametrize("file", TABLES)
def test_figure_has_points_lines_and_bars_at_the_values_of_the_table(file: str) -> None:
    panel = panel_of(TABLES[file], file)
    places: list[Any] = []
    for mark in panel.marks:
        if isinstance(mark, Bars):
            places += zip(mark.x0, mark.x1, mark.y0, mark.y1, strict=True)
        elif isinstance(mark, Points | Line):
            places += zip(mark.x, mark.y, strict=True)
    assert places == [pytest.approx(place) for place in PLACES[file]]
    for axis, limits in zip((panel.x, panel.y), LIMITS.get(file, (None, None)), strict=True):
        assert axis.limits == (None if limits is None else pytest.approx(limits))
    assert panel.y.reverse is (file in ("pairs.csv", "distances.csv"))
    assert panel.square is (file in ("pairs.csv", "distances.csv", "ramachandran.csv"))


def test_lines_of_residues_end_with_their_chain() -> None:
    table = residues(fluctuation=[0.3, 0.4], chain=["A", "B"], residue=[7, 7])
    panel = panel_of(table)
    assert [list(mark.x) for mark in panel.marks] == [[1], [2]]
    assert panel.x.label == "residue, counted from the first"
    assert panel.names == ["A ALA 7", "B GLY 7"]
    assert panel.y.label == "fluctuation (relative)"


def test_fluctuations_fitted_to_missing_b_factors_have_one_line() -> None:
    panel = panel_of(residues(fluctuation=[0.3, 0.4], fitted_b_factor=[17, 24]))
    assert [list(mark.y) for mark in panel.marks] == [[17, 24]]
    assert panel.y.label == "B-factor (Å²)"


def test_figure_shows_the_largest_of_many_values_and_says_so() -> None:
    count = range(1, 101)
    share = [1 / n for n in count]
    panel = panel_of(pd.DataFrame({"mode": count, "eigenvalue": count, "share": share}))
    assert (len(panel.marks[0].rows), panel.note) == (30, "the first 30 of 100 modes")
    names = [f"t{n}" for n in count]
    panel = panel_of(pd.DataFrame({"target": names, "evalue": 1, "score": count}))
    assert (panel.x.categories, panel.note) == (tuple(names[:59:-1]), "the best 40 of 100 targets")
    assert panel_of(pd.DataFrame({"target": ["t"], "evalue": 1, "score": 1})).note == ""
    panel = panel_of(pd.DataFrame({"fragment": count, "length": count}))
    assert panel.x.categories == tuple(str(n) for n in range(100, 20, -1))
    assert panel.note == "the longest 80 of 100 fragments"


def test_target_with_several_hits_has_its_best_score() -> None:
    hits = {"target": ["a", "a", "b"], "evalue": 1, "score": [9, 4, 20]}
    panel = panel_of(pd.DataFrame(hits))
    assert panel.x.categories == ("b", "a")
    assert list(panel.marks[0].y1) == [20, 9]


def test_text_of_fragments_has_the_range_of_their_lengths() -> None:
    plot = job_plot("job", {"fragments.csv": TABLES["fragments.csv"]})
    assert "  length (bp): 67 to 4835" in str(plot).splitlines()


def test_targets_with_long_names_keep_their_own_bars() -> None:
    names = [f"NODE_1_length_1234567_cov_12.345678_{start}+" for start in (12345, 12349)]
    panel = panel_of(pd.DataFrame({"target": names, "evalue": 1, "score": [9, 4]}))
    assert list(panel.marks[0].y1) == [9, 4]
    assert [label[-2:] for label in panel.x.categories] == ["5+", "9+"]
    panel = panel_of(pd.DataFrame({"sequence": names, names[0]: [0, 1], names[1]: [1, 0]}))
    assert [label[-2:] for label in panel.x.categories] == ["5+", "9+"]


def test_rows_of_a_tool_without_values_are_left_out() -> None:
    none = {"phi": np.nan, "psi": 1, "residue": 1, "sasa": np.nan, "fluctuation": np.inf}
    rows = [
        *({"mode": 1, "eigenvalue": 1, "share": None}, {"i": 1, "j": None, "probability": 1}),
        *({"iteration": "a", "energy": 1}, {"rank": 1, "relative_energy": None}),
        *({"target": "a", "evalue": 1, "score": None}, {"fragment": 1, "length": 0}, none),
        {"position": 1, "amino_acid": "M", "codon": "ATG", "share": None},
    ]
    for row in rows:
        assert job_plot("job", {"some.csv": pd.DataFrame([row])}) is None


def test_figures_of_several_tables_are_one_picture() -> None:
    files = ("ramachandran.csv", "eigenvalues.csv", "distances.csv")  # with marks of every kind
    plot = job_plot("job", {file: TABLES[file] for file in files})
    assert plot is not None
    assert len(plot._chart.panels) == len(files)
    assert plot._render()[0].count("<img") == 1


def test_figures_have_descriptions() -> None:
    panel = panel_of(TABLES["ramachandran.csv"])
    assert [m.name for m in panel.marks] == ["favored (approximate)", "glycine"]
    assert isinstance(panel.marks[0], Region)
    assert panel.names == ["ALA 1", "GLY 2"]
    panel = panel_of(TABLES["hits.csv"], "hits.csv")
    assert [bar.texts[0] for bar in panel.marks] == [
        "t0: 61 bits, E-value 1e-22",
        "t1: 5 bits, E-value 0",
    ]
    assert panel.names == ["t0", "t1"]
    panel = panel_of(TABLES["hits.csv"].assign(domain=[2, 1]), "hits.csv")
    assert panel.names == ["t0 domain 2", "t1 domain 1"]
    assert job_plot("job", {"score.csv": pd.DataFrame({"q": [1, 2]})}) is None


@pytest.mark.parametrize("file", ["eigenvalues.csv", "conformers.csv", "residues.csv"])
def test_few_counted_things_have_ticks_of_whole_numbers(file: str) -> None:
    view = job_plot("j", {file: TABLES[file]})
    assert view is not None
    (axes, *_) = view.figure.axes
    view.figure.draw_without_rendering()
    assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_lines_are_named_if_the_first_chain_has_no_values() -> None:
    table = pd.DataFrame(
        {"chain": ["A", "B", "B"], "residue": [1, 2, 3], "fluctuation": [0.1, 0.2, 0.3]}
        | {"b_factor": [np.nan, 18, 20], "fitted_b_factor": [15, 17, 24]}
    )
    view = job_plot("j", {"fluctuations.csv": table})
    assert view is not None
    names = [text.get_text() for text in view.figure.axes[0].get_legend().get_texts()]
    assert names == ["B-factor", "fluctuation, scaled"]
