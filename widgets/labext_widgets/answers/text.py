"""An answer as plain text with numbered citations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from labext_widgets.core.markup import plain, tidy

if TYPE_CHECKING:
    from labext.nb.records import Answer, Citation


@dataclass(frozen=True)
class AnswerState:
    """The parts of an answer received so far.

    Attributes:
        question: the question.
        reasoning: the service's reasoning behind its searches.
        searches: the search terms.
        partials: the partial answers, each with its citations.
        writing: the words of the answer that is being written.
        answer: the final answer, once received.
        broken: the reason why the stream ended before the answer was complete.
    """

    question: str
    reasoning: str = ""
    searches: tuple[str, ...] = ()
    partials: tuple[tuple[str, tuple[Citation, ...]], ...] = ()
    writing: str = ""
    answer: Answer | None = None
    broken: str = ""

    def with_event(self, event: Any) -> AnswerState:
        """Return the state after an event of `labext.nb.records`."""
        if hasattr(event, "searches"):
            terms = tuple(search.term for search in event.searches)
            return replace(self, reasoning=event.reasoning, searches=(*self.searches, *terms))
        if hasattr(event, "words"):
            return replace(self, writing=self.writing + event.words)
        if hasattr(event, "answer"):
            return replace(self, answer=event.answer)
        partial = (event.text, tuple(event.citations))
        return replace(self, partials=(*self.partials, partial), writing="")


_ID = r"[a-z_]{2,40}:[A-Za-z0-9_-]{1,80}"
_MARK = re.compile(rf"(?<![ \t])[ \t]*\[({_ID}(?:[,;] ?{_ID})*)\]")
_BEGIN, _END = "\ue000", "\ue001"
_NUMBER = re.compile(f"{_BEGIN}([0-9]+){_END}")


@dataclass(frozen=True)
class NumberedText:
    """A text with numbers in place of its citation marks, and the citations in that order.

    The first citation has the number 1. Citations without a mark come last.
    """

    text: str
    citations: tuple[Citation, ...]


def number_citations(text: str, citations: Sequence[Citation]) -> NumberedText:
    """Return a text with its citation marks replaced by numbers."""
    text = tidy(text).translate({ord(_BEGIN): None, ord(_END): None})
    numbers = _CitationNumbers(
        citations, [i for mark in _MARK.finditer(text) for i in _citation_ids(mark)]
    )
    parts, at, sentence = [], 0, ""
    for mark in _MARK.finditer(text):
        sentence = text[at : mark.start()] if text[at : mark.start()].strip() else sentence
        parts.append(text[at : mark.start()])
        numbers_by_id = {
            identifier: numbers.of(identifier, sentence) for identifier in _citation_ids(mark)
        }
        parts += [
            f"{_BEGIN}{number}{_END}"
            for number_list in numbers_by_id.values()
            for number in number_list
        ]
        if unknown := [identifier for identifier, cited in numbers_by_id.items() if not cited]:
            parts.append(f" [{', '.join(unknown)}]")
        at = mark.end()
    return NumberedText("".join([*parts, text[at:]]), numbers.in_order())


def replace_numbers(text: str, mark: Callable[[int], str]) -> str:
    """Return a numbered text with each number replaced by the result of `mark`."""
    return _NUMBER.sub(lambda match: mark(int(match[1])), text)


class _CitationNumbers:
    """Numbers citations in the order in which they are mentioned."""

    def __init__(self, citations: Sequence[Citation], named: Sequence[str]) -> None:
        self._citations = citations
        self._numbers: dict[int, int] = {}
        self._passages: dict[str, list[int]] = {}
        for i, citation in enumerate(citations):
            self._passages.setdefault(str(citation.id), []).append(i)
        self._in_place = {
            identifier: iter(places)
            for identifier, places in self._passages.items()
            if named.count(identifier) == len(places)
        }

    def of(self, identifier: str, sentence: str) -> list[int]:
        passages = self._passages.get(identifier, [])
        place = next(self._in_place.get(identifier, iter(())), None)
        matching = [i for i in passages if _overlaps(sentence, self._citations[i].quote)]
        if not matching and place is not None:
            matching = [place]
        elif not matching and passages:
            words = _words(sentence)
            matching = [max(passages, key=lambda i: len(words & _words(self._citations[i].quote)))]
        return [self._numbers.setdefault(i, len(self._numbers) + 1) for i in matching]

    def in_order(self) -> tuple[Citation, ...]:
        for i in range(len(self._citations)):
            self._numbers.setdefault(i, len(self._numbers) + 1)
        return tuple(self._citations[i] for i in self._numbers)


def _citation_ids(mark: re.Match[str]) -> list[str]:
    return re.split("[,;] ?", mark[1])


def _overlaps(sentence: str, quote: str) -> bool:
    """Return whether the quote contains the sentence, or the sentence the quote."""
    words, quoted = " ".join(sentence.split()), " ".join(str(quote).split())
    return bool(quoted and words) and (quoted in words or words in quoted)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", str(text).casefold()))


LONG = 300
"""Maximum length of a quote in a list, in characters."""


def render_text(state: AnswerState, seen_at: str = "") -> str:
    """Return everything received: the question, and the answer or its parts so far.

    Args:
        state: the state.
        seen_at: the time of the state, for an unfinished answer that may be seen much later.
    """
    rows = [plain(state.question)]
    if state.answer is not None:
        rows += ["", render_answer(state.answer)]
    else:
        rows += [
            search_text(state),
            *(partial_text(*partial) for partial in state.partials),
            tidy(state.writing),
            interruption_text(state) or step_text(current_step(state), seen_at),
        ]
    return "\n".join(rows if state.answer else filter(None, rows))


def render_answer(answer: Answer, *, only_citations: bool = False) -> str:
    """Return an answer with numbered marks, followed by its citations, or only those.

    Quotes that stand in the answer are not repeated.
    """
    numbered = number_citations(answer.text, answer.citations)
    rows = [] if only_citations else [with_numbers(numbered)]
    if numbered.citations:
        rows += ["", *_citation_lines(numbered)]
    for line in footer_lines(answer):
        rows += ["", line]
    return "\n".join(rows)


def _citation_lines(numbered: NumberedText) -> Iterator[str]:
    """Yield `[1] Title, page 3` for each citation; adjacent ones with one text share a line."""
    texts = (citation_text(citation, numbered.text) for citation in numbered.citations)
    for text, group in groupby(enumerate(texts, 1), itemgetter(1)):
        numbers = [f"[{number}]" for number, _ in group]
        yield f"{'–'.join(dict.fromkeys((numbers[0], numbers[-1])))} {text}"


def footer_lines(answer: Answer) -> list[str]:
    """Return the note of an answer and what it was written by, each if it is known."""
    return [*filter(None, (plain(answer.note or ""), source_text(answer)))]


def with_numbers(numbered: NumberedText) -> str:
    """Return the text with marks such as `[1]` for its citations."""
    return replace_numbers(numbered.text, lambda number: f" [{number}]")


def citation_text(citation: Citation, answer: str) -> str:
    """Return `Title, page 3: “quote”`, without the quote if it stands in the answer."""
    from labext.nb.references import is_quoted

    quote, place = plain(citation.quote, LONG), citation_place(citation)
    return f"{place}: “{quote}”" if quote and not is_quoted(citation.quote, answer) else place


def citation_place(citation: Citation) -> str:
    """Return the source of a citation: its title, else its identifier, and its page.

    Recognized speech is marked as a rough transcript.
    """
    source = plain(citation.title) or plain(citation.id)
    place = source if citation.page is None else f"{source}, page {plain(citation.page)}"
    return place + transcript_note(citation.transcript, citation.confidence)


def transcript_note(is_transcript: bool, confidence: float | None) -> str:
    """Return ` (rough transcript, 71 % certain)` for recognized speech, else an empty string."""
    if not is_transcript:
        return ""
    if confidence is None or confidence != confidence:  # NaN, in a frame
        return " (rough transcript)"
    return f" (rough transcript, {confidence * 100:.0f} % certain)"


def header_text(table_header: str) -> str:
    """Return the line above a passage that continues a table."""
    return f"First row of the table: {plain(table_header)}"


def search_text(state: AnswerState) -> str:
    """Return the search terms on one line, or an empty string if there are none."""
    return f"Searching: {'; '.join(map(plain, state.searches))}" if state.searches else ""


def partial_text(text: str, citations: Sequence[Citation]) -> str:
    """Return a partial answer without its citation marks."""
    return f"· {without_marks(text, citations)}"


def without_marks(text: str, citations: Sequence[Citation]) -> str:
    """Return a text without its citation marks, except those without a known citation."""
    return replace_numbers(number_citations(text, citations).text, lambda _: "")


_QUOTING_MODELS = ("extractive", "model:extractive")
"""Name and identifier of the local service's model, which only quotes."""


