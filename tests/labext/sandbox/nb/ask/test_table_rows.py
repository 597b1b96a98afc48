"""Questions for rows of a table: with the highest or lowest value, or with values they name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.nb.ask.answers import Answer, Search
from labext.sandbox.nb.ask.quotes import PassageQuoter
from labext.sandbox.nb.ask.table_rows import MAX_SELECTED, find_extremes, parse_superlatives
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
        ("What is the longest fragment with pET28 or pBAD?", [3]),
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
    ],
)
def test_no_row_is_found_without_a_superlative_a_column_or_two_rows_to_compare(question):
    assert rows(question) == []


@pytest.mark.parametrize(
    "values",
    [
        ("10 bp", "2 kb"),
        ("€ 5", "$9"),
        ("10–20", "5"),
        ("2024-01-01", "2023"),
        ("12.03.2024", "13.03.2024"),
    ],
)
def test_values_that_cannot_be_compared_have_no_extreme(values):
    text = "\n".join(["name | size", *map("x | {}".format, values)])
    assert rows("the highest size?", text) == []


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
        (("89.5 €", "1250 €"), "1250 €"),
        (("-$12.5", "$9"), "$9"),
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


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which plasmid has the longest fragment?", 0),
        ("Which plasmid has the shortest fragment?", 1),
        ("Which plasmid is the longest?", 2),
        ("Which job of pFA6a has the longest fragment?", 1),
        ("Which plasmid of 2024 has the longest fragment?", 1),
    ],
)
def test_column_named_by_the_adjective_and_names_with_hyphens_are_found(question, expected):
    table = (
        "job | length | fragments | longest | shortest | made",
        "plasmid-pBAD30 | 4,919 | 2 | 4,000 | 919 | 2023-01-05",
        "plasmid-pFA6a-kanMX6 | 3,938 | 3 | 2,500 | 110 | 2024-02-03",
        "plasmid-pFA6a-GFP | 9,110 | 5 | 2,300 | 400 | 2024-03-04",
    )
    assert rows(question, "\n".join(table)) == [table[1 + expected]]


def test_extreme_is_found_among_the_rows_that_meet_a_comparison():
    assert rows("What is the shortest fragment of more than 900 bp?") == [ROWS[0]]
    assert rows("What is the longest fragment under 2 kb?") == [ROWS[0]]
    assert rows("What is the shortest fragment of about 900 bp?") == []
    assert rows("What is the shortest fragment of more than 900 µg?") == []
    table = "plasmid | length | EcoRI cuts\na | 300 | 2\nb | 200 | 0\nc | 100 | 1"
    assert rows("What is the longest plasmid with at most 1 EcoRI cut?", table) == ["b | 200 | 0"]


def test_rows_of_sums_are_not_compared():
    summary = ("Total | | 6,246", "Mittelwert: | | 1,562", "SD | | 12")
    text = "\n".join([HEADER, *ROWS, *summary])
    assert rows("Which plasmid has the longest fragment?", text) == [ROWS[3]]
    assert rows("Which plasmid has the shortest fragment?", text) == [ROWS[4]]


def test_rows_with_the_first_cell_only_do_not_end_a_table():
    text = "name | yield\n" + "\n".join(
        f"s{n} |" if n % 9 == 5 else f"s{n} | {n}" for n in range(99)
    )
    assert rows("the highest yield?", text) == ["s98 | 98"]
    assert rows("the lowest yield?", text) == ["s0 | 0"]


def test_empty_cells_between_tabs_are_shown():
    passages = source("gene\tko\tp\nG1\t\t0.1\nG2\t5\t0.2")
    lines = answer("What is G1?", passages, passages).text.split("\n")
    assert lines[4:7] == ["> | gene | ko | p |", "> | --- | --- | --- |", "> | **G1** |  | 0.1 |"]


@pytest.mark.parametrize("names", ["mAU*min", "mAU/m³", "mean of 3"])
def test_row_of_units_is_not_compared(names):
    text = f"peak | area\n | {names}\ncaffeine | 12,55\ntheobromine | 10,65"
    assert rows("Which peak has the highest area?", text) == ["caffeine | 12,55"]


@pytest.mark.parametrize("ruler", ["", "|---|---|---|---|"])
def test_names_below_a_cell_that_spans_columns_belong_to_the_header(ruler):
    lines = [
        "strain | rate | | note",
        " | LB | M9",
        *(f"s{n} | {n} | {99 - n}" for n in range(99)),
    ]
    text = "\n".join(lines)
    if ruler:
        text = "\n".join([f"| {lines[0]} |", ruler, *(f"| {line} |" for line in lines[1:])])
    assert [row.strip("| ") for row in rows("the highest rate in M9?", text)] == ["s0 | 0 | 99"]
    passages = source(text)
    for found in (passages[0], passages[-1]):
        number = re.findall(r"s(\d+) ", found.text)[-1]
        shown = answer(f"What is s{number}?", passages, [found]).text
        assert "> | strain | rate LB | rate M9 | note |" in shown


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


def test_most_and_least_are_about_the_column_that_the_question_names():
    table = "name | length | copies\na | 300 | 1\nb | 200 | 3\nc | 100 | 2"
    assert rows("Which has the most copies?", table) == ["b | 200 | 3"]
    assert rows("Which has the least copies?", table) == ["a | 300 | 1"]


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


def test_answer_names_the_rows_compared_and_has_the_equal_ones_in_one_table():
    text = answer("Which pUC19 plasmid is the latest?", source(TABLE), source(TABLE)).text
    assert "Plasmids, latest “made” of the 3 rows with pUC19 (2 rows are equal):" in text
    shown = text.replace("**", "").replace(" [source:a]", "").split("\n")[-2:]
    assert shown == [f"> | {ROWS[place]} |" for place in (2, 4)]


def test_other_passages_of_an_answer_stay_in_their_order():
    table = source(TABLE)
    note = Hit("note:b", "Note", 9, "The fragment of a plasmid is gel-purified.", None, 0.5, 2)
    citations = answer("Which plasmid has the longest fragment?", table, [note, *table]).citations
    assert [citation.id for citation in citations] == ["note:b", "source:a"]
    assert citations[1].quote == ROWS[3]


RESISTANCES = ("ampicillin", "kanamycin", "chloramphenicol")
SAMPLES = [
    f"p{place} | {RESISTANCES[place % 3]} | {'Ana' if place % 2 else 'Bo'} Lee | {place % 4}"
    for place in range(90)
]
STOCK = "\n".join(["name | resistance | made by | copies", *SAMPLES])


@pytest.mark.parametrize(
    ("question", "places", "description"),
    [
        ("Which are kanamycin resistant?", range(1, 90, 3), "30 of 90 rows with kanamycin"),
        ("Which did Ana Lee make?", range(1, 90, 2), "45 of 90 rows with Ana Lee"),
        ("Which kanamycin ones by Ana?", range(1, 90, 6), "15 of 90 rows with kanamycin and Ana"),
        (
            "Are they kanamycin or ampicillin resistant?",
            [place for place in range(90) if place % 3 < 2],
            "60 of 90 rows with ampicillin or kanamycin",
        ),
        ("How many have 3 copies?", range(3, 90, 4), "22 of 90 rows with copies = 3"),
        (
            "Which kanamycin ones have copies of 3?",
            range(7, 90, 12),
            "7 of 90 rows with kanamycin and copies = 3",
        ),
        ("Which have more than 2 copies?", range(3, 90, 4), "22 of 90 rows with copies > 2"),
        (
            "Which kanamycin ones have more than two copies?",
            range(7, 90, 12),
            "7 of 90 rows with copies > 2 and kanamycin",
        ),
        (
            "Which kanamycin ones have copies of 3 or more?",
            range(7, 90, 12),
            "7 of 90 rows with copies ≥ 3 and kanamycin",
        ),
        (
            "Does p7 have at least 3 copies?",
            [7],
            "1 of 90 rows with copies ≥ 3 and p7",
        ),
        (
            "Which kanamycin ones have between 2 and 3 copies?",
            [place for place in range(90) if place % 3 == 1 and place % 4 > 1],
            "14 of 90 rows with copies ≥ 2, copies ≤ 3 and kanamycin",
        ),
    ],
)
def test_rows_with_the_cells_that_a_question_names_are_counted_and_quoted(
    question, places, description
):
    passages = source(STOCK)
    found = answer(question, passages, passages[:1])
    expected = [SAMPLES[place] for place in places]
    first = "" if len(expected) <= MAX_SELECTED else f", the first {MAX_SELECTED}"
    assert f"Plasmids, {description}{first}:" in found.text
    shown = re.findall(r"(?m)^> \| (p\d.*?)(?: \[source:a\])? \|$", found.text.replace("**", ""))
    assert shown == expected[:MAX_SELECTED]
    for citation in found.citations:
        assert citation.quote in citation.passage
        assert citation.table_header == "name | resistance | made by | copies"
    quoted = "\n".join(citation.quote for citation in found.citations)
    assert all(row in quoted for row in shown)
    assert found.text.count("[source:a]") == len(found.citations)


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("Which are not kanamycin resistant?", STOCK),
        ("Which don't have kanamycin?", STOCK),
        ("Which have kanamycin and p4?", STOCK),
        ("Which have 3?", STOCK),
        ("Which have 2 or 3 copies?", STOCK),
        ("Which have about 3 copies?", STOCK),
        ("Which have not more than 2 copies?", STOCK),
        ("Which have more than 2 genes?", STOCK),
        ("Which are longer than 2 kb?", STOCK),
        ("Which have 9 copies?", STOCK),
        ("Which are kanamycin resistant?", TABLE),
    ],
)
def test_no_rows_are_selected_for_excluded_cells_numbers_single_rows_and_short_tables(
    question, table
):
    passages = source(table)
    assert " of 90 rows" not in answer(question, passages, passages[:1]).text


def test_answer_says_that_no_row_meets_a_comparison():
    passages = source(STOCK)
    found = answer("Which kanamycin ones have more than 9 copies?", passages, passages[:1])
    assert found.text.endswith("\n\nPlasmids, 0 of 90 rows with copies > 9 and kanamycin.")
    assert found.citations == ()


LENGTHS = ["plasmid | length | mass (kDa) | mfe | made | yield | size (cm)"] + [
    f"p{n} | {n * 500} | {n / 2} | -{n}.5 | 2024-01-{n:02} | {n} mg | {n}" for n in range(1, 20)
]


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("Which plasmids are longer than 9 kb?", [19]),
        ("Which plasmids are longer than 9,000 bp?", [19]),
        ("Which have lengths below 1000?", [1]),
        ("Which plasmids have mfe <= -18.5 and a length of at most 9,000?", [18]),
        ("Which plasmids have mfe <= -18.5 and a length over 9,000?", [19]),
        ("Which are heavier than 9 kDa?", [19]),
        ("Which are heavier than 9 mg?", []),
        ("Which have a yield of 19 mg or more?", [19]),
        ("Which have a yield of 19 g or more?", []),
        ("Which of the plasmids with these lengths have an mfe below -18.6?", [19]),
        ("Which are larger than 18 bp in size?", []),
        ("Which are newer than 2023?", []),
        ("Which of p2 and p3 are longer than 1 kb?", [3]),
    ],
)
def test_comparison_is_made_with_the_column_it_is_about_in_its_unit(question, places):
    passages = source("\n".join(LENGTHS))
    text = answer(question, passages, passages[:1]).text
    selected = text if " of 19 rows with " in text else ""
    assert re.findall(r"(?m)^> \| \**(p\d+)", selected) == [f"p{place}" for place in places]


def test_longer_cell_is_not_found_by_a_part_of_it():
    table = STOCK.replace("ampicillin", "kanamycin sulfate")
    passages = source(table)
    text = answer("Which are resistant to kanamycin sulfate?", passages, passages[:1]).text
    assert "Plasmids, 30 of 90 rows with kanamycin sulfate, the first 20:" in text


@pytest.mark.parametrize(
    ("header", "row", "shown"),
    [
        (" | logFC | p", "{} | 1.5 | 0.1", "|  | logFC | p |"),
        ("| | logFC | p |\n|---|---|---|", "| {} | 1.5 | 0.1 |", "|  | logFC | p |"),
        ("gene | ko | p", "{} |  | 0.1", "| gene | ko | p |"),
        (" | p", "{} | 0.1", "|  | p |"),
        ("gene | p\nG |", "{} | 0.1", "| gene | p |"),
        ("gene\tko\tp\nG\t\t3", "{} | 1 | 0.1", "| gene | ko | p |"),
    ],
)
def test_values_stay_below_the_names_of_their_columns_beside_empty_cells(header, row, shown):
    rows = (row.format(f"G{number}") for number in range(200))
    passages = source("\n".join([header, *rows]))
    found = next(hit for hit in passages if "G150 " in hit.text)
    lines = answer("What is G150?", passages, [found]).text.split("\n")
    cells = row.format("**G150**").strip("| ")
    assert lines[4:] == [f"> {shown}", lines[5], f"> | {cells} [source:a] |"]


def test_header_that_begins_a_passage_with_an_empty_cell_is_shown_once():
    passages = source("# Genes\n\n | logFC | padj\na | 1.5 | 0.1\nb | 2.5 | 0.2")
    text = answer("What is the padj of a?", passages, passages).text
    assert text.count("logFC") == 1
