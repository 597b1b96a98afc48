"""The sequence viewer in JupyterLab: by mouse and keyboard, light and dark, live and reopened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from notebook_page import NotebookPage
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

RECORD = """import labext_widgets, random
drawn = random.Random(7)
bases = "".join(drawn.choices("ACGT", k=2400))
bases = bases[:600] + "GGATCC" + bases[606:1500] + "TTAGGACCAT" + bases[1510:]
def mark(name, start, end, strand, color=None):
    return dict(name=name, type="CDS", start=start, end=end, strand=strand, color=color)
record = dict(
    id="seq_1", name="pViewed", bases=bases, isCircular=True, length=2400,
    annotations=[
        mark("over the origin", 2300, 150, 1), mark("araC <regulator>", 300, 1100, -1, "#4e79a7"),
        mark("araC promoter", 1110, 1150, -1), mark("MCS", 1290, 1350, 0, "#f28e2b"),
        mark("bla", 1400, 2200, 1), mark("inner", 1700, 1900, 1),
    ],
    translations=[mark("araC", 300, 1100, -1)],
)
viewer = labext_widgets.sequence_viewer(record, enzymes="BamHI EcoRI")
viewer
"""
TELL = """chosen = viewer.selection
print(chosen and (chosen.start, chosen.end, chosen.strand, len(chosen.bases)))"""
SELECT = "viewer.select(2390, 10); viewer.enzymes = 'BamHI'"
INK = "e => getComputedStyle(e.querySelector('.labext-bases')).fill"


def status_says(nb: NotebookPage, words: str) -> None:
    status = nb.output().locator(".labext-status")
    wait_until(lambda: status.inner_text() == words)


RNA = """import labext_widgets
labext_widgets.sequence_viewer(dict(name="r", bases="AUGGCA", isCircular=False))"""


def test_lower_strand_of_rna_is_rna(page_of: Pages) -> None:
    nb = page_of().write(RNA).open()
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bases")
    assert "UACCGU" in nb.output().locator(".labext-rows:visible").inner_html()


LONG_NAME = """import labext_widgets
mark = dict(name="replication origin of a broad host range plasmid", start=0, end=3500, strand=1)
record = dict(name="p", bases="ACGT" * 1000, isCircular=False)
record["annotations"] = [mark, mark | dict(start=3990, end=4000)]
labext_widgets.sequence_viewer(record)"""
OUTSIDE = """e => [...e.querySelectorAll('text.labext-label')].filter((label) => {
  const container = label.dataset.pick === "annotation:0" ? label.previousElementSibling : e;
  const [own, limits] = [label, container].map((node) => node.getBoundingClientRect());
  return own.left < limits.left - 1 || own.right > limits.right + 1;
}).map((label) => label.textContent)"""


@pytest.mark.parametrize("width", [1200, 700, 560])
def test_shortened_label_is_inside_the_band_of_the_overview(page_of: Pages, width: int) -> None:
    nb = page_of().write(LONG_NAME).open()
    nb.page.set_viewport_size({"width": width, "height": 800})
    nb.run(0)
    overview = nb.output().locator(".labext-maps svg:has(.labext-band)").first
    wait_until(lambda: overview.locator("text.labext-label").count() == 2)
    nb.idle()
    assert overview.evaluate(OUTSIDE) == []


CROWDED = """import labext_widgets
record = dict(name="p", bases="ACGT" * 100, isCircular=True)
record["annotations"] = [dict(name=str(n), start=n, end=300) for n in range(6)]
display(labext_widgets.sequence_viewer(record))
labext_widgets.sequence_viewer(record | {"isCircular": False})"""


def test_list_states_that_annotations_are_over_others_on_the_circle(page_of: Pages) -> None:
    nb = page_of().write(CROWDED).open()
    nb.run(0)
    summaries = nb.output().locator(".labext-annotations summary")
    wait_until(lambda: summaries.count() == 2)
    note = "6 annotations, 2 drawn over others in the innermost ring"
    assert summaries.all_inner_texts() == [note, "6 annotations"]


def test_select_search_and_themes(page_of: Pages) -> None:
    nb = page_of().write(RECORD, TELL, SELECT).open()
    page, out = nb.page, nb.output()
    page.set_viewport_size({"width": 1360, "height": 900})
    nb.run(0)
    page.wait_for_selector(".labext-live .labext-bases")
    nb.idle()
    assert out.locator("img").is_hidden(), "the live view hides the picture"
    copy = out.get_by_role("button", name="Copy the selected bases")
    left = copy.bounding_box()["x"]

    # By mouse: a name on the circle, then along the bases, backwards.
    out.locator(".labext-circle").locator("text", has_text="araC <").click()
    status_says(nb, "Selected 301-1100 (800 bp, −)")
    nb.wait_for_printed("(300, 1100, -1, 800)")
    assert copy.bounding_box()["x"] == left, "the text before it does not move it"
    row = out.locator(".labext-rows:visible svg").nth(3).bounding_box()
    base, y = row["width"] / 50, row["y"] + 12
    page.mouse.move(row["x"] + 30 * base, y)
    page.mouse.down()
    page.mouse.move(row["x"] + 20 * base, y, steps=3)
    page.mouse.up()
    wait_until(lambda: "(10 bp, +)" in out.locator(".labext-status").inner_text())

    # By keyboard: a search on both strands, then the arrows from its hit, then Escape.
    out.locator(".labext-search-input").fill("ATGGTCCTAA")
    wait_until(lambda: out.locator(".labext-count").inner_text() == "1 hit")
    page.keyboard.press("Enter")
    status_says(nb, "Selected 1501-1510 (10 bp, −)")
    nb.wait_for_printed("(1500, 1510, -1, 10)")
    out.locator(".labext-maps").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    status_says(nb, "Selected 1501-1512 (12 bp, −)")
    page.keyboard.press("Escape")
    status_says(nb, "Nothing selected.")
    nb.wait_for_printed("None")

    # From Python, over the origin; the enzymes too.
    nb.run(2)
    status_says(nb, "Selected 2391-10 (20 bp, +)")
    wait_until(lambda: "Displayed (1)" in out.locator("select").inner_text())

    # The theme is updated live, and nothing overflows a narrow page.
    nb.theme("JupyterLab Dark")
    assert out.evaluate(INK) == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 690, "height": 1000})
    live = page.locator(".labext-live")
    wait_until(lambda: live.bounding_box()["width"] < 360)
    assert live.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    nb.theme("JupyterLab Light")
    assert out.evaluate(INK) != "rgb(255, 255, 255)"


MANY_SITES = """import labext_widgets, random
bases = "".join(random.Random(7).choices("ACGT", k=4800))
v = labext_widgets.sequence_viewer(dict(name="p", bases=bases, isCircular=True))
v"""


def test_circular_map_has_all_unique_cutters_or_says_how_many_it_lacks(page_of: Pages) -> None:
    nb = page_of().write(MANY_SITES, "v.enzymes = 'AluI HaeIII MseI TaqI HinP1I'").open()
    nb.run(0)
    out = nb.output()
    out.locator(".labext-live select").select_option("unique")
    labels = out.locator("svg.labext-circle text.labext-site")
    wait_until(lambda: labels.count() == 46)

    nb.run(1)
    out.locator(".labext-live select").select_option("displayed")
    out.get_by_text("5 sites not on the circle", exact=True).wait_for()
    assert labels.count() == 85