def source_text(answer: Answer) -> str:
    """Return `Answered by MODEL: TOKENS, COST`, or an empty string if neither is known.

    Without a language model and a matching passage, it says where to look next.
    """
    usage = "" if answer.usage is None else str(answer.usage)
    if not answer.model:
        return usage and f"{usage}."
    if answer.model in _QUOTING_MODELS and not answer.citations:
        return (
            "Searched without a language model. `%nb search` lists the closest passages, "
            "`%nb insights` the key sentences of sources; `%nb credentials new` and "
            "`%nb models setup` connect a model."
        )
    return model_text("Answered", answer.model, usage)


def model_text(verb: str, model: str, usage: str | None) -> str:
    """Return `VERB by MODEL: USAGE`, or a sentence that says that no language model was used."""
    if model in _QUOTING_MODELS:
        return (
            "Quoted without a language model. `%nb credentials new` and `%nb models setup` "
            "connect one."
        )
    return f"{verb} by {plain(model)}{f': {usage}' if usage else ''}."


WRITING = "Writing…"
INTERRUPTED = "(interrupted)"
"""Mark below a text that is incomplete."""


def current_step(state: AnswerState) -> str:
    """Return what an unfinished answer waits for."""
    if state.writing:
        return WRITING
    if not state.searches and not state.partials:
        return "Asking…"
    return "Searching…" if len(state.partials) < len(state.searches) else "Writing the answer…"


def step_text(step: str, seen_at: str) -> str:
    """Return the step of an unfinished text, with the time at which it was seen."""
    return f"{step} As of {seen_at}." if seen_at else step


def interruption_text(state: AnswerState) -> str:
    """Return the reason why the answer was interrupted, or an empty string."""
    return f"Interrupted: {plain(state.broken)}" if state.broken else ""
