"""What an answer stands on: marks in its text, and for each the words of a passage.

A mark is the identifier of a source or a note in square brackets, `[source:abc]`. A citation's
quote stands word for word in the passage that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import tokens

LONGEST_QUOTE = 600
"""Characters; a longer sentence, such as a table without full stops, is cut between words."""

_LISTED = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_MARK = re.compile(r"\[{1,2}\s*((?:source|note)\s*:[^\[\]\n]{1,400})\]{1,2}")
_NAME = re.compile(r"((?:source|note):\w+)(?:#(\d{1,18}))?")


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


NOTHING = Answer("No passage matches well enough.")
"""The answer to a question that no passage matches."""


def so_far(answer: Answer, unprocessed: int) -> Answer:
    """Return an answer that does not claim more than is known while sources are processed.

    Args:
        answer: a model's.
        unprocessed: the number of sources in the question's scope whose text is not known yet.
    """
    if answer != NOTHING or not unprocessed:
        return answer
    sources = "1 source is" if unprocessed == 1 else f"{unprocessed:,} sources are"
    return Answer(
        f"No passage that has been processed matches well enough; {sources} still being processed."
    )


def mark(parent_id: str) -> str:
    """How a text names a source or a note."""
    return f"[{parent_id}]"


def passage_mark(hit: Hit) -> str:
    """How a prompt names a passage."""
    return mark(f"{hit.parent_id}#{hit.passage_id}")


def cited(hit: Hit, quote: str) -> Citation:
    """A citation of words of a passage."""
    return Citation(hit.parent_id, hit.title, hit.passage_id, hit.page, quote, hit.text)


def quotable(text: str) -> list[str]:
    """The sentences of a text as they are quoted: without the sign of a list's item, not long."""
    return [_short(_LISTED.sub("", sentence)) for sentence in tokens.sentences(text)]


def parsed(reply: str, given: Iterable[Hit]) -> Answer:
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
        named = list(_named(marked.group(1), passages, claim))
        found += named
        marks = "".join(mark(each) for each in dict.fromkeys(each.id for each in named))
        text = text + marks if marks else text.rstrip(" ")
    text += reply[start:]
    return Answer(text.strip(), distinct(found))


def distinct(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Each once, in their order."""
    return tuple(dict.fromkeys(citations))


def _named(inside: str, passages: Mapping[str, Sequence[Hit]], claim: str) -> Iterator[Citation]:
    """The citations that a mark's inside names, perhaps several."""
    for name in _NAME.finditer(re.sub(r"\s*:\s*", ":", inside)):
        there = passages.get(name.group(1), ())
        exact = [hit for hit in there if str(hit.passage_id) == name.group(2)]
        quotes = [(hit, quote) for hit in exact or there for quote in quotable(hit.text)]
        if quotes:
            yield cited(*max(quotes, key=lambda each: _nearness(each[1], claim)))


def _nearness(quote: str, claim: str) -> float:
    """How much two sentences have in common: 1 where they are of the same words."""
    one, other = set(tokens.stems(quote)), set(tokens.stems(claim))
    return len(one & other) / max(len(one | other), 1)


def _last_sentence(text: str) -> str:
    found = tokens.sentences(_MARK.sub(" ", text[-2000:]))
    return found[-1] if found else ""


def _short(sentence: str) -> str:
    if len(sentence) <= LONGEST_QUOTE:
        return sentence
    head = sentence[:LONGEST_QUOTE]
    return head.rpartition(" ")[0] or head
