"""What is asked for in free text, as an expression of SQLite's FTS5: never a syntax error.

Every word stands in quotes there, so that none is an operator (SQLite, 'FTS5 Extension', section
'Full-text Query Syntax').
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from labext.sandbox.nb.text.tokens import stems

MOST_TERMS = 64
"""Words that are looked for; a longer question's others are left out."""

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')

_BETWEEN = re.compile(r"[\s/:;|()\[\]{}]+")
"""Between two words. Parts with a hyphen or a point have to stand together: `0.2`, `T7-driven`."""


def expression(query: str) -> str | None:
    """The passages that have any of the words, and all of the phrases that stand in quotes.

    None where there is nothing to look for: no letter and no digit.
    """
    query = query.replace("\0", " ").encode(errors="replace").decode()  # what SQLite can't take
    phrases = _distinct(found for pair in _QUOTED.findall(query) for found in pair)
    words = _distinct(_BETWEEN.split(_QUOTED.sub(" ", query)))
    telling = [word for word in words if stems(word)] or words  # not `the` and `how`
    if not phrases:
        return " OR ".join(map(_quoted, telling)) or None
    together = " AND ".join(map(_quoted, phrases))
    if not telling:
        return together
    # The words are no condition then, but what has them too comes first.
    return f"({together}) OR ({together} AND ({' OR '.join(map(_quoted, telling))}))"


def _distinct(given: Iterable[str]) -> list[str]:
    found = dict.fromkeys(term for term in given if any(map(str.isalnum, term)))
    return list(found)[:MOST_TERMS]


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
