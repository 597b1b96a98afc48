"""Answers of language models: citations that exist, checked against their passages."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_passages import HEADER, METHODS, NOTE, PASSAGES, TABLE, Model, hit

from labext.sandbox.nb.ask.answers import (
    NO_MATCH,
    Answer,
    ChatTurn,
    MarkRemover,
    Search,
    cite,
    passage_mark,
)
from labext.sandbox.nb.ask.citation_check import (
    NOT_FOUND,
    find_quote,
    name_passages,
    parse_citations,
)
from labext.sandbox.nb.ask.llm_writer import (
    MAX_HISTORY_LENGTH,
    MAX_HISTORY_MESSAGES,
    LlmAnswerWriter,
)
from labext.sandbox.nb.providers.calls import ReplyFilter
from labext.sandbox.nb.providers.servers import ProviderServer


def test_model_receives_the_headings_of_passages_and_may_cite_by_their_words():
    reply = "The OD600 of R25 was 4.2 [source:runs#4 “R25 | 11.22 | 4.2”]."
    model = Model(reply)
    answer = LlmAnswerWriter("m", model).answer("OD600?", Search("OD600", ""), [TABLE])
    (prompt,) = (message["content"] for message in model.sent[0])
    assert f"Title of source:runs\nRuns › {HEADER}\nR25 | 11.22" in prompt
    assert answer.text == "The OD600 of R25 was 4.2 [source:runs]."


def test_citation_marks_resolve_to_passages():
    answer = parse_citations(
        "Cells are induced by arabinose for hours [source:paper]. CAP does not bind "
        "[source:paper#1]. Dana knows [note:plan; source:paper#2].",
        PASSAGES,
    )
    quotes = [(citation.passage_id, citation.quote[:12]) for citation in answer.citations]
    assert quotes == [(2, "Cells were i"), (1, "Glucose lowe"), (3, "Ask Dana bef")]
    assert "[source:paper]. CAP does not bind [source:paper]." in answer.text
    assert "Dana knows [note:plan]." in answer.text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("It is so [source:invented].", "It is so."),
        ("It is so [note:paper] and [source:paper#99] so.", "It is so and so."),
        ("It is so [source:nobody, note:plan].", "It is so."),
        ("Ask Dana [source:nobody, note:plan].", "Ask Dana [note:plan]."),
        ("As in [5] and [see below].", "As in [5] and [see below]."),
        ("It grew [Note: slowly].", "It grew [Note: slowly]."),
    ],
)
def test_unknown_citation_marks_are_removed(reply, text):
    answer = parse_citations(reply, PASSAGES)
    assert answer.text == text
    assert {citation.id for citation in answer.citations} <= {"source:paper", "note:plan"}


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Glucose lowers cyclic AMP [source:paper#1].", True),
        ("Insulin is made by the pancreas [source:paper#1].", False),
        ("Glukose senkt den Spiegel [source:paper#1 “Glucose lowers”].", True),
        ("Glucose lowers it [source:paper#1 “Glucose raises”].", False),
        ("Glucose lowers it 【source:paper#1 “Glucose lowers”】.", True),
        ("They do [source:cited#4 “as\nshown [12, 13] before”].", True),
        ("Cells grow [source:cited#4 “as shown [14] before”].", False),
        ("It says “glucose   lowers” [source:paper#1].", True),
        ("It says “glucose doubles it” [source:paper#1].", False),
        ("Glucose lowers cyclic AMP by 75 % [source:paper#1].", False),
        ("Glucose lowers cyclic AMP [source:paper#99999], as known.", True),
        ("Glucose lowers cyclic AMP [source:invented#1].", False),
        ("Glucose lowers it [Source: paper#1 “Glucose lowers”].", True),
        ("Glucose lowers it [Source: source:paper#1 “Glucose lowers”].", True),
        ("Insulin is made by the pancreas [Source: A textbook].", False),
    ],
)
def test_sentence_without_support_is_marked_and_cites_nothing(claim, expected):
    cited = hit("source:cited", 4, "Cells grow slowly, as shown [12, 13] before.")
    answer = parse_citations(f"First. {claim} Last.", [*PASSAGES, cited])
    assert bool(answer.citations) is expected
    assert (NOT_FOUND in answer.text) is not expected
    assert bool(re.search(r"\[source:(paper|cited)\][.,]", answer.text)) is expected
    assert "“as" not in answer.text
    for citation in answer.citations:
        assert citation.quote in citation.passage


@pytest.mark.parametrize(
    "reply",
    [
        "[source:paper]" + " " * 200_000,
        "[source:" * 20_000,
        "“" * 100_000,
        "1," * 50_000 + "[note:a]",
        "[source:a “b”" * 10_000,
        "[source:a “b" * 10_000,
        "x [1] " * 400 + "x[1]" * 20_000,
    ],
    ids=["spaces", "marks", "quotes", "numbers", "open", "unquoted", "numbered"],
)
def test_hostile_reply_is_checked_in_linear_time(reply):
    started = time.process_time()
    parse_citations(name_passages(reply, [*map(passage_mark, PASSAGES)]), PASSAGES)
    pieces: list[str] = []
    MarkRemover(pieces.append).feed(reply)
    assert time.process_time() - started < 2


def test_numbers_may_have_a_decimal_comma():
    quoted = "Zellen wurden mit 0,2 % induziert [source:paper#2 “induced with 0.2 % arabinose”]."
    assert [item.passage_id for item in parse_citations(quoted, PASSAGES).citations] == [2]
    assert not parse_citations(quoted.replace("0,2", "0,3"), PASSAGES).citations


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Each well had 10,000 cells", True),
        ("Each well had 10000 cells", True),
        ("Each well had 10 000 cells", True),
        ("Each well had 1,000 cells", False),
        ("Each well had 10 001 cells", False),
        ("The plasmid has 4 361 bp", True),
        ("The plasmid has 4361 bp at an OD600 of 2.5 and 0.450 M", True),
        ("The plasmid has 4361 bp at an OD600 of 2.05", False),
        ("The plasmid has 4361 bp since 5 March 2026", True),
        ("The plasmid has 4361 bp since 06.03.2026", False),
    ],
)
def test_numbers_of_a_sentence_may_be_written_in_another_way(claim, expected):
    text = "Each well had 10 000 cells. The plasmid has 4,361 bp. OD600 | 2.50 | 0.45 | 05.03.2026"
    passage = hit("source:a", 1, text)
    assert bool(parse_citations(f"{claim} [source:a#1].", [passage]).citations) is expected


@pytest.mark.parametrize("mark", ["[1]", "【1】", "[1][1]"])
def test_number_of_a_passage_follows_a_text_without_spaces(mark):
    passage = hit("source:zh", 9, "葡萄糖抑制启动子，阿拉伯糖诱导启动子。")
    model = Model(f"葡萄糖抑制启动子{mark}。x[1]")
    answer = LlmAnswerWriter("m", model).talk([], "为什么？", [passage])
    assert answer.text == "葡萄糖抑制启动子[source:zh]。x[1]"
    assert [citation.passage_id for citation in answer.citations] == [9]


def test_marks_are_removed_from_words_in_any_pieces():
    text = "It [is] so [source:a#1 “quoted [1]\nwords”], and [Source: b] more 【note:b】."
    for size in (1, 3, 50):
        pieces: list[str] = []
        remover = MarkRemover(pieces.append)
        for start in range(0, len(text), size):
            remover.feed(text[start : start + size])
        assert "".join(pieces) == "It [is] so, and more."


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("at 37–40 °C.", "at 37-40 °C"),
        ("GROWN at", "grown\nat"),
        ("cells … 37-40 °C", "37-40 °C"),
        ("grow", None),
        ("cells … 50 °C", None),
        ("…", None),
    ],
)
def test_quotation_is_found_despite_typography(quoted, expected):
    assert find_quote("The cells were grown\nat 37-40 °C, shaken.", quoted) == expected


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("倍增时间为九十二分钟", "倍增时间为\n九十二分钟"),
        ("因子Gln3", "因子Gln3"),
        ("因子Gln", None),
        ("ln3在", None),
    ],
)
def test_quotation_in_chinese_needs_no_blanks_around_it(quoted, expected):
    passage = "细胞培养时倍增时间为\n九十二分钟。转录因子Gln3在细胞核。"
    assert find_quote(passage, quoted) == expected


def test_sentence_in_chinese_is_cited_by_its_quotation():
    passage = hit("source:zh", 1, "细胞在三十度培养时倍增时间为九十二分钟。")
    reply = "酵母每九十二分钟分裂一次 [source:zh#1 “倍增时间为九十二分钟”]。"
    (citation,) = parse_citations(reply, [passage]).citations
    assert citation.quote == "倍增时间为九十二分钟"
    false = parse_citations(reply.replace("为九十二", "为六十"), [passage])
    assert (false.citations, NOT_FOUND in false.text) == ((), True)


@given(st.text(alphabet=st.sampled_from("[]source:pan#12, .x"), max_size=80) | st.text())
def test_citations_of_arbitrary_replies_are_literal(reply):
    for citation in parse_citations(reply, PASSAGES).citations:
        assert citation.quote in citation.passage
        assert citation in {cite(item, citation.quote) for item in PASSAGES}


def test_strategy_is_parsed_from_surrounding_text():
    plan = {"reasoning": "Two things.", "searches": [{"term": "a", "instructions": "b"}] * 9}
    reply = f"Sure, a plan for {{it}}:\n```json\n{json.dumps(plan)}\n```\nDone."
    for text in (reply, reply.replace("Two things.", "Two\nthings.")):
        strategy = LlmAnswerWriter("m", Model(text)).strategy("Why?")
        assert strategy.reasoning.split() == ["Two", "things."]
        assert strategy.searches == (Search("a", "b"),) * 5


@pytest.mark.parametrize(
    "reply",
    [
        "No plan.",
        "{",
        '{"searches": []}',
        '{"searches": [{"term": "\\u0000 "}]}',
        '{"searches": [{"term": 3}, 4]}',
        '{"searches": "a"}',
        '{"reasoning": "…", "searches": [{"term": "…", "instructions": "…"}]}',
    ],
)
def test_strategy_without_searches_uses_the_question(reply):
    strategy = LlmAnswerWriter("m", Model(reply)).strategy("Why glucose?")
    assert [search.term for search in strategy.searches] == ["Why glucose?"]


def test_prompt_contains_numbered_passages_and_marks():
    model = Model("By arabinose [source:paper#2].")
    answer = LlmAnswerWriter("m", model).answer(
        "How induced?", Search("induction", "Be short."), PASSAGES
    )
    (prompt,) = (message["content"] for message in model.sent[0])
    for place, entry in enumerate(PASSAGES, 1):
        assert f"Passage {place} {passage_mark(entry)} {entry.title}" in prompt
        assert entry.text in prompt
    assert "page 3" in prompt
    for expected in ("How induced?", "induction", "Be short."):
        assert expected in prompt
    assert answer.text == "By arabinose [source:paper]."
    assert [citation.passage_id for citation in answer.citations] == [2]


@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        ("Cells were induced [2].", "Cells were induced [source:paper].", [2]),
        ("Vary arabinose first. [Passage 3]", "Vary arabinose first. [note:plan]", [3]),
        (
            "Arabinose varies [2, 3][3] first.",
            "Arabinose varies [source:paper][note:plan] first.",
            [2, 3],
        ),
        ("Insulin is made [1].", f"Insulin is made {NOT_FOUND}.", []),
        ("The `cells` [2] and $x$ [2].", "The `cells` [source:paper] and $x$ [source:paper].", [2]),
        ("They were induced ([2]).", "They were induced ([source:paper]).", [2]),
        ("| Cells induced | [2] |", "| Cells induced | [source:paper] |", [2]),
        ("Vary arabinose first [2–3].", "Vary arabinose first [note:plan].", [3]),
        ("Cells were induced [[2]], [2-9].", "Cells were induced [source:paper], [2-9].", [2]),
        ("As in [2], cells were induced.", "As in [source:paper], cells were induced.", [2]),
        ("As in [2], insulin is made.", f"As in {NOT_FOUND}, insulin is made.", []),
        ("As in [4] and `x = y [1]`, z[1].", "As in [4] and `x = y [1]`, z[1].", []),
        ("Vary arabinose [note:plan] [1].", "Vary arabinose [note:plan].", [3]),
        (
            "Vary arabinose [note:plan#3]. Cells were induced [2].",
            "Vary arabinose [note:plan]. Cells were induced [source:paper].",
            [3, 2],
        ),
        (
            "Vary arabinose [note:plan#3]. Insulin is made [1].",
            f"Vary arabinose [note:plan]. Insulin is made {NOT_FOUND}.",
            [3],
        ),
        (
            "[1] The plan\nVary arabinose [note:plan#3 “Vary arabinose”], `z [1]`, z[1] and [4].",
            "The plan\nVary arabinose [note:plan], `z [1]`, z[1] and [4].",
            [3],
        ),
        ("Vary arabinose.\n[1] The paper", "Vary arabinose.\n[1] The paper", []),
        ("Vary arabinose [note:plan#3 “Va\n\n*It ends*", "Vary arabinose\n\n*It ends*", []),
    ],
)
def test_numbers_of_passages_are_citations(reply, text, cited):
    answer = LlmAnswerWriter("m", Model(reply)).talk([], "Which?", PASSAGES)
    assert answer.text == text
    assert [citation.passage_id for citation in answer.citations] == cited


@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        (
            "Cells were induced [1]. Vary arabinose [Answer 2].",
            "Cells were induced [source:paper]. Vary arabinose [note:plan].",
            [2, 3],
        ),
        (
            "Vary arabinose [note:plan]. Cells were induced [2].",
            f"Vary arabinose [note:plan]. Cells were induced {NOT_FOUND}.",
            [3],
        ),
        ("Vary arabinose [note:plan] [3]. Why [4]?", "Vary arabinose [note:plan]. Why [4]?", [3]),
    ],
)
def test_numbers_in_a_final_answer_are_those_of_the_merged_answers(reply, text, cited):
    answers = [
        Answer("", (cite(METHODS, METHODS.text),)),
        Answer("", (cite(NOTE, NOTE.text),)),
        Answer(""),
    ]
    answer = LlmAnswerWriter("m", Model(reply)).final("Which?", answers, PASSAGES)
    assert answer.text == text
    assert [citation.passage_id for citation in answer.citations] == cited


def test_model_is_not_called_without_passages():
    writer = LlmAnswerWriter("m", Model())
    assert writer.answer("Why?", Search("a", "b"), []) == NO_MATCH
    assert writer.final("Why?", [NO_MATCH], []) == NO_MATCH


def test_conversation_keeps_its_order():
    model = Model("Well.")
    history = [ChatTurn(True, "One?"), ChatTurn(False, "One.")]
    LlmAnswerWriter("m", model).talk(history, "Two?", [NOTE])
    system, *text_of = model.sent[0]
    assert system["role"] == "system"
    assert NOTE.text in system["content"]
    assert text_of == [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "Two?"},
    ]


@pytest.mark.parametrize(
    ("length", "maximum"), [(10, MAX_HISTORY_MESSAGES), (MAX_HISTORY_LENGTH // 3, 3)]
)
def test_long_conversation_is_cut_at_a_user_message(length, maximum):
    model = Model("Well.")
    history = [ChatTurn(number % 2 == 0, "x" * length) for number in range(30)]
    LlmAnswerWriter("m", model).talk(history, "And now?", [])
    _, *text_of = model.sent[0]
    assert 1 < len(text_of) <= maximum + 1
    assert text_of[0]["role"] == "user"


@pytest.mark.parametrize("lengths", [(100_000, 20), (20, 100_000), (100_000, 100_000)])
def test_last_message_and_its_reply_are_sent_without_the_middle_if_they_are_long(lengths):
    model = Model("Well.")
    texts = [f"begin {'x' * length} end" for length in (9, 9, *lengths)]
    history = [ChatTurn(number % 2 == 0, text) for number, text in enumerate(texts)]
    LlmAnswerWriter("m", model).talk(history, "And now?", [])
    *_, human, reply, _ = [message["content"] for message in model.sent[0]]
    assert all(text.startswith("begin x") and text.endswith("x end") for text in (human, reply))
    assert len(human) + len(reply) <= MAX_HISTORY_LENGTH


@pytest.mark.parametrize("size", [1, 3, 100])
def test_streamed_words_contain_neither_reasoning_nor_the_key(size):
    key = "correct-horse-battery-staple"
    text = f"<think>Sugar? {key}</think>\n\nYou sent {key}, not correct-horse."
    server = ProviderServer("lab", "http://localhost", key, 1)
    reply = ReplyFilter(server)
    words = "".join(reply.feed(text[n : n + size]) for n in range(0, len(text), size))
    assert words == reply.finish() == "You sent •••, not correct-horse."
    cut = ReplyFilter(server)
    assert (cut.feed("<think>Sugar?"), cut.finish()) == ("", "")
    prompted = ReplyFilter(server)  # whose prompt has the beginning
    prompted.feed(text.removeprefix("<think>"))
    assert prompted.finish() == reply.finish()
