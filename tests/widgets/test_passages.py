"""Search hits as passages, and sources page by page with the passage marked."""

from __future__ import annotations

import gc
import io
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from labext_test_documents import partly_scanned_pdf
from widget_fakes import FakePlaceholder, ParsedHtml

from labext.cli import examples
from labext.errors import InputError
from labext.frames.views import frame_html, frame_text
from labext.nb import views
from labext.nb.records import Answer, Citation
from labext_magics.core.line import tokenize
from labext_widgets import answer_view
from labext_widgets.answers import passages
from labext_widgets.answers import view as answers
from labext_widgets.answers.passages import HITS, MAX_PASSAGES
from labext_widgets.answers.static_view import join_wrapped_lines, mark_words, passage_html
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.core.markup import view_line
from labext_widgets.documents import PdfPages, SourceView, TextPages
from labext_widgets.documents.pages import find_passage
from labext_widgets.documents.pdf import MAX_BYTES

TEXT = "Arabinose induces it. Without it, catabolite repression: the Café is shut. T7-driven leaks."
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202etxt\x1b[2J"


def hit(text: str | None = TEXT, **fields: Any) -> dict[str, Any]:
    citation = {"id": "source:a1", "kind": "source", "title": "paper.pdf", "match": text, "page": 3}
    return citation | {"relevance": 2.0} | fields


def hits(*rows: dict[str, Any], query: str = "repressions") -> pd.DataFrame:
    return HITS.show_hits(views.hit_frame(rows), query)


def marked(frame: pd.DataFrame) -> list[str]:
    return re.findall(r"<mark [^>]*>(.*?)</mark>", str(frame_html(frame)))


def shares(frame: pd.DataFrame) -> list[str]:
    return re.findall(r"display:block;width:(\d+%)", str(frame_html(frame)))


def test_recognized_speech_is_marked_with_its_confidence() -> None:
    frame = hits(hit(transcript=True, confidence=0.314), hit(transcript=True), hit())
    text = str(frame_html(frame))
    assert "paper.pdf, page 3 (rough transcript, 31 % certain)" in text
    assert text.count("(rough transcript") == 2


def test_rows_of_a_table_are_shown_below_its_first_row() -> None:
    frame = hits(hit("R25 | 11.2", table_header="Run | Ethanol <g/L>"), hit("R26 | 11.4"))
    line = "First row of the table: Run | Ethanol <g/L>"
    assert f"{line}\n   R25 | 11.2" in frame_text(frame)
    assert str(frame_html(frame)).count(line.replace("<g/L>", "&lt;g/L&gt;")) == 1
    (first, _) = passages.citations(frame)
    assert "Run | Ethanol &lt;g/L&gt;</div><div" in passage_html(first)
    whole = replace(first, passage="Run | Ethanol <g/L>\nR25 | 11.2", quote="R25 | 11.2")
    assert "First row" not in passage_html(whole)


def test_buttons_of_a_live_view_open_the_pages_of_sources(
    set_front_end: Any, placeholders: Any
) -> None:
    opened: list[Citation] = []

    class Page:
        def html(self) -> str:
            return "<p>the page</p>"

    def open_citation(citation: Citation) -> Page:
        opened.append(citation)
        return Page()

    rows = [hit(), hit(id="note:n1", kind="note", page=None)]
    frame = HITS.show_hits(views.hit_frame(rows), "repressions", open_citation)
    assert "<button" not in str(frame_html(frame)), "a terminal has no kernel that responds"
    set_front_end(FrontEnd.INTERACTIVE, passages)
    html = str(frame_html(frame))
    (output,) = placeholders
    assert not output.displayed, "the frame is displayed by its formatter"
    assert "<button" not in html
    assert output.view == "answer"
    (state,) = output.states
    assert state["html"].count("<button") == 1
    assert "Open page 3" in state["html"]
    assert "%nb notes show" in state["html"]
    output.receive({"do": "open", "citation": 1}, [])
    assert [(citation.id, citation.page) for citation in opened] == [("source:a1", 3)]
    assert opened[0].passage == TEXT
    assert output.sent == [({"opened": 1, "html": "<p>the page</p>"}, [])]
    output.receive({"do": "open", "citation": 7}, [])
    assert len(output.sent) == 1
    assert pickle.loads(pickle.dumps(frame)).equals(frame)


class TestWords:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("repressions", ["repression"]),
            ("the CAFE", ["Café"]),
            ("the", ["the"]),
            ('"catabolite repression" leaking', ["catabolite repression", "leaks"]),
            ('"repression catabolite"', []),
            ("t7-driven", ["T7-driven"]),
            ("AND NOT (", ["it"]),
            ("", []),
        ],
    )
    def test_words_and_phrases_match_by_stem(self, query: str, expected: list[str]) -> None:
        (spans,) = mark_words(query, [TEXT])
        if query == "AND NOT (":
            assert spans == [], "operators are treated as words, which the text lacks"
        else:
            assert [TEXT[start:end] for start, end in spans] == expected

    def test_pairs_of_characters_match_without_blanks_between_words(self) -> None:
        text = "三十七度培养时，倍增时间为141分钟。酵母"
        for query, expected in [
            ("倍增时间是多少", ["倍增时间"]),
            ("酵母 倍增", ["倍增", "酵母"]),
            ("度", ["度"]),
            ("蛋白", []),
        ]:
            (spans,) = mark_words(query, [text])
            assert [text[start:end] for start, end in spans] == expected

    def test_marks_are_placed_after_special_characters(self) -> None:
        text = 'NUL \0, quote ", \ue000 and \ue001: repression'
        assert mark_words("repression", [text]) == [[(len(text) - 10, len(text))]]


