"""Text, headings and tables of rich text (RTF)."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            rb"\ansi{\fonttbl\f0 Arial;}\f0 At 37 \'b0C.\par {\b Add} arabinose.",
            "At 37 °C.\nAdd arabinose.",
        ),
        (
            rb"Cells{\super 1}{\footnote \pard {\super 1} DH10B \{K-12\}}.",
            "Cells[1] [1 DH10B {K-12}].",
        ),
        (rb"Before.{\pict\jpegblip\picw2 \bin ffd8ffe0} After.", "Before. After."),
        (rb"{\listtext 1.\tab}Add\par{\*\pntext 2.\tab}Mix", "1.\tAdd\n2.\tMix"),
        (rb"Cells{\*\footnote DH10B}.", "Cells [DH10B]."),
        (rb"At {\deleted\revauthdel1 30}{\revised 37} C.{\loch\v\loch Hidden}", "At 37 C."),
        (rb"At 37 C, {\b kept, \v Hidden\v0 .}", "At 37 C, kept, Hidden."),
        (
            rb"10{\super 6} to 10\super\f0 -3\super0 , Lee{\super 1}, 2021{\super 4,5}",
            "10^6 to 10^-3, Lee[1], 2021[4,5]",
        ),
        (
            rb"\intbl Sugar\cell OD\cell\row\intbl\cell {a|b\par} \cell\row After.",
            "Sugar | OD\n | a | b\nAfter.",
        ),
        (
            rb"Before.\par\trowd\intbl A\cell B\par C\cell\row\trowd 1\cell 2\par\cell\row Text.",
            "Before.\nA | B C\n1 | 2\nText.",
        ),
    ],
)
def test_text_of_rich_text_is_read_without_codes(read, content, expected):
    assert read(rb"{\rtf1 %b}" % content).text == expected


def test_headings_of_rich_text_are_found_by_their_styles(read):
    styles = r"{\stylesheet{\s1\outlinelevel0 heading 1;}{\s12\b Heading 2;}{\s3 Body;}}"
    body = r"{\pard\s1 Results\par}{\pard\s12\b Strains\par}{\pard\s3 DH10B.\par}"
    text = read(rf"{{\rtf1\ansi{styles}{body}}}".encode(), "a.rtf").text
    assert [line.strip() for line in text.splitlines()] == ["# Results", "## Strains", "DH10B."]


def test_rich_text_has_headings_and_a_title(read):
    body = rb"\pard\outlinelevel0 Methods\par\pard\outlinelevel1\b Strains\par\pard DH10B."
    result = read(rb"{\rtf1 %b}" % body)
    assert (result.title, result.text) == ("Methods", "# Methods\n## Strains\nDH10B.")
    assert read(rb"{\rtf1{\info{\title Gr\'fcn}}%b}" % body).title == "Grün"
    in_unicode = rb"{\upr{\title ?lacZ}{\*\ud{\title \u916?lacZ}}}"
    assert read(rb"{\rtf1{\info%b}%b}" % (in_unicode, body)).title == "ΔlacZ"
