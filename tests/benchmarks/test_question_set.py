"""The questions of the benchmarks of answers fit their documents."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from labext_test_corpus import DOCUMENT_SETS, document_contents, document_texts

from labext.nb.questions import ExpectedAnswer, contains_fact, normalize_text, read_questions
from labext.sandbox.nb.text.segmentation import stem_words

FOLDER = Path(__file__).parent / "answers"
AROUND = 100
"""Characters before and after a fact that a paraphrase shares no word stem with."""


@dataclass(frozen=True)
class QuestionSet:
    questions: list[ExpectedAnswer]
    texts: dict[str, str]

    def of_kind(self, *kinds: str) -> list[ExpectedAnswer]:
        return [question for question in self.questions if question.kind in kinds]


@pytest.fixture(scope="module", params=DOCUMENT_SETS)
def question_set(request: pytest.FixtureRequest) -> QuestionSet:
    texts = document_texts(request.param)
    return QuestionSet(
        read_questions(FOLDER / f"{request.param}.csv"),
        {name: "\n".join(pages) for name, pages in texts.items()},
    )


def test_sets_have_each_kind_of_question(question_set: QuestionSet) -> None:
    kinds = Counter(question.kind for question in question_set.questions)
    smallest = {"fact": 15, "table row": 8, "list item": 10, "comparison": 8, "paraphrase": 20}
    assert kinds >= Counter(smallest | {"other topic": 10, "near miss": 10})
    assert len({question.question for question in question_set.questions}) == kinds.total()


def test_each_file_of_questions_has_documents() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == DOCUMENT_SETS.keys()


def test_sets_share_no_documents_and_no_questions() -> None:
    documents = [document_contents(name) for name in DOCUMENT_SETS]
    questions = [{item.question for item in read_questions(path)} for path in FOLDER.iterdir()]
    for one, other in combinations(documents, 2):
        assert not one.keys() & other.keys()
        assert not {*one.values()} & {*other.values()}
    assert len(set().union(*questions)) == sum(map(len, questions))


def test_expected_facts_occur_in_their_documents(question_set: QuestionSet) -> None:
    missing = [
        (question.question, fact, source)
        for question in question_set.questions
        for number, fact in enumerate(question.facts)
        for source in question.source_of(number)
        if not contains_fact(question_set.texts[source], fact)
    ]
    assert missing == []


def test_comparisons_need_two_passages(question_set: QuestionSet) -> None:
    for question in question_set.of_kind("comparison"):
        assert len(question.facts) == len(question.sources) >= 2, question


def test_paraphrases_share_no_stem_with_their_passage(question_set: QuestionSet) -> None:
    shared = {}
    for question in question_set.of_kind("paraphrase"):
        [[fact]], [source] = question.facts, question.sources
        text = normalize_text(question_set.texts[source])
        at = text.find(normalize_text(fact))
        passage = re.sub(r"^\S*|\S*$", "", text[max(0, at - AROUND) : at + len(fact) + AROUND])
        stems = {*stem_words(passage), *stem_words(Path(source).stem)}
        if both := stems.intersection(stem_words(question.question)):
            shared[question.question] = both
    assert shared == {}


def test_unanswerable_questions_ask_for_something_that_no_document_mentions(
    question_set: QuestionSet,
) -> None:
    known = {stem for text in question_set.texts.values() for stem in stem_words(text)}
    answerable = [
        question.question
        for question in question_set.of_kind("other topic", "near miss")
        if known.issuperset(stem_words(question.question))
    ]
    assert answerable == []
