"""Full-text index of the passages on PostgreSQL: `tsvector` columns, ranked as by FTS5.

The words are split, folded and stemmed here, as SQLite's `porter unicode61` does it, and ranked by
its BM25, so that a search gives the same on both databases.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    DDL,
    Integer,
    Text,
    bindparam,
    cast,
    column,
    event,
    func,
    insert,
    select,
    table,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.orm import Session

from labext.cjk import UNSPACED
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Base, Passage
from labext.sandbox.nb.text.segmentation import fold, stem

_WORDS = table(
    "nb_words", column("passage_id", Integer), column("words", TSVECTOR), column("length", Integer)
)

for _statement in (
    # The first number is an index: `ON DELETE CASCADE` needs the primary key.
    "CREATE TABLE IF NOT EXISTS nb_words ("
    "passage_id BIGINT PRIMARY KEY REFERENCES nb_passages (id) ON DELETE CASCADE, "
    "words TSVECTOR NOT NULL, length INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS nb_words_words ON nb_words USING gin (words)",
):
    event.listen(
        Base.metadata,
        "after_create",
        DDL(_statement).execute_if(dialect="postgresql"),  # type: ignore[no-untyped-call]
    )

_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_MAX_TOKEN = 64
"""Longer tokens are stored as they are, and cut where PostgreSQL would refuse them."""
_MAX_LEXEME = 500
_MAX_POSITION = 16_383
_GAP = 8
"""Positions between the title and the text, so that no phrase reaches from one to the other."""

_MAX_CANDIDATES = 2_000
"""Number of passages whose BM25 score is computed: the best ones by PostgreSQL's own rank."""

_K1, _B = 1.2, 0.75
_MIN_WEIGHT = 1e-6
"""Weight of a word that most passages contain (SQLite's BM25)."""


def tokens(content: str) -> list[str]:
    """Return the stems of the folded words of a text, in order."""
    return [_stem(token) for token in _TOKEN.findall(fold(content))]


def _stem(token: str) -> str:
    is_word = 3 <= len(token.encode()) <= _MAX_TOKEN
    return stem(token, "porter") if is_word else token[:_MAX_LEXEME]


def word_weight(count: int, passage_count: int) -> float:
    """Return the weight that BM25 gives a word in `count` passages, the greater the rarer it is."""
    return max(math.log((passage_count - count + 0.5) / (count + 0.5)), _MIN_WEIGHT)


def _row(passage_id: int, title: str, content: str) -> dict[str, Any]:
    titles, words = tokens(title), tokens(content)
    places: dict[str, list[str]] = defaultdict(list)
    for position, token in enumerate(titles, start=1):
        places[token].append(f"{min(position, _MAX_POSITION)}A")
    for position, token in enumerate(words, start=len(titles) + _GAP):
        places[token].append(f"{min(position, _MAX_POSITION)}")
    vector = " ".join(f"{_quote(token)}:{','.join(at)}" for token, at in places.items())
    return {"passage": passage_id, "vector": vector, "tokens": len(titles) + len(words)}


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


_VALUES = {
    "words": cast(bindparam("vector", type_=Text), TSVECTOR),
    "length": bindparam("tokens", type_=Integer),
}


def add(session: Session, rows: Iterable[tuple[int, str, str]]) -> None:
    """Index passages, each given by its identifier, title and text."""
    values = [_row(*row) for row in rows]
    if values:
        statement = insert(_WORDS).values(passage_id=bindparam("passage"), **_VALUES)
        session.connection().execute(statement, values)


def update_titles(session: Session, titles: Mapping[int, str]) -> None:
    """Change the titles by which passages are found."""
    texts = session.execute(select(Passage.id, Passage.text).where(Passage.id.in_(titles)))
    values = [_row(number, titles[number], content) for number, content in texts]
    if values:
        statement = update(_WORDS).where(_WORDS.c.passage_id == bindparam("passage"))
        session.connection().execute(statement.values(**_VALUES), values)


def count(session: Session, term: str) -> int:
    """Return the number of passages that contain a word or a phrase."""
    query = _phrase(tokens(term))
    if not query:
        return 0
    return session.scalar(select(func.count()).select_from(_WORDS).where(_matches(query))) or 0