def test_wrapped_lines_are_joined_and_items_keep_their_lines() -> None:
    wrapped = "A line of a paragraph that was wrapped at a\n0.2 % width.\n\nAll or nothing\nShort."
    assert join_wrapped_lines(wrapped) == wrapped.replace("a\n0.2", "a 0.2")
    items = "An item of a list that is longer than forty letters\n- the second\n2. the third"
    assert join_wrapped_lines(items) == items


def test_headings_have_their_own_lines_without_marks() -> None:
    title = "Regulation by arabinose of the promoter of a plasmid"
    frame = hits(hit(f"# {title}\n## Media\nWith repression.\n#1 sample\n\n### **#** 2"))
    lines = f"{title}\nMedia\nWith {{}}.\n#1 sample\n\n**#** 2"
    assert lines.replace("\n\n", "\n").replace("\n", "\n   ").format("*repression*") in (
        frame_text(frame)
    )
    assert lines.partition("{}")[0] in str(frame_html(frame))
    (citation,) = passages.citations(frame)
    assert lines.format("repression") in passage_html(citation)


def test_fields_of_a_reference_keep_their_lines() -> None:
    reference = (
        "Title: Tight regulation, modulation, and high-level expression by vectors\n"
        "Authors: Guzman, Luz-Maria; Belin, Dominique; Carson, Michael J.\n"
        "Year: 1995\nJournal: Journal of Bacteriology"
    )
    assert join_wrapped_lines(reference) == reference


def test_rows_of_tables_keep_their_lines() -> None:
    rows = "\n".join(
        f"R{n} | 2023-03-{n} | CEN.PK113-7D | 29.5 | 10.57 | 5.4" for n in range(10, 14)
    )
    for text in (rows, rows.replace(" | ", "\t"), f"{rows}\nThe table above lists the runs."):
        assert join_wrapped_lines(text) == text


