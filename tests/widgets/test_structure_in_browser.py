"""The structure viewer in JupyterLab: by mouse and keyboard, light and dark, saved and closed."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from PIL import Image
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

HELIX = """import numpy as np
from labext_widgets.structure import structure_viewer
def helix(count, chain, shift=0.0, bend=0.0):
    rows = []
    for i in range(count):
        angle = np.radians(100) * i
        for atom, radius, turn, rise in (
            ("N", 1.55, -0.48, -0.87), ("CA", 2.28, 0, 0), ("C", 1.66, 0.46, 1.1),
            ("O", 2.0, 0.42, 2.3),
        ):
            x, y = radius * np.cos(angle + turn) + shift, radius * np.sin(angle + turn)
            z = 1.5 * i + rise
            rows.append(
                f"ATOM  {len(rows) + 1:5d}  {atom:<3} ALA {chain}{i + 1:4d}    "
                f"{x + bend * z * z:8.3f}{y:8.3f}{z:8.3f}  1.00 {20 + len(rows) / 9:5.2f}"
                f"           {atom[0]}"
            )
    return "\\n".join(rows)
"""
SINGLE = """two = helix(30, "A") + "\\n" + helix(24, "B", 11)
viewer = structure_viewer(two, name="<b>two</b> helices")
display(viewer)
viewer.select(2, 9, "B");
"""
ASK = """print(viewer.selection, viewer.style, viewer.color_scheme, viewer.picture())"""
DRAWN_PIXELS = """from PIL import Image
import io
opacity = Image.open(io.BytesIO(viewer.picture().content)).convert("RGBA").getchannel("A")
print("drawn", sum(opacity.histogram()[1:]), viewer.style)"""
OTHERS = """viewer.select(3, 5, "B")
models = "\\n".join(
    f"MODEL {i + 1}\\n{helix(20, 'A', bend=0.0008 * i)}\\nENDMDL" for i in range(8)
)
moving = structure_viewer(models, name="modes")
moving"""
COMPARED = """structure_viewer(helix(30, "A"), name="straight").compare(
    helix(30, "A", bend=0.002), name="bent")"""

WINDOW: Any = {"width": 800, "height": 600}
BACKGROUNDS = "(all) => all.map((e) => getComputedStyle(e).backgroundColor)"
SWATCHES = "(all) => all.map((e) => getComputedStyle(e, '::before').backgroundColor)"

IN_VIEW = """(element) => {
  const { top, bottom } = element.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  const own = element.getBoundingClientRect().top;
  return own >= top - 1 && own < bottom;
}"""

STRETCHED_TRACE = """structure_viewer("\\n".join(
    f"ATOM  {i + 1:5d}  CA  ALA A{i + 1:4d}    {5 * i:8.3f}{i % 2 * 3:8.3f}   0.000  1.00 20.00"
    for i in range(12)), name="trace")"""


def test_structure_is_selected_styled_and_saved(page_of: Pages) -> None:
    nb = _opened(page_of, HELIX + SINGLE, ASK, OTHERS, COMPARED, STRETCHED_TRACE, DRAWN_PIXELS)
    page, out = nb.page, nb.output()
    out.locator(".labext-structure[data-ready]").wait_for()
    assert out.locator("b").count() == 0, "a name is never HTML"
    stage = out.locator(".labext-stage")

    status = out.locator(".labext-status")
    wait_until(lambda: status.inner_text() == "Selected B:2-9 (8 residues)")  # made before it
    typed = out.locator(".labext-range-input")
    typed.fill("B:3-9")
    typed.press("Enter")
    wait_until(lambda: status.inner_text() == "Selected B:3-9 (7 residues)")
    nb.wait_for_printed("ResidueRange(chain='B', start=3, end=9, letters='AAAAAAA') cartoon chain")
    row = out.locator(".labext-strip-row").first
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        row.press(key)
    wait_until(lambda: status.inner_text() == "Selected A:2-3 (2 residues)")
    out.get_by_role("button", name="Stick", exact=True).click()
    out.locator("select").select_option("secondary")
    nb.wait_for_printed("stick secondary <PictureView <b>two</b> helices, PNG")
    nb.run(5)
    nb.wait_for_text(" stick", cell=5)
    sticks = int(nb.output(5).inner_text().split()[1])
    out.get_by_role("button", name="Surface", exact=True).click()

    def picture_has_the_surface() -> bool:
        nb.run(5)
        nb.idle()
        _, drawn, style = nb.output(5).inner_text().split()
        return style == "surface" and int(drawn) > 1.5 * sticks

    wait_until(picture_has_the_surface)  # which takes long to compute
    canvas = stage.locator("canvas")
    before = canvas.screenshot()
    out.get_by_role("button", name="Zoom to the selected residues").click()
    wait_until(lambda: canvas.screenshot() != before)
    before = canvas.screenshot()
    out.get_by_role("button", name="Show the whole molecule").click()
    wait_until(lambda: canvas.screenshot() != before)
    before = canvas.screenshot()
    stage.press("ArrowRight")
    stage.press("+")
    wait_until(lambda: canvas.screenshot() != before)

    nb.run(2)
    wait_until(lambda: status.inner_text() == "Selected B:3-5 (3 residues)")
    models = nb.output(2)
    models.locator(".labext-structure[data-ready]").wait_for()
    models.get_by_role("button", name="Play").click()
    position = models.locator(".labext-animation .labext-count")
    wait_until(lambda: position.inner_text() not in ("1 of 8", "2 of 8"))
    pause = models.get_by_role("button", name="Pause")
    assert pause.get_attribute("title") == "Pause the animation"
    pause.click()
    nb.run(3)
    compared = nb.output(3)
    compared.locator(".labext-structure[data-ready]").wait_for()
    assert "RMSD" in compared.locator(".labext-title").inner_text()

    nb.run(4)
    trace = nb.output(4)
    trace.locator(".labext-structure[data-ready]").wait_for()
    wait_until(lambda: _dark_pixels(trace.locator("canvas")) > 2000)
    canvas = trace.locator("canvas")
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        nb.theme(theme)
    wait_until(lambda: _has_margins(canvas))  # fitted again: a theme changes its size for a moment

    page.set_viewport_size({"width": 700, "height": 1000})
    live = out.locator(".labext-live")
    wait_until(lambda: live.evaluate("e => e.scrollWidth - e.clientWidth") <= 0)
    page.emulate_media(forced_colors="active")
    assert len(set(out.locator(".labext-button").evaluate_all(BACKGROUNDS))) == 2, "one is pressed"
    swatches = out.locator(".labext-legend-item").evaluate_all(SWATCHES)
    assert len(set(swatches)) == len(swatches) > 1
    nb.idle()
    html = nb.wait_for_saved_html("data:image/png;base64,")
    assert len(html) < 200_000


def test_style_and_colors_chosen_in_one_view_are_those_of_all_and_of_the_saved_legend(
    page_of: Pages,
) -> None:
    nb = _opened(page_of, HELIX + SINGLE, ASK, "viewer")
    nb.idle()
    nb.run(2)
    nb.command("notebook:create-output-view")  # another view of the same model
    views = nb.page.locator(".labext-structure[data-ready]")
    wait_until(lambda: views.count() == 3)
    views.nth(0).locator("select").select_option("secondary")
    views.nth(1).get_by_role("button", name="Stick", exact=True).click()
    for view in views.all():
        wait_until(lambda view=view: view.locator("select").input_value() == "secondary")
        pressed = view.locator("[aria-pressed=true]")
        wait_until(lambda pressed=pressed: pressed.inner_text() == "Stick")
        assert "Helix" in view.locator(".labext-legend").inner_text()
    nb.page.evaluate("() => window.jupyterapp.shell.currentWidget.close?.()")
    nb.page.wait_for_function("() => window.jupyterapp.shell.currentWidget?.content?.widgets")
    nb.wait_for_printed("stick secondary <PictureView <b>two</b> helices, PNG")
    nb.wait_for_saved_html("Helix")


REPEATED_NUMBERS = """parts = helix(12, "A"), helix(12, "A", 11), helix(12, "B", 22)
structure_viewer("\\n".join(parts), name="repeated")"""


def test_chain_after_residues_numbered_twice_keeps_its_color(page_of: Pages) -> None:
    out = _opened(page_of, HELIX + REPEATED_NUMBERS).output()
    out.locator(".labext-structure[data-ready]").wait_for()
    canvas = out.locator("canvas")
    wait_until(lambda: _dark_pixels(canvas) > 2000)
    picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
    orange = sum(
        count
        for count, color in picture.getcolors(1 << 20)
        if isinstance(color, tuple) and color[0] > color[2] + 80
    )
    assert orange > 500, "the color of chain B"


def _opened(page_of: Pages, *cells: str) -> NotebookPage:
    """Open a notebook in a small window, where molecules are drawn faster; run its first cell."""
    nb = page_of().write(*cells).open()
    nb.page.set_viewport_size(WINDOW)
    nb.run(0)
    return nb


def _dark_pixels(canvas: Any) -> int:
    """Return the number of pixels of a canvas that are not nearly white."""
    picture = Image.open(io.BytesIO(canvas.screenshot())).convert("L")
    return sum(picture.histogram()[:230])


def _has_margins(canvas: Any) -> bool:
    """Return whether something is drawn, and nothing at the left and right edges."""
    picture = Image.open(io.BytesIO(canvas.screenshot())).convert("L")
    drawn = picture.point([255 * (level < 230) for level in range(256)]).getbbox()
    return drawn is not None and drawn[0] > 0 and drawn[2] < picture.width


HAS_FOCUS = "e => e === document.activeElement"
SMALL = """structure_viewer('''ethanol
  test

  3  2  0  0  0  0            999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.5000    0.0000    0.0000 C   0  0
    2.0000    1.3000    0.0000 O   0  0
  1  2  1  0
  2  3  1  0
M  END
$$$$
''')"""


def test_distance_is_measured_by_keyboard_alone(page_of: Pages) -> None:
    nb = (
        page_of()
        .write(HELIX + SINGLE, OTHERS, SMALL, "print(viewer.distance('A:2', 'B:9'))")
        .open()
    )
    keys = nb.page.keyboard
    for cell in range(4):
        nb.run(cell)
    nb.idle()
    views = [nb.output(cell).locator(".labext-structure[data-ready]") for cell in range(3)]

    def measure(cell: int, atoms: str, expected: str) -> None:
        field = views[cell].get_by_role("textbox", name="Atoms")
        field.fill(atoms)
        field.press("Enter")
        wait_until(lambda: views[cell].get_by_role("status").inner_text() == expected)

    for view in views:
        view.wait_for()
        assert view.get_by_role("textbox", name="Atoms").is_hidden()
        view.get_by_role("button", name="Measure").focus()
        keys.press("Enter")
        keys.press("Tab")
        assert view.get_by_role("textbox", name="Atoms").evaluate(HAS_FOCUS)

    empty = _dark_pixels(views[0].locator("canvas"))
    distance = f"{float(nb.output(3).inner_text()):.2f}"
    measure(0, "A:2 B:9", f"Distance {distance} Å: ALA A:2, atom CA – ALA B:9, atom CA")
    wait_until(lambda: _dark_pixels(views[0].locator("canvas")) > empty)
    measure(0, "2:n  2:O", "Distance 3.55 Å: ALA A:2, atom N – ALA A:2, atom O")
    measure(0, "A:2", "ALA A:2, atom CA; click or type a second atom")
    unknown = "No atom B:9:CB; write two, such as A:1 A:10, or A:10:CB for an atom."
    measure(0, "A:2 B:9:CB", unknown)
    assert views[0].get_by_role("textbox", name="Atoms").get_attribute("aria-invalid") == "true"
    measure(0, "", "Click or type two atoms to measure their distance.")
    views[0].get_by_role("button", name="Measure").press("Enter")
    wait_until(lambda: views[0].get_by_role("status").inner_text() == "Selected B:3-5 (3 residues)")
    assert views[0].get_by_role("textbox", name="Atoms").is_hidden()

    measure(2, "1 3", "Distance 2.39 Å: atom C1 – atom O3")
    measure(2, "1 4", "No atom 4; write two, such as 1 2.")

    # Of several models the distance is that of the model shown.
    straight = "Distance 28.71 Å: ALA A:1, atom CA – ALA A:20, atom CA"
    measure(1, "1 20", straight)
    views[1].get_by_role("slider").press("End")
    wait_until(lambda: views[1].get_by_role("status").inner_text() != straight)
    assert views[1].get_by_role("status").inner_text().startswith("Distance 2")

    # The text above the molecule does not move it.
    height = views[1].bounding_box()["height"]
    views[1].locator(".labext-strip-row").press("ArrowRight")
    wait_until(lambda: views[1].get_by_role("status").inner_text() == "Selected A:1 (1 residue)")
    assert views[1].bounding_box()["height"] == height


def test_measured_residues_have_their_insertion_codes(page_of: Pages) -> None:
    inserted = 'structure_viewer(helix(5, "A").replace("A   3 ", "A   2A"), name="inserted")'
    view = _opened(page_of, HELIX + inserted).output().locator(".labext-structure[data-ready]")
    view.get_by_role("button", name="Measure").click()
    view.get_by_role("textbox", name="Atoms").fill("2 2A")
    view.get_by_role("textbox", name="Atoms").press("Enter")
    status = view.get_by_role("status")
    wait_until(lambda: status.inner_text().endswith("ALA A:2, atom CA – ALA A:2A, atom CA"))
    titles = view.locator(".labext-residue").evaluate_all("all => all.map((one) => one.title)")
    assert titles == ["A 1", "A 2", "A 2A", "A 4", "A 5"]


FORMATS = """import io
from biotite.structure.io import pdb, pdbx
pdb_text = helix(20, "A")
atoms = pdb.PDBFile.read(io.StringIO(pdb_text)).get_structure(model=1, extra_fields=["b_factor"])
cif = pdbx.CIFFile()
pdbx.set_structure(cif, atoms)
shifted = "\\n".join(  # its residues are 151 to 170
    f"{line[:22]}{int(line[22:26]) + 150:4d}{line[26:]}" for line in pdb_text.splitlines())
