"""The questions of the benchmark of answers fit their documents."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from labext_test_corpus import document_texts

from labext.nb.questions import ExpectedAnswer, contains_fact, normalize_text, read_questions
from labext.sandbox.nb.text.segmentation import stem_words

QUESTIONS = read_questions(Path(__file__).parent / "answers" / "questions.csv")
AROUND = 100
"""Characters before and after a fact that a paraphrase shares no word stem with."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: "\n".join(pages) for name, pages in document_texts().items()}


def of_kind(*kinds: str) -> list[ExpectedAnswer]:
    return [question for question in QUESTIONS if question.kind in kinds]


def test_set_has_each_kind_of_question() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    smallest = {"fact": 25, "table row": 12, "list item": 12, "comparison": 10, "paraphrase": 20}
    assert kinds >= Counter(smallest | {"other topic": 12, "near miss": 12})
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS)


def test_expected_facts_occur_in_their_documents(texts: dict[str, str]) -> None:
    missing = [
        (question.question, fact, source)
        for question in QUESTIONS
        for number, fact in enumerate(question.facts)
        for source in question.source_of(number)
        if not contains_fact(texts[source], fact)
    ]
    assert missing == []


def test_comparisons_need_two_passages() -> None:
    for question in of_kind("comparison"):
        assert len(question.facts) == len(question.sources) >= 2, question


def test_paraphrases_share_no_stem_with_their_passage(texts: dict[str, str]) -> None:
    shared = {}
    for question in of_kind("paraphrase"):
        [[fact]], [source] = question.facts, question.sources
        text = normalize_text(texts[source])
        at = text.find(normalize_text(fact))
        passage = re.sub(r"^\S*|\S*$", "", text[max(0, at - AROUND) : at + len(fact) + AROUND])
        stems = {*stem_words(passage), *stem_words(Path(source).stem)}
        if both := stems.intersection(stem_words(question.question)):
            shared[question.question] = both
    assert shared == {}


def test_unanswerable_questions_ask_for_something_that_no_document_mentions(
    texts: dict[str, str],
) -> None:
    known = {stem for text in texts.values() for stem in stem_words(text)}
    answerable = [
        question.question
        for question in of_kind("other topic", "near miss")
        if known.issuperset(stem_words(question.question))
    ]
    assert answerable == []
