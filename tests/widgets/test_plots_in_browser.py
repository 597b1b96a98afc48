"""A plot in JupyterLab: hover, opened jobs, selections, themes, and a reopened notebook."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import Server
from PIL import Image
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

PLOT = """import pandas as pd
from labext_widgets import plots
count = 40
frame = pd.DataFrame({
    "JobName": [f"folds-<b>{n}</b>" for n in range(count)],
    "Name": [f"<b>{n}</b>" for n in range(count)],
    "Type": "rna_fold",
    "family": ["tRNA", "riboswitch", "5S <img src=x>", "tRNA"] * 10,
    "score.length": [20 + 3 * n for n in range(count)],
    "score.mfe": [-0.3 * (20 + 3 * n) + (n * 7 % 11) for n in range(count)],
})
def view(job):
    if job.endswith("<b>1</b>"):
        from labext.errors import InputError
        raise InputError(f"{job} was stopped.", "Look at its log.")
    return pd.DataFrame({"opened": [job]})
p = plots.table_plot(frame, "folds", x="length", y="mfe", color="family", open_job=view)
p
"""
SELECTION = "print(p.selection.index.tolist())"
SELECT = "p.select([3, 4]);"
FIGURES = """tables = {
    "ramachandran.csv": pd.DataFrame(
        {"chain": "A", "residue": [1, 2], "name": "ALA", "phi": [-70, -60], "psi": [-40, 130]}),
    "fragments.csv": pd.DataFrame({"fragment": [1, 2, 3], "length": [67, 480, 4835]}),
}
q = plots.job_plot("job", tables)
q"""
TICKS = """for values in ([0, 2e9], [0, 1e-11], [999_900, 1_000_100]):
    numbers = pd.DataFrame({"group": ["a", "b"], "value": values})
    display(plots.table_plot(numbers, "ticks", x="group", y="value"))"""
FRAGMENTS = "print(q.selection.length.tolist())"
TICK_COLOR = "e => getComputedStyle(e.querySelector('.labext-plot-tick')).fill"


def point(nb: NotebookPage, length: float, mfe: float) -> tuple[float, float]:
    """Return where a value is drawn on the page, found from two ticks of each axis."""
    area = nb.output().locator(".labext-plot-area")
    box = area.bounding_box()
    colors: Any = area.evaluate(
        """e => [...e.querySelectorAll('svg .labext-plot-tick')].map(t => {
          const b = t.getBoundingClientRect();
          return [t.textContent.replace('−', '-'), b.x + b.width / 2, b.y + b.height / 2];
        })"""
    )
    ticks = [(float(text), x, y) for text, x, y in colors]
    xs = [(value, x) for value, x, y in ticks if y > box["y"] + box["height"] - 50 and value > 0]
    ys = [(value, y) for value, x, y in ticks if (value, x) not in xs]
    return _between(xs, length), _between(ys, mfe)


def _between(ticks: list[tuple[float, float]], value: float) -> float:
    (a, start), (b, end) = ticks[0], ticks[-1]
    return start + (end - start) * (value - a) / (b - a)


def test_histogram_of_jobs_offers_the_selection_only(page_of: Pages) -> None:
    histogram = 'plots.table_plot(frame, "folds", x="length", kind="histogram", open_job=view)'
    nb = page_of().write(PLOT, histogram).open()
    for cell, hint in enumerate(
        ("Click a point to open its job; drag to select.", "Drag to select jobs.")
    ):
        nb.run(cell)
        shown = nb.output(cell).locator(".labext-live .labext-plot-hint")
        shown.wait_for()
        assert shown.inner_text() == hint
    keys = nb.output(1).locator(".labext-plot-area").get_attribute("aria-label")
    assert "Enter opens" not in keys


def test_ticks_of_an_axis_have_one_notation(page_of: Pages) -> None:
    nb = page_of().write(PLOT + TICKS).open()
    nb.run(0)
    plots = nb.output().locator(".labext-live")
    wait_until(lambda: plots.count() == 3)
    nb.idle()
    for plot, expected in zip(
        plots.all(),
        (["0", "1e+9", "2e+9"], ["0", "8e−12", "1e−11"], ["999,900", "1,000,000", "1,000,100"]),
        strict=True,
    ):
        labels = plot.locator(".labext-plot-tick").all_text_contents()
        assert set(expected) <= set(labels)
        assert len({label.partition("e")[1] for label in labels if label[0] in "123456789"}) == 1


POSITIONS = """numbers = pd.DataFrame({"position": range(100_000_000, 100_000_040)})
plots.table_plot(numbers, "positions", x="position")"""
INSIDE = """e => [...e.querySelectorAll('.labext-plot-tick')].every(
  t => t.getBoundingClientRect().right <= t.closest('svg').getBoundingClientRect().right + 1)"""


def test_ticks_and_bars_of_large_numbers_are_whole(page_of: Pages) -> None:
    nb = page_of().write(PLOT + POSITIONS).open()
    nb.run(0)
    plot = nb.output().locator(".labext-live")
    wait_until(lambda: "100,000,040" in plot.locator(".labext-plot-tick").all_text_contents())
    assert plot.evaluate(INSIDE)
    bars = plot.locator("rect").evaluate_all("all => all.map((bar) => bar.getAttribute('x'))")
    assert len({round(float(x)) for x in bars}) >= 40


LONG_NAMES = """names = [f"Methanocaldococcus {n} jannaschii" for n in range(12)]
boxes = pd.DataFrame({"strain": names * 3, "value": range(36)})
display(plots.table_plot(boxes, "boxes", x="strain", y="value", kind="box"))
distances = pd.DataFrame({name: 0.1 for name in names[:3]}, index=names[:3])
plots.job_plot("job", {"distances.csv": distances.rename_axis("name").reset_index()})"""
CUT_OR_COVERED = """e => {
  const labels = [...e.querySelectorAll('.labext-plot-area text')].map((text) => {
    const [own, svg] = [text, text.ownerSVGElement].map((n) => n.getBoundingClientRect());
    const outside = own.left < svg.left || own.right > svg.right + 1 || own.bottom > svg.bottom;
    return { text: text.textContent, own, outside, isTick: text.matches('.labext-plot-tick') };
  });
  const title = labels.find(({ text }) => text === "strain")?.own;
  return labels.filter(({ own, outside, isTick }) =>
    outside || (isTick && title && own.bottom > title.top + 3)).map(({ text }) => text);
}"""


@pytest.mark.parametrize("width", [1000, 700])
def test_long_names_on_axes_are_within_the_plot(page_of: Pages, width: int) -> None:
    nb = page_of().write(PLOT + LONG_NAMES).open()
    nb.page.set_viewport_size({"width": width, "height": 800})
    nb.run(0)
    plots = nb.output().locator(".labext-live")
    wait_until(lambda: plots.count() == 2)
    nb.idle()
    assert [plot.evaluate(CUT_OR_COVERED) for plot in plots.all()] == [[], []]


SIMILAR_NAMES = """names = [f"transcription factor of group {n}" for n in range(4)]
boxes = pd.DataFrame({"gene": names * 3, "value": range(12)})
plots.table_plot(boxes, "boxes", x="gene", y="value", kind="box")"""


def test_names_that_differ_at_the_end_have_labels_that_differ(page_of: Pages) -> None:
    nb = page_of().write(PLOT + SIMILAR_NAMES).open()
    nb.run(0)
    labels = nb.output().locator(".labext-plot-tick", has_text="…")
    wait_until(lambda: labels.count() == 4)
    assert [label[-3:] for label in labels.all_text_contents()] == ["p 0", "p 1", "p 2", "p 3"]


def test_hover_open_and_select(page_of: Pages, server: Server) -> None:
    nb = page_of().write(PLOT, SELECTION, SELECT, FIGURES, FRAGMENTS).open()
    page, out = nb.page, nb.output()
    page.set_viewport_size({"width": 1400, "height": 900})
    nb.run(0)
    page.wait_for_selector(".labext-live .labext-plot-tick")
    nb.idle()
    assert out.locator("img").is_hidden(), "the live view hides the picture"
    tooltip, status = out.locator(".labext-tooltip"), out.locator("[role=status]")

    # By mouse: the name of a job, its view, its error, and a brush.
    page.mouse.move(*point(nb, 26, -7.8 + 14 % 11))
    wait_until(lambda: "<b>2</b>\nlength (nt): 26" in tooltip.inner_text())
    assert "family: 5S <img src=x>" in tooltip.inner_text()
    page.mouse.click(*point(nb, 26, -7.8 + 14 % 11))
    wait_until(lambda: "folds-<b>2</b>" in out.inner_text())
    page.mouse.click(*point(nb, 23, -6.9 + 7))
    wait_until(lambda: "folds-<b>1</b> was stopped. Look at its log." in out.inner_text())
    nb.wait_for_printed("[]")
    page.mouse.move(*point(nb, 127.5, 0))
    page.mouse.down()
    page.mouse.move(*point(nb, 138.5, -45), steps=4)
    page.mouse.up()
    wait_until(lambda: status.inner_text() == "4 of 40 jobs selected")
    nb.wait_for_printed("[36, 37, 38, 39]")

    # By keyboard alone.
    out.locator(".labext-plot-area").focus()
    page.keyboard.press("Escape")
    wait_until(lambda: status.inner_text() == "")
    for key in ("Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    wait_until(lambda: status.inner_text() == "3 of 40 jobs selected")
    assert "<b>3</b>" in tooltip.inner_text()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_until(lambda: "folds-<b>4</b>" in out.inner_text())
    nb.wait_for_printed("[1, 2]")
    out.locator("button", has_text="riboswitch").click()
    nb.wait_for_printed(str(list(range(1, 40, 4))))

    # Each of several figures has its own selection; they are side by side if the page is wide.
    nb.run(3)
    areas = nb.output(3).locator(".labext-plot-area")
    wait_until(lambda: areas.count() == 2)
    nb.idle()
    areas.nth(1).focus()
    for key in ("End", "Space"):
        page.keyboard.press(key)
    nb.wait_for_printed("[67]", 4)
    tops = [areas.nth(n).bounding_box()["y"] for n in range(2)]
    assert abs(tops[0] - tops[1]) < 2

    # From Python; the theme is updated live, and nothing overflows a narrow page.
    nb.run(2)
    wait_until(lambda: status.inner_text() == "2 of 40 jobs selected")
    nb.theme("JupyterLab Dark")
    assert out.evaluate(TICK_COLOR) == "rgba(255, 255, 255, 0.7)"
    page.set_viewport_size({"width": 700, "height": 900})
    live = page.locator(".labext-live").first
    wait_until(lambda: live.bounding_box()["width"] < 400)
    assert live.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    nb.theme("JupyterLab Light")
    page.emulate_media(forced_colors="active", color_scheme="dark")
    assert out.evaluate(TICK_COLOR) == "rgb(255, 255, 255)", "on black"

    # Reopened without a kernel: the static view, also if untrusted.
    assert "labext-live" not in str(nb.save())
    nb.close()
    server.stop_kernels()
    dead = page_of(nb.remove_trust()).open_without_kernel()
    picture = dead.output().locator("img").first
    picture.wait_for()
    assert picture.evaluate("e => e.naturalWidth") > 500
    assert dead.page.locator(".labext-live").count() == 0


def test_color_bar_is_visible_with_forced_colors(page_of: Pages) -> None:
    code = """import pandas as pd
from labext_widgets import table_plot
table_plot(pd.DataFrame({"a": [1, 2], "b": [3, 4.5]}), "t", x="a", y="b", color="b")"""
    nb = page_of().write(code).open()
    nb.run(0)
    bar = nb.output().locator(".labext-live .labext-colors")
    bar.wait_for()
    nb.page.emulate_media(forced_colors="active")
    pixels = Image.open(io.BytesIO(bar.screenshot())).convert("RGB")
    assert len(pixels.getcolors()) > 5
