"""Answer writer that prompts a language model with passages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labext.sandbox.nb.ask.answers import (
    NO_MATCH,
    Answer,
    ChatTurn,
    Search,
    Strategy,
    parse_citations,
    passage_mark,
)
from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.text import segmentation

_CITATION_RULES = (
    "Behind each sentence put the mark of the passage that it is taken from, exactly as the "
    "passage has it, such as [source:abc#1]. Use no other marks, and invent none. Say nothing "
    "that the passages don't say. If they don't answer the question, say so and cite nothing."
)


def strategy_prompt(question: str, most: int) -> str:
    """How to go about a question."""
    return (
        "A knowledge base of research material is to answer this question:\n\n"
        f"{question}\n\n"
        f"Which searches find what is needed? Give 1 to {most}, each with a short term and with "
        "instructions for whoever reads what it finds. Answer with a JSON object alone:\n"
        '{"reasoning": "…", "searches": [{"term": "…", "instructions": "…"}]}'
    )


def answer_prompt(question: str, term: str, instructions: str, hits: Sequence[Hit]) -> str:
    """What passages say to a question."""
    return (
        f"The question is:\n\n{question}\n\n"
        f"A search for “{term}” found these passages:\n\n{format_passages(hits)}\n\n"
        f"{instructions}\n{_CITATION_RULES}"
    )


def final_prompt(question: str, answers: Sequence[Answer]) -> str:
    """One answer of several."""
    parts = "\n\n".join(f"Answer {place}:\n{each.text}" for place, each in enumerate(answers, 1))
    return (
        f"The question is:\n\n{question}\n\n"
        f"Several searches were answered:\n\n{parts}\n\n"
        "Make one answer of them. Keep the marks in square brackets, exactly as they are, behind "
        "what they belong to; use no other marks, and invent none. If the answers don't answer the "
        "question, say so and cite nothing."
    )


def chat_prompt(hits: Sequence[Hit]) -> str:
    """What a conversation is about."""
    found = format_passages(hits) if hits else "(none)"
    return (
        "You help a researcher with the material in a notebook. These passages of it were found "
        f"for the last message:\n\n{found}\n\n{_CITATION_RULES}"
    )


def format_passages(hits: Sequence[Hit]) -> str:
    """Passages with their numbers and marks."""
    return "\n\n".join(_format_passage(place, hit) for place, hit in enumerate(hits, 1))


def _format_passage(place: int, hit: Hit) -> str:
    page = "" if hit.page is None else f", page {hit.page}"
    return f"Passage {place} {passage_mark(hit)} {hit.title}{page}\n{hit.text}"


AskModel = Callable[[Sequence[Mapping[str, str]]], str]
"""A model's reply to the messages of a conversation."""

MAX_SEARCHES = 5
MAX_HISTORY_MESSAGES = 20
"""Messages of a conversation that the model is given again."""

MAX_HISTORY_LENGTH = 24_000
"""Characters of them all."""


class LlmAnswerWriter:
    """A language model as a writer.

    Args:
        name: the model's.
        ask: what it replies.
    """

    def __init__(self, name: str, ask: AskModel) -> None:
        self.name = name
        self._ask = ask

    def strategy(self, question: str) -> Strategy:
        """What the model wants to look for; the question itself, where it names nothing."""
        found = _parse_json_object(self._asked(strategy_prompt(question, MAX_SEARCHES)))
        searches = tuple(_parse_searches(found.get("searches")))[:MAX_SEARCHES]
        reasoning = _clean_text(found.get("reasoning"))
        return Strategy(
            reasoning or "The question is looked for as it stands.",
            searches or (Search(question, "Answer the question."),),
        )

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:
        """What the model makes of passages; without any it is not asked."""
        if not hits:
            return NO_MATCH
        prompt = answer_prompt(question, search.term, search.instructions, hits)
        return parse_citations(self._asked(prompt), hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:
        """What the model makes of the answers; without a passage it is not asked."""
        if not hits:
            return NO_MATCH
        return parse_citations(self._asked(final_prompt(question, answers)), hits)

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """What the model says to a message, knowing what was said before."""
        said = [*_recent_turns(history), ChatTurn(True, message)]
        messages = [{"role": "user" if s.human else "assistant", "content": s.text} for s in said]
        system = {"role": "system", "content": chat_prompt(hits)}
        return parse_citations(self._ask([system, *messages]), hits)

    def _asked(self, prompt: str) -> str:
        return self._ask([{"role": "user", "content": prompt}])


def _recent_turns(history: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The last messages, as many as are not too long; whole ones, from a human's on."""
    kept: list[ChatTurn] = []
    size = 0
    for said in reversed(history[-MAX_HISTORY_MESSAGES:]):
        size += len(said.text)
        if size > MAX_HISTORY_LENGTH:
            break
        kept.append(said)
    while kept and not kept[-1].human:
        kept.pop()
    return kept[::-1]


def _parse_json_object(reply: str) -> dict[str, Any]:
    """The JSON object in a reply, perhaps between fences or words; empty where there is none."""
    start = reply.find("{")
    if start < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parse_searches(value: Any) -> list[Search]:
    named = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    found = [
        Search(_clean_text(each.get("term")), _clean_text(each.get("instructions")))
        for each in named
    ]
    return [search for search in found if search.term]


def _clean_text(value: Any) -> str:
    return segmentation.encodable(value).strip() if isinstance(value, str) else ""
