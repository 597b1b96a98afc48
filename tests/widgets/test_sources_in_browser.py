"""Search, an answer's citations and the pages of a source in JupyterLab, and the saved file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from notebook_page import NotebookPage
from own_server import until

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
SETUP = f"""%load_ext labext
%lab sandbox start
%nb use "Pages" --create
%nb add {DATA / "paper.pdf"} {DATA / "troubleshooting.md"} --wait"""
CELLS = (
    SETUP,
    '%nb search "catabolite repression"',
    '%nb ask "Why is glucose added to the uninduced culture?"',
    'v = %nb view paper.pdf --passage "This is catabolite repression"\nv',
    "%nb view troubleshooting.md",
)


@pytest.mark.usefixtures("sandbox_of_notebooks")
def test_passages_and_pages(page_of: Callable[..., NotebookPage], refused: list[str]) -> None:
    nb = page_of().write(*CELLS).open()
    nb.run(0)
    nb.wait_for_text("2 Complete", cell=0)
    for cell in range(1, len(CELLS)):
        nb.run(cell)
    nb.wait_for_text("The culture is uneven", cell=4)
    nb.idle()
    assert set(nb.output(1).locator("mark").all_inner_texts()) >= {"catabolite", "repression"}
    a_citation_opens_its_page(nb)
    pages_turn(nb)
    for cell, name in enumerate(("passages", "answer", "source", "text"), 1):
        nb.shot(f"sources-{name}", nb.output(cell))
    until(lambda: "page 1 of 2" in str(nb.save().cells[3].outputs), "the page in the file")
    for cell in nb.save().cells[1:]:
        assert [set(output.data) for output in cell.outputs] == [{"text/html", "text/plain"}]
    assert nb.errors == []
    assert refused == []


def a_citation_opens_its_page(nb: NotebookPage) -> None:
    """The mark opens the passage, and its button the page, which it closes again."""
    live = nb.output(2).locator(".labext-live")
    live.locator(".labext-cite").first.click()
    button = live.locator(".labext-passage .labext-open")
    button.click()
    picture = live.locator(".labext-passage .labext-page img")
    picture.wait_for()
    until(lambda: picture.evaluate("e => e.naturalWidth > 500"), "a picture")
    until(lambda: button.get_attribute("aria-expanded") == "true", "the button's state")
    button.click()
    nb.gone(picture)
    button.click()
    picture.wait_for()


def pages_turn(nb: NotebookPage) -> None:
    """By button, by key and by number; at the last page the button does nothing."""
    live = nb.output(3).locator(".labext-live")
    number = live.get_by_role("spinbutton")
    until(lambda: number.input_value() == "1", "the page of the passage")
    live.get_by_role("button", name="Next page").click()
    image = live.locator("img")
    until(lambda: str(image.get_attribute("alt")).startswith("Page 2"), "page 2")
    assert live.get_by_role("button", name="Next page").get_attribute("aria-disabled") == "true"
    number.press("PageUp")
    until(lambda: str(image.get_attribute("alt")).startswith("Page 1"), "page 1")
    number.fill("2")
    number.press("Enter")
    until(lambda: str(image.get_attribute("alt")).startswith("Page 2"), "page 2")
    number.press("PageUp")
    until(lambda: str(image.get_attribute("alt")).startswith("Page 1"), "page 1")
