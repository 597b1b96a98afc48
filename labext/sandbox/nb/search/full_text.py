"""Full-text search of the passages, by FTS5 on SQLite and `tsvector` on PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from operator import itemgetter

from sqlalchemy import (
    DDL,
    ColumnClause,
    bindparam,
    column,
    delete,
    event,
    func,
    insert,
    literal_column,
    select,
    table,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from labext.cjk import UNSPACED
from labext.sandbox.core import postgresql
from labext.sandbox.core.database import count_rows
from labext.sandbox.nb.search import tsvector
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Base, Note, Passage, Source
from labext.sandbox.nb.text.segmentation import fold, split_unspaced, stem_words

MAX_TERMS = 64
"""Maximum number of search terms; further ones are ignored."""

_QUOTED = re.compile(r'"([^"]*)"|“([^“”]*)”')
_UNSPACED = re.compile(f"[{UNSPACED}]")

_SEPARATOR = re.compile(r"[\s/:;|()\[\]{}]+")
"""Separates words. Parts joined by a hyphen or a point must be adjacent: `0.2`, `T7-driven`."""


def _match_expression(phrases: Iterable[str], words: Iterable[str]) -> str:
    """Return an FTS5 expression for all phrases, or for any of the words if there are none."""
    together, any_word = " AND ".join(map(_quote, phrases)), " OR ".join(map(_quote, words))
    if not together or not any_word:
        return together or any_word
    # The words are then optional, but passages that contain them rank first.
    return f"({together}) OR ({together} AND ({any_word}))"


def parse_query(query: str) -> tuple[list[str], list[str]]:
    """Return the quoted phrases of a query and its other words without stop words.

    Both are empty if it has no letter or digit.
    """
    query = query.replace("\0", " ").encode(errors="replace").decode()  # not accepted by SQLite
    phrases = _unique_terms(phrase for pair in _QUOTED.findall(query) for phrase in pair)
    separate = _SEPARATOR.split(_QUOTED.sub(" ", query))
    words = _unique_terms(part for word in separate for part in split_unspaced(word))
    return phrases, [word for word in words if stem_words(word)] or words


def _unique_terms(terms: Iterable[str]) -> list[str]:
    unique = dict.fromkeys(term for term in terms if any(map(str.isalnum, term)))
    return list(unique)[:MAX_TERMS]


def _quote(term: str) -> str:
    return '"' + _spaced(term).replace('"', '""') + '"'


def _spaced(text: str) -> str:
    """Return a folded text with spaces around each Chinese, Japanese or Korean character."""
    return _UNSPACED.sub(r" \g<0> ", fold(text))


_WORDS = table("nb_words", column("rowid"), column("title"), column("text"))

# Words are compared by their stems, without accents: `inductions` finds `induction`.
_CREATE = DDL(  # type: ignore[no-untyped-call]
    "CREATE VIRTUAL TABLE IF NOT EXISTS nb_words USING fts5"
    "(title, text, tokenize = 'porter unicode61 remove_diacritics 2')"
)
event.listen(Base.metadata, "after_create", _CREATE.execute_if(dialect="sqlite"))

TITLE_WEIGHT = 2.0
"""Weight of a word in the title relative to one in the text."""

_FULL_SCORE = 1.6
"""BM25 score of a passage that contains all words of a query, relative to their weights."""


def count_terms(session: Session, query: str) -> dict[str, int]:
    """Return the number of passages that contain each word or phrase of a query."""
    whole_row: ColumnClause[str] = literal_column("nb_words")
    matching = select(func.count()).select_from(_WORDS)
    phrases, words = parse_query(query)
    terms = {term.casefold(): term for term in (*phrases, *words)}.values()
    if postgresql.is_used_by(session):
        return {term: tsvector.count(session, term) for term in terms}
    return {
        term: session.scalar(matching.where(whole_row.op("MATCH")(_quote(term)))) or 0
        for term in terms
    }


def full_score(counts: Mapping[str, int], passage_count: int) -> float:
    """Return the approximate score of a passage that contains all of the counted terms.

    Terms that no passage contains count as well, so that a match of the other terms is weak.
    """
    return _FULL_SCORE * sum(tsvector.word_weight(n, passage_count) for n in counts.values())


def _rarest_terms(counts: Mapping[str, int]) -> set[str]:
    """Return the rarest terms, which are in at most about `_MAX_ROWS` passages in total."""
    total = 0
    rarest: set[str] = set()
    for term in sorted(counts, key=counts.__getitem__):
        total += counts[term]
        if rarest and total > _MAX_ROWS:
            break
        rarest.add(term)
    return rarest


_MAX_ROWS = 20_000
"""Number of passages whose score is computed in a text search, chosen by the rarest words."""


def add_words(session: Session, title: str, passages: Iterable[Passage]) -> None:
    """Index newly stored passages, each with the title of its parent and its headings."""
    passages = list(passages)
    if postgresql.is_used_by(session):
        tsvector.add(session, ((p.id, f"{title}\n{p.heading}", p.text) for p in passages))
        return
    rows = [
        {"rowid": p.id, "title": _spaced(f"{title}\n{p.heading}"), "text": _spaced(p.text)}
        for p in passages
    ]
    if rows:
        session.execute(insert(_WORDS), rows)


def build_index(session: Session) -> None:
    """Index all passages if none is: the index is not copied from one kind of database to another.

    Not for passages that are stored at the same time.
    """
    if session.execute(select(literal_column("1")).select_from(_WORDS).limit(1)).first():
        return
    parents = union_all(select(Source.id, Source.title), select(Note.id, Note.title)).subquery()
    passages = select(parents.c.title, Passage).join(Passage, Passage.parent_id == parents.c.id)
    for title, group in groupby(session.execute(passages.order_by(Passage.id)), key=itemgetter(0)):
        add_words(session, title or "", [passage for _, passage in group])


def update_title(session: Session, parent_id: str, title: str) -> None:
    """Change the title by which a source or note is found."""
    rows = session.execute(
        select(Passage.id, Passage.heading).where(Passage.parent_id == parent_id)
    ).all()
    if rows and postgresql.is_used_by(session):
        tsvector.update_titles(session, {number: f"{title}\n{heading}" for number, heading in rows})
    elif rows:
        session.execute(
            update(_WORDS)
            .where(_WORDS.c.rowid == bindparam("passage"))
            .values(title=bindparam("titles")),
            [{"passage": id, "titles": _spaced(f"{title}\n{heading}")} for id, heading in rows],
        )


def remove_words(session: Session, passage_ids: Collection[int]) -> None:
    """Remove passages from the index."""
    if passage_ids and not postgresql.is_used_by(session):  # PostgreSQL removes it with the row
        session.execute(
            delete(_WORDS).where(_WORDS.c.rowid == bindparam("passage")),
            [{"passage": number} for number in passage_ids],
        )


def find_by_words(
    session: Session,
    query: str,
    scope: Scope,
    limit: int,
    counts: Mapping[str, int] | None = None,
    passage_count: int | None = None,
) -> list[tuple[int, float]]:
    """Return the passages that match a query with their BM25 scores, the best first.

    `counts` of `count_terms` and the number of all passages are passed if they are known.
    """
    phrases, words = parse_query(query)
    if not phrases and not words:
        return []
    if passage_count is None:
        passage_count = count_rows(session, Passage)
    if passage_count > _MAX_ROWS:
        counts = counts or count_terms(session, query)
        rarest = _rarest_terms(counts)
        words = [word for word in words if word in rarest]
    if postgresql.is_used_by(session):
        counts = counts or count_terms(session, query)
        by_term = {term.casefold(): count for term, count in counts.items()}
        return tsvector.find(session, phrases, words, by_term, scope, limit, TITLE_WEIGHT)
    expression = _match_expression(phrases, words)
    whole_row: ColumnClause[str] = literal_column("nb_words")
    rank = (-func.bm25(whole_row, TITLE_WEIGHT, 1.0)).label("rank")
    query_rows = select(_WORDS.c.rowid, rank).where(whole_row.op("MATCH")(expression))
    among = scope.conditions(Passage.parent_id)
    if among:
        # The plus keeps SQLite from repeating the full-text search for each of these passages.
        number: ColumnClause[int] = literal_column("+nb_words.rowid")
        query_rows = query_rows.where(number.in_(select(Passage.id).where(*among)))
    best = query_rows.order_by(rank.desc(), _WORDS.c.rowid).limit(limit)
    return [(passage, score) for passage, score in session.execute(best)]
