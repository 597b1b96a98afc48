"""Matching passages, and their scores in a hybrid search by single sentences, rows and items."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labext.sandbox.nb.text import passages, segmentation


@dataclass(frozen=True)
class Hit:
    """A matching passage.

    Attributes:
        parent_id, title: identify its source or note.
        passage_id, text, page: the passage's identifier, text and page.
        heading, file_name: the headings above it and the name of its file, or empty texts.
        similarity: cosine similarity to the query, -1 to 1; None in a search by words.
        relevance: the score; higher is better, comparable only within one search.
        transcript: whether the text was recognized in speech.
        confidence: the mean probability of its words then, 0 to 1, if the model states it.
    """

    parent_id: str
    title: str
    passage_id: int
    text: str
    page: int | None
    similarity: float | None
    relevance: float
    heading: str = ""
    file_name: str = ""
    transcript: bool = False
    confidence: float | None = None

    @property
    def context(self) -> str:
        """Return its title, file name and headings."""
        return "\n".join((self.title, self.file_name, self.heading))

    @property
    def table_header(self) -> str | None:
        """Return the header of the table that it continues."""
        return passages.table_header(self.heading)

    @property
    def is_citable(self) -> bool:
        """Return whether its confidence is high enough for a citation."""
        return self.confidence is None or self.confidence >= MIN_CONFIDENCE


MIN_CONFIDENCE = 0.5
"""Minimum confidence of recognized speech that is cited; below it most words are wrong."""

MAX_RESCORED, MAX_COMPARED = 20, 40
"""Number of passages that are scored by their lines, and by their tokens."""

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

JOINED = re.compile(r"(?i)\b(?:and|or|than|versus|vs)\b")


@dataclass(frozen=True)
class Terms:
    """The stems of a query with their weights, the rare ones the greatest."""

    weights: Mapping[str, float]
    compares: bool

    @classmethod
    def of_query(cls, query: str, counts: Mapping[str, int], passage_count: int) -> Terms:
        """Return the terms of a query from the number of passages with each of its words."""
        weights = {
            stem: math.log(1 + (max(passage_count - count, 0) + 0.5) / (count + 0.5))
            for term, count in counts.items()
            for stem in segmentation.stem_words(term)
        }
        return cls(weights, JOINED.search(query) is not None)

    def share(self, stems: set[str]) -> float:
        """Return the weighted share of the terms among stems, 0 to 1."""
        total = sum(self.weights.values())
        return sum(self.weights[stem] for stem in stems & self.weights.keys()) / (total or 1.0)


def score(terms: Terms, hits: Sequence[Hit], words: Sequence[float]) -> list[float]:
    """Return the scores of the best passages of a search, of which `words` are those by words."""
    stems = [_stems_by_line(hit) for hit in hits]
    coverage = max((terms.share(set().union(*lines)) for lines in stems), default=0.0)
    if terms.compares:  # half of the words may be about the other side of a comparison
        coverage = min(2 * coverage, 1.0)
    certainty = (coverage - _MIN_COVERAGE) / (_FULL_COVERAGE - _MIN_COVERAGE)
    weight = _MAX_WORDS_WEIGHT * min(max(certainty, 0.0), 1.0)
    scores = []
    for by_word, lines, similarity in zip(words, stems, _with_sources(hits), strict=True):
        line_share = max(map(terms.share, lines))
        by_words = (1 - _LINE_WEIGHT) * by_word**2 + _LINE_WEIGHT * line_share**2
        scores.append(weight * by_words + (1 - weight) * max(similarity, 0.0))
    return scores


def _with_sources(hits: Sequence[Hit]) -> Iterator[float]:
    """Yield the similarities of passages, each mixed with that of its source."""
    by_source: dict[str, list[float]] = {}
    for hit in hits:
        by_source.setdefault(hit.parent_id, []).append(hit.similarity or 0.0)
    means = {
        parent_id: statistics.fmean(sorted(similarities)[-_SOURCE_PASSAGES:])
        for parent_id, similarities in by_source.items()
    }
    for hit in hits:
        own = (1 - _SOURCE_WEIGHT) * (hit.similarity or 0.0)
        yield own + _SOURCE_WEIGHT * means[hit.parent_id]


def _stems_by_line(hit: Hit) -> list[set[str]]:
    """Return the stems of each sentence, row and item, with those of the title and headings."""
    context = set(segmentation.stem_words(hit.context))
    lines = (
        sentence
        for line in passages.display_lines(hit.text)
        for sentence in segmentation.split_sentences(line)
    )
    return [context.union(segmentation.stem_words(line)) for line in lines] or [context]
