"""Answer writer without a language model: quote the passages that match best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labext.sandbox.nb.ask.answers import (
    MAX_QUOTE_LENGTH,
    NO_MATCH,
    Answer,
    ChatTurn,
    Citation,
    Search,
    Strategy,
    citation_mark,
    cite,
    quotable_sentences,
    resolve_query,
    unique_citations,
)
from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import extractive, segmentation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_PASSAGES = 3
"""Maximum number of passages quoted in an answer."""

INTRODUCTION = "Passages that match best:"

MIN_SCORE = 0.5
"""Share of the question's words (weighted by rarity) plus cosine similarity of a match."""

MIN_SCORE_WITHOUT_VECTORS = 0.35
MIN_SIMILARITY = 0.34
"""Cosine similarity of a match that shares no word; unrelated sentences reach 0.3."""

_RELATIVE_SCORE = 0.6
"""Minimum score of further passages, as a share of the best passage's score."""

_ABSENT_WORD_WEIGHT = 2.0
"""Weight of a word of the question that no passage contains, relative to the rarest one."""

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the cosine similarity of a question to each of some sentences, -1 to 1."""


@dataclass(frozen=True)
class _Candidate:
    """The best sentence of a passage, and its score."""

    hit: Hit
    quote: str
    score: float


class PassageQuoter:
    """The answer writer of the built-in model.

    Args:
        similarity: compares sentences with a question; None without an embedding model.
    """

    name = extractive.MODEL_NAME

    def __init__(self, similarity: Similarity | None) -> None:
        self._similarity = similarity

    def strategy(self, question: str) -> Strategy:
        """Return a strategy that searches for the question itself."""
        return Strategy(
            "Without a language model the question is searched for as it stands.",
            (Search(question, "Quote the passages that match best."),),
        )

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """Quote the passages that match the search best."""
        return self._quote(search.term, hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """Merge the quotations of several searches."""
        return _compose(unique_citations(item for answer in answers for item in answer.citations))

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """Quote the passages that match a message best, in the context of the previous one."""
        return self._quote(resolve_query(history, message), hits)

    def _quote(self, question: str, hits: Sequence[Hit]) -> Answer:
        candidates = self._candidates(question, hits)
        best = max((candidate.score for candidate in candidates), default=0.0)
        selected = [item for item in candidates if item.score >= _RELATIVE_SCORE * best]
        selected.sort(key=lambda item: -item.score)
        unique = {" ".join(item.quote.split()): item for item in reversed(selected)}
        top = list(unique.values())[::-1][:MAX_PASSAGES]
        return _compose(unique_citations(cite(item.hit, item.quote) for item in top))

    def _candidates(self, question: str, hits: Sequence[Hit]) -> list[_Candidate]:
        """Return the matching passages, each with its best sentence in context."""
        question_stems = frozenset(segmentation.stem_words(question))
        sentences = [
            (hit, number, sentence)
            for hit in hits
            for number, sentence in enumerate(quotable_sentences(hit.text))
            if not sentence.startswith("#") and not sentence.endswith("?")
        ]
        if not question_stems or not sentences:
            return []
        texts = [sentence for _, _, sentence in sentences]
        stems = [frozenset(segmentation.stem_words(text)) for text in texts]
        weights = _stem_weights(question_stems, stems)
        total = sum(weights.values())
        shares = [sum(weights[stem] for stem in question_stems & own) / total for own in stems]
        similarities = [0.0] * len(texts)
        if self._similarity is not None:
            similarities = [max(0.0, value) for value in self._similarity(question, texts)]
        absent = bool(_name_stems(question).difference(*stems))
        best: dict[int, _Candidate] = {}
        for (hit, number, text), share, similarity in zip(
            sentences, shares, similarities, strict=True
        ):
            score = share + similarity
            if not self._matches(share, similarity, name_is_absent=absent):
                continue
            if hit.passage_id not in best or best[hit.passage_id].score < score:
                best[hit.passage_id] = _Candidate(hit, _with_context(hit, number, text), score)
        return list(best.values())

    def _matches(self, share: float, similarity: float, *, name_is_absent: bool) -> bool:
        """Return whether a sentence matches; a name that no passage contains needs more words."""
        if name_is_absent:
            return share >= MIN_SCORE
        if self._similarity is None:
            return share >= MIN_SCORE_WITHOUT_VECTORS
        return share + similarity >= (MIN_SCORE if share else MIN_SIMILARITY)


def similarity_by_embedding(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> Similarity:
    """Return the similarity by an embedding model whose vectors have length 1."""

    def similarity(question: str, sentences: Sequence[str]) -> Sequence[float]:
        vectors = embed([question, *sentences])
        cosines: Sequence[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines

    return similarity


def _stem_weights(
    question_stems: frozenset[str], sentence_stems: Sequence[frozenset[str]]
) -> dict[str, float]:
    """Return the weight of each stem of a question by its rarity in the sentences."""
    counts = Counter(stem for stems in sentence_stems for stem in stems)
    rarest = math.log(1 + len(sentence_stems))
    return {
        stem: math.log(1 + len(sentence_stems) / counts[stem])
        if counts[stem]
        else _ABSENT_WORD_WEIGHT * rarest
        for stem in question_stems
    }


def _name_stems(question: str) -> frozenset[str]:
    """Return the stems of words with a capital or a digit that do not begin a sentence."""
    return frozenset(
        stem
        for sentence in segmentation.split_sentences(question)
        for word in sentence.split()[1:]
        if any(char.isupper() or char.isdigit() for char in word)
        for stem in segmentation.stem_words(word)
    )


def _with_context(hit: Hit, number: int, sentence: str) -> str:
    """Return a sentence with its predecessor and the following text, within the quote limit."""
    before = quotable_sentences(hit.text)[max(0, number - 1)]
    start = hit.text.find(before)
    if (
        hit.text.find(sentence, start) + len(sentence) - start > MAX_QUOTE_LENGTH
        or before[0] == "#"
    ):
        start = hit.text.find(sentence, max(start, 0))
    quote = hit.text[start : start + MAX_QUOTE_LENGTH]
    if start + MAX_QUOTE_LENGTH < len(hit.text):
        end = max(len(sentence), max(quote.rfind(stop) for stop in (". ", ".\n")) + 1)
        quote = quote[:end]
    return quote.strip()


def _compose(citations: Sequence[Citation]) -> Answer:
    """Return an answer of quotations with their marks, or `NO_MATCH`."""
    if not citations:
        return NO_MATCH
    quotes = [
        f"> {' '.join(citation.quote.split())} {citation_mark(citation.id)}"
        for citation in citations
    ]
    return Answer("\n\n".join([INTRODUCTION, *quotes]), tuple(citations))
