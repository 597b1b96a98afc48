"""The structure viewer in JupyterLab: its first picture, and the frames while it is turned.

The aims are a first picture of 1,000 residues within 1 s of its data, and 300 residues turned at 60
frames per second on a GPU or 30 in software.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark

CELLS = """import numpy as np
from labext_widgets.structure import structure_viewer
ATOMS = (("N", 1.55, -0.48, -0.87), ("CA", 2.28, 0, 0), ("C", 1.66, 0.46, 1.1),
         ("O", 2.0, 0.42, 2.3), ("CB", 3.3, -0.2, 0.4), ("CG", 4.4, -0.1, 0.9),
         ("CD", 5.4, 0.05, 0.5), ("CE", 6.3, 0.0, 1.2))
def bundle(chains, residues):
    rows = []
    for c in range(chains):
        for i in range(residues):
            for atom, radius, turn, rise in ATOMS:
                angle = np.radians(100) * i + turn
                x = radius * np.cos(angle) + 14 * (c % 4)
                y = radius * np.sin(angle) + 14 * (c // 4)
                rows.append(
                    f"ATOM  {len(rows) + 1:5d}  {atom:<3} LYS {chr(65 + c)}{i + 1:4d}    "
                    f"{x:8.3f}{y:8.3f}{1.5 * i + rise:8.3f}  1.00 {len(rows) % 50:5.2f}"
                    f"           {atom[0]}")
    return "\\n".join(rows)
"""
SMALL = "structure_viewer(bundle(4, 75), name='small')"
LARGE = "structure_viewer(bundle(20, 50), name='large')"
FINE = "structure_viewer(bundle(2, 50), name='fine')"
OBSERVE = """() => {
  window.times = {};
  new MutationObserver((records) => {
    for (const record of records) {
      for (const node of record.addedNodes) {
        if (node.classList?.contains("labext-live")) window.times.mounted = performance.now();
      }
      if (record.target.dataset?.ready) {
        const drawn = () => { window.times.drawn ??= performance.now(); };
        requestAnimationFrame(() => setTimeout(drawn));
      }
    }
  }).observe(document.body, {
    subtree: true, childList: true, attributes: true, attributeFilter: ["data-ready"],
  });
}"""
TURN = """async (frames) => {
  const stage = document.querySelector(".labext-stage");
  const times = [];
  for (let i = 0; i <= frames; i++) {
    stage.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    await new Promise(requestAnimationFrame);
    times.push(performance.now());
  }
  return times.slice(1).map((time, i) => time - times[i]);
}"""


def test_cells_of_the_benchmark_run() -> None:
    namespace: dict[str, Any] = {}
    for cell in (CELLS, FINE):
        exec(cell, namespace)


def test_structure_view(
    benchmark: BenchmarkFixture,
    figure: Callable[[str, str], None],
    notebook_page: NotebookPage,
) -> None:
    nb = notebook_page.write(CELLS, SMALL, LARGE, FINE).open()
    nb.page.set_viewport_size({"width": 1400, "height": 900})
    nb.run(0)
    nb.idle()
    first = []

    def show_large() -> None:
        nb.page.evaluate(OBSERVE)
        nb.run(2)
        nb.page.wait_for_function("() => window.times.drawn")
        first.append(nb.page.evaluate("() => window.times.drawn - window.times.mounted"))
        nb.command("notebook:clear-cell-output")
        nb.wait_until_removed(nb.output(2).locator(".labext-live"))

    # the first round includes sending and parsing the bundle
    benchmark.pedantic(show_large, rounds=3)
    milliseconds = ", ".join(f"{time:.0f}" for time in first)
    figure("first picture of 1,000 residues", f"{milliseconds} ms (aim: 1,000 ms)")
    for cell, residues in ((1, 300), (3, 100)):
        nb.run(cell)
        nb.output(cell).locator("[data-ready]").wait_for()
        nb.idle()
        frames = nb.page.evaluate(TURN, 90)
        rate = 1000 / statistics.median(frames)
        figure(f"{residues} residues turned in software", f"{rate:.0f} frames/s (aim: 30)")
        nb.command("notebook:clear-cell-output")
        nb.wait_until_removed(nb.output(cell).locator(".labext-live"))
