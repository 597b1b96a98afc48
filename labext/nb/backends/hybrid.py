"""Search by words and by meaning with a server that offers only one of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labext.errors import SetupError
from labext.nb.backends import Steps
from labext.nb.records import Query, Record

WORDS_WEIGHT, VECTORS_WEIGHT = 0.3, 0.7
"""Weights of the two scores, each relative to the best one of its search."""


def search_both(
    search: Callable[[Query, str], Steps[list[Record]]], query: Query
) -> Steps[list[Record]]:
    """Search by words and by vectors, and merge the hits; by words alone without vectors."""
    by_words = yield from search(query, "text")
    try:
        by_vectors = yield from search(query, "vector")
    except SetupError:  # no embedding model
        return by_words
    return merge_hits(by_words, by_vectors)[: query.limit]


def merge_hits(by_words: Sequence[Record], by_vectors: Sequence[Record]) -> list[Record]:
    """Merge the hits of two searches, the best first; `relevance` is the weighted sum."""
    words, vectors = _shares(by_words, "relevance"), _shares(by_vectors, "similarity")
    hits = {_key(hit): hit for hit in (*by_words, *by_vectors)}  # those with a similarity last
    scores = {
        key: WORDS_WEIGHT * words.get(key, 0.0) + VECTORS_WEIGHT * vectors.get(key, 0.0)
        for key in hits
    }
    best = sorted(hits, key=lambda key: -scores[key])
    return [{**hits[key], "relevance": scores[key]} for key in best]


def _key(hit: Record) -> tuple[object, object]:
    return hit["id"], hit["match"]


def _shares(hits: Sequence[Record], column: str) -> dict[tuple[object, object], float]:
    """Return the scores of hits relative to the best one."""
    scores = {_key(hit): max(float(hit[column] or 0.0), 0.0) for hit in hits}
    best = max(scores.values(), default=0.0)
    return {key: score / best if best else 0.0 for key, score in scores.items()}