modified = "\\n".join(
    "HETATM" + line[6:17] + "MSE" + line[20:] if line[22:26] == "  10" else line
    for line in pdb_text.splitlines())
for content in (pdb_text, helix(20, " "), cif.serialize(), modified, shifted):
    display(structure_viewer(content, name="helix"))"""


def test_structure_without_chains_mmcif_and_modified_residues_look_alike(page_of: Pages) -> None:
    nb = _opened(page_of, HELIX + FORMATS)
    views = nb.output().locator(".labext-structure[data-ready]")
    wait_until(lambda: views.count() == 5)
    nb.idle()
    examples = ("A:1-10", "1-10", "A:1-10", "A:1-10", "A:151-160")
    for view, example in zip(views.all(), examples, strict=True):
        typed = view.locator(".labext-range-input")
        assert typed.get_attribute("placeholder") == example
        typed.fill(example)
        typed.press("Enter")
        selected = f"Selected {example} (10 residues)"
        status = view.get_by_role("status")
        wait_until(lambda status=status, text=selected: status.inner_text() == text)
        view.locator(".labext-residue").nth(4).click()
    canvases = [view.locator("canvas") for view in views.all()[:4]]  # with the same residues
    wait_until(lambda: len(set(map(_dark_pixels, canvases))) == 1)


WATER = """structure_viewer(
    "HETATM    1  O   HOH A   1       0.000   0.000   0.000  1.00  0.00           O", name="H2O")"""


def test_water_alone_is_drawn(page_of: Pages) -> None:
    view = _opened(page_of, HELIX + WATER).output().locator(".labext-structure[data-ready]")
    view.wait_for()
    wait_until(lambda: _dark_pixels(view.locator("canvas")) > 0)


MANY = """for i in range(12):
    display(structure_viewer(helix(10 + i, "A"), name=f"h{i}"))"""


ANIMATED = """models = "\\n".join(
    f"MODEL {i + 1}\\n{helix(20, 'A', bend=0.002 * i)}\\nENDMDL" for i in range(8)
)
structure_viewer(models, name="modes")"""
TALL = "print('\\n' * 100)"


def _animated(nb: NotebookPage) -> tuple[Any, Any]:
    """Return the first cell's output and the text with the number of the model."""
    out = nb.output()
    out.locator(".labext-structure[data-ready]").wait_for()
    return out, out.locator(".labext-animation .labext-count")


