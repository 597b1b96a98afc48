"""Answers, their citations, and the interface of the answer writers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import segmentation

MAX_QUOTE_LENGTH = 600
"""Characters; a longer sentence, such as a table without full stops, is cut between words."""

_LIST_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_MARK = re.compile(r"\[{1,2}\s*((?:source|note)\s*:[^\[\]\n]{1,400})\]{1,2}")
_MARK_NAME = re.compile(r"((?:source|note):\w+)(?:#(\d{1,18}))?")


@dataclass(frozen=True)
class Citation:
    """Words of a passage that an answer stands on.

    Attributes:
        id, title: of the source or note.
        passage_id, page, passage: of the passage; its text.
        quote: stands word for word in it.
    """

    id: str
    title: str
    passage_id: int
    page: int | None
    quote: str
    passage: str

    def record(self) -> dict[str, Any]:
        """As the service answers it, and a message keeps it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Answer:
    """A text with marks, and what they stand for, each once, in the order of the text."""

    text: str
    citations: tuple[Citation, ...] = ()


NO_MATCH = Answer("No passage matches well enough.")
"""The answer to a question that no passage matches."""


def mention_unprocessed(answer: Answer, unprocessed: int) -> Answer:
    """Return an answer that does not claim more than is known while sources are processed.

    Args:
        answer: a model's.
        unprocessed: the number of sources in the question's scope whose text is not known yet.
    """
    if answer != NO_MATCH or not unprocessed:
        return answer
    sources = "1 source is" if unprocessed == 1 else f"{unprocessed:,} sources are"
    return Answer(
        f"No passage that has been processed matches well enough; {sources} still being processed."
    )


def citation_mark(parent_id: str) -> str:
    """How a text names a source or a note."""
    return f"[{parent_id}]"


def passage_mark(hit: Hit) -> str:
    """How a prompt names a passage."""
    return citation_mark(f"{hit.parent_id}#{hit.passage_id}")


def cite(hit: Hit, quote: str) -> Citation:
    """A citation of words of a passage."""
    return Citation(hit.parent_id, hit.title, hit.passage_id, hit.page, quote, hit.text)


def quotable_sentences(text: str) -> list[str]:
    """The sentences of a text as they are quoted: without the sign of a list's item, not long."""
    return [
        _shorten_quote(_LIST_MARK.sub("", sentence))
        for sentence in segmentation.split_sentences(text)
    ]


def parse_citations(reply: str, given: Iterable[Hit]) -> Answer:
    """A model's reply with the citations that its marks name.

    A mark of something that was not given to the model is taken out. Where a source was given with
    several passages and the mark names none, it stands for the one that is nearest to what the
    reply says there.
    """
    passages: dict[str, list[Hit]] = {}
    for hit in given:
        passages.setdefault(hit.parent_id, []).append(hit)
    found: list[Citation] = []
    text = ""
    start = 0
    for marked in _MARK.finditer(reply):
        text += reply[start : marked.start()]
        start = marked.end()
        claim = _last_sentence(text)
        named = list(_marked_citations(marked.group(1), passages, claim))
        found += named
        marks = "".join(citation_mark(each) for each in dict.fromkeys(each.id for each in named))
        text = text + marks if marks else text.rstrip(" ")
    text += reply[start:]
    return Answer(text.strip(), unique_citations(found))


def unique_citations(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Each once, in their order."""
    return tuple(dict.fromkeys(citations))


def _marked_citations(
    inside: str, passages: Mapping[str, Sequence[Hit]], claim: str
) -> Iterator[Citation]:
    """The citations that a mark's inside names, perhaps several."""
    for name in _MARK_NAME.finditer(re.sub(r"\s*:\s*", ":", inside)):
        there = passages.get(name.group(1), ())
        exact = [hit for hit in there if str(hit.passage_id) == name.group(2)]
        quotes = [(hit, quote) for hit in exact or there for quote in quotable_sentences(hit.text)]
        if quotes:
            yield cite(*max(quotes, key=lambda each: _word_overlap(each[1], claim)))


def _word_overlap(quote: str, claim: str) -> float:
    """How much two sentences have in common: 1 where they are of the same words."""
    one, other = set(segmentation.stem_words(quote)), set(segmentation.stem_words(claim))
    return len(one & other) / max(len(one | other), 1)


def _last_sentence(text: str) -> str:
    found = segmentation.split_sentences(_MARK.sub(" ", text[-2000:]))
    return found[-1] if found else ""


def _shorten_quote(sentence: str) -> str:
    if len(sentence) <= MAX_QUOTE_LENGTH:
        return sentence
    head = sentence[:MAX_QUOTE_LENGTH]
    return head.rpartition(" ")[0] or head


MIN_TERMS = 3
"""A message of fewer, such as “And then?”, is meant together with the one before."""


@dataclass(frozen=True)
class Search:
    """What is looked for, and what to make of what is found."""

    term: str
    instructions: str


@dataclass(frozen=True)
class Strategy:
    """How a question is gone about; it has a search at least."""

    reasoning: str
    searches: tuple[Search, ...]


@dataclass(frozen=True)
class ChatTurn:
    """A message of a conversation: whether a human said it, and what."""

    human: bool
    text: str


def resolve_query(history: Sequence[ChatTurn], message: str) -> str:
    """What a message of a conversation is about, in words to look for."""
    before = [each.text for each in history if each.human][-1:]
    if len(set(segmentation.stem_words(message))) >= MIN_TERMS:
        return message
    return "\n".join([*before, message])


class AnswerWriter(Protocol):
    """A model that answers from passages.

    What needs a model's server raises HTTPException (502, or 422 where it can't be asked), and
    `HungUp` where nobody waits any more.
    """

    @property
    def name(self) -> str:
        """What the model is called in the answers that it made."""

    def strategy(self, question: str) -> Strategy:
        """What to look for."""

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:
        """What the passages that a search found say to the question."""

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:
        """One answer of several; `hits` are all that they were made of."""

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """An answer to a message of a conversation, from the passages found for it."""