def _phrase(stems: Sequence[str]) -> str:
    return " <-> ".join(map(_quote, stems))


def _matches(query: str) -> Any:
    return _WORDS.c.words.op("@@")(cast(query, TSQUERY))


@dataclass
class _Candidate:
    """A passage with the positions of the words of a query, and its number of words."""

    length: int
    places: dict[str, dict[int, float]] = field(default_factory=dict)

    def frequency(self, stems: Sequence[str]) -> float:
        """Return the number of times that a phrase occurs, weighted by the place."""
        total = 0.0
        for position, weight in self.places.get(stems[0], {}).items():
            if all(
                position + offset in self.places.get(stem, ()) for offset, stem in enumerate(stems)
            ):
                total += weight
        return total


def find(
    session: Session,
    phrases: Sequence[str],
    words: Sequence[str],
    counts: Mapping[str, int],
    scope: Scope,
    limit: int,
    title_weight: float,
) -> list[tuple[int, float]]:
    """Return the passages with all of the phrases, or without phrases any of the words.

    `counts` has the number of passages of each term in lower case. A word in the title has the
    weight `title_weight`, and in the text 1.

    Returns:
        Pairs of passage identifier and BM25 score, the best first.
    """
    needed = [stems for phrase in phrases if (stems := tokens(phrase))]
    optional = [stems for word in words if (stems := tokens(word))]
    if not needed and not optional:
        return []
    together = " & ".join(f"({_phrase(stems)})" for stems in needed)
    anything = " | ".join(f"({_phrase(stems)})" for stems in optional)
    candidates = _candidates(
        session,
        together or anything,
        " | ".join(filter(None, [together and f"({together})", anything])),
        {stem for stems in (*needed, *optional) for stem in stems},
        scope,
        title_weight,
    )
    total, mean = session.execute(
        select(func.count(), func.avg(_WORDS.c.length)).select_from(_WORDS)
    ).one()
    weights = {term: word_weight(n, total) for term, n in counts.items()}

    def score(candidate: _Candidate) -> float:
        share = _K1 * (1 - _B + _B * candidate.length / float(mean or 1))

        def gain(term: str) -> float:
            stems = tokens(term)
            frequency = candidate.frequency(stems) if stems else 0.0
            return weights[term.casefold()] * frequency * (_K1 + 1) / (frequency + share)

        by_words = sum(map(gain, words))
        # As in the expression for FTS5, which has phrases twice if there are also words.
        return by_words + sum(map(gain, phrases)) * (2 if by_words else 1)

    ranked = sorted(
        ((number, score(candidate)) for number, candidate in candidates.items()),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return ranked[:limit]


def _candidates(
    session: Session,
    condition: str,
    rank: str,
    stems: Collection[str],
    scope: Scope,
    title_weight: float,
) -> dict[int, _Candidate]:
    """Return matching passages with the places of some words."""
    best = select(_WORDS).where(_matches(condition))
    among = scope.conditions(Passage.parent_id)
    if among:
        best = best.where(_WORDS.c.passage_id.in_(select(Passage.id).where(*among)))
    best_rows = (
        best.order_by(func.ts_rank(_WORDS.c.words, cast(rank, TSQUERY)).desc())
        .limit(_MAX_CANDIDATES)
        .subquery()
    )
    word = (
        func.unnest(best_rows.c.words)
        .table_valued("lexeme", "positions", "weights", name="word")
        .lateral()
    )
    rows = session.execute(
        select(
            best_rows.c.passage_id,
            best_rows.c.length,
            word.c.lexeme,
            word.c.positions,
            word.c.weights,
        )
        .join(word, text("true"))
        .where(word.c.lexeme == func.any(list(stems)))
    )
    candidates: dict[int, _Candidate] = {}
    for number, length, lexeme, positions, weights in rows:
        candidate = candidates.setdefault(number, _Candidate(length))
        candidate.places[lexeme] = {
            position: title_weight if weight == "A" else 1.0
            for position, weight in zip(positions or (), weights or (), strict=True)
        }
    return candidates
