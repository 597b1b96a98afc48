"""Answers, search, sources and ingestion in JupyterLab: live, by keyboard, and reopened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import Server
from script import Script
from streaming import ASK, Streaming, streaming
from waiting import wait_until

pytestmark = pytest.mark.browser


Pages = Callable[..., NotebookPage]

QUOTE = "Glucose lowers cAMP, and without cAMP the promoter stays shut."
SECOND = "Leaky expression costs $5 to $10 of yield."


def cited(of: str, quote: str, page: int | None, **more: Any) -> dict[str, Any]:
    passage = f"The araBAD promoter needs CRP.\n{quote} So the uninduced culture gets 0.2 %."
    return {"id": of, "title": more.get("title", "paper.pdf"), "quote": quote, "page": page} | {
        "passage_id": 1,
        "passage": passage,
    }


CITATIONS = [
    cited("source:a1", QUOTE, 3),
    cited("note:b2", SECOND, None, title="Plan <b>A</b> & B, a note with quite a long title"),
]
TEXT = (
    f"{QUOTE} [source:a1]\n\nTwo things follow:\n\n"
    f"- **Leak**: {SECOND} [note:b2]\n- `pBAD30` stays *silent* <img src=x onerror=alert(1)>\n"
)
TERMS = ("CRP and cAMP", "leaky expression")
INGEST = """import json, pathlib, time
import labext_widgets
from labext.nb.polling import Ingestion, SourceRow
from labext.progress import Outcome
def snapshots(path):
    began = time.monotonic()
    while True:
        state = json.loads(pathlib.Path(path).read_text())
        rows = tuple(SourceRow(**row) for row in state["rows"])
        outcome = Outcome(state["outcome"]) if state["outcome"] else None
        yield Ingestion(rows, time.monotonic() - began, outcome)
        if outcome:
            return
        time.sleep(0.05)
last = labext_widgets.watch_ingestion(snapshots({path!r}), again="%nb sources wait")
"""
LONG_NAME = "A_protocol_for_induction_with_a_name_that_nobody_would_ever_break_anywhere_at_all.docx"


SOURCES: list[dict[str, Any]] = [
    {"title": "paper.pdf", "status": "running", "stage": "Reading the pages", "unchanged": 42.0},
    {"title": LONG_NAME, "status": "completed"},
    {"title": "page.html", "status": "new"},
    {
        "title": "scan.pdf",
        "status": "failed",
        "reason": "No <b>text</b>: $2 of $3 pages are blank.",
    },
]


def snapshot(outcome: str = "", *, status: str = "") -> dict[str, Any]:
    """Return the sources at one poll; with a status, the running ones have it."""
    over = {"stage": "", "status": status} if status else {}
    source_rows = [
        {"id": f"source:{i}"} | source | (over if source["status"] in ("running", "new") else {})
        for i, source in enumerate(SOURCES)
    ]
    return {"rows": source_rows, "outcome": outcome}


def fits_a_narrow_page(nb: NotebookPage, cell: int) -> None:
    nb.page.set_viewport_size({"width": 690, "height": 1000})
    output = nb.output(cell).locator(".jp-OutputArea-output").first
    wait_until(lambda: output.bounding_box()["width"] < 360)
    assert output.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    nb.page.set_viewport_size({"width": 1000, "height": 800})


def html_of(nb: NotebookPage, cell: int) -> str:
    """Return the HTML of a cell's first output in the file, which contains no widget."""
    data = nb.save().cells[cell].outputs[0].data
    assert set(data) == {"text/html", "text/plain"}
    return str(data["text/html"])


@pytest.fixture
def service() -> Iterator[Streaming]:
    with streaming() as running:
        yield running


def test_answer_and_ingestion(
    page_of: Pages, server: Server, service: Streaming, script: Script
) -> None:
    cells = ASK.format(url=service.url), INGEST.format(path=str(script.path)), "seen"
    nb = page_of().write(*cells).open()
    the_answer_streams(nb, service)
    by_keyboard_alone(nb)
    fits_a_narrow_page(nb, 0)
    sources_are_processed(nb, script)
    nb.run(2)
    wait_until(lambda: nb.output(2).locator(".labext-live .labext-cite").count() == 2)
    wait_until(lambda: "Two things follow" in html_of(nb, 0))
    wait_until(lambda: "Watching stopped" in html_of(nb, 1))
    nb.close()
    server.stop_kernels()
    the_file_is_right_untrusted_and_without_a_kernel(page_of(nb.remove_trust()))