class TestFrame:
    def test_passage_found_by_meaning_alone_has_no_marks(self) -> None:
        other = hit("## Cells stop growing\n\nKeep it cold.", relevance=1.0)
        assert marked(hits(hit(), other, query="ways of repressing")) == ["repression"]

    def test_bar_is_relative_to_the_best_hit_also_in_a_part(self) -> None:
        frame = hits(*(hit(relevance=value) for value in (4e-6, 2e-6, 0.0, -1.0)))
        assert shares(frame) == ["100%", "50%", "0%", "0%"]
        assert shares(frame.iloc[1:]) == ["50%", "0%", "0%"]
        assert "e-06" not in str(frame_html(frame)) + frame_text(frame)
        assert "█████░░░░░\n" in frame_text(frame)
        assert "50% of the best passage's relevance" in str(frame_html(frame))
        assert shares(hits(hit(relevance=None))) == []

    def test_headings_are_separate_lines_in_plain_text(self) -> None:
        wrapped = "The cell imports arabinose by transporters,\nwhich arabinose itself induces."
        text = frame_text(hits(hit(f"All or nothing\n\n{wrapped}")))
        assert "   All or nothing\n   The cell imports arabinose" in text

    def test_line_opens_the_source_at_the_page(self) -> None:
        html = str(frame_html(hits(hit())))
        assert "%nb view &quot;paper.pdf&quot; --page 3</code>" in html
        assert '%nb view "paper.pdf" --page 3' in frame_text(hits(hit()))
        note = frame_text(hits(hit(id="note:b", kind="note", title="Plan", page=None)))
        assert '%nb notes show "Plan"' in note

    def test_sources_with_one_title_are_named_by_their_identifiers(self) -> None:
        text = frame_text(hits(hit(), hit(id="source:b2", page=None)))
        assert "%nb view source:a1 --page 3" in text
        assert "%nb view source:b2\n" in f"{text}\n"

    def test_frame_is_a_plain_table_without_its_passages(self) -> None:
        frame = hits(hit(), hit())
        assert type(frame) is pd.DataFrame
        assert set(frame.columns) == set(views.hit_frame([]).columns)
        assert marked(frame.sort_values("relevance").head(1)) == ["repression"]
        assert marked(frame[["title", "match"]]) == ["repression", "repression"]
        assert "<mark" not in str(frame_html(frame[["title", "page"]]))
        assert "<mark" not in str(frame_html(frame.set_index("title")))
        assert frame_text(hits()) == "No matches."

    def test_long_passage_is_shortened_around_the_first_match(self) -> None:
        text = "word " * 2000 + "repression" + " word" * 2000
        html = str(frame_html(hits(hit(text))))
        assert marked(hits(hit(text))) == ["repression"]
        assert len(html) < 5000
        assert "…word" in html.replace("… ", "…")

    def test_many_hits_are_displayed_in_part(self) -> None:
        frame = hits(*(hit() for _ in range(MAX_PASSAGES + 1)))
        assert len(marked(frame)) == MAX_PASSAGES
        assert f"Showing {MAX_PASSAGES} of {MAX_PASSAGES + 1} passages" in frame_text(frame)

    @pytest.mark.parametrize("field", ["id", "title", "match", "kind"])
    def test_hostile_text_is_shown_as_text(self, field: str) -> None:
        frame = hits(hit(**{field: f"{HOSTILE} repression"}), query=f"repression {HOSTILE}")
        html = str(frame_html(frame))
        parsed = ParsedHtml(html)
        assert parsed.tags <= {"div", "details", "summary", "span", "mark", "code"}
        safe = {"class", "style", "dir", "open", "role", "aria-label", "title"}
        assert parsed.attribute_names <= safe
        assert not re.search("[\x1b\u202e]", html + frame_text(frame))

    def test_passage_has_its_own_direction(self) -> None:
        assert 'dir="auto">نص عربي' in str(frame_html(hits(hit("نص عربي"))))

    def test_missing_passage_and_title_are_named(self) -> None:
        text = str(frame_html(hits(hit(None, title=None))))
        assert "source:a1, page 3" in text
        assert "The service sent no passage." in text


@pytest.mark.parametrize(
    "title", ["paper.pdf", "Plan: part 2", "it's", "a=b; # c", "-x", "", 'a "b"', "{x}", "a\\b"]
)
def test_line_names_its_source(title: str) -> None:
    line = view_line("source:a1", title, 2)
    tokens = tokenize(line.removeprefix("%nb ")).tokens
    assert tokens[1].text in (title, "source:a1")


def test_line_of_a_title_with_controls_has_the_identifier() -> None:
    assert view_line("source:a1", "a\u202eb\x1b") == "%nb view source:a1"
    assert view_line("insight:1", "a") == ""
    assert view_line("source:\x1b x", "\x1b") == ""


HOSTILE_PAGE = "<script>alert(1)</script> <img src=x onerror=alert(1)>\u202e\x1b[2J"
ON_PAGE_2 = "Vary the concentration of arabinose first"


@pytest.fixture
def pdf(tmp_path: Path) -> PdfPages:
    folder = tmp_path / "source"
    folder.mkdir()
    shutil.copy(examples.examples_folder() / "data" / "paper.pdf", folder / "source.pdf")
    return PdfPages(folder / "source.pdf", "paper.pdf")