def test_animation_rests_while_it_is_not_visible(page_of: Pages) -> None:
    nb = _opened(page_of, HELIX + ANIMATED, TALL, "1")
    out, position = _animated(nb)
    nb.run(1)
    nb.idle()
    out.scroll_into_view_if_needed()
    out.get_by_role("button", name="Play").click()
    wait_until(lambda: position.inner_text() != "1 of 8")
    nb.output(2).scroll_into_view_if_needed()
    nb.page.wait_for_timeout(300)
    hidden_at = position.text_content()
    nb.page.wait_for_timeout(700)
    assert position.text_content() == hidden_at
    out.locator(".labext-stage").scroll_into_view_if_needed()
    wait_until(lambda: position.text_content() != hidden_at)


def test_saved_picture_and_surface_follow_the_chosen_model(page_of: Pages) -> None:
    nb = _opened(page_of, HELIX + ANIMATED)
    out, _ = _animated(nb)
    canvas = out.locator(".labext-stage canvas")
    slider = out.get_by_role("slider", name="Model")
    saved = nb.wait_for_saved_html("data:image/png;base64,")
    slider.press("End")
    wait_until(lambda: nb.wait_for_saved_html("data:image/png;base64,") != saved)
    slider.press("Home")
    out.locator(".labext-stage").press("ArrowRight")  # a view that was moved is not fitted again
    ribbon = _dark_pixels(canvas)
    out.get_by_role("button", name="Surface", exact=True).click()
    wait_until(lambda: _dark_pixels(canvas) > 1.5 * ribbon)
    first = _dark_pixels(canvas)
    out.get_by_role("button", name="Cartoon", exact=True).click()
    slider.press("End")
    wait_until(lambda: _dark_pixels(canvas) < 0.8 * first)
    bent = _dark_pixels(canvas)
    out.get_by_role("button", name="Surface", exact=True).click()
    wait_until(lambda: _dark_pixels(canvas) > 1.5 * bent)
    slider.press("Home")
    wait_until(lambda: abs(_dark_pixels(canvas) - first) < 0.02 * first)


