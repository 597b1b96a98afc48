"""Key sentences of a text, and their use by transformations without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.nb.seed import TRANSFORMATIONS
from labext.sandbox.nb.text import extractive
from labext.sandbox.nb.text.extractive import key_sentences, parse_sentences, select_sentences

TEXT = """\
Induction of pBAD30

Cells were induced with 0.2 % arabinose at 37 °C
for four hours. Glucose lowers the level
of cyclic AMP, and therefore the promoter stays shut.

Materials
Reagent | Stock
L-arabinose | 20 % in water
---

Limits
It is not known whether the strain takes up the sugar at a constant rate. Do not vortex the
lysate, because genomic DNA would shear. Does the plasmid copy number matter?

- Ask Dana

## References

Guzman L. wrote a long article about the promoter in a journal.
"""


@pytest.mark.parametrize(
    "names",
    [
        "Zhou,D., Tong,Z., Han,Y., Huang,P. and Yang,R.",
        "F. Sanger, A. R. Coulson and J.-P. Brown.",
        "Guzmán, L. M., Belin, D., O’Neil, C.",
    ],
)
def test_lists_of_names_are_no_key_sentences(names: str) -> None:
    text = f"{names}\n\nThe method of F. Sanger was improved by A. Coulson."
    assert key_sentences(text, 3) == ["The method of F. Sanger was improved by A. Coulson."]


def test_comments_of_several_lines_are_sentences() -> None:
    text = "# The plates were read at noon\n# by the reader of the lab.\nOD = 0.6"
    first = parse_sentences(text)[0]
    assert first.text == "The plates were read at noon by the reader of the lab."


def test_split_joins_wrapped_lines_and_drops_headings_rulers_and_references() -> None:
    sentences = parse_sentences(TEXT)
    assert [sentence.text for sentence in sentences] == [
        "Cells were induced with 0.2 % arabinose at 37 °C for four hours.",
        "Glucose lowers the level of cyclic AMP, and therefore the promoter stays shut.",
        *("Reagent | Stock", "L-arabinose | 20 % in water"),
        "It is not known whether the strain takes up the sugar at a constant rate.",
        "Do not vortex the lysate, because genomic DNA would shear.",
        *("Does the plasmid copy number matter?", "Ask Dana"),
    ]
    headings = ["Induction of pBAD30"] * 2 + ["Materials"] * 2 + ["Limits"] * 4
    assert [sentence.heading for sentence in sentences] == headings
    incomplete = [sentence.text for sentence in sentences if not sentence.complete]
    assert incomplete == ["Reagent | Stock", "L-arabinose | 20 % in water", "Ask Dana"]


def test_sentences_with_words_of_the_topic_come_first() -> None:
    (sentence,) = key_sentences(TEXT, 1, "vortexing")
    assert sentence == "Do not vortex the lysate, because genomic DNA would shear."


def test_fragments_are_selected_only_if_there_are_no_sentences() -> None:
    assert key_sentences("- vary arabinose\n- ask Dana", 5) == ["vary arabinose", "ask Dana"]
    assert "Ask Dana" not in key_sentences(TEXT, 20)


@given(st.text(max_size=400), st.integers(0, 5), st.text(max_size=30))
def test_key_sentences_are_substrings_of_the_text(text: str, count: int, topic: str) -> None:
    selected = key_sentences(text, count, topic)
    assert len(selected) <= count
    assert all(sentence in " ".join(text.split()) for sentence in selected)


def test_sentences_of_frequent_words_are_selected() -> None:
    result = parse_sentences(
        "The colony grew upon a plate of medium. A vector carries one operon on this plasmid. "
        "Every strain carries a vector with an operon."
    )
    (sentence,) = select_sentences(result, 1)
    assert sentence.text == "A vector carries one operon on this plasmid."


@pytest.mark.parametrize("seed", TRANSFORMATIONS, ids=lambda seed: seed.name)
def test_seeded_transformations_quote_the_text(seed: object) -> None:
    lines = extractive.quote_key_sentences(TEXT, seed.prompt).splitlines()  # type: ignore[attr-defined]
    assert len(lines) == extractive.SUMMARY_SENTENCES
    plain = " ".join(TEXT.split())
    for line in lines:
        assert line.startswith("- “")
        assert line.endswith("”")
        assert line[3:-1] in plain


def test_prompt_words_select_sentences_but_instructions_do_not() -> None:
    many = " ".join(f"Sentence {n} states the main point of the text." for n in range(9))
    summary = extractive.quote_key_sentences(
        f"{many} Glucose shuts the araBAD promoter of the cell.", "What of glucose?"
    )
    assert "Glucose shuts" in summary
    summary = extractive.quote_key_sentences(
        "Arabinose opens the promoter of pBAD30 in cells. " * 2 + "The text lists key findings.",
        "List the key findings.",
    )
    assert summary.index("Arabinose") < summary.index("findings")


def test_key_rows_of_a_table_have_its_header() -> None:
    rows = ["plasmid | length | marker", *(f"pX{n} | {n}00 | kanamycin" for n in range(9))]
    header, ruler, *quoted = extractive.quote_key_sentences("\n".join(rows), "Facts?").splitlines()
    assert header == "| plasmid | length | marker |"
    assert ruler == "| --- | --- | --- |"
    assert {line[2:-2] for line in quoted} < {*rows[1:]}
    sheets = "\n".join(["# Sheet 1", *rows[:3], "", "# Strains", "strain | medium", "DH10B | LB"])
    tables = extractive.quote_key_sentences(sheets, "LB or kanamycin?").split("\n\n")
    assert [table.split("\n")[0] for table in tables] == [header, "| strain | medium |"]
    assert extractive.quote_key_sentences(f"{sheets}\nNotes", "Facts?").startswith("- “")


def test_row_with_its_first_cell_only_is_no_heading_of_the_rows_after_it() -> None:
    sentences = extractive.parse_sentences("strain | OD\nDH10B |\nBL21 | 0.5")
    assert [(sentence.text, sentence.heading) for sentence in sentences] == [
        ("strain | OD", ""),
        ("DH10B |", ""),
        ("BL21 | 0.5", ""),
    ]


def test_text_without_sentences_is_reported() -> None:
    assert extractive.quote_key_sentences("---", "Summarise.") == extractive.NO_SENTENCES


def test_sentence_below_two_headings_is_selected_once() -> None:
    text = (
        "# Licence of A\n\nAll rights are reserved.\n\n# Licence of B\n\nAll rights are reserved."
    )
    assert extractive.key_sentences(text, 5) == ["All rights are reserved."]
