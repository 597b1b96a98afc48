"""Answers by a language model: it is given passages with their marks, and cites by these."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labext.sandbox.nb.answers import prompts
from labext.sandbox.nb.answers.citations import NOTHING, Answer, parsed
from labext.sandbox.nb.answers.writing import Said, Search, Strategy
from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import tokens

Ask = Callable[[Sequence[Mapping[str, str]]], str]
"""A model's reply to the messages of a conversation."""

MOST_SEARCHES = 5
MOST_HISTORY = 20
"""Messages of a conversation that the model is given again."""

LONGEST_HISTORY = 24_000
"""Characters of them all."""


class Prompted:
    """A language model as a writer.

    Args:
        name: the model's.
        ask: what it replies.
    """

    def __init__(self, name: str, ask: Ask) -> None:
        self.name = name
        self._ask = ask

    def strategy(self, question: str) -> Strategy:
        """What the model wants to look for; the question itself, where it names nothing."""
        found = _json_object(self._asked(prompts.strategy(question, MOST_SEARCHES)))
        searches = tuple(_searches(found.get("searches")))[:MOST_SEARCHES]
        reasoning = _text(found.get("reasoning"))
        return Strategy(
            reasoning or "The question is looked for as it stands.",
            searches or (Search(question, "Answer the question."),),
        )

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:
        """What the model makes of passages; without any it is not asked."""
        if not hits:
            return NOTHING
        prompt = prompts.answer(question, search.term, search.instructions, hits)
        return parsed(self._asked(prompt), hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:
        """What the model makes of the answers; without a passage it is not asked."""
        if not hits:
            return NOTHING
        return parsed(self._asked(prompts.final(question, answers)), hits)

    def talk(self, history: Sequence[Said], message: str, hits: Sequence[Hit]) -> Answer:
        """What the model says to a message, knowing what was said before."""
        said = [*_recent(history), Said(True, message)]
        messages = [{"role": "user" if s.human else "assistant", "content": s.text} for s in said]
        system = {"role": "system", "content": prompts.talk(hits)}
        return parsed(self._ask([system, *messages]), hits)

    def _asked(self, prompt: str) -> str:
        return self._ask([{"role": "user", "content": prompt}])


def _recent(history: Sequence[Said]) -> list[Said]:
    """The last messages, as many as are not too long; whole ones, from a human's on."""
    kept: list[Said] = []
    size = 0
    for said in reversed(history[-MOST_HISTORY:]):
        size += len(said.text)
        if size > LONGEST_HISTORY:
            break
        kept.append(said)
    while kept and not kept[-1].human:
        kept.pop()
    return kept[::-1]


def _json_object(reply: str) -> dict[str, Any]:
    """The JSON object in a reply, perhaps between fences or words; empty where there is none."""
    start = reply.find("{")
    if start < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _searches(value: Any) -> list[Search]:
    named = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    found = [Search(_text(each.get("term")), _text(each.get("instructions"))) for each in named]
    return [search for search in found if search.term]


def _text(value: Any) -> str:
    return tokens.encodable(value).strip() if isinstance(value, str) else ""
