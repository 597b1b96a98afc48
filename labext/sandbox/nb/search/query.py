"""What is asked for in free text, as an expression of SQLite's FTS5: never a syntax error.

Every word stands in quotes there, so that none is an operator (SQLite, 'FTS5 Extension', Full-text
Query Syntax).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_TERMS = 64
"""Words that are looked for; a longer question's others are left out."""

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')

_COMMON = (
    "a about am an and any are as at be been but by can could did do does for from had has have he "
    "her his how i if in into is it its me my no not of on or our she should so than that the "
    "their them then there these they this those to was we were what when where which who whom "
    "whose why will with would you your"
)
COMMON = frozenset(_COMMON.split())
"""English words that say nothing about what is looked for, unless there are no others."""


def expression(query: str) -> str | None:
    """The passages that have any of the words, and all of the phrases that stand in quotes.

    None where there is nothing to look for: no letter and no digit.
    """
    query = query.replace("\0", " ").encode(errors="replace").decode()  # what SQLite can't take
    phrases = _distinct(found for pair in _QUOTED.findall(query) for found in pair)
    words = _distinct(_QUOTED.sub(" ", query).split())
    telling = [word for word in words if _bare(word) not in COMMON] or words
    if not phrases:
        return " OR ".join(map(_quoted, telling)) or None
    together = " AND ".join(map(_quoted, phrases))
    if not telling:
        return together
    # The words are no condition then, but what has them too comes first.
    return f"({together}) OR ({together} AND ({' OR '.join(map(_quoted, telling))}))"


def _distinct(terms: Iterable[str]) -> list[str]:
    found = dict.fromkeys(term for term in terms if _bare(term))
    return list(found)[:MOST_TERMS]


def _bare(term: str) -> str:
    """A word without the signs around it; empty where there are only signs."""
    return re.sub(r"[\W_]+", "", term).lower()


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
