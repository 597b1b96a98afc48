"""Saved views on paper, in narrow windows and with forced colors."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from labext.frames.views import ROWS, frame_html
from labext_widgets.core.markup import scrolled
from labext_widgets.core.picture import PictureView
from labext_widgets.drawings.canvas import Drawing
from labext_widgets.progress.job_log import Excerpt
from labext_widgets.results import JobFiles, open_gallery

pytestmark = pytest.mark.browser

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"></svg>'
LINES = "\n".join(f"line {number}" for number in range(100))


@pytest.fixture
def page(browser: Any) -> Any:
    page = browser.new_page()
    yield page
    page.close()


def test_scrolled_texts_are_printed_whole(page: Any) -> None:
    log = Excerpt(200)
    log.add(LINES)
    for html in (scrolled(f"<pre>{LINES}</pre>", "Text"), log.html("j1", "Complete", "", "")):
        page.set_content(html)
        box = page.locator("[tabindex]")
        for media, is_whole in (("screen", False), ("print", True)):
            page.emulate_media(media=media)
            assert box.evaluate("(e) => e.scrollHeight === e.clientHeight") is is_whole


def test_cards_of_a_saved_gallery_share_a_row_on_paper(page: Any) -> None:
    jobs = [JobFiles(f"j{number}", ["a.svg"], lambda _: SVG) for number in range(2)]
    html, _ = open_gallery("batch", jobs)._render()
    page.set_content(f"<div style='width: 510px'>{html}</div>")
    first, second = (card.bounding_box() for card in page.get_by_role("img").all())
    assert first["y"] == second["y"]


@pytest.mark.parametrize(
    "view", [PictureView(SVG, "a.svg"), Drawing("a", SVG.decode(), "s", [], [])]
)
def test_pictures_are_on_white_with_forced_colors(page: Any, view: Any) -> None:
    page.set_content(view.html())
    page.emulate_media(forced_colors="active", color_scheme="dark")
    background = page.get_by_role("img").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [240, 200])
def test_long_names_stay_within_their_cards_of_a_saved_gallery(page: Any, width: int) -> None:
    html, _ = open_gallery("batch", [JobFiles("x" * 90, ["a.svg"], lambda _: SVG)])._render()
    page.set_content(f"<!doctype html><div style='width: {width}px'>{html}</div>")
    card = page.locator("div:has(> strong)")
    assert card.evaluate("(e) => e.scrollWidth === e.clientWidth")
    assert page.evaluate("document.body.firstElementChild.scrollWidth") == width


def test_fields_of_a_record_fit_a_narrow_window(page: Any) -> None:
    frame = ROWS.show(pd.DataFrame([{"name": "Episode", "url": "/api/episodes/" + "k7" * 40}]))
    page.set_content(f"<!doctype html><div style='width: 300px'>{frame_html(frame)}</div>")
    assert page.evaluate("document.body.firstElementChild.scrollWidth") == 300
