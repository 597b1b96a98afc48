"""Questions for something uncommon that no passage mentions, without a language model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_passages import hit

from labext.sandbox.nb.ask import matching
from labext.sandbox.nb.ask.answers import NO_MATCH, Answer, Search, mention_unprocessed
from labext.sandbox.nb.ask.quotes import PassageQuoter

FACES = "The Olivetti faces are pictures taken at the AT&T Laboratories Cambridge."


def answer(question: str, *texts: str) -> Answer:
    hits = [hit("source:a", number, text, similarity=0.6) for number, text in enumerate(texts)]
    return PassageQuoter(True).answer(question, Search(question, ""), hits)


@pytest.mark.parametrize(
    "question",
    [
        "Which telescope was used for the Olivetti faces?",
        "What anthem did the Olivetti Laboratories have?",
        "Did the pictures show a telescope?",
    ],
)
def test_passages_with_other_words_of_a_question_for_something_no_passage_mentions_do_not_match(
    question,
):
    word = question.split()[1 if question.startswith("W") else -1].strip("?")
    missing = f"{NO_MATCH.text}\n\nNone of the passages found mentions {word}."
    assert answer(question, FACES) == Answer(missing)


@pytest.mark.parametrize(
    "question",
    [
        "Who published the Olivetti faces?",  # a common word may have been paraphrased
        "What is the drawback of the Olivetti faces?",  # the vocabulary lacks the word
        "Pourquoi le telescope de Cambridge ?",  # not English
        "Does a telescope suffice?",  # without a word in common it may be a paraphrase
    ],
)
def test_words_that_are_common_unknown_or_of_another_language_need_no_mention(question):
    assert answer(question, FACES).citations


def test_uncommon_word_may_be_in_another_passage_found():
    question = "Which telescope took the pictures at Cambridge?"
    assert not answer(question, FACES).citations
    assert answer(question, FACES, "The telescopes were sold.").citations


def test_paraphrase_is_similar_to_the_question():
    hits = [
        hit("source:a", 1, FACES, similarity=0.6),
        hit("source:b", 2, "Stars were counted by eye.", similarity=0.45),
    ]
    question = matching.Question.parse("Which telescope took the pictures?")
    assert not matching.match_scores(question, hits, uses_similarity=True)
    hits[1] = replace(hits[1], similarity=0.5)
    [(match, _)] = matching.match_scores(question, hits, uses_similarity=True)
    assert match == hits[1]


def test_other_form_of_an_uncommon_word_is_a_mention():
    assert answer("Whose handwriting has Cambridge?", "Cambridge has handwritten digits.").citations
    assert not answer("Whose handwriting has Cambridge?", "Cambridge has a handball.").citations


def test_table_needs_no_mention_of_an_uncommon_word():
    assert answer("What is the yield of R25?", "Run | Ethanol (g/L)\nR25 | 11.22").citations


def test_answer_that_names_absent_words_mentions_sources_that_are_still_processed():
    found = mention_unprocessed(answer("Which telescope took the pictures?", FACES), 2)
    assert "2 sources are still being processed" in found.text
