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
"""Words that are looked for; a longer question's others are left out."""

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')

_SEPARATOR = re.compile(r"[\s/:;|()\[\]{}]+")
"""Between two words. Parts with a hyphen or a point have to stand together: `0.2`, `T7-driven`."""


def match_expression(query: str) -> str | None:
    """The passages that have any of the words, and all of the phrases that stand in quotes.

    None where there is nothing to look for: no letter and no digit.
    """
    query = query.replace("\0", " ").encode(errors="replace").decode()  # what SQLite can't take
    phrases = _unique_terms(found for pair in _QUOTED.findall(query) for found in pair)
    words = _unique_terms(_SEPARATOR.split(_QUOTED.sub(" ", query)))
    telling = [word for word in words if stem_words(word)] or words  # not `the` and `how`
    if not phrases:
        return " OR ".join(map(_quote, telling)) or None
    together = " AND ".join(map(_quote, phrases))
    if not telling:
        return together
    # The words are no condition then, but what has them too comes first.
    return f"({together}) OR ({together} AND ({' OR '.join(map(_quote, telling))}))"


def _unique_terms(given: Iterable[str]) -> list[str]:
    found = dict.fromkeys(term for term in given if any(map(str.isalnum, term)))
    return list(found)[:MAX_TERMS]


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
"""What a word of the title counts for, where one of the text counts for 1."""


def add_words(session: Session, title: str, passages: Iterable[Passage]) -> None:
    """Add the words of passages that were just stored, the first of their parent's first."""
    rows = [
        {"rowid": passage.id, "title": "" if passage.position else title, "text": passage.text}
        for passage in passages
    ]
    if rows:
        session.execute(insert(_WORDS), rows)


def update_title(session: Session, parent_id: str, title: str) -> None:
    """Find a source or a note by another title from now on."""
    first = select(Passage.id).where(Passage.parent_id == parent_id, Passage.position == 0)
    session.execute(
        update(_WORDS).where(_WORDS.c.rowid == first.scalar_subquery()).values(title=title)
    )


def remove_words(session: Session, passage_ids: Collection[int]) -> None:
    """Forget the words of passages."""
    if passage_ids:
        session.execute(
            delete(_WORDS).where(_WORDS.c.rowid == bindparam("passage")),
            [{"passage": number} for number in passage_ids],
        )


def find_by_words(
    session: Session, query: str, scope: Scope, limit: int
) -> list[tuple[int, float]]:
    """The passages that have words of the query, the best first.

    Returns:
        Each with its rank, higher is better: BM25, which is about the words' rarity.
    """
    asked = match_expression(query)
    if asked is None:
        return []
    every: ColumnClause[str] = literal_column("nb_words")
    rank = (-func.bm25(every, TITLE_WEIGHT, 1.0)).label("rank")
    found = select(_WORDS.c.rowid, rank).where(every.op("MATCH")(asked))
    among = scope.conditions(Passage.parent_id)
    if among:
        # The plus keeps SQLite from looking the words up again for each of these passages.
        number: ColumnClause[int] = literal_column("+nb_words.rowid")
        found = found.where(number.in_(select(Passage.id).where(*among)))
    best = found.order_by(rank.desc(), _WORDS.c.rowid).limit(limit)
    return [(passage, score) for passage, score in session.execute(best)]
