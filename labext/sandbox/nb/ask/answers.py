"""Answers, their citations, and the parts of questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import segmentation

MAX_QUOTE_LENGTH = 600
"""Maximum characters; longer sentences, such as a table without full stops, are cut at a word."""

_LIST_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_WORD, _QUOTE = r"[^\[\]【】\n“\"„«]", r"[“\"„«][^“”\"„«»]{1,500}"
_QUOTES = rf"{_WORD}{{1,200}}(?:{_QUOTE}[”\"“»]{_WORD}{{0,200}})"
MARK = re.compile(
    r"[\[【]{1,2}\s*((?:[Ss]ource|note)\s*:"
    rf"(?:{_QUOTES}{{1,8}}|[^\[\]【】\n]{{1,600}}))[\]】]{{1,2}}"
)
"""A mark by which a model cites one or more passages, each with the words it relies on.

The words may have brackets and line breaks, as in a text that cites others: `as shown [12]`.
"""


@dataclass(frozen=True)
class Citation:
    """A quotation from a passage that supports an answer.

    Attributes:
        id, title: identify the source or note.
        passage_id, page, passage: the passage's identifier, page and text.
        quote: an exact substring of the passage.
        transcript, confidence: whether the passage is recognized speech, and how certain it is.
        table_header: the first row of the table that the passage continues.
    """

    id: str
    title: str
    passage_id: int
    page: int | None
    quote: str
    passage: str
    transcript: bool = False
    confidence: float | None = None
    table_header: str | None = None

    def record(self) -> dict[str, Any]:
        """Return the record used in responses and stored with messages."""
        return dict(vars(self))


@dataclass(frozen=True)
class Answer:
    """A text with citation marks, and its unique citations in the order of the text."""

    text: str
    citations: tuple[Citation, ...] = ()


NO_MATCH = Answer("No passage matches well enough.")
"""The answer to a question that no passage matches."""


def mention_unprocessed(answer: Answer, unprocessed: int) -> Answer:
    """Return an answer that does not claim more than is known while sources are processed.

    `unprocessed` is the number of sources in the question's scope that have no text yet.
    """
    if not answer.text.startswith(NO_MATCH.text) or not unprocessed:
        return answer
    sources = "1 source is" if unprocessed == 1 else f"{unprocessed:,} sources are"
    return Answer(
        f"No passage that has been processed matches well enough; {sources} still being processed."
    )


def citation_mark(parent_id: str) -> str:
    """Return the mark by which a text cites a source or a note."""
    return f"[{parent_id}]"


def passage_mark(passage: Hit | Citation) -> str:
    """Return the mark by which a prompt names a passage."""
    parent_id = passage.id if isinstance(passage, Citation) else passage.parent_id
    return citation_mark(f"{parent_id}#{passage.passage_id}")


def cite(hit: Hit, quote: str) -> Citation:
    """Return a citation that quotes a passage."""
    return Citation(
        hit.parent_id,
        hit.title,
        hit.passage_id,
        hit.page,
        quote,
        hit.text,
        hit.transcript,
        hit.confidence,
        hit.table_header,
    )


def transcript_note(passage: Hit | Citation) -> str:
    """Return ` (rough transcript, 71 % certain)` for recognized speech, else an empty text."""
    if not passage.transcript:
        return ""
    if passage.confidence is None:
        return " (rough transcript)"
    return f" (rough transcript, {passage.confidence * 100:.0f} % certain)"


def quotable_sentences(text: str) -> list[str]:
    """Return the sentences of a text for quoting: without list markers, and shortened."""
    return [
        _shorten_quote(_LIST_MARK.sub("", sentence))
        for sentence in segmentation.split_sentences(text)
    ]


_OPEN_MARK = re.compile(
    rf"[ \t]{{0,4}}(?:[\[【]{{1,2}}(?:\s*(?:[Ss]ource|note)\s*:{_QUOTES}{{0,8}}(?:{_QUOTE})?"
    r"|[^\[\]【】\n]{0,600})[\]】]?)?\Z"
)


class MarkRemover:
    """Removes the citation marks from words that arrive in pieces."""

    def __init__(self, on_words: Callable[[str], None]) -> None:
        self._on_words = on_words
        self._pending = ""

    def feed(self, words: str) -> None:
        """Pass the words on, except for a possible beginning of a mark."""
        text = _MARK_WITH_SPACE.sub("", self._pending + words)
        end = _OPEN_MARK.search(text)
        ready = text[: end.start()] if end else text
        self._pending = text[len(ready) :]
        if ready:
            self._on_words(ready)


_MARK_WITH_SPACE = re.compile(rf"[ \t]{{0,4}}{MARK.pattern}")


def _shorten_quote(sentence: str) -> str:
    if len(sentence) <= MAX_QUOTE_LENGTH:
        return sentence
    head = sentence[:MAX_QUOTE_LENGTH]
    return head.rpartition(" ")[0] or head


MIN_TERMS = 3
"""A message with fewer terms, such as “And then?”, is searched together with the previous one."""


@dataclass(frozen=True)
class Search:
    """A search term, and instructions for evaluating its results."""

    term: str
    instructions: str


@dataclass(frozen=True)
class Strategy:
    """A plan for answering a question, with at least one search."""

    reasoning: str
    searches: tuple[Search, ...]


def search_question(question: str) -> Strategy:
    """Return the strategy that searches for the question itself."""
    return Strategy(
        "The question itself is searched for.", (Search(question, "Answer the question."),)
    )


@dataclass(frozen=True)
class ChatTurn:
    """A message of a conversation, written by a human or the model."""

    human: bool
    text: str


def resolve_query(history: Sequence[ChatTurn], message: str) -> str:
    """Return the search query for a message of a conversation."""
    previous = [turn.text for turn in history if turn.human][-1:]
    if len(set(segmentation.stem_words(message))) >= MIN_TERMS:
        return message
    return "\n".join([*previous, message])
