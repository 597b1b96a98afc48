"""Answer writer without a language model: quote the passages that match best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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

MAX_PASSAGES = 3
"""Maximum number of passages quoted in an answer."""

INTRODUCTION = "Passages that match best:"

MIN_SCORE = 0.5
"""Minimum share of the question's words in a sentence plus its cosine similarity."""

MIN_SIMILARITY = 0.34
"""Minimum similarity of a sentence that shares no word; unrelated ones reach 0.3."""

_RELATIVE_SCORE = 0.6
"""Minimum score of further passages, as a share of the best one's."""

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the cosine similarity of a question to each of some sentences, -1 to 1."""


@dataclass(frozen=True)
class _Match:
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
            "Without a language model, the question itself is searched for.",
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
        matches = sorted(self._matches(question, hits), key=lambda match: -match.score)
        matches = [item for item in matches if item.score >= _RELATIVE_SCORE * matches[0].score]
        unique = {" ".join(match.quote.split()): match for match in reversed(matches)}
        best = list(unique.values())[::-1][:MAX_PASSAGES]
        return _compose(unique_citations(cite(match.hit, match.quote) for match in best))

    def _matches(self, question: str, hits: Sequence[Hit]) -> list[_Match]:
        """Return the best sentence of each matching passage, in context."""
        stems = frozenset(segmentation.stem_words(question))
        sentences = [
            (hit, number, sentence)
            for hit in hits
            for number, sentence in enumerate(quotable_sentences(hit.text))
            if not sentence.startswith("#") and not sentence.endswith("?")
        ]
        if not stems or not sentences:
            return []
        texts = [text for _, _, text in sentences]
        similarities: Sequence[float] = [0.0] * len(texts)
        if self._similarity is not None:
            similarities = self._similarity(question, texts)
        best: dict[int, _Match] = {}
        for (hit, number, text), similarity in zip(sentences, similarities, strict=True):
            share = len(stems.intersection(segmentation.stem_words(text))) / len(stems)
            score = share + max(0.0, similarity)
            previous = best.get(hit.passage_id)
            threshold = MIN_SCORE if share else MIN_SIMILARITY
            if score >= threshold and (previous is None or previous.score < score):
                best[hit.passage_id] = _Match(hit, _with_context(hit, number, text), score)
        return list(best.values())


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