def test_replaced_canvas_leaves_a_picture_and_is_restored_when_possible(page_of: Pages) -> None:
    nb = _opened(page_of, HELIX + ANIMATED, MANY)
    out, position = _animated(nb)
    stage, slider = out.locator(".labext-stage"), out.get_by_role("slider", name="Model")
    slider.press("End")
    wait_until(lambda: position.inner_text() == "8 of 8")
    stage.press("ArrowUp")
    before = _dark_pixels(stage.locator("canvas"))
    picture = out.locator(".labext-evicted-picture")

    def show_many() -> None:
        nb.run(1)
        nb.idle()
        picture.wait_for()

    show_many()
    assert _dark_pixels(picture) > 0.7 * before, "the molecule is still visible"
    out.get_by_role("button", name="Show the molecule in 3D again").click()
    nb.wait_until_removed(picture)
    assert position.inner_text() == "8 of 8"

    show_many()
    nb.select(1)
    nb.command("notebook:clear-cell-output")
    nb.wait_until_removed(nb.output(1).locator(".labext-live"))
    nb.page.set_viewport_size({"width": 800, "height": 300})
    nb.output(1).scroll_into_view_if_needed()
    stage.scroll_into_view_if_needed()
    nb.wait_until_removed(picture)
    assert stage.bounding_box()["height"] < 230, "the molecule fits into a low window"
    nb.page.set_viewport_size(WINDOW)
    wait_until(lambda: _dark_pixels(stage.locator("canvas")) > 0.7 * before)

    show_many()
    slider.press("Home")
    nb.wait_until_removed(picture)
    assert position.inner_text() == "1 of 8"


