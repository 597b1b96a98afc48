"""Answers by the built-in model: sentences of the passages that answer a question, as they stand.

A sentence is worth what it has of the question's words, the rare ones counting more, and how near
it is in meaning. Where none is worth enough, nothing in the sources supports an answer, and that
is the answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from labext.sandbox.nb.answers.citations import (
    NOTHING,
    Answer,
    Citation,
    cited,
    distinct,
    mark,
    quotable,
)
from labext.sandbox.nb.answers.writing import Said, Search, Strategy, meant
from labext.sandbox.nb.models import extractive, words
from labext.sandbox.nb.search.index import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Nearness = Callable[[str, Sequence[str]], Sequence[float]]
"""How near each of some sentences is to a question in meaning: cosines, -1 to 1."""

SENTENCES = 4
"""Sentences of an answer, at most."""

SUPPORT = 0.5
"""What a sentence's shared words and nearness are together, at least, to support an answer."""

SUPPORT_BY_MEANING = 0.34
"""The nearness that a sentence needs that shares no word: chance makes it 0.3 at most."""

SUPPORT_BY_WORDS = 0.35
"""The same where only words count: of the question's, weighted by their rarity."""

_WORTH = 0.6
"""What a further sentence is worth at least, as a part of what the best one is."""

_SAME = 0.6
"""Two sentences of which the shorter has so much in common with the other say the same."""

_UNKNOWN = 2.0
"""How much more a word of the question counts that stands in no passage."""

_CUE = 0.15
"""What a sentence of the kind that is asked for is worth more."""

_CUES = (
    (r"why\b", r"because|reason|since|so that|in order to|therefore|thus|to (?:prevent|avoid)|due"),
    (r"how (?:much|many|long|often|far|hot|old|high|low)\b|when\b", r"\d"),
    (r"(?:what|which) (?:concentration|temperature|amount|time|volume|density|yield)s?\b", r"\d"),
)


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
        worths = self._worths(question, found)
        if not worths:
            return NOTHING
        ranked = sorted(zip(worths, found, strict=True), key=lambda each: (-each[0], each[1].place))
        chosen: list[_Sentence] = []
        for worth, sentence in ranked:
            if len(chosen) == SENTENCES or worth < _WORTH * ranked[0][0]:
                break
            if not any(_alike(sentence, other) for other in chosen):
                chosen.append(sentence)
        return _told(_with_what_they_mean(chosen, found))

    def _worths(self, question: str, found: Sequence[_Sentence]) -> list[float]:
        """What each sentence is worth as an answer; nothing where none supports one."""
        asked = frozenset(words.terms(question))
        if not found or not asked:
            return []
        weights = _weights(asked, found)
        total = sum(weights.values())
        shared = [sum(weights[term] for term in asked & each.terms) / total for each in found]
        unknown = _names(question) - frozenset(term for each in found for term in each.terms)
        near = [0.0] * len(found)
        if self._nearness is not None:
            near = [max(0.0, value) for value in self._nearness(question, [s.text for s in found])]
        if not self._supports(shared, near, named=bool(unknown)):
            return []
        return [
            a + b + _cue(question, each.text)
            for a, b, each in zip(shared, near, found, strict=True)
        ]

    def _supports(self, shared: Sequence[float], near: Sequence[float], *, named: bool) -> bool:
        """Whether any sentence is enough to answer.

        Args:
            shared: what each has of the question's words.
            near: how near each is in meaning.
            named: whether the question names what no passage knows: it is mostly about something
                else then, however near that is.
        """
        if named:
            return max(shared) >= SUPPORT
        if self._nearness is None:
            return max(shared) >= SUPPORT_BY_WORDS
        return any(
            a + b >= (SUPPORT if a else SUPPORT_BY_MEANING)
            for a, b in zip(shared, near, strict=True)
        )


def by_embedding(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> Nearness:
    """Nearness by an embedding model's vectors, which are of length 1."""

    def nearness(question: str, sentences: Sequence[str]) -> Sequence[float]:
        vectors = embed([question, *sentences])
        cosines: Sequence[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines

    return nearness


def _sentences(hits: Sequence[Hit]) -> list[_Sentence]:
    """What may be quoted: no headings, no questions, nothing that two passages say alike."""
    found = [
        _Sentence((rank, place), hit, text, frozenset(words.terms(text)))
        for rank, hit in enumerate(hits)
        for place, text in enumerate(quotable(hit.text))
        if not text.startswith("#") and not text.endswith("?")
    ]
    return list({" ".join(each.text.split()): each for each in reversed(found)}.values())[::-1]


def _weights(asked: frozenset[str], found: Sequence[_Sentence]) -> Mapping[str, float]:
    """What each word of a question counts: the rarer it is in the sentences, the more."""
    counts = Counter(term for each in found for term in each.terms)
    many = len(found)
    return {
        term: math.log(1 + many / counts[term]) if counts[term] else _UNKNOWN * math.log(1 + many)
        for term in asked
    }


def _names(question: str) -> frozenset[str]:
    """The stems of names in a question: of words with a capital letter or a digit."""
    return frozenset(
        term
        for sentence in words.sentences(question)
        for word in sentence.split()[1:]
        if any(letter.isupper() or letter.isdigit() for letter in word)
        for term in words.terms(word)
    )


def _cue(question: str, sentence: str) -> float:
    for asks, tells in _CUES:
        if re.search(rf"(?i)\b(?:{asks})", question):
            return _CUE if re.search(rf"(?i)(?<!\w)(?:{tells})", sentence) else 0.0
    return 0.0


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
