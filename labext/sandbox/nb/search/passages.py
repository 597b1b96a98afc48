"""Passages: pieces of a text of a size that can be embedded, found and cited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST, MOST = 80, 180
"""Words of a piece; the last one of a page may be shorter."""

_WORD = re.compile(r"[^\s。！？]{1,32}[。！？]*|[。！？]+")
"""A word; a longer one, such as a sequence's bases, counts for several, and may be cut."""

_SENTENCE = re.compile(r"[.!?…]['\")\]»”’]*$|[。！？]$")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")

_IN_WORD, _AT_WORD, _AT_SENTENCE, _AT_PARAGRAPH = range(4)
"""How good a place for a cut is."""


@dataclass(frozen=True)
class Piece:
    """A piece of a text before it is stored; its text stands word for word in the whole.

    Attributes:
        page: of a file that has pages, from 1.
    """

    text: str
    page: int | None = None


def pieces(pages: Sequence[tuple[int | None, str]]) -> list[Piece]:
    """Cut a text into pieces: between paragraphs if it can be, else between sentences or words.

    In their order they are the whole text but for blanks between them. None goes over a page.

    Args:
        pages: each with its number, from 1; a text without pages is one, numbered None.
    """
    return [Piece(text[start:end], page) for page, text in pages for start, end in _cut(text)]


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces of a page start and end."""
    words = [found.span() for found in _WORD.finditer(text)]
    first = 0
    while first < len(words):
        last = _last(text, words, first)
        yield words[first][0], words[last][1]
        first = last + 1


def _last(text: str, words: list[tuple[int, int]], first: int) -> int:
    """The last word of the piece that begins with the word `first`."""
    if len(words) - first <= MOST:
        return len(words) - 1
    # Of equally good places the last: pieces that are too short say too little.
    return max(
        range(first + LEAST - 1, first + MOST), key=lambda word: (_place(text, words, word), word)
    )


def _place(text: str, words: list[tuple[int, int]], word: int) -> int:
    """How good a cut behind a word is."""
    start, end = words[word]
    gap = text[end : words[word + 1][0]]
    if _PARAGRAPH.search(gap):
        return _AT_PARAGRAPH
    ended = _SENTENCE.search(text, start, end)
    if not gap:
        return _AT_SENTENCE if ended and ord(text[end - 1]) > 0x3000 else _IN_WORD
    return _AT_SENTENCE if ended else _AT_WORD
