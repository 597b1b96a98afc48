"""An answer as plain text with numbered citations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labext_widgets.core.markup import plain, tidy

if TYPE_CHECKING:
    from labext.nb.records import Answer, Citation


@dataclass(frozen=True)
class AnswerState:
    """What has come of an answer so far.

    Attributes:
        question: what was asked.
        reasoning: why the service searches for what it searches.
        searches: the terms it searches for.
        partials: what its searches say, each with its citations.
        answer: the final answer, once it is there.
        broken: why nothing more comes, where the stream ended before the answer did.
    """

    question: str
    reasoning: str = ""
    searches: tuple[str, ...] = ()
    partials: tuple[tuple[str, tuple[Citation, ...]], ...] = ()
    answer: Answer | None = None
    broken: str = ""

    def and_then(self, event: Any) -> AnswerState:
        """Return what has come once an event of `labext.nb.records` has."""
        if hasattr(event, "searches"):
            terms = tuple(each.term for each in event.searches)
            return replace(self, reasoning=event.reasoning, searches=(*self.searches, *terms))
        if hasattr(event, "answer"):
            return replace(self, answer=event.answer)
        return replace(self, partials=(*self.partials, (event.text, tuple(event.citations))))


_ID = r"[a-z_]{2,40}:[A-Za-z0-9_-]{1,80}"
_MARK = re.compile(rf"[ \t]*\[({_ID}(?:[,;] ?{_ID})*)\]")
_BEGIN, _END = "\ue000", "\ue001"
_NUMBER = re.compile(f"{_BEGIN}([0-9]+){_END}")


@dataclass(frozen=True)
class NumberedText:
    """A text with numbers in the place of its marks, and the citations in their order.

    The first citation has the number 1. Citations that no mark names come last.
    """

    text: str
    citations: tuple[Citation, ...]


def number_citations(text: str, citations: Sequence[Citation]) -> NumberedText:
    """Return a text with a number for every citation that its marks name."""
    text = tidy(text).translate({ord(_BEGIN): None, ord(_END): None})
    numbers = _CitationNumbers(
        citations, [i for found in _MARK.finditer(text) for i in _citation_ids(found)]
    )
    parts, at, sentence = [], 0, ""
    for found in _MARK.finditer(text):
        sentence = text[at : found.start()] if text[at : found.start()].strip() else sentence
        parts.append(text[at : found.start()])
        told = {each: numbers.of(each, sentence) for each in _citation_ids(found)}
        parts += [_number_marker(number) for each in told.values() for number in each]
        if unknown := [each for each, cited in told.items() if not cited]:
            parts.append(f" [{', '.join(unknown)}]")
        at = found.end()
    return NumberedText("".join([*parts, text[at:]]), numbers.in_order())


def replace_numbers(text: str, mark: Callable[[int], str]) -> str:
    """Return a numbered text with what `mark` makes of each number in its place."""
    return _NUMBER.sub(lambda found: mark(int(found[1])), text)


class _CitationNumbers:
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
        meant = [i for i in passages if _overlaps(sentence, self._citations[i].quote)]
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


def _citation_ids(found: re.Match[str]) -> list[str]:
    return re.split("[,;] ?", found[1])


def _number_marker(number: int) -> str:
    return f"{_BEGIN}{number}{_END}"


def _overlaps(sentence: str, quote: str) -> bool:
    """Whether the quote stands in the sentence, or the sentence is a part of the quote."""
    said, quoted = " ".join(sentence.split()), " ".join(str(quote).split())
    return bool(quoted and said) and (quoted in said or said in quoted)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", str(text).casefold()))


LONG = 300
"""Characters at most of a quote in a list."""


def render_text(told: AnswerState) -> str:
    """Return everything that has come: the question, and the answer or what there is of it."""
    rows = [plain(told.question)]
    if told.answer is not None:
        rows += ["", render_answer(told.answer)]
    else:
        rows += [
            search_text(told),
            *(partial_text(*each) for each in told.partials),
            interruption_text(told),
        ]
    return "\n".join(rows if told.answer else filter(None, rows))


def render_answer(answer: Answer) -> str:
    """Return an answer with its marks as numbers, and its citations below it."""
    found = number_citations(answer.text, answer.citations)
    rows = [with_numbers(found)]
    if found.citations:
        rows += ["", *(f"[{n}] {citation_text(each)}" for n, each in enumerate(found.citations, 1))]
    return "\n".join(rows)


def with_numbers(found: NumberedText) -> str:
    """Return the text with `[1]` where a citation is marked."""
    return replace_numbers(found.text, lambda number: f" [{number}]")


def citation_text(citation: Citation) -> str:
    """Return `Title, page 3: “quote”`."""
    quote = plain(citation.quote, LONG)
    return f"{citation_place(citation)}: “{quote}”" if quote else citation_place(citation)


def citation_place(citation: Citation) -> str:
    """Return where a citation is from: its title, else its identifier, and its page."""
    where = plain(citation.title) or plain(citation.id)
    return where if citation.page is None else f"{where}, page {plain(citation.page)}"


def search_text(told: AnswerState) -> str:
    """Return what is searched for, on one line; nothing where nothing is."""
    return f"Searching: {'; '.join(map(plain, told.searches))}" if told.searches else ""


def partial_text(text: str, citations: Sequence[Citation]) -> str:
    """Return a partial answer without its marks."""
    return f"· {without_marks(text, citations)}"


def without_marks(text: str, citations: Sequence[Citation]) -> str:
    """Return a text without its marks, but for those of which nothing is cited."""
    return replace_numbers(number_citations(text, citations).text, lambda _: "")


def interruption_text(told: AnswerState) -> str:
    """Return that the answer was broken off, and why; nothing where it was not."""
    return f"Broken off: {plain(told.broken)}" if told.broken else ""
