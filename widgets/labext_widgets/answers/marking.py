"""Find the words or the closest sentence that a search matched in its passages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

Span = tuple[int, int]
"""A part of a text: start and exclusive end."""

MAX_TERMS = 64
"""Maximum number of search terms that are marked."""

_TERM = re.compile(r'"([^"]*)"|“([^”]*)”|([^\s/:;|()\[\]{}"“”]+)')
_WORD = re.compile(r"\w+")
_BEGIN, _END = "\ue000", "\ue001"
_SENTENCE = re.compile(r"\S(?:.*?)(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|(?=\n[ \t]*\n)|$)", re.DOTALL)
_WRAPPED = re.compile(r"(?<=[^\n]{40})\n(?=\S)(?![-*+•|#>]|\d+[.)]\s)")
_STOP_WORD_LIST = """
    a an and any are as at be been but by can did do does for from had has have how if in into is it
    its of on or our so than that the their them then there these they this those to was we were
    what when where which who why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def join_wrapped_lines(text: str) -> str:
    """Replace line breaks inside the paragraphs of extracted text by spaces.

    The length stays. Short lines, and lines before items of lists and tables, keep their break.
    """
    return _WRAPPED.sub(" ", text)


def mark_words(query: str, texts: Sequence[str]) -> list[list[Span]]:
    """Return the parts of each text that match the words and the quoted phrases of a query.

    Words are compared by their stems, without case and accents, as the full-text index of the
    service does: `inductions` matches `induction`.
    """
    terms = _search_terms(query)
    if not terms or not texts:
        return [[] for _ in texts]
    try:
        return _stemmed_matches(terms, texts)
    except sqlite3.Error:  # a SQLite without full-text search
        words = {word.casefold() for term in terms for word in _WORD.findall(term)}
        return [
            [match.span() for match in _WORD.finditer(text) if match[0].casefold() in words]
            for text in texts
        ]


def closest_sentence(query: str, text: str) -> Span | None:
    """Return the sentence of a text that is most similar to a query; None in an empty text.

    The similarity is that of the words and of their groups of three letters.
    """
    spans = [match.span() for match in _SENTENCE.finditer(text) if match[0].strip()]
    if not spans:
        return None
    sentences = [text[start:end] for start, end in spans]
    words = [
        len({sentence[start:end].casefold() for start, end in marks})
        for sentence, marks in zip(sentences, mark_words(query, sentences), strict=True)
    ]
    count = max(len(_search_terms(query)), 1)
    query_trigrams = _trigrams(query)
    scores = [
        matched / count + _similarity(query_trigrams, _trigrams(sentence))
        for matched, sentence in zip(words, sentences, strict=True)
    ]
    start, end = spans[scores.index(max(scores))]
    return start, start + len(text[start:end].rstrip())


def _search_terms(query: str) -> list[str]:
    """Return the phrases and words of a query, without stop words unless there is nothing else."""
    matches = [next(filter(None, match.groups()), "") for match in _TERM.finditer(query)]
    terms = [term for term in dict.fromkeys(matches) if any(map(str.isalnum, term))]
    content = [term for term in terms if term.casefold() not in _STOP_WORDS]
    return (content or terms)[:MAX_TERMS]


def _stemmed_matches(terms: Sequence[str], texts: Sequence[str]) -> list[list[Span]]:
    expression = " OR ".join(f'"{_clean(term)}"' for term in terms)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE passages USING fts5"
            "(text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        database.executemany(
            "INSERT INTO passages (rowid, text) VALUES (?, ?)",
            ((number, _clean(text)) for number, text in enumerate(texts)),
        )
        rows = database.execute(
            "SELECT rowid, highlight(passages, 0, ?, ?) FROM passages WHERE passages MATCH ?",
            (_BEGIN, _END, expression),
        )
        marked = {number: _spans(highlighted) for number, highlighted in rows}
    return [marked.get(number, []) for number in range(len(texts))]


def _clean(text: str) -> str:
    """Return a text of the same length that SQLite accepts, without quotes and marks."""
    blank = dict.fromkeys(map(ord, f'\0"{_BEGIN}{_END}'), " ")
    return text.translate(blank).encode("utf-8", "replace").decode()


def _spans(highlighted: str) -> list[Span]:
    spans, start = [], 0
    for removed, match in enumerate(re.finditer(f"[{_BEGIN}{_END}]", highlighted)):
        place = match.start() - removed
        if match[0] == _BEGIN:
            start = place
        else:
            spans.append((start, place))
    return spans


def _trigrams(text: str) -> set[str]:
    words = (f" {word} " for word in _WORD.findall(text.casefold()) if word not in _STOP_WORDS)
    return {word[at : at + 3] for word in words for at in range(len(word) - 2)}


def _similarity(first: set[str], second: set[str]) -> float:
    """Return the share of the first's trigrams in the second, less for a long second."""
    if not first or not second:
        return 0.0
    return float(len(first & second) / (len(first) * len(second)) ** 0.5)
