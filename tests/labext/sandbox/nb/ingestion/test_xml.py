"""Articles in JATS XML."""

from __future__ import annotations


def test_lists_formulas_and_line_breaks_within_paragraphs_part_words(read):
    content = (
        "<article><aff><label>1</label>University of X</aff><p>The steps:<list><list-item>"
        "<p>wash</p></list-item><list-item><p>spin</p></list-item></list>and then:<disp-formula>"
        "<math><mi>y</mi></math></disp-formula>where y is 5.</p>"
        "<table><tr><td>BL21<break/>(DE3)</td><td>2</td></tr></table></article>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["1 University of X", "The steps:", "wash", "spin", "and then:", "math: y"]
    assert list(filter(None, lines)) == [*expected, "where y is 5.", "BL21 (DE3) | 2"]


def test_title_of_a_caption_is_no_heading_of_the_text_after_it(read):
    content = (
        "<sec><title>Methods</title><fig><caption><title>Growth.</title><p>By OD.</p></caption>"
        "</fig><p>Cells were kept cold.</p></sec>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["## Methods", "Growth.", "By OD.", "Cells were kept cold."]
    assert list(filter(None, lines)) == expected


def test_paragraphs_of_docbook_are_no_fields(read):
    content = b"<article><para>Keep cold.</para><date>2024-05-03</date></article>"
    lines = read(content, "a.xml").text.split("\n")
    assert list(filter(None, lines)) == ["Keep cold.", "date: 2024-05-03"]
