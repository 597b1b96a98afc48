"""Rescore the best passages of a hybrid search by their single sentences, rows and items."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labext.sandbox.nb.text import passages, segmentation

MAX_RESCORED = 20
"""Number of passages that are rescored."""

_MAX_WORDS_WEIGHT = 0.7
"""Weight of the words if a passage has most words of the query; the rest is that of the vectors."""

_LINE_WEIGHT = 0.3
"""Weight of the best line among the scores by words."""

_SOURCE_WEIGHT, _SOURCE_PASSAGES = 0.5, 3
"""Weight of the source in the similarity of a passage, and the number of its best passages of which
it is the mean: a source with several similar passages is on the subject of the query."""

_MIN_COVERAGE, _FULL_COVERAGE = 0.4, 0.8
"""Shares of the query's words in the best passage between which the weight of words rises from
none to its maximum: a few words in common are a coincidence, and the meaning decides then."""

_JOINED = re.compile(r"(?i)\b(?:and|or|than|versus|vs)\b")


@dataclass(frozen=True)
class Terms:
    """The stems of a query with their weights, the rare ones the greatest."""

    weights: Mapping[str, float]
    compares: bool

    @classmethod
    def of_query(cls, query: str, counts: Mapping[str, int], passage_count: int) -> Terms:
        """Return the terms of a query.

        Args:
            query: the query.
            counts: the number of passages with each of its words.
            passage_count: the number of all passages.
        """
        weights = {
            stem: math.log(1 + (max(passage_count - count, 0) + 0.5) / (count + 0.5))
            for term, count in counts.items()
            for stem in segmentation.stem_words(term)
        }
        return cls(weights, _JOINED.search(query) is not None)

    def share(self, stems: set[str]) -> float:
        """Return the weighted share of the terms among stems, 0 to 1."""
        total = sum(self.weights.values())
        return sum(self.weights[stem] for stem in stems & self.weights.keys()) / (total or 1.0)


@dataclass(frozen=True)
class Candidate:
    """A passage to score.

    Attributes:
        text: its text.
        context: the title and the headings above it.
        words: its score by words, 0 to 1.
        similarity: its cosine similarity to the query.
        parent_id: identifies its source or note.
    """

    text: str
    context: str
    words: float
    similarity: float
    parent_id: str


def score(terms: Terms, candidates: Sequence[Candidate]) -> list[float]:
    """Return the scores of the best passages of a search; higher is better."""
    stems = [_stems_by_line(candidate) for candidate in candidates]
    coverage = max((terms.share(set().union(*lines)) for lines in stems), default=0.0)
    if terms.compares:  # half of the words may be about the other side of a comparison
        coverage = min(2 * coverage, 1.0)
    certainty = (coverage - _MIN_COVERAGE) / (_FULL_COVERAGE - _MIN_COVERAGE)
    weight = _MAX_WORDS_WEIGHT * min(max(certainty, 0.0), 1.0)
    similarities = _with_sources(candidates)
    scores = []
    for candidate, lines, similarity in zip(candidates, stems, similarities, strict=True):
        line_share = max(map(terms.share, lines))
        by_words = (1 - _LINE_WEIGHT) * candidate.words**2 + _LINE_WEIGHT * line_share**2
        scores.append(weight * by_words + (1 - weight) * max(similarity, 0.0))
    return scores


def _with_sources(candidates: Sequence[Candidate]) -> Iterator[float]:
    """Yield the similarities of passages, each mixed with that of its source."""
    by_source: dict[str, list[float]] = {}
    for candidate in candidates:
        by_source.setdefault(candidate.parent_id, []).append(candidate.similarity)
    means = {
        parent_id: statistics.fmean(sorted(similarities)[-_SOURCE_PASSAGES:])
        for parent_id, similarities in by_source.items()
    }
    for candidate in candidates:
        own = (1 - _SOURCE_WEIGHT) * candidate.similarity
        yield own + _SOURCE_WEIGHT * means[candidate.parent_id]


def _stems_by_line(candidate: Candidate) -> list[set[str]]:
    """Return the stems of each sentence, row and item, with those of the title and headings."""
    context = set(segmentation.stem_words(candidate.context))
    lines = (
        sentence
        for line in passages.display_lines(candidate.text)
        for sentence in segmentation.split_sentences(line)
    )
    return [context.union(segmentation.stem_words(line)) for line in lines] or [context]