GALLERY = """from labext_widgets.results import JobFiles, open_gallery
def job(i):
    content = helix(12 + i, "A").encode()
    return JobFiles(f"fold<i>{i}</i>", ["a.pdb"], lambda path: content, {}, {"energy": -float(i)})
gallery = open_gallery("folds", [job(i) for i in range(15)])
gallery
"""
CANVASES = "() => document.querySelectorAll('.labext-live canvas').length"
NAMES = "e => [...e.querySelectorAll('.labext-card > strong')].map((name) => name.textContent)"
VIEWERS = """for i in range(3):
    display(structure_viewer(helix(10 + i, "A"), name=f"h{i}"))"""


def test_gallery_is_paged_and_sorted_with_at_most_twelve_canvases(page_of: Pages) -> None:
    nb = page_of().write(HELIX + GALLERY, "print(gallery.page, gallery.sorted_by)", VIEWERS).open()
    page, out = nb.page, nb.output()
    nb.run(0)
    nb.idle()
    out.locator(".labext-grid canvas").nth(1).wait_for()
    assert out.locator("i").count() == 0, "a name is never HTML"
    assert 0 < page.evaluate(CANVASES) <= 12
    out.get_by_role("button", name="Next page").click()
    grid = out.locator(".labext-grid")
    wait_until(lambda: grid.evaluate(NAMES)[0] == "fold<i>12</i>")
    wait_until(lambda: page.evaluate(CANVASES) <= 3)
    out.locator("select").select_option("energy")
    wait_until(lambda: grid.evaluate(NAMES)[0] == "fold<i>14</i>")
    nb.wait_for_printed("1 energy")
    out.get_by_role("button", name="Open fold<i>14</i> below").click()
    opened = out.locator(".labext-structure[data-ready]")
    opened.wait_for()
    wait_until(lambda: opened.evaluate(IN_VIEW))
    assert page.evaluate(CANVASES) <= 12
    nb.run(2)
    nb.idle()
    more = nb.output(2).locator(".labext-structure[data-ready]")
    wait_until(lambda: more.count() == 3)
    assert page.evaluate(CANVASES) <= 12