def test_pages_of_a_pdf_keep_its_folder(tmp_path: Path) -> None:
    paper = Path(shutil.copy(examples.examples_folder() / "data" / "paper.pdf", tmp_path))
    assert PdfPages(paper, "paper.pdf").count == 2
    gc.collect()
    assert paper.exists()


def test_passage_is_found_across_line_breaks_hyphens_and_ligatures() -> None:
    page = "Cells are in-\nduced: eﬃcient\n“control” ends. More."
    ((start, end),) = find_passage('induced: efficient "control" ends.', page)
    assert page[start:end] == "in-\nduced: eﬃcient\n“control” ends."
    bitmap_font = "A coe\x1ecient di\x1bers."
    assert find_passage("coefficient differs.", bitmap_font) == [(2, len(bitmap_font))]


def test_passage_is_found_whatever_characters_a_font_has_for_its_letters():
    page = "Grown by B. M¨uller in na¨ıve 5 µL."
    assert find_passage("Müller in naïve 5 μL.", page) == [(12, len(page))]


def test_parts_of_a_passage_are_found_one_by_one() -> None:
    page = "Arabinose induces it strongly. A figure is here. Glucose represses it."
    passage = find_passage("Arabinose induces it strongly. Glucose represses it.", page)
    assert [page[slice(*part)] for part in passage] == [
        "Arabinose induces it strongly.",
        "Glucose represses it.",
    ]


def test_beginning_of_a_sentence_that_crosses_pages_is_found() -> None:
    page = "Arabinose induces it strongly. Glucose represses the promoter\nPlasmids 12, page 1"
    sentences = "Arabinose induces it strongly. Glucose represses the promoter\nof the plasmid."
    assert [page[slice(*part)] for part in find_passage(sentences, page)] == [
        "Arabinose induces it strongly.",
        "Glucose represses the promoter",
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
    assert "The passage was not found in this source.\n\n" in str(absent)


def test_passage_on_a_scanned_page_is_not_reported_as_missing(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(partly_scanned_pdf())
    scan = PdfPages(tmp_path / "scan.pdf", "scan.pdf")
    shown = SourceView("scan.pdf", scan, 2, "Words that were recognized.")
    for text in (shown.html(), str(shown)):
        assert "The page is a picture without text, in which no passage can be marked." in text


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
    pdf: PdfPages, set_front_end: Any, record_displays: Any, placeholders: list[FakePlaceholder]
) -> None:
    set_front_end(FrontEnd.EXECUTED, placeholder)
    displayed = record_displays(placeholder)
    SourceView(
        HOSTILE_PAGE, pdf, 1, HOSTILE_PAGE, HOSTILE_PAGE, "%nb view source:1"
    )._ipython_display_()
    ((html, text),) = displayed
    assert not placeholders
    parsed = ParsedHtml(html)
    assert parsed.tags <= {"div", "span", "img", "details", "summary", "code"}
    assert "onerror" not in parsed.attribute_names
    assert "%nb view source:1 --page 2" in html
    assert "\x1b" not in html + text
    assert "\u202e" not in html + text


@pytest.mark.parametrize("name", ["notes.md", "page.html", "protocol.docx", None])
def test_text_is_escaped(name: str | None) -> None:
    html = SourceView(
        "t", TextPages(f"# Title\n\n{HOSTILE_PAGE} end", name), passage="Title"
    ).html()
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


def test_broken_page_leaves_the_others(
    pdf: PdfPages, placeholders: list[FakePlaceholder], set_front_end: Any, monkeypatch: Any
) -> None:
    import pypdfium2  # type: ignore[import-untyped]

    get_page = pypdfium2.PdfDocument.__getitem__

    def get_unless_first(document: Any, index: int) -> Any:
        if index == 0:
            raise pypdfium2.PdfiumError("Failed to load page.")
        return get_page(document, index)

    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", get_unless_first)
    view = SourceView("paper.pdf", pdf, passage=ON_PAGE_2)
    view._ipython_display_()
    assert view.page == 2
    placeholders[0].message(do="page", page=1)
    error = 'Page 1 of "paper.pdf" is broken and cannot be shown. View another page.'
    assert placeholders[0].changes[-1] == {"page": 2, "error": error}
    assert view.page == 2


def test_broken_pdf_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(b"no pdf")
    with pytest.raises(InputError, match="broken PDF"):
        PdfPages(tmp_path / "x.pdf", "x.pdf")


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