def the_answer_streams(nb: NotebookPage, service: Streaming) -> None:
    """Each event is displayed on arrival; a passage opened meanwhile stays open to the end."""
    nb.run(0)
    nb.wait_for_text("Asking…")
    service.send_event(
        type="strategy", reasoning="Two ways.", searches=[{"term": term} for term in TERMS]
    )
    nb.wait_for_text("Searching: CRP and cAMP; leaky expression")
    service.send_event(type="answer", content=f"{QUOTE} [source:a1]", citations=CITATIONS[:1])
    nb.wait_for_text(QUOTE)
    live = nb.output().locator(".labext-live")
    live.get_by_role("button", name="Citation 1: paper.pdf, page 3").click()
    live.locator("summary").click()
    service.send_event(type="answer", content=f"Also: {SECOND} [note:b2]", citations=CITATIONS[1:])
    nb.wait_for_text(f"Also: {SECOND}")
    assert live.locator(".labext-passage mark").inner_text() == QUOTE
    assert live.locator("details[open]").count() == 1
    service.send_event(type="final_answer", content=TEXT, citations=CITATIONS)
    nb.wait_for_text("Two things follow")
    nb.idle()
    assert SECOND in live.inner_text(), "a dollar is a dollar, no formula"
    assert nb.panel.evaluate("e => e.contains(document.activeElement)"), "keys work on"
    assert nb.output().locator(".jp-OutputArea-output").count() == 1, "it is displayed once"


def by_keyboard_alone(nb: NotebookPage) -> None:
    """Focus the second mark; open, close and reopen its passage."""
    live, keys = nb.output().locator(".labext-live"), nb.page.keyboard
    marks = live.locator(".labext-cite")
    assert marks.count() == 2
    marks.first.focus()
    keys.press("Tab")
    keys.press("Enter")
    assert marks.nth(1).get_attribute("aria-expanded") == "true"
    passage = live.locator(f"#{marks.nth(1).get_attribute('aria-controls')}")
    assert passage.locator("mark").inner_text() == SECOND
    keys.press("Escape")
    assert passage.count() == 0
    assert marks.nth(1).evaluate("e => e === document.activeElement")
    keys.press("Space")
    assert passage.count() == 1


def sources_are_processed(nb: NotebookPage, script: Script) -> None:
    """One row per source; an interrupt ends only the watch."""
    script.set_snapshot(snapshot())
    nb.run(1)
    nb.wait_for_text("Reading the pages, no progress for 0:42", cell=1)
    script.set_snapshot(snapshot("failed", status="completed"))
    nb.wait_for_text("3 Complete", cell=1)
    nb.idle()
    fits_a_narrow_page(nb, 1)
    script.set_snapshot(snapshot())
    nb.run(1)
    nb.wait_for_text("Reading the pages, no progress for 0:42", cell=1)
    nb.command("kernelmenu:interrupt")
    nb.wait_for_text("Watching stopped; the ingestion continues.", cell=1)
    nb.idle()


def the_file_is_right_untrusted_and_without_a_kernel(dead: NotebookPage) -> None:
    dead.open_without_kernel()
    dead.wait_for_text("No <b>text</b>: $2 of $3 pages are blank.", cell=1)
    out = dead.output()
    fold = out.locator("details").first
    fold.locator("summary").focus()
    dead.page.keyboard.press("Enter")
    assert fold.locator("mark").inner_text() == QUOTE
    assert "Two things follow" in out.inner_text()
    assert out.locator("button, img").count() == 0


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
def test_passages_and_pages(page_of: Callable[..., NotebookPage]) -> None:
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
    wait_until(lambda: "page 1 of 2" in str(nb.save().cells[3].outputs))
    for cell in nb.save().cells[1:]:
        assert [set(output.data) for output in cell.outputs] == [{"text/html", "text/plain"}]


def a_citation_opens_its_page(nb: NotebookPage) -> None:
    """The mark opens the passage, whose button opens and closes the page."""
    live = nb.output(2).locator(".labext-live")
    live.locator(".labext-cite").first.click()
    button = live.locator(".labext-passage .labext-open")
    button.click()
    picture = live.locator(".labext-passage .labext-page img")
    picture.wait_for()
    wait_until(lambda: picture.evaluate("e => e.naturalWidth > 500"))
    wait_until(lambda: button.get_attribute("aria-expanded") == "true")
    button.click()
    nb.wait_until_removed(picture)
    button.click()
    picture.wait_for()


def pages_turn(nb: NotebookPage) -> None:
    """By button, by key and by number; at the last page the button does nothing."""
    live = nb.output(3).locator(".labext-live")
    number = live.get_by_role("spinbutton")
    wait_until(lambda: number.input_value() == "1")
    live.get_by_role("button", name="Next page").click()
    image = live.locator("img")
    wait_until(lambda: str(image.get_attribute("alt")).startswith("Page 2"))
    assert live.get_by_role("status").text_content() == "Page 2 of 2", "it is announced"
    assert live.get_by_role("button", name="Next page").get_attribute("aria-disabled") == "true"
    number.press("PageUp")
    wait_until(lambda: str(image.get_attribute("alt")).startswith("Page 1"))
    number.fill("2")
    number.press("Enter")
    wait_until(lambda: str(image.get_attribute("alt")).startswith("Page 2"))
    number.press("PageUp")
    wait_until(lambda: str(image.get_attribute("alt")).startswith("Page 1"))
