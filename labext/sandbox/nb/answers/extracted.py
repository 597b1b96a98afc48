"""Answers by the built-in model: sentences of the passages that answer a question, as they stand.

Where none is worth enough (`worth`), nothing in the sources supports an answer, and that is the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from labext.sandbox.nb.answers.citations import (
    NOTHING,
    Answer,
    Citation,
    cited,
    distinct,
    mark,
    quotable,
)
from labext.sandbox.nb.answers.worth import Nearness, worths
from labext.sandbox.nb.answers.writing import Said, Search, Strategy, meant
from labext.sandbox.nb.models import extractive, words
from labext.sandbox.nb.search.index import Hit

SENTENCES = 4
"""Sentences of an answer, at most."""

_WORTH = 0.6
"""What a further sentence is worth at least, as a part of what the best one is."""

_SAME = 0.6
"""Two sentences of which the shorter has so much in common with the other say the same."""

_POINTS_BACK = re.compile(
    r"(?i)(?:for|because of|in|by|at|with|after|before|due to) (?:this|these|that|its|their)\b|"
    r"(?:it|they|he|she|this|these|that|those|its|their|here|there|therefore|thus|hence|then)\b|"
    r"(?:however|moreover|instead|otherwise|consequently|accordingly)\b"
)
"""How a sentence begins that is not understood without the one before it."""


class _Sentence(NamedTuple):
    """A sentence that may answer; `place` is its hit's and its own among the hit's."""

    place: tuple[int, int]
    hit: Hit
    text: str
    terms: frozenset[str]


class Extracted:
    """The built-in model as a writer.

    Args:
        nearness: of meaning; None where there is nothing to tell it by.
    """

    name = extractive.NAME

    def __init__(self, nearness: Nearness | None) -> None:
        self._nearness = nearness

    def strategy(self, question: str) -> Strategy:
        """The question as it stands: this model makes no other of it."""
        return Strategy(
            "The built-in extractive model looks for the question as it stands.",
            (Search(question, "Pick the sentences that answer it, word for word."),),
        )

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """The sentences that answer what was looked for."""
        return self._picked(search.term, hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """Those of the answers that stand on something, one after the other."""
        supported = list(dict.fromkeys(answer for answer in answers if answer.citations))
        if not supported:
            return NOTHING
        text = "\n\n".join(answer.text for answer in supported)
        return Answer(text, distinct(each for answer in supported for each in answer.citations))

    def talk(self, history: Sequence[Said], message: str, hits: Sequence[Hit]) -> Answer:
        """The sentences that answer the message."""
        return self._picked(meant(history, message), hits)

    def _picked(self, question: str, hits: Sequence[Hit]) -> Answer:
        found = _sentences(hits)
        worth_of = worths(question, [each.text for each in found], self._nearness)
        if not worth_of:
            return NOTHING
        ranked = sorted(
            zip(worth_of, found, strict=True), key=lambda each: (-each[0], each[1].place)
        )
        chosen: list[_Sentence] = []
        for worth, sentence in ranked:
            if len(chosen) == SENTENCES or worth < _WORTH * ranked[0][0]:
                break
            if not any(_alike(sentence, other) for other in chosen):
                chosen.append(sentence)
        return _told(_with_what_they_mean(chosen, found))


def _sentences(hits: Sequence[Hit]) -> list[_Sentence]:
    """What may be quoted: no headings, no questions, nothing that two passages say alike."""
    found = [
        _Sentence((rank, place), hit, text, frozenset(words.terms(text)))
        for rank, hit in enumerate(hits)
        for place, text in enumerate(quotable(hit.text))
        if not text.startswith("#") and not text.endswith("?")
    ]
    return list({" ".join(each.text.split()): each for each in reversed(found)}.values())[::-1]


def _alike(one: _Sentence, other: _Sentence) -> bool:
    least = min(len(one.terms), len(other.terms))
    return least > 0 and len(one.terms & other.terms) / least > _SAME


def _with_what_they_mean(
    chosen: Sequence[_Sentence], found: Sequence[_Sentence]
) -> list[_Sentence]:
    """The sentences, and before each that points back the one that it points to."""
    by_place = {each.place: each for each in found}
    together: dict[tuple[int, int], _Sentence] = {}
    for each in chosen:
        hit, place = each.place
        before = by_place.get((hit, place - 1))
        if before is not None and _POINTS_BACK.match(each.text):
            together.setdefault(before.place, before)
        together.setdefault(each.place, each)
    return list(together.values())


def _told(chosen: Sequence[_Sentence]) -> Answer:
    """The sentences in an order to read: the best source's first, each source's together."""
    first = {each.hit.parent_id: rank for rank, each in reversed(list(enumerate(chosen)))}
    ordered = sorted(
        chosen, key=lambda each: (first[each.hit.parent_id], each.hit.passage_id, each.place)
    )
    citations: list[Citation] = [cited(each.hit, each.text) for each in ordered]
    said = [f"{' '.join(each.quote.split())} {mark(each.id)}" for each in citations]
    return Answer(" ".join(said), distinct(citations))
