"""The alignment view in JupyterLab: frames while scrolling 200 sequences of 2,000 columns."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark

VIEW = """import random
from labext_widgets.alignment import tree_view
source = random.Random(1)
consensus = source.choices("ACDEFGHIKLMNPQRSTVWY", k=COLUMNS)
def mutated():
    return "".join(source.choice("ACDEFGHIKLMNPQRSTVWY-") if source.random() < 0.2 else residue
                   for residue in consensus)
names = [f"protein_{number:03d}" for number in range(ROWS)]
newick = "(" + ",".join(f"{name}:{source.uniform(0.01, 0.2):.4f}" for name in names) + ");"
fasta = "".join(f">{name}\\n{mutated()}\\n" for name in names)
tree_view(newick, fasta, name="family")
"""
SCROLL = """async (area, frames) => {
  const times = [];
  for (let i = 0; i <= frames; i++) {
    area.scrollBy(60, 14);
    await new Promise(requestAnimationFrame);
    times.push(performance.now());
  }
  return times.slice(1).map((time, i) => time - times[i]);
}"""


def test_cell_of_the_benchmark_runs() -> None:
    namespace: dict[str, Any] = {}
    exec(view(rows=20, columns=200), namespace)


def view(*, rows: int, columns: int) -> str:
    return VIEW.replace("COLUMNS", str(columns)).replace("ROWS", str(rows))


def test_alignment_view(
    benchmark: BenchmarkFixture,
    figure: Callable[[str, str], None],
    notebook_page: NotebookPage,
) -> None:
    rows, columns = 200, 2_000
    nb = notebook_page.write(view(rows=rows, columns=columns)).open()
    nb.page.set_viewport_size({"width": 1400, "height": 900})
    nb.run(0)
    nb.page.wait_for_selector(".labext-live canvas")
    nb.idle()
    area = nb.output().locator(".labext-alignment-scroll")
    times: list[float] = []

    def scroll() -> None:
        area.evaluate("e => e.scrollTo(0, 0)")
        times.extend(area.evaluate(SCROLL, 60))

    benchmark.pedantic(scroll, rounds=3)
    slowest = sorted(times)[int(0.95 * len(times))]
    assert area.evaluate("e => e.scrollLeft") > 0
    figure(
        f"{rows} sequences of {columns:,} columns scrolled",
        f"{1000 / statistics.median(times):.0f} frames/s, 95th percentile {slowest:.0f} ms",
    )
