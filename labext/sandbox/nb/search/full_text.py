"""Full-text index of the passages (SQLite FTS5)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

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
    update,
)
from sqlalchemy.orm import Session

from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Base, Passage
from labext.sandbox.nb.text.segmentation import stem_words

MAX_TERMS = 64
"""Maximum number of search terms; further ones are ignored."""

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')

_SEPARATOR = re.compile(r"[\s/:;|()\[\]{}]+")
"""Separates words. Parts joined by a hyphen or a point must be adjacent: `0.2`, `T7-driven`."""


def match_expression(query: str) -> str | None:
    """Return an FTS5 expression for any of the words and all of the quoted phrases.

    None if the query has no letter or digit.
    """
    query = query.replace("\0", " ").encode(errors="replace").decode()  # not accepted by SQLite
    phrases = _unique_terms(phrase for pair in _QUOTED.findall(query) for phrase in pair)
    words = _unique_terms(_SEPARATOR.split(_QUOTED.sub(" ", query)))
    content_words = [
        word for word in words if stem_words(word)
    ] or words  # without stop words such as `the`
    if not phrases:
        return " OR ".join(map(_quote, content_words)) or None
    together = " AND ".join(map(_quote, phrases))
    if not content_words:
        return together
    # The words are optional then, but passages that contain them rank first.
    return f"({together}) OR ({together} AND ({' OR '.join(map(_quote, content_words))}))"


def _unique_terms(terms: Iterable[str]) -> list[str]:
    unique = dict.fromkeys(term for term in terms if any(map(str.isalnum, term)))
    return list(unique)[:MAX_TERMS]


def _quote(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


_WORDS = table("nb_words", column("rowid"), column("title"), column("text"))

# Words are compared by their stems, without accents: `inductions` finds `induction`.
_CREATE = DDL(  # type: ignore[no-untyped-call]
    "CREATE VIRTUAL TABLE IF NOT EXISTS nb_words USING fts5"
    "(title, text, tokenize = 'porter unicode61 remove_diacritics 2')"
)
event.listen(Base.metadata, "after_create", _CREATE.execute_if(dialect="sqlite"))

TITLE_WEIGHT = 2.0
"""Weight of a word in the title relative to one in the text."""


def add_words(session: Session, title: str, passages: Iterable[Passage]) -> None:
    """Index newly stored passages, each with the title of its parent and its headings."""
    rows = [
        {"rowid": passage.id, "title": f"{title}\n{passage.heading}", "text": passage.text}
        for passage in passages
    ]
    if rows:
        session.execute(insert(_WORDS), rows)


def update_title(session: Session, parent_id: str, title: str) -> None:
    """Change the title by which a source or note is found."""
    rows = session.execute(
        select(Passage.id, Passage.heading).where(Passage.parent_id == parent_id)
    ).all()
    if rows:
        session.execute(
            update(_WORDS)
            .where(_WORDS.c.rowid == bindparam("passage"))
            .values(title=bindparam("titles")),
            [{"passage": number, "titles": f"{title}\n{heading}"} for number, heading in rows],
        )


def remove_words(session: Session, passage_ids: Collection[int]) -> None:
    """Remove passages from the index."""
    if passage_ids:
        session.execute(
            delete(_WORDS).where(_WORDS.c.rowid == bindparam("passage")),
            [{"passage": number} for number in passage_ids],
        )


def find_by_words(
    session: Session, query: str, scope: Scope, limit: int
) -> list[tuple[int, float]]:
    """Return the passages that match a query, the best first.

    Returns:
        Pairs of passage identifier and BM25 score; higher is better.
    """
    expression = match_expression(query)
    if expression is None:
        return []
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
