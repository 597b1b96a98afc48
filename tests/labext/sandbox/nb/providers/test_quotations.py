"""Answers of the built-in model: exact quotations of the passages that match a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_passages import HEADER, NOTE, PAPER, PASSAGES, TABLE, hit

from labext.sandbox.nb.ask import matching
from labext.sandbox.nb.ask.answers import (
    MAX_QUOTE_LENGTH,
    NO_MATCH,
    Answer,
    Search,
    citation_mark,
    quotable_sentences,
)
from labext.sandbox.nb.ask.quotes import INTRODUCTION, MAX_LENGTH, MAX_PASSAGES, PassageQuoter
from labext.sandbox.nb.search.ranking import Hit


def request(question: str, hits: Sequence[Hit] = PASSAGES) -> Answer:
    return PassageQuoter(True).answer(question, Search(question, ""), hits)


def test_answer_quotes_matching_passages():
    answer = request("Why is glucose added to the uninduced culture?")
    (citation,) = answer.citations
    assert citation.passage_id == PAPER.passage_id
    assert citation.page == 3
    assert citation.quote == PAPER.text.removeprefix("# Control\n\n")
    quotation = answer.text.replace("**", "")
    assert quotation == (
        f"{INTRODUCTION}\n\nTitle of source:paper, page 3:\n\n"
        f"> {' '.join(citation.quote.split())} [source:paper]"
    )


def test_matching_words_are_marked():
    text = request("Why is glucose added to the uninduced cultures?").text
    assert "**Glucose** lowers" in text
    assert "**glucose** is **added** to the **uninduced** **culture** at" in text
    sample = hit("source:a", 1, "The _glucose_ and `glucose` of glucose.")
    assert "The _glucose_ and `glucose` of **glucose**." in request("glucose?", [sample]).text


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("倍增时间是多少？", "三十七度培养时，倍增时间延长至一百分钟。", "时，**倍增时间**延长"),
        ("Gln3的作用？", "因子Gln3在细胞核有作用。", "因子**Gln3**在细胞核有**作用**。"),
        ("효모 성장?", "효모의 성장은 느리다.", "**효모**의 **성장**은 느리다."),
    ],
)
def test_matching_pairs_of_characters_are_marked_within_words(question, text, marked):
    assert marked in request(question, [hit("source:a", 1, text)]).text


def test_long_passage_is_cut_at_a_sentence():
    filler = "This sentence has nothing to do with it. " * 40
    long = hit("source:long", 7, f"{filler}Arabinose opens the promoter. {filler}".strip())
    (citation,) = request("What opens the promoter?", [long]).citations
    assert "Arabinose opens the promoter." in citation.quote
    assert len(citation.quote) <= MAX_LENGTH
    assert citation.quote.endswith(".")


def test_headings_rulers_and_reference_lists_are_dropped():
    text = (
        "Windows\n-------\n\nThe taper of a window is smooth.\n\n=====\n\nReferences\n----------\n"
        "[1] A. Author, The taper of a window, 1958.\n"
    )
    (citation,) = request("Is the taper of a window smooth?", [hit("source:a", 1, text)]).citations
    assert citation.quote == "The taper of a window is smooth."
    only = "## References\n\n[1] A. Author, The taper of a window, 1958.\n"
    assert request("Is the taper of a window smooth?", [hit("source:a", 1, only)]) == NO_MATCH
    continued = Hit("source:a", "T", 1, "[2] Taper of a window.", None, None, 1.0, "A › References")
    assert request("taper of a window", [continued]) == NO_MATCH


def test_prose_below_a_heading_of_references_is_quoted():
    text = "## References\n\nA reference borrows a value without taking ownership of it.\n"
    answer = request("What does a reference borrow?", [hit("source:a", 1, text)])
    (citation,) = answer.citations
    assert citation.quote == "A reference borrows a value without taking ownership of it."
    listed = "## References\n\nSmith J. A reference borrows a value.\n\nLi B. Values, 1999.\n"
    assert request("What does a reference borrow?", [hit("source:a", 1, listed)]) == NO_MATCH
    for name in ("scipy.stats.kruskal : ", ":func:`kruskal`\n    "):
        seen = f"See Also\n--------\n{name}Compute the test of ranks for three or more samples.\n"
        assert request("test of ranks for samples", [hit("source:a", 1, seen)]) == NO_MATCH


def test_comments_and_entries_of_logs_are_quoted_as_lines():
    text = "# Rate of DH10B\n# at noon\n2026-03-05 10:00 start of\n the pump\n2026-03-05 10:01 end"
    answer = request("What is the rate of DH10B at noon?", [hit("source:a", 1, text)])
    assert (
        "> **Rate** of **DH10B**  \n> at **noon**  \n> 2026-03-05 10:00 start of the pump  \n"
        "> 2026-03-05 10:01 end [source:a]"
    ) in answer.text


def test_acknowledgements_are_quoted():
    text = "Acknowledgements\n----------------\n\njusText was developed at Masaryk University.\n"
    answer = request("At which university was jusText developed?", [hit("source:a", 1, text)])
    (citation,) = answer.citations
    assert citation.quote == "jusText was developed at Masaryk University."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Enzyme: EcoRI\nSite: G/AATTC", "Enzyme: **EcoRI**"),
        ("- EcoRI, G/AATTC\n- SmaI", "- **EcoRI**, G/AATTC"),
        ("EcoRI | G/AATTC\n\n# Sheet 2\n\nEcoRI | none", "Sheet 2"),
        ("Enzyme Cuts Sites\nSmaI 12.4 ± 1.1 3\nEcoRI 3.1 ± 0.2 5", "**EcoRI** 3.1 ± 0.2 5"),
        ("EcoRI is old.\n\nNext\n----\nEcoRI cuts.", "Next"),
    ],
)
def test_rows_items_fields_and_headings_remain_separate_lines(text, line):
    answer = request("Where does EcoRI cut?", [hit("source:a", 1, text)])
    lines = answer.text.replace(" [source:a]", "").splitlines()
    assert line in [row.strip("> ").strip() for row in lines]
    assert "---" not in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "How does MG1655 grow in glucose?",  # a name that no passage contains
        "Why?",
    ],
)
def test_unsupported_question_has_no_match(question):
    assert request(question) == NO_MATCH
    assert NO_MATCH.citations == ()


def test_similar_passage_matches_without_shared_words():
    question = "Whom do I contact prior to thawing?"
    near, far = (hit("note:plan", 3, NOTE.text, similarity=value) for value in (0.5, 0.2))
    assert [citation.quote for citation in request(question, [near]).citations] == [NOTE.text]
    assert request(question, [far]) == NO_MATCH
    uncalibrated = PassageQuoter(False).answer(question, Search(question, ""), [near])
    assert uncalibrated == NO_MATCH


def test_words_found_elsewhere_lower_the_similarity_that_matches():
    question = "Whom do I contact prior to thawing?"
    near = hit("note:plan", 3, NOTE.text, similarity=0.29)
    texts = ["The contact is closed.", "A prior version.", "Thawing ice."]
    others = [hit("source:other", 4 + n, text, similarity=0.1) for n, text in enumerate(texts)]
    assert request(question, [near]) == NO_MATCH
    answer = request(question, [near, *others])
    assert [citation.id for citation in answer.citations] == ["note:plan"]


def test_one_passage_is_quoted_if_the_best_has_few_of_the_words():
    texts = ["The freezer is defrosted.", "Ask Dana first.", "Vary the sugar.", "Read the note."]
    hits = [hit(f"source:{n}", n, text, similarity=0.5) for n, text in enumerate(texts)]
    answer = request("Whom do I contact prior to thawing?", hits)
    assert [citation.id for citation in answer.citations] == ["source:0"]


def test_three_passages_are_quoted_if_the_best_has_a_third_of_the_words():
    texts = [
        "The frozen culture.",
        "Every frozen culture.",
        "Frozen cultures.",
        "One frozen culture.",
    ]
    hits = [hit(f"source:{n}", n, text, similarity=0.5) for n, text in enumerate(texts)]
    answer = request("Whom do I contact prior to thawing a frozen culture today?", hits)
    assert len(answer.citations) == 3


@pytest.mark.parametrize("delta", ["\N{INCREMENT}", "Δ"])
@pytest.mark.parametrize("asked", ["\N{INCREMENT}", "Δ"])
def test_delta_matches_either_character_for_it(asked, delta):
    passage = hit("source:a", 1, f"The mutant {delta}lacZ grows slowly on plates.")
    (citation,) = request(f"How does {asked}lacZ grow?", [passage]).citations
    assert delta in citation.quote


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie lang sind die STRASSEN?", "Alle Straßen sind kurz."),
        ("Where is the café Muller?", "The cafe of Müller is open."),
        ("How much CO2 is in the incubator?", "The incubator has 5 % CO₂."),
        ("Who sells Qiazol?", "Qiagen sells Qiazol™ in bottles."),
        ("Is 5 \N{MICRO SIGN}M enough?", "Yes, 5 \N{GREEK SMALL LETTER MU}M is enough."),
        ("Who works in istanbul?", "Who works there is from İstanbul."),
        ("Which release of ChEMBL has the groups?", "The groups are of release ChEMBL33."),
    ],
)
def test_other_case_accents_forms_of_characters_and_versions_match(question, text):
    (citation,) = request(question, [hit("source:a", 1, text)]).citations
    assert citation.quote == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Where does XbaI cut?", "SmaI cuts the strand here. Where it does is a cut."),
        ("How many grew in 1998?", "Many grew in 1999."),
        ("How many grew in version 2.0?", "Many grew in version 2.0.1."),
        ("Who wrote Pride and Prejudice?", "Milo wrote the guide."),
        ("Who wrote the AutoDock library?", "The author wrote the library PeptideBuilder."),
        ("Which strand does the Cas cut?", "The strand is cut by Cas9."),
    ],
)
def test_passage_without_the_rare_terms_is_no_match(question, text):
    assert request(question, [hit("source:a", 1, text, similarity=0.9)]) == NO_MATCH


CHINESE = "葡萄糖抑制启动子，因此将其添加到未诱导的培养物中。"
RUSSIAN = "Глюкоза подавляет промотор, и поэтому её добавляют в культуру."
GERMAN = "Die Zellen wurden bei 37 °C über Nacht geschüttelt."


@pytest.mark.parametrize(
    ("question", "text", "is_answered"),
    [
        ("为什么在培养物中添加葡萄糖？", CHINESE, True),
        ("今天天气怎么样？", CHINESE, False),
        ("pBAD30的启动子如何被抑制？", "质粒pBAD30的启动子被葡萄糖抑制。", True),
        ("pUC19的启动子如何被抑制？", "质粒pBAD30的启动子被葡萄糖抑制。", False),
        ("37度的倍增时间？", "在37度培养时，倍增时间为141分钟。", True),
        ("37度的倍增时间？", "在30度培养时，倍增时间为92分钟。", False),
        ("포도당이 프로모터를 억제하는가?", "포도당은 프로모터를 억제한다.", True),
        ("Почему глюкоза добавляется?", RUSSIAN, True),
        ("Какая погода завтра?", RUSSIAN, False),
        ("Bei welcher Temperatur wurden die Zellen geschüttelt?", GERMAN, True),
        ("Bei welcher Temperatur wurde EcoRI zugegeben?", GERMAN, False),
        ("Wie groß ist der OD600-Wert?", "Der Wert OD600 war groß: 0,6.", True),
        ("Wie hoch war der pH-Wert an der Quelle Süd?", "Messstelle | pH\nQuelle Süd | 6,9", True),
        ("Quelle est la concentration d’IPTG ?", "L’IPTG a une concentration de 1 mM.", True),
        ("Quelle est la concentration d’IPTG ?", "La concentration est de 1 mM.", False),
        ("Qual è la concentrazione dell'IPTG?", "L'IPTG ha una concentrazione di 1 mM.", True),
        ("¿Cuál es la concentración de IPTG?", "La concentración de IPTG es 1 mM.", True),
        ("What was the OD600 of the cells?", "The cells had an OD₆₀₀ of 0.6.", True),
        ("What did Ursula von der Leyen eat?", "It was eaten.", False),
    ],
)
def test_questions_in_other_languages_are_answered(question, text, is_answered):
    answer = request(question, [hit("source:a", 1, text, similarity=0.5)])
    assert bool(answer.citations) == is_answered


def test_each_passage_is_searched_for_each_of_many_names_at_most_twice(monkeypatch):
    contains_term = Mock(wraps=matching.contains_term)
    monkeypatch.setattr(matching, "contains_term", contains_term)
    names = [f"ara{number}" for number in range(100)]
    request(f"Which are induced: {', '.join(names)}?", [hit("source:a", 1, "ara7 is induced.")])
    assert len(names) <= contains_term.call_count <= 2 * len(names)


@pytest.mark.parametrize("text", ["The xmlrpc limit is 30 MB.", "The limit of XML-RPC is 30 MB."])
def test_name_with_a_hyphen_matches_without_it(text):
    assert request("What is the XML-RPC limit?", [hit("source:a", 1, text)]).citations
    assert not request("What is the XML-2 limit?", [hit("source:a", 1, text)]).citations


def test_name_in_camel_case_matches_its_separate_words():
    question = "Which strand does the BaseEditor cut?"
    texts = [
        "A base editor cuts the strand.",
        "The editor of a base cuts the strand.",
        "The strand is cut at a base.",
    ]
    hits = [hit(f"source:{n}", n, text) for n, text in enumerate(texts)]
    assert [citation.quote for citation in request(question, hits).citations] == texts[:2]


def test_each_side_of_a_comparison_has_its_passage():
    many = [
        hit("source:a", number, f"Philox has a state vector, part {number}.", similarity=0.7)
        for number in range(4)
    ]
    other = hit("source:b", 9, "MT19937 has a state vector.", similarity=0.4)
    answer = request("How do the state vectors of Philox and of MT19937 differ?", [*many, other])
    assert {citation.id for citation in answer.citations} == {"source:a", "source:b"}
    plain = hit("source:c", 8, "The plane of best fit was contributed by Firth.", similarity=0.1)
    fast = hit("source:d", 7, "FastCluster was contributed by iwatobipen.", similarity=0.1)
    question = "Who contributed the plane of best fit, and who FastCluster?"
    assert len(request(question, [fast, plain]).citations) == 2


def test_answer_names_the_side_of_a_comparison_that_no_passage_mentions():
    passage = hit("source:a", 1, "The plasmid pBAD30 has 4,923 base pairs.")
    answer = request("Is the plasmid pBAD30 larger than pUC19 or pBR322?", [passage])
    assert answer.text.endswith("\n\nNone of the passages found mentions pUC19 or pBR322.")
    assert [citation.id for citation in answer.citations] == ["source:a"]
    both = [passage, hit("source:b", 2, "The plasmid pUC19 has 2,686 base pairs.")]
    assert "None of" not in request("Is the plasmid pBAD30 larger than pUC19?", both).text
    assert request("How large is the plasmid pUC19?", [passage]) == NO_MATCH


@pytest.mark.parametrize(
    "question",
    [
        "Compare the plasmids pBAD30 with pUC19.",
        "How does the plasmid pBAD30 differ from pUC19?",
        "Is the plasmid pBAD30 similar to pUC19?",
    ],
)
def test_comparison_by_a_preposition_has_two_sides(question: str):
    sides = [
        hit("source:a", 1, "The plasmid pBAD30 has 4,923 base pairs."),
        hit("source:b", 2, "The plasmid pUC19 has 2,686 base pairs."),
    ]
    answer = request(question, sides)
    assert {citation.id for citation in answer.citations} == {"source:a", "source:b"}


def test_passage_with_the_words_of_one_side_of_a_comparison_matches():
    ace = hit("source:a", 1, "Parser for ACE files output by PHRAP, written by Frank Kauff.")
    code = hit("source:b", 2, "Structural alignment. Python code written by Joao Rodrigues.")
    other = hit("source:c", 3, "The parser is fast.")
    question = "Who wrote the parser for ACE files and who the Python code of the alignment?"
    answer = request(question, [other, code, ace])
    assert {citation.id for citation in answer.citations} == {"source:a", "source:b"}


def test_passage_of_a_side_is_the_one_with_most_of_its_words():
    soup = hit("source:a", 1, "Leonard Richardson maintains Beautiful Soup.", similarity=0.7)
    topic = hit("source:b", 2, "jusText: text processing and filters.", similarity=0.3)
    header = hit("source:b", 3, "Name: jusText\nMaintainer: Michal Belica", similarity=0.3)
    answer = request("Who maintains Beautiful Soup and who jusText?", [soup, topic, header])
    assert [citation.passage_id for citation in answer.citations][:2] == [1, 3]


def test_single_common_word_is_no_side_of_a_comparison():
    tutte = hit("source:a", 1, "The Tutte graph has 46 nodes and 69 edges.", similarity=0.7)
    other = hit("source:b", 2, "The Petersen graph has 10 nodes and 15 edges.", similarity=0.6)
    answer = request("How many nodes and edges does the Tutte graph have?", [tutte, other])
    assert [citation.id for citation in answer.citations] == ["source:a"]
    unrelated = hit("source:c", 3, "Distributed applications use several processes.")
    assert request("May there be more applicants than vacancies?", [unrelated]) == Answer(
        f"{NO_MATCH.text}\n\nNone of the passages found mentions vacancies."
    )


@pytest.mark.parametrize(
    "text", ["enzyme | site\nEcoRI | G/AATTC", "| enzyme | site |\n|:---|---|\n| EcoRI | G/AATTC |"]
)
def test_rows_are_quoted_as_a_markdown_table(text):
    answer = request("Where does EcoRI cut?", [hit("source:a", 1, f"Enzymes:\n\n{text}")])
    table = "> | enzyme | site |\n> | --- | --- |\n> | **EcoRI** | G/AATTC [source:a] |"
    assert answer.text.endswith(f"> Enzymes:\n>\n{table}")


def test_separators_within_cells_of_quoted_rows_begin_no_columns():
    text = "hit | gi|568|ref | identity\nA | gi|9|gb | 99.2\n\n| a | b |\n| x \\| y | hit |"
    quote = request("hit identity", [hit("source:blast", 1, text)]).text
    assert "> | A | gi\\|9\\|gb | 99.2" in quote
    assert "> | x \\| y | **hit** " in quote


def test_tables_after_each_other_are_quoted_with_their_own_first_rows():
    text = "Reader | X | 1\nDay | 3\n\nsample | ratio\nS1 | 1.8\nPut it back."
    quote = request("sample ratio", [hit("source:run", 1, text)]).text
    assert "> | Day | 3 |\n>\n> | **sample** | **ratio** |\n> | --- | --- |\n> | S1 " in quote


def test_no_cell_of_a_row_that_is_wider_than_the_first_is_lost():
    answer = request("Where does EcoRI cut?", [hit("source:a", 1, "Enzymes | \nEcoRI | G | 5 | 3")])
    assert answer.text.endswith("> | **EcoRI** | G | 5 | 3 [source:a] |")
    assert "> | Enzymes |  |  |  |\n> | --- | --- | --- | --- |" in answer.text


def test_quoted_rows_have_the_first_row_of_their_table():
    answer = request("What is the yield of R25?", [TABLE])
    table = "> | Run | Ethanol (g/L) | OD600 |\n> | --- | --- | --- |\n> | **R25** | 11.22 | 4.2 |"
    assert table in answer.text
    (citation,) = answer.citations
    assert citation.quote == TABLE.text
    assert citation.record()["table_header"] == HEADER
    assert "---" not in request("Why is glucose added?").text


ROWS = [f"R{n} | {n}.5 | {n % 3}.2 | batch" for n in range(20, 40)]


@pytest.mark.parametrize("start", [HEADER, f"| {HEADER} |\n|---|---|", None])
def test_only_the_rows_asked_for_are_quoted_of_a_long_table(start):
    table = replace(
        hit("source:runs", 4, "\n".join([*filter(None, [start]), *ROWS])), heading="Runs"
    )
    if start is None:
        table = replace(table, heading=f"Runs › {HEADER}")
    answer = request("What was the ethanol of R25?", [table])
    assert answer.text.endswith(
        "> | Run | **Ethanol** (g/L) | OD600 |  |\n> | --- | --- | --- | --- |\n"
        "> | **R25** | 25.5 | 1.2 | batch [source:runs] |"
    )
    (citation,) = answer.citations
    assert (citation.quote, citation.passage) == (ROWS[5], table.text)


def test_row_is_found_in_a_table_that_is_too_long_for_a_quotation():
    rows = [f"R{n} | {n}.5 | {' '.join(['remark'] * 12)}" for n in range(20, 60)]
    table = hit("source:runs", 4, "\n".join([HEADER, *rows]))
    (citation,) = request("What was the ethanol of R55?", [table]).citations
    assert (citation.quote, citation.table_header) == (rows[35], HEADER)


def test_rows_of_the_next_sheet_do_not_have_the_first_row_of_the_one_before():
    sheet = "strain | genotype\nDH10B | araD139\nLMG194 | ara714"
    text = "\n".join([*ROWS, "", "# strains", "", sheet])
    table = replace(hit("source:runs", 4, text), heading=f"Runs › {HEADER}")
    (citation,) = request("What is the genotype of LMG194?", [table]).citations
    assert (citation.quote, citation.table_header) == (sheet, None)
    (citation,) = request("What was the ethanol of R25?", [table]).citations
    assert (citation.quote, citation.table_header) == (ROWS[5], HEADER)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which batch has the most ethanol?", "\n".join([HEADER, *ROWS])),
        ("R22 or R37?", "\n".join([HEADER, *ROWS])),
        ("What was the ethanol of R22?", "\n".join([HEADER, *ROWS[:5]])),
        ("What was the ethanol of R22?", "\n".join([HEADER, *ROWS, "It rose."])),
    ],
)
def test_table_is_quoted_whole_if_it_is_short_or_no_adjacent_rows_are_asked_for(question, text):
    (citation,) = request(question, [hit("source:runs", 4, text, similarity=0.6)]).citations
    assert citation.quote == text


def test_at_most_three_distinct_passages_are_quoted():
    same = [hit(f"source:{n}", n, "Arabinose induces the promoter strongly.") for n in range(9)]
    assert len(request("What does arabinose induce?", same).citations) == 1
    many = [
        hit(f"source:{n}", n, f"Arabinose induces {word} of {word}s in {word}land.")
        for n, word in enumerate(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"])
    ]
    assert len(request("What does arabinose induce?", many).citations) == MAX_PASSAGES


def test_low_scoring_passage_is_not_quoted():
    near = hit("source:near", 1, "Arabinose induces the araBAD promoter within minutes.")
    far = hit("source:far", 2, "The promoter was named long ago.")
    answer = request("How fast does arabinose induce the araBAD promoter?", [far, near])
    assert [citation.id for citation in answer.citations] == ["source:near"]


def test_passage_of_another_source_needs_60_percent_of_the_best_score():
    """More of it, as the best passage has one of the four words: 70 %."""
    best = hit("source:best", 1, "Bands of the ladder.", similarity=0.5)
    close = hit("source:close", 2, "Markers run beside samples.", similarity=0.4)
    far = hit("source:far", 3, "Samples are loaded last.", similarity=0.36)
    answer = request("Which ladder shows fragment weights?", [best, close, far])
    assert [citation.id for citation in answer.citations] == ["source:best", "source:close"]


def test_table_below_the_best_passage_of_a_source_is_quoted_too():
    words = hit("source:iris", 1, "The iris plants dataset has a mean petal.", similarity=0.6)
    table = hit("source:iris", 2, "petal length: 1.0 6.9 3.76 1.76", similarity=0.3)
    other = hit("source:wine", 3, "The mean petal of another flower.", similarity=0.4)
    answer = request("What is the mean petal length of the iris plants?", [words, other, table])
    assert [citation.passage_id for citation in answer.citations] == [1, 2]


_TEXTS = st.text(alphabet=st.sampled_from("glucose arabinose.\n#-1?! "), max_size=200) | st.text()


@given(st.lists(_TEXTS, max_size=4), _TEXTS)
def test_quotes_are_literal_for_arbitrary_texts(texts, question):
    hits = [hit(f"source:s{number}", number, text) for number, text in enumerate(texts)]
    answer = request(question, hits)
    for citation in answer.citations:
        assert citation.quote in citation.passage
        assert citation.passage == hits[citation.passage_id].text
        assert citation_mark(citation.id) in answer.text
    assert bool(answer.citations) or answer == NO_MATCH


@given(_TEXTS)
def test_quotable_sentences_are_limited_in_length(text):
    long = f"{text}{'word ' * 400}."
    assert all(
        len(sentence) <= MAX_QUOTE_LENGTH and sentence in long
        for sentence in quotable_sentences(long)
    )


def test_final_answer_merges_quotations():
    short_request = request("How long were cells induced?")
    two = request("Whom to ask before the freezer is defrosted?")
    final = PassageQuoter(True).final("?", [short_request, two, short_request, NO_MATCH], PASSAGES)
    assert final.citations == (*short_request.citations, *two.citations)
    assert final.text.count(INTRODUCTION) == 1
    assert PassageQuoter(True).final("?", [NO_MATCH], PASSAGES) == NO_MATCH
