"""Sources page by page: the right page, the passage marked on it, and text without a file."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from widget_fakes import FakePlaceholder, ParsedHtml

from labext.cli import examples
from labext.errors import InputError
from labext.nb.records import Answer, Citation
from labext_widgets import answer_view
from labext_widgets.answers import view as answers
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.documents import PdfPages, SourceView, TextPages
from labext_widgets.documents.pdf import MAX_BYTES, Pdf, find_passage

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)>\u202e\x1b[2J"
ON_PAGE_2 = "Vary the concentration of arabinose first"


@pytest.fixture
def pdf(tmp_path: Path) -> PdfPages:
    folder = tmp_path / "source"
    folder.mkdir()
    shutil.copy(examples.examples_folder() / "data" / "paper.pdf", folder / "source.pdf")
    return PdfPages(folder / "source.pdf", "paper.pdf")


def test_passage_is_found_across_line_breaks_hyphens_and_ligatures() -> None:
    page = "Cells are in-\nduced: eﬃcient\n“control” ends. More."
    ((start, end),) = find_passage('induced: efficient "control" ends.', page)
    assert page[start:end] == "in-\nduced: eﬃcient\n“control” ends."


def test_parts_of_a_passage_are_found_one_by_one() -> None:
    page = "Arabinose induces it strongly. A figure is here. Glucose represses it."
    passage = find_passage("Arabinose induces it strongly. Glucose represses it.", page)
    assert [page[slice(*part)] for part in passage] == [
        "Arabinose induces it strongly.",
        "Glucose represses it.",
    ]


def test_view_opens_the_page_of_the_passage_and_marks_it(pdf: PdfPages) -> None:
    output = SourceView("paper.pdf", pdf, passage=ON_PAGE_2)
    assert output.page == 2
    picture = pdf.render(2, ON_PAGE_2)
    assert picture is not None
    assert picture.boxes >= 1
    assert len(picture.data) <= MAX_BYTES
    assert "Page 2 of" in output.html()
    assert f" *{ON_PAGE_2}" in " ".join(str(output).split())


def test_other_pages_name_the_page_of_the_passage(pdf: PdfPages) -> None:
    assert "The passage is on page 2." in SourceView("paper.pdf", pdf, 1, ON_PAGE_2).html()
    absent = SourceView("paper.pdf", pdf, 1, "Nothing of the kind is written here.")
    assert "The passage was not found in this source." in absent.html()


def test_yellow_mark_covers_only_the_passage(pdf: PdfPages) -> None:
    from PIL import Image

    plain, marked = (
        Image.open(io.BytesIO(SourceView("p", pdf, 2, passage).picture()))
        for passage in ("", ON_PAGE_2)
    )
    assert plain.size == marked.size
    pairs = zip(plain.tobytes()[2::3], marked.tobytes()[2::3], strict=True)
    changed = sum(a != b for a, b in pairs)
    assert 0.0005 < changed / (plain.width * plain.height) < 0.05


def test_page_of_a_saved_view_is_static(
    pdf: PdfPages, set_front_end: Any, record_displays: Any
) -> None:
    set_front_end(FrontEnd.EXECUTED, placeholder)
    displayed = record_displays(placeholder)
    SourceView(HOSTILE, pdf, 1, HOSTILE, HOSTILE, "%nb view source:1")._ipython_display_()
    ((html, text),) = displayed
    parsed = ParsedHtml(html)
    assert parsed.tags <= {"div", "span", "img", "details", "summary", "code"}
    assert "onerror" not in parsed.attribute_names
    assert "%nb view source:1 --page 2" in html
    assert "\x1b" not in html + text
    assert "\u202e" not in html + text


@pytest.mark.parametrize("name", ["notes.md", "page.html", "protocol.docx", None])
def test_text_is_escaped(name: str | None) -> None:
    html = SourceView("t", TextPages(f"# Title\n\n{HOSTILE} end", name), passage="Title").html()
    assert not {"script", "img"} & ParsedHtml(html).tags
    assert "onerror=alert(1)&gt;" in html


def test_markdown_is_rendered_and_other_text_is_not() -> None:
    assert "<strong>b</strong>" in SourceView("t", TextPages("# A\n\n**b**", "a.md")).html()
    assert "<strong>" not in SourceView("t", TextPages("A\n\n**b**", "a.txt")).html()


def test_missing_pages_are_refused(pdf: PdfPages) -> None:
    with pytest.raises(InputError, match="no page 99"):
        SourceView("paper.pdf", pdf, 99)
    with pytest.raises(InputError, match="has one page only"):
        SourceView("notes", TextPages("x"), 2)


def test_live_view_turns_pages(
    pdf: PdfPages, placeholders: list[FakePlaceholder], set_front_end: Any
) -> None:
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    rendered = SourceView("paper.pdf", pdf, line="%nb view paper.pdf")
    rendered._ipython_display_()
    (output,) = placeholders
    output.receive({"do": "page", "page": 2}, [])
    assert rendered.page == 2
    assert output.changes[-1]["page"] == 2
    assert "page 2 of" in output.html
    output.receive({"do": "page", "page": "2; x"}, [])
    assert "has no page" in output.changes[-1]["error"]


def test_broken_pdf_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(b"no pdf")
    with pytest.raises(InputError, match="broken PDF"):
        Pdf(tmp_path / "x.pdf", "x.pdf")


def test_citation_opens_its_page(placeholders: list[FakePlaceholder], set_front_end: Any) -> None:
    set_front_end(FrontEnd.INTERACTIVE, answers)
    citation = Citation(id="source:a1", title="paper.pdf", quote="a quote", page=2)
    answer = Answer(question="Why?", text="So. [source:a1]", citations=(citation,))
    citations: list[Citation] = []

    def open_citation(cited: Citation) -> SourceView:
        citations.append(cited)
        return SourceView("paper.pdf", TextPages("It is a quote."), passage=cited.quote or "")

    answer_view(answer, open_citation)._ipython_display_()
    (output,) = placeholders
    assert "Open page 2" in output.state["html"]
    assert "labext-open" not in output.html, "the saved view has no buttons"
    assert "%nb view &quot;paper.pdf&quot; --page 2" in output.html
    for number in (1, 2, "1"):
        output.receive({"do": "open", "citation": number}, [])
    assert citations == [citation]
    assert [message["opened"] for message, _ in output.sent] == [1]
    assert "<mark" in output.sent[0][0]["html"]
