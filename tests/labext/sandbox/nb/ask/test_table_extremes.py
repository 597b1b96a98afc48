"""Questions for the highest or lowest value in a table, answered by the row that has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.nb.ask.answers import Answer, Search
from labext.sandbox.nb.ask.quotes import PassageQuoter
from labext.sandbox.nb.ask.table_extremes import find_extremes, parse_superlatives
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text.passages import split_passages

HEADER = "plasmid | backbone | fragment (bp) | resistance | made"
ROWS = (
    "pA | pUC19 | 1,904 | ampicillin | 2024-03-01",
    "pB | pET28 | 812 | kanamycin | 2023-11-20",
    "pC | pUC19 | n.d. | ampicillin | 2024-05-17",
    "pD | pBAD | 3,075 | kanamycin | 2022-01-02",
    "pE | pUC19 | 455 | ampicillin | 2024-05-17",
)
TABLE = "\n".join([HEADER, *ROWS])


def source(text: str) -> list[Hit]:
    return [
        Hit("source:a", "Plasmids", number, piece.text, None, 0.5, 1.0, piece.heading)
        for number, piece in enumerate(split_passages([(None, text)]))
    ]


def rows(question: str, text: str = TABLE) -> list[str]:
    """Return the rows found for a question, from a source of which the first passage was found."""
    passages = source(text)
    extremes = find_extremes(question, passages, passages[0])
    return [row.line for extreme in extremes for row in extreme.rows]


def answer(question: str, passages: Sequence[Hit], found: Sequence[Hit]) -> Answer:
    return PassageQuoter(True, lambda _: passages).answer(question, Search(question, ""), found)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which plasmid has the longest fragment?", [3]),
        ("Which plasmid is the shortest?", [4]),
        ("What is the smallest fragment with kanamycin?", [1]),
        ("Which pUC19 plasmid has the largest fragment?", [0]),
        ("Which plasmid is the oldest?", [3]),
        ("Which plasmid was made LATEST?", [2, 4]),
        ("Which plasmid has the longest fragment, and which the shortest?", [3, 4]),
        ("Which plasmid has the highest fragment and which the lowest?", [3, 4]),
    ],
)
def test_row_with_the_extreme_value_is_found(question, expected):
    assert rows(question) == [ROWS[number] for number in expected]


@pytest.mark.parametrize(
    "question",
    [
        "Which plasmids have at least one fragment?",
        "Which plasmids have fragments?",
        "Which plasmid has the highest yield?",
        "What is the longest fragment of pB?",
        "What is the longest fragment with pET28 or pBAD?",
    ],
)
def test_no_row_is_found_without_a_superlative_a_column_or_two_rows_to_compare(question):
    assert rows(question) == []


@pytest.mark.parametrize(
    "values",
    [("10 bp", "2 kb"), ("10–20", "5"), ("2024-01-01", "2023"), ("12.03.2024", "13.03.2024")],
)
def test_values_that_cannot_be_compared_have_no_extreme(values):
    assert (
        rows("the highest size?", "\n".join(["name | size", *map("x | {}".format, values)])) == []
    )


@pytest.mark.parametrize(
    ("values", "highest"),
    [
        (("3 075", "812"), "3 075"),
        (("1,5", "12,25", "0,125"), "12,25"),
        (("1.904,5", "2,5"), "1.904,5"),
        (("2 × 10^6 CFU", "9 CFU"), "2 × 10^6 CFU"),
        (("1e-5", "2e-9"), "1e-5"),
        (("−80 °C", "-20 °C"), "-20 °C"),
        (("7.1 ± 0.2", "~6.9", ""), "7.1 ± 0.2"),
        (("5 %", "12 %", "n/a"), "12 %"),
    ],
)
def test_numbers_are_read_in_the_notation_of_their_column(values, highest):
    text = "\n".join(["name | size", *map("x | {}".format, values)])
    assert rows("the highest size?", text) == [f"x | {highest}"]


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=200, unique=True))
def test_extreme_of_a_table_of_any_length_is_that_of_all_its_rows(numbers):
    lines = [f"sample {place} | {number}" for place, number in enumerate(numbers)]
    text = "\n".join(["name | yield", *lines])
    assert rows("the highest yield?", text) == [lines[numbers.index(max(numbers))]]
    assert rows("the lowest yield?", text) == [lines[numbers.index(min(numbers))]]


@pytest.mark.parametrize(
    ("question", "expected"), [("Which grows fastest?", "b | 7"), ("The slowest strain?", "a | 5")]
)
def test_adjective_of_speed_implies_a_column_of_rates(question, expected):
    assert rows(question, "strain | growth rate (1/h)\na | 5\nb | 7") == [expected]


def test_rows_of_sums_are_not_compared():
    text = "\n".join([HEADER, *ROWS, "Total | | 6,246"])
    assert rows("Which plasmid has the longest fragment?", text) == [ROWS[3]]


def test_tables_of_other_sheets_are_not_compared():
    other = "# Primers\n\nprimer | length (nt)\nlong | 99,000\nshort | 20"
    text = f"# Plasmids\n\n{TABLE}\n\n{other}"
    assert rows("Which plasmid has the longest fragment?", text) == [ROWS[3]]


def test_markdown_tables_are_compared():
    text = "| name | length |\n|---|---:|\n| a | 12 bp |\n| b | |\n| c | 7 bp |"
    assert rows("Which is the longest?", text) == ["| a | 12 bp |"]


def test_table_with_a_row_that_may_be_cut_has_no_extreme():
    remark = "long remark " * 120
    text = "\n".join(
        ["name | yield | remark | dose", f"a | 5 | {remark}| 900", "b | 7 | short | 1"]
    )
    assert rows("Which has the highest yield?", text) == []


def test_table_with_a_row_that_is_wider_than_its_header_has_no_extreme():
    assert rows("Which has the highest yield?", "name | yield\na | 5 | 6\nb | 7\nc | 8") == []


def test_column_that_the_adjective_implies_precedes_one_of_numbers_with_the_name():
    text = "plasmid | fragment | length (bp)\npA | 9 | 100\npB | 1 | 900"
    assert rows("Which plasmid has the longest fragment?", text) == ["pB | 1 | 900"]


def test_superlative_without_a_column_is_about_the_one_before_it():
    first, second = parse_superlatives("Which has the highest yield, and which the lowest?")
    assert (first.highest, second.highest) == (True, False)
    assert first.stems == second.stems


def test_answer_quotes_the_extreme_row_of_all_passages_instead_of_the_passages_found():
    lines = [f"sample {place} | {place * 7919 % 3001}" for place in range(300)]
    passages = source("\n".join(["name | yield (mg)", *lines]))
    found = answer("Which sample has the highest yield?", passages, passages[2:5])
    best = max(lines, key=lambda line: int(line.rpartition(" ")[2]))
    (citation,) = found.citations
    assert (citation.quote, citation.table_header) == (best, "name | yield (mg)")
    assert best in citation.passage
    assert "Plasmids, highest “yield (mg)” of 300 rows:" in found.text
    assert len(passages) > 5


def test_answer_names_the_rows_compared_and_how_many_are_equal():
    text = answer("Which pUC19 plasmid is the latest?", source(TABLE), source(TABLE)).text
    assert "Plasmids, latest “made” of the 3 rows with pUC19 (2 rows are equal):" in text


def test_other_passages_of_an_answer_stay_in_their_order():
    table = source(TABLE)
    note = Hit("note:b", "Note", 9, "The fragment of a plasmid is gel-purified.", None, 0.5, 2)
    citations = answer("Which plasmid has the longest fragment?", table, [note, *table]).citations
    assert [citation.id for citation in citations] == ["note:b", "source:a"]
    assert citations[1].quote == ROWS[3]
