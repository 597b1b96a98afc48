"""Passages cover the whole text word for word, split at natural boundaries."""

from __future__ import annotations

import re
import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labext.sandbox.nb.text.passages import (
    MAX_LENGTH,
    MIN_LENGTH,
    PATH_SEPARATOR,
    PassageText,
    display_lines,
    find_headings,
    split_passages,
    with_confidence,
)

TEXTS = st.lists(
    st.sampled_from(
        [
            "word",
            "end.",
            "end?\n",
            "\n\n",
            "\n# Heading\n",
            "\nTitle\n-----\n",
            "| a | b |\n",
            "- item\n",
            " ",
            "\t\n \n",
            "“quoted.”",
            "α",
            "終。",
            "A" * 300,
            "\0",
        ]
    ),
    max_size=200,
).map(" ".join) | st.text(max_size=200)


@given(st.lists(st.tuples(st.none() | st.integers(1, 9), TEXTS), max_size=3))
@example([(None, "C" * 20_000)])
@example([(1, "終。" * 5_000)])
@example([(None, "。" * 5_000)])
@example([(None, "終" + "！？" * 5_000)])
def test_passages_cover_the_text_unchanged(pages: list[tuple[int | None, str]]) -> None:
    result = split_passages(pages)
    assert "".join("".join(piece.text.split()) for piece in result) == "".join(
        "".join(text.split()) for _, text in pages
    )
    rest = [(number, text) for number, text in pages if text.strip()]
    for piece in result:
        while piece.text not in rest[0][1]:
            del rest[0]  # the end of the page
        number, text = rest[0]
        assert piece.page == number
        rest[0] = number, text[text.index(piece.text) + len(piece.text) :]
        assert piece.text == piece.text.strip() != ""
        assert len(piece.text) <= MAX_LENGTH or re.search(r"\s{2}", piece.text)


def test_passages_do_not_cross_pages() -> None:
    assert [piece.text for piece in split_passages([(None, "One.\n\nTwo.")])] == ["One.\n\nTwo."]
    pieces = split_passages([(1, "One"), (2, " "), (3, "two.")])
    assert [(piece.page, piece.text) for piece in pieces] == [(1, "One"), (3, "two.")]


def texts(text: str) -> list[str]:
    return [piece.text for piece in split_passages([(None, text)])]


SENTENCE = "This is a sentence of exactly ten words, no more."


def test_text_is_cut_at_paragraphs_then_sentences_then_words() -> None:
    paragraph = " ".join([SENTENCE] * 10)
    assert texts("\n\n".join([paragraph] * 3)) == [paragraph, paragraph, paragraph]
    assert all(text.endswith("more.") for text in texts(" ".join([SENTENCE] * 50)))
    result = texts("word " * 500)
    assert all(MIN_LENGTH <= len(text) <= MAX_LENGTH for text in result[:-1])
    assert not any(text.replace("word", "").strip() for text in result)


def test_text_is_cut_above_a_heading_rather_than_at_a_paragraph() -> None:
    paragraph = " ".join([SENTENCE] * 4)
    section = f"{paragraph}\n\n{paragraph}\n\n{paragraph}"
    assert texts(f"{section}\n\n## Next\n\n{section}") == [section, f"## Next\n\n{section}"]
    assert texts(f"{section}\n\nNext\n----\n{section}") == [section, f"Next\n----\n{section}"]


def test_tables_and_lists_are_cut_between_rows_and_items() -> None:
    row = "| EcoRI cuts between the bases | G/AATTC | leaves an overhang of the 5' end |"
    item = "- an item that goes on for so long that it continues\n  on a second line"
    values = (
        "Inner Basin near the harbour office of the old town 46.7 26.9 15.9 92.2 46.7 26.9 15.9"
    )
    for line in (row, item, values):
        assert all(text.startswith(line) and text.endswith(line) for text in cuts(line))


def test_text_is_not_cut_between_a_question_and_its_answer() -> None:
    entry = f"1.4\tHow do I report a bug?\n\n{' '.join([SENTENCE] * 4)}\n\n"
    assert all(text.endswith(SENTENCE) for text in texts(entry * 9))


def cuts(line: str) -> list[str]:
    result = texts("\n".join([line] * 40))
    assert len(result) > 2
    return result


def headings(text: str) -> list[str]:
    return [piece.heading for piece in split_passages([(None, text)])]


