"""What a model does on the way to an answer, whichever model it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labext.sandbox.nb.answers.citations import Answer
from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import tokens

FEWEST_TERMS = 3
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
class Said:
    """A message of a conversation: whether a human said it, and what."""

    human: bool
    text: str


def meant(history: Sequence[Said], message: str) -> str:
    """What a message of a conversation is about, in words to look for."""
    before = [each.text for each in history if each.human][-1:]
    if len(set(tokens.stems(message))) >= FEWEST_TERMS:
        return message
    return "\n".join([*before, message])


class Writer(Protocol):
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

    def talk(self, history: Sequence[Said], message: str, hits: Sequence[Hit]) -> Answer:
        """An answer to a message of a conversation, from the passages found for it."""
