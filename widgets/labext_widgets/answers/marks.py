"""The marks in an answer's text, `[source:abc]` behind a sentence, as numbers of its citations.

A mark names a source or a note, of which several passages may be cited. It is taken for the passage
whose quote stands before it; else, where there are as many marks as passages, for the one in its
place; else for the one whose quote shares the most words with what stands before it. A mark of
which nothing is cited stays as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labext_widgets.markup import tidy

if TYPE_CHECKING:
    from labext.nb.answers import Citation

_ID = r"[a-z_]{2,40}:[A-Za-z0-9_-]{1,80}"
_MARK = re.compile(rf"[ \t]*\[({_ID}(?:[,;] ?{_ID})*)\]")
_BEGIN, _END = "\ue000", "\ue001"
_NUMBER = re.compile(f"{_BEGIN}([0-9]+){_END}")


@dataclass(frozen=True)
class Numbered:
    """A text with numbers in the place of its marks, and the citations in their order.

    The first citation has the number 1. Citations that no mark names come last.
    """

    text: str
    citations: tuple[Citation, ...]


def numbered(text: str, citations: Sequence[Citation]) -> Numbered:
    """Return a text with a number for every citation that its marks name."""
    text = tidy(text).translate({ord(_BEGIN): None, ord(_END): None})
    numbers = _Numbers(citations, [i for found in _MARK.finditer(text) for i in _ids(found)])
    parts, at, sentence = [], 0, ""
    for found in _MARK.finditer(text):
        sentence = text[at : found.start()] if text[at : found.start()].strip() else sentence
        parts.append(text[at : found.start()])
        told = {each: numbers.of(each, sentence) for each in _ids(found)}
        parts += [_marked(number) for each in told.values() for number in each]
        if unknown := [each for each, cited in told.items() if not cited]:
            parts.append(f" [{', '.join(unknown)}]")
        at = found.end()
    return Numbered("".join([*parts, text[at:]]), numbers.in_order())


def replaced(text: str, mark: Callable[[int], str]) -> str:
    """Return a numbered text with what `mark` makes of each number in its place."""
    return _NUMBER.sub(lambda found: mark(int(found[1])), text)


class _Numbers:
    """Gives numbers to citations in the order in which they are named."""

    def __init__(self, citations: Sequence[Citation], named: Sequence[str]) -> None:
        self._citations = citations
        self._given: dict[int, int] = {}
        self._passages: dict[str, list[int]] = {}
        for i, each in enumerate(citations):
            self._passages.setdefault(str(each.id), []).append(i)
        self._in_place = {
            each: iter(places)
            for each, places in self._passages.items()
            if named.count(each) == len(places)
        }

    def of(self, identifier: str, sentence: str) -> list[int]:
        passages = self._passages.get(identifier, [])
        place = next(self._in_place.get(identifier, iter(())), None)
        meant = [i for i in passages if _says(sentence, self._citations[i].quote)]
        if not meant and place is not None:
            meant = [place]
        elif not meant and passages:
            said = _words(sentence)
            meant = [max(passages, key=lambda i: len(said & _words(self._citations[i].quote)))]
        return [self._given.setdefault(i, len(self._given) + 1) for i in meant]

    def in_order(self) -> tuple[Citation, ...]:
        for i in range(len(self._citations)):
            self._given.setdefault(i, len(self._given) + 1)
        return tuple(self._citations[i] for i in self._given)


def _ids(found: re.Match[str]) -> list[str]:
    return re.split("[,;] ?", found[1])


def _marked(number: int) -> str:
    return f"{_BEGIN}{number}{_END}"


def _says(sentence: str, quote: str) -> bool:
    """Whether the quote stands in the sentence, or the sentence is a part of the quote."""
    said, quoted = " ".join(sentence.split()), " ".join(str(quote).split())
    return bool(quoted and said) and (quoted in said or said in quoted)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", str(text).casefold()))