def test_passage_has_the_headings_above_it() -> None:
    section = " ".join([SENTENCE] * 15)
    text = f"# Cloning\n\n## Cuts\n\n{section}\n\n## Gels\n\n{section}\n\nNotes\n=====\n\n{section}"
    assert headings(text) == ["Cloning › Cuts", "Cloning › Gels", "Notes"]
    assert PATH_SEPARATOR in headings(text)[0]


def test_headings_apply_to_later_pages() -> None:
    pages = split_passages([(1, "Methods\n\nCells were grown."), (2, "They were harvested.")])
    assert pages == [
        PassageText("Methods\n\nCells were grown.", 1, "Methods"),
        PassageText("They were harvested.", 2, "Methods"),
    ]


def test_passage_within_a_table_has_the_header_of_the_table() -> None:
    rows = "\n".join(f"| enzyme number {number} | cuts at {number} bases |" for number in range(60))
    first, *others = headings(f"# Enzymes\n\n| enzyme | site |\n| --- | --- |\n{rows}")
    assert first == "Enzymes"
    assert {*others} == {"Enzymes › enzyme | site"}


@pytest.mark.parametrize("table", ["| " * 100_000, f"{'a' * 32} | {'b' * 32}\n" * 200_000])
def test_long_table_is_split_in_linear_time(table: str) -> None:
    started = time.process_time()
    assert len(split_passages([(None, table)])) > 130
    assert time.process_time() - started < 5.0


def test_long_text_is_split_in_little_memory() -> None:
    tracemalloc.start()
    split_passages([(None, "word " * 100_000)])
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_passages_of_a_transcript_have_the_mean_confidence_of_their_words() -> None:
    pieces = split_passages([(None, "word " * 200)])
    rated = with_confidence(pieces, [0.2] * 100 + [0.8] * 100)
    assert [piece.text for piece in rated] == [piece.text for piece in pieces]
    assert rated[0].confidence < rated[-1].confidence
    words = [len(piece.text.split()) for piece in rated]
    total = sum(piece.confidence * count for piece, count in zip(rated, words, strict=True))
    assert total == pytest.approx(100)
    assert {piece.confidence for piece in with_confidence(pieces, [])} == {None}


def test_sentences_code_and_fields_are_no_headings() -> None:
    text = "It was so.\n\nThe window is defined as\n\n    Indented Code\n\nName: value\n\n# \n\n> x"
    assert headings(text) == [""]
    assert headings("```\n# a comment\n```\n\ntext") == [""]
    assert not find_headings("Set:\n\n    mask: no  # of all\n              # values\n")
    assert not find_headings("1.1\tWhat is it?\n\tWhy is it so?\n_____________\n\nText.")
    assert headings("        Notes\n        =====\n\nText.") == ["Notes"]
    assert headings("Copyright 2014 Pallets\n\nCopyright (c) 2008 Chaos\n\ntext") == [""]


def test_lines_of_a_comment_are_no_headings() -> None:
    comment = "#\tHISTORY\n#\tThe first second was added in 1972.\n#\n#\tMore followed."
    assert find_headings(f"{comment}\n\nText.") == []
    titles = [title for *_, title in find_headings("# Paper\n## Methods\nText.\n\n# Data\n")]
    assert titles == ["Paper", "Methods", "Data"]


def test_items_of_a_numbered_list_and_measurements_are_no_headings() -> None:
    steps = ["1. Thaw the cells", "2. Mix", "a. Slowly", "b. On ice", "3. Shock them"]
    values = ["Final concentration 5 mM", "Storage at −80 °C", "Titre 5 × 10^6 Cells", "Purity 95%"]
    for lines in (steps, values):
        text = "\n\n".join(lines)
        assert headings(text) == [""]
        assert display_lines(text) == lines
    assert headings("1 Aim\n\nText.") == ["1 Aim"]
    assert headings("2. Protocol\n\n1. Thaw\n\n2. Mix") == ["2. Protocol"]
    assert headings("1. Aim\n\nText.\n\n2. Methods") == ["1. Aim"]


def test_wrapped_sentence_with_a_colon_is_shown_as_one_line() -> None:
    first = "Vary the concentration first, since it moves expression further. Then vary the"
    second = "temperature: at 25 °C proteins that form inclusion bodies stay soluble."
    assert display_lines(f"{first}\n{second}") == [f"{first} {second}"]
    fields = ["Strain: TOP10, a strain that does not consume the arabinose", "medium: LB", "bath:"]
    assert display_lines("\n".join(fields)) == fields
