"""Passages are the whole text, word for word, cut where a reader would."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from labext.sandbox.nb.text.segmentation import MAX_WORDS, MIN_WORDS, split_passages

TEXTS = st.lists(
    st.sampled_from(
        [
            "word",
            "end.",
            "end?\n",
            "\n\n",
            " ",
            "\t\n \n",
            "“quoted.”",
            "α",
            "終。",
            "A" * 300,
            "\0",
        ]
    ),
    max_size=400,
).map(" ".join) | st.text(max_size=400)


@given(st.lists(st.tuples(st.none() | st.integers(1, 9), TEXTS), max_size=3))
@example([(None, "C" * 20_000)])
@example([(1, "終。" * 5_000)])
def test_passages_cover_the_text_unchanged(pages: list[tuple[int | None, str]]) -> None:
    result = split_passages(pages)
    assert "".join("".join(piece.text.split()) for piece in result) == "".join(
        "".join(text.split()) for _, text in pages
    )
    rest = [(number, text) for number, text in pages if text.strip()]
    for piece in result:
        while piece.text not in rest[0][1]:
            del rest[0]  # the page is done
        number, text = rest[0]
        assert piece.page == number
        rest[0] = number, text[text.index(piece.text) + len(piece.text) :]
        assert piece.text == piece.text.strip() != ""
        assert len(piece.text) < 40 * MAX_WORDS or re.search(r"\s{2}", piece.text)


def test_passages_do_not_cross_pages() -> None:
    assert [piece.text for piece in split_passages([(None, "One.\n\nTwo.")])] == ["One.\n\nTwo."]
    assert [
        (piece.page, piece.text) for piece in split_passages([(1, "One"), (2, " "), (3, "two.")])
    ] == [(1, "One"), (3, "two.")]


def test_text_is_cut_at_paragraphs_then_sentences_then_words() -> None:
    sentence = "This is a sentence of exactly ten words, no more."
    paragraph = " ".join([sentence] * 10)
    result = [piece.text for piece in split_passages([(None, "\n\n".join([paragraph] * 3))])]
    assert result == [paragraph, paragraph, paragraph]
    result = [piece.text for piece in split_passages([(None, " ".join([sentence] * 50))])]
    assert all(text.endswith("more.") for text in result)
    result = [piece.text for piece in split_passages([(None, "word " * 500)])]
    assert [len(text.split()) for text in result] == [MAX_WORDS, MAX_WORDS, 500 - 2 * MAX_WORDS]
    assert all(text.count("word") >= MIN_WORDS for text in result)
