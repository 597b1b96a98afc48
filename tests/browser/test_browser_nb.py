"""Answers and ingestion in JupyterLab: live, by keyboard, in both themes, narrow, and reopened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import Server, until
from script import Script
from streaming import ASK, Streaming, streaming

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
AGAIN = "seen"
INGEST = """import json, pathlib, time
import labext_widgets
from labext.nb.watching import Ingestion, SourceRow
from labext.progress import Outcome
def looks(path):
    began = time.monotonic()
    while True:
        told = json.loads(pathlib.Path(path).read_text())
        rows = tuple(SourceRow(**row) for row in told["rows"])
        outcome = Outcome(told["outcome"]) if told["outcome"] else None
        yield Ingestion(rows, time.monotonic() - began, outcome)
        if outcome:
            return
        time.sleep(0.05)
last = labext_widgets.follow_ingestion(looks({path!r}), again="%nb sources wait")
"""
LONG_NAME = "A_protocol_for_induction_with_a_name_that_nobody_would_ever_break_anywhere_at_all.docx"


SOURCES = [
    {"title": "paper.pdf", "status": "running", "stage": "Reading the pages", "unchanged": 42.0},
    {"title": LONG_NAME, "status": "completed"},
    {"title": "page.html", "status": "new"},
    {
        "title": "scan.pdf",
        "status": "failed",
        "reason": "No <b>text</b>: $2 of $3 pages are blank.",
    },
]


def looked(outcome: str = "", *, status: str = "") -> dict[str, Any]:
    """What a look at the sources sees; with a status, those that went on have it."""
    over = {"stage": "", "status": status} if status else {}
    found = [
        {"id": f"source:{i}"} | each | (over if each["status"] in ("running", "new") else {})
        for i, each in enumerate(SOURCES)
    ]
    return {"rows": found, "outcome": outcome}


@pytest.fixture
def service() -> Iterator[Streaming]:
    with streaming() as running:
        yield running


def narrow(nb: NotebookPage, name: str) -> None:
    """Keep a picture of a narrow page; nothing may stand out of it."""
    nb.page.set_viewport_size({"width": 690, "height": 1000})
    shown = nb.output().locator(".jp-OutputArea-output").first
    until(lambda: shown.bounding_box()["width"] < 360, "a narrow page")
    nb.shot(name, nb.output())
    assert shown.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    nb.page.set_viewport_size({"width": 1000, "height": 800})


def html_of(nb: NotebookPage) -> str:
    """The HTML of the first cell's one output in the file, which has no widget in it."""
    (output,) = nb.save().cells[0].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    return str(output.data["text/html"])


def reopened(nb: NotebookPage, page_of: Pages, server: Server) -> NotebookPage:
    """Open the file without a kernel, and untrusted."""
    nb.close()
    server.stop_kernels()
    written = json.loads(nb.path.read_text())
    for cell in written["cells"]:
        cell["source"] = "# not the cell that was signed"
    nb.path.write_text(json.dumps(written))
    return page_of(nb.path).open_without_kernel()


def test_an_answer_as_it_streams(
    page_of: Pages, server: Server, service: Streaming, refused: list[str]
) -> None:
    nb = page_of().write(ASK.format(url=service.url), AGAIN).open()
    page, out = nb.page, nb.output()
    nb.run(0)
    nb.says("Asking…")
    service.say(type="strategy", reasoning="Two ways.", searches=[{"term": each} for each in TERMS])
    nb.says("Searching: CRP and cAMP; leaky expression")
    service.say(type="answer", content=f"{QUOTE} [source:a1]", citations=CITATIONS[:1])
    nb.says(QUOTE)
    live = out.locator(".labext-live")
    live.get_by_role("button", name="Citation 1: paper.pdf, page 3").click()
    assert QUOTE in live.locator(".labext-passage").inner_text()
    live.locator("summary").click()
    nb.shot("answer-coming", out)
    service.say(type="answer", content=f"Also: {SECOND} [note:b2]", citations=CITATIONS[1:])
    nb.says(f"Also: {SECOND}")
    assert live.locator(".labext-passage mark").inner_text() == QUOTE, "what was opened stays so"
    assert live.locator("details[open]").count() == 1
    service.say(type="final_answer", content=TEXT, citations=CITATIONS)
    nb.says("Two things follow")
    nb.idle()
    assert SECOND in live.inner_text(), "a dollar is a dollar, no formula"
    assert out.locator(".jp-OutputArea-output").count() == 1, "it is not shown a second time"

    # By keyboard alone: to the second mark, open its passage, close it, open it again.
    marks = live.locator(".labext-cite")
    assert marks.count() == 2
    marks.first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert marks.nth(1).get_attribute("aria-expanded") == "true"
    passage = live.locator(f"#{marks.nth(1).get_attribute('aria-controls')}")
    assert passage.locator("mark").inner_text() == SECOND
    page.keyboard.press("Escape")
    assert passage.count() == 0
    assert marks.nth(1).evaluate("e => e === document.activeElement")
    page.keyboard.press("Space")
    nb.shot("answer-light", out)
    nb.theme("JupyterLab Dark")
    nb.shot("answer-dark", out)
    narrow(nb, "answer-dark-narrow")
    nb.theme("JupyterLab Light")

    # Shown again in another cell it is drawn there, with marks of its own.
    nb.run(1)
    until(lambda: nb.output(1).locator(".labext-live .labext-cite").count() == 2)
    until(lambda: "Two things follow" in html_of(nb), "the answer in the file")
    assert nb.errors == []

    dead = reopened(nb, page_of, server)
    out = dead.output()
    assert out.locator("button, img").count() == 0
    fold = out.locator("details").first
    fold.locator("summary").focus()
    dead.page.keyboard.press("Enter")
    assert fold.locator("mark").inner_text() == QUOTE
    dead.shot("answer-reopened", out)
    assert refused == []


def test_sources_while_they_are_processed(
    page_of: Pages, server: Server, script: Script, refused: list[str]
) -> None:
    script.tell(looked())
    nb = page_of().write(INGEST.format(path=str(script.path))).open()
    nb.run(0)
    nb.says("Reading the pages, unchanged for 0:42")
    nb.says("$2 of $3 pages")
    nb.bar_says("Running, 1 of 4 complete")
    nb.shot("ingestion-live", nb.output())
    script.tell(looked("failed", status="completed"))
    nb.bar_says("Failed, 3 of 4 complete")
    nb.idle()
    narrow(nb, "ingestion-narrow")
    until(lambda: "&lt;b&gt;text" in html_of(nb), "the reason in the file")
    script.tell(looked())
    nb.run(0)
    nb.bar_says("Running, 1 of 4 complete")
    nb.command("kernelmenu:interrupt")
    nb.says("Watching stopped; the ingestion goes on.")
    assert nb.errors == []

    dead = reopened(nb, page_of, server)
    assert "No <b>text</b>: $2 of $3 pages are blank." in dead.output().inner_text()
    dead.shot("ingestion-reopened", dead.output())
    assert refused == []
