"""The alignment view in JupyterLab: scrolling, selection, themes, and the saved view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

VIEW = """import random
from labext_widgets.alignment import tree_view
source = random.Random(5)
ancestor = "".join(source.choices("ACDEFGHIKLMNPQRSTVWY", k=600))
def mutated(sequence):
    return "".join(source.choice("ACDEFGHIKLMNPQRSTVWY-") if source.random() < 0.04 else residue
                   for residue in sequence)
def grow(sequence, count):
    global number
    if count == 1:
        number += 1
        records.append((f"protein_{number:03d}", sequence))
        return f"protein_{number:03d}:{source.uniform(0.01, 0.06):.4f}"
    first = source.randint(1, count - 1)
    parts = [grow(mutated(sequence), size) for size in (first, count - first)]
    return f"({','.join(parts)}):{source.uniform(0.01, 0.06):.4f}"
number, records = 0, []
newick = grow(ancestor, 60) + ";"
fasta = "".join(f">{name}\\n{sequence}\\n" for name, sequence in records)
view = tree_view(newick, fasta, name="family <1>")
view
"""
SELECTION = "print(view.selection, list(view.sequences)[:3])"
SELECT = "view.select(['protein_002', 'protein_001'])"

INK_ROWS = """(canvas, [left, right]) => {
  // The rows of pixels that differ from the ground, in a strip of the canvas.
  const ratio = canvas.width / canvas.clientWidth;
  const width = Math.round((right - left) * ratio);
  const context = canvas.getContext("2d");
  const { data } = context.getImageData(left * ratio, 70 * ratio, width, canvas.height);
  let rows = "";
  for (let y = 0; y < canvas.height - 90 * ratio; y++) {
    let differs = false;
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; c++) if (Math.abs(data[at + c] - data[c]) > 60) differs = true;
    }
    rows += differs ? "#" : ".";
  }
  return rows;
}"""
GROUND = "canvas => [...canvas.getContext('2d').getImageData(2, 75, 1, 1).data].slice(0, 3)"
UNNAMED = """root => [...root.querySelectorAll("button, select, [tabindex], [role=group]")]
  .filter((e) => !e.getAttribute("aria-label") && !e.labels?.length).length"""


def settle(page: Any) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")


def test_scrolling_selection_and_themes(page_of: Pages) -> None:
    nb = page_of().write(VIEW, SELECTION, SELECT).open()
    page, out = nb.page, nb.output()
    page.set_viewport_size({"width": 1400, "height": 900})
    nb.run(0)
    page.wait_for_selector(".labext-live canvas")
    nb.idle()
    assert out.locator("img").is_hidden(), "the live view hides the drawing"
    area, canvas = out.locator(".labext-alignment-scroll"), out.locator("canvas")
    status = out.locator(".labext-alignment-status")

    # Tree and names scroll with the rows, but not with the columns.
    settle(page)
    before = {strip: canvas.evaluate(INK_ROWS, strip) for strip in ((10, 140), (164, 230))}
    area.evaluate("e => e.scrollTo(900, 0)")
    settle(page)
    for strip, rows in before.items():
        assert "#" in rows
        assert canvas.evaluate(INK_ROWS, strip) == rows
    area.evaluate("e => e.scrollTo(900, 140)")  # ten rows
    settle(page)
    names = canvas.evaluate(INK_ROWS, (164, 230))
    assert names[:200] == before[(164, 230)][140:340]

    # A click on a name selects it in Python; Escape clears the selection.
    box = area.bounding_box()
    page.mouse.click(box["x"] + 190, box["y"] + 120)
    wait_until(lambda: status.inner_text().startswith("Selected: protein_"))
    chosen = status.inner_text().removeprefix("Selected: ")
    nb.wait_for_printed(f"['{chosen}']")
    area.focus()
    page.keyboard.press("Escape")
    nb.wait_for_printed("[] [")

    # By keyboard: the cursor is revealed and described, Enter selects its row.
    area.evaluate("e => e.scrollTo(0, 0)")
    area.focus()
    page.keyboard.press("Control+End")
    wait_until(lambda: "column 600" in status.inner_text())
    assert area.evaluate("e => e.scrollLeft + e.clientWidth >= e.scrollWidth - 1")
    page.keyboard.press("Enter")
    wait_until(lambda: "Selected: " in status.inner_text())
    chosen = status.inner_text().removeprefix("Selected: ")
    nb.wait_for_printed(f"['{chosen}']")

    # From Python; in the order of the tree.
    nb.run(2)
    wait_until(lambda: "protein_001, protein_002" in status.inner_text())

    assert out.locator(".labext-live").evaluate(UNNAMED) == 0

    nb.theme("JupyterLab Dark")
    settle(page)
    wait_until(lambda: max(canvas.evaluate(GROUND)) < 60)
    page.set_viewport_size({"width": 700, "height": 900})
    wait_until(lambda: area.bounding_box()["width"] < 400)
    settle(page)
    live = out.locator(".labext-live")
    assert live.evaluate("e => e.scrollWidth - e.clientWidth") <= 0

    # In a narrow page, where the summary has several lines, descriptions move nothing below.
    area.focus()
    page.keyboard.press("Escape")
    height = live.bounding_box()["height"]
    area.hover()
    wait_until(lambda: status.inner_text().startswith("protein_"))
    assert live.bounding_box()["height"] == height
    nb.theme("JupyterLab Light")
    settle(page)
    wait_until(lambda: min(canvas.evaluate(GROUND)) > 200)
    assert len(nb.wait_for_saved_html("data:image/svg+xml;base64,")) < 200_000
