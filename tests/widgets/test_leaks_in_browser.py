"""Memory of live views in JupyterLab: a cell that runs again frees the views of its last run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import until

pytestmark = pytest.mark.browser

SETUP = """import random
import ipywidgets
import pandas as pd
from labext_widgets import alignment_view, sequence_viewer, structure_viewer, table_plot
from labext_widgets.core import hub, placeholder
rng = random.Random(7)
bases = "".join(rng.choices("ACGT", k=900))
plasmid = dict(id="s", name="plasmid", bases=bases, isCircular=True, length=900, annotations=[])
rows = "\\n".join(
    f">row{i}\\n" + "".join(rng.choices("ACDEFGHIKL-", k=300)) for i in range(30)
)
frame = pd.DataFrame({"name": [f"j{i}" for i in range(200)], "x": range(200), "y": range(200)})
atoms = "\\n".join(
    f"ATOM  {i + 1:5d}  CA  ALA A{i + 1:4d}    {i % 7:8.3f}{i % 5:8.3f}{1.5 * i:8.3f}  1.00 20.00"
    for i in range(40)
)
"""
VIEWS = """from IPython.display import display
display(structure_viewer(atoms, name="trace"), structure_viewer(atoms, name="copy"))
display(alignment_view(rows), sequence_viewer(plasmid))
display(table_plot(frame, "points", x="x", y="y"))"""
COUNTS = """print(len(hub._hub.views), len(hub._opened), len(placeholder._open))"""
VIEWS_PER_RUN = 5


def test_fifty_views_of_a_cell_that_runs_again_are_freed(
    page_of: Callable[..., NotebookPage], refused: list[str]
) -> None:
    nb = page_of().write(VIEWS, COUNTS, SETUP).open()
    nb.run(2)
    devtools = nb.page.context.new_cdp_session(nb.page)
    for _ in range(3):
        _show_views(nb)
    before, counts = _browser_metrics(nb, devtools), _kernel_counts(nb)
    for _ in range(50 // VIEWS_PER_RUN):
        _show_views(nb)
    after = _browser_metrics(nb, devtools)
    assert _kernel_counts(nb) == counts
    assert counts.split()[0] == str(VIEWS_PER_RUN)
    print(before, after)
    assert after["Nodes"] < 1.2 * before["Nodes"]
    assert after["JSEventListeners"] < 1.2 * before["JSEventListeners"]
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] + 10e6
    assert nb.errors == []
    assert refused == []


def _show_views(nb: NotebookPage) -> None:
    nb.run(0)
    nb.idle()
    until(lambda: nb.output().locator(".labext-live").count() == VIEWS_PER_RUN, "the live views")


def _kernel_counts(nb: NotebookPage) -> str:
    nb.run(1)
    nb.idle()
    return str(nb.output(1).inner_text())


def _browser_metrics(nb: NotebookPage, devtools: Any) -> dict[str, float]:
    """Return the metrics of the page after a garbage collection."""
    nb.page.wait_for_timeout(6000)  # removed views are kept for 5 s
    devtools.send("Performance.enable")
    devtools.send("HeapProfiler.collectGarbage")
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics}
