"""Answers with their citations, and the events by which one comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Citation:
    """Where an answer has something from.

    Attributes:
        id, title: of the source or the note.
        quote: what is cited; it stands word for word in the passage.
        passage: the piece of the source's or note's text around it.
        page: of a file that has pages, from 1.
    """

    id: str
    title: str = ""
    quote: str = ""
    passage: str = ""
    page: int | None = None


@dataclass(frozen=True)
class Answer:
    """An answer out of the knowledge base.

    Attributes:
        text: the answer; it marks what it cites as `[source:…]` or `[note:…]`.
        citations: where it has it from; none where nothing supports an answer.
        question: what was asked.
        model: which model has answered, where the service tells.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    question: str = ""
    model: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Search:
    """What is looked for on the way to an answer."""

    term: str
    instructions: str = ""


@dataclass(frozen=True)
class Strategy:
    """How the service goes about a question."""

    reasoning: str
    searches: tuple[Search, ...] = ()


@dataclass(frozen=True)
class Partial:
    """What one of the searches says to the question."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Final:
    """The answer; nothing comes after it."""

    answer: Answer


AskEvent: TypeAlias = Strategy | Partial | Final
"""One step of an answer that is read as it comes."""
