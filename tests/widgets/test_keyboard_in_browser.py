"""Views by keyboard: buttons without further use keep the focus, and keys at the ends of a view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from notebook_page import NotebookPage
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

PLOT = """import labext_widgets, pandas as pd
frame = pd.DataFrame({"a": range(10), "b": range(10)})
labext_widgets.table_plot(frame, "t", x="a", y="b", kind="scatter")"""
GALLERY = """from labext_widgets.results import JobFiles, open_gallery
svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
open_gallery("batch", [
    JobFiles(f"j{n}", ["a.svg"], lambda _: svg, scores={"energy": -n}) for n in range(13)])"""
ALIGNMENT = 'labext_widgets.alignment_view(">a\\nACGT\\n>b\\nACGA\\n")'
PLAYER = """import labext_widgets
turns = [{"speaker": "A", "dialogue": "Hello."}]
labext_widgets.show_player({"name": "Episode", "transcript": turns}, bytes)"""
CIRCLE = 'labext_widgets.sequence_viewer(dict(name="c", bases="ACGT" * 20, isCircular=True))'
LINE = 'labext_widgets.sequence_viewer(dict(name="l", bases="ACGT" * 20, isCircular=False))'
TABLE = '''from labext.nb.records import Answer, Citation
text = """| strain | effect |
|---|---|
| TOP10 | leaky [source:a] |
"""
labext_widgets.answer_view(Answer(text, (Citation("source:a", "A", passage="It leaks."),)))'''
PAGES = """from labext_widgets.documents.pages import TextPages
from labext_widgets.documents.view import SourceView
SourceView("text", TextPages("one\\ftwo\\fthree"), page=2)"""
FOCUSED = "e => e.contains(document.activeElement) && document.activeElement.ariaLabel"


def test_focus_stays_where_a_button_is_disabled_or_hidden(page_of: Pages) -> None:
    nb = page_of().write(PLOT, GALLERY, ALIGNMENT).open()
    keys = nb.page.keyboard
    for cell in range(3):
        nb.run(cell)
        nb.output(cell).locator(".labext-live .labext-button").first.wait_for(state="attached")
    nb.idle()

    plot = nb.output(0)
    plot.locator(".labext-plot-area").focus()
    keys.press("Control+a")
    clear = plot.get_by_role("button", name="Clear the selection")
    clear.focus()
    keys.press("Enter")
    clear.wait_for(state="hidden")
    assert str(plot.evaluate(FOCUSED)).startswith("t: scatter of b by a"), "the plot has it now"

    gallery = nb.output(1)
    gallery.get_by_role("button", name="Next page").focus()
    keys.press("Enter")
    wait_until(lambda: "Page 2 of 2, 13 jobs" in gallery.inner_text())
    assert gallery.evaluate(FOCUSED) == "Next page"
    keys.press("Enter")  # has no effect
    keys.press("Shift+Tab")
    assert gallery.evaluate(FOCUSED) == "Previous page"
    keys.press("Enter")
    wait_until(lambda: "Page 1 of 2" in gallery.inner_text())

    alignment = nb.output(2)
    zoom = alignment.get_by_role("button", name="Zoom in")
    zoom.focus()
    for _ in range(9):
        keys.press("Enter")
    wait_until(lambda: zoom.get_attribute("aria-disabled") == "true")
    assert alignment.evaluate(FOCUSED) == "Zoom in"


CELLS = """() => {
  const { content, context } = window.jupyterapp.shell.currentWidget;
  return [content.activeCellIndex, content.widgets.length, context.model.dirty];
}"""


@pytest.mark.parametrize("app", ["shared", "notebook"])
def test_keys_in_a_view_are_no_shortcuts_of_the_notebook_but_control_s_saves(
    page_of: Pages, app: str
) -> None:
    nb = page_of().write(PLOT, LINE, "1").open(app)
    keys = nb.page.keyboard
    for cell in range(2):
        nb.run(cell)
        nb.output(cell).locator(".labext-live").wait_for()
    nb.idle()
    plot, field = nb.output(0).locator(".labext-plot-area"), nb.output(1).get_by_role("searchbox")
    plot.focus()
    for key in ("ArrowDown", "ArrowUp", "a", "b", "x", "d", "d", "0", "0", "Control+a"):
        keys.press(key)
        assert nb.page.evaluate(CELLS) == [0, 3, True], key
    assert "10 of 10 rows selected" in nb.output().inner_text()
    keys.press("Control+s")
    wait_until(lambda: nb.page.evaluate(CELLS) == [0, 3, False])
    field.focus()
    for key in ("G", "x", "Control+a"):
        keys.press(key)
    assert field.input_value() == "Gx"
    assert nb.page.evaluate(CELLS)[:2] == [1, 3]


def test_ends_of_views(page_of: Pages) -> None:
    nb = page_of().write(PLAYER, CIRCLE, LINE, TABLE, PAGES).open()
    keys = nb.page.keyboard
    for cell in range(5):
        nb.run(cell)
        nb.output(cell).locator(".labext-live").wait_for()
    nb.idle()

    # The end of an episode is unknown before its audio is loaded, if the record has no times.
    player = nb.output(0)
    player.locator(".labext-play").focus()
    keys.press("End")
    keys.press("ArrowRight")
    wait_until(lambda: "0:05 / –:––" in player.inner_text())

    for cell, text in ((1, "Cursor before base 1"), (2, "Cursor after base 80")):
        nb.output(cell).locator(".labext-maps").focus()
        keys.press("End")
        wait_until(lambda cell=cell, text=text: text in nb.output(cell).inner_text())

    answer = nb.output(3)
    answer.locator("td .labext-cite").click()
    wait_until(lambda: "It leaks." in answer.locator(".labext-passage").inner_text())

    number = nb.output(4).locator("input")
    number.fill("")
    number.press("Enter")
    wait_until(lambda: number.input_value() == "2")
    assert "two" in nb.output(4).inner_text()


def test_gallery_sorted_while_the_kernel_is_busy_opens_the_job_that_was_clicked(
    page_of: Pages, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    wait = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.05)"
    nb = page_of().write(GALLERY, wait).open()
    nb.run(0)
    gallery = nb.output(0)
    gallery.locator(".labext-card").first.wait_for()
    nb.idle()
    nb.run(1)
    wait_until(lambda: nb.kernel_status() == "busy")
    gallery.locator("select").select_option("energy")
    gallery.get_by_role("button", name="Open j1 below").press("Enter")
    go_on.touch()
    gallery.get_by_role("img", name="j1: a.svg").wait_for()
    assert gallery.locator(".labext-card strong").first.inner_text() == "j12"
    assert gallery.evaluate(FOCUSED) == "Open j1 below"
    nb.page.emulate_media(forced_colors="active", color_scheme="dark")
    picture = gallery.locator(".labext-card-picture").first
    background = picture.evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == "rgb(255, 255, 255)", "it may be transparent"
