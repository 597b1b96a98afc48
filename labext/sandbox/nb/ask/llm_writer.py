"""Answer writer that prompts a language model with passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.sandbox.nb.ask.answers import (
    NO_MATCH,
    Answer,
    ChatTurn,
    Search,
    Strategy,
    passage_mark,
    search_question,
    transcript_note,
)
from labext.sandbox.nb.ask.citation_check import NOT_FOUND, name_passages, parse_citations
from labext.sandbox.nb.providers.chat import parse_json
from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import segmentation

_CITATION_RULES = (
    "Behind each sentence put the mark of the passage that it is taken from, exactly as the "
    "passage has it, and in it a few words of the passage that prove the sentence, word for word: "
    "[source:abc#1 “words of the passage”]. Use no other marks, and invent none. Say nothing "
    "that the passages don't say. If they don't answer the question, say so and cite nothing."
)


def strategy_prompt(question: str, max_searches: int) -> str:
    """Return the prompt for a search strategy."""
    return (
        "A knowledge base of research material is to answer this question:\n\n"
        f"{question}\n\n"
        f"Which searches find what is needed? Give 1 to {max_searches}, each with a short term "
        "and with instructions for whoever reads what it finds. Answer with a JSON object alone:\n"
        '{"reasoning": "…", "searches": [{"term": "…", "instructions": "…"}]}'
    )


def answer_prompt(question: str, term: str, instructions: str, hits: Sequence[Hit]) -> str:
    """Return the prompt to answer a question from passages."""
    return (
        f"The question is:\n\n{question}\n\n"
        f"A search for “{term}” found these passages:\n\n{format_passages(hits)}\n\n"
        f"{instructions}\n{_CITATION_RULES}"
    )


def final_prompt(question: str, answers: Sequence[Answer]) -> str:
    """Return the prompt to merge several answers into one."""
    parts = "\n\n".join(
        f"Answer {place}:\n{answer.text}" for place, answer in enumerate(answers, 1)
    )
    return (
        f"The question is:\n\n{question}\n\n"
        f"Several searches were answered:\n\n{parts}\n\n"
        "Make one answer of them. Keep the marks in square brackets, exactly as they are, behind "
        "what they belong to; use no other marks, and invent none. Leave out the sentences with "
        f"“{NOT_FOUND}”. If the answers don't answer the question, say so and cite nothing."
    )


def chat_prompt(hits: Sequence[Hit]) -> str:
    """Return the system prompt of a conversation."""
    passages = format_passages(hits) if hits else "(none)"
    return (
        "You help a researcher with the material in a notebook. These passages of it were found "
        f"for the last message:\n\n{passages}\n\n{_CITATION_RULES}"
    )


def format_passages(hits: Sequence[Hit]) -> str:
    """Return the passages with their numbers and marks."""
    texts = []
    for place, hit in enumerate(hits, 1):
        page = "" if hit.page is None else f", page {hit.page}"
        title = f"{hit.title}{page}{transcript_note(hit)}"
        lines = [f"Passage {place} {passage_mark(hit)} {title}", hit.heading, hit.text]
        texts.append("\n".join(filter(None, lines)))
    return "\n\n".join(texts)


MAX_SEARCHES = 5
MAX_HISTORY_MESSAGES = 20
"""Maximum number of earlier messages sent to the model."""

MAX_HISTORY_LENGTH = 24_000
"""Maximum characters of all earlier messages."""

_OMISSION = "\n\n[… the middle of this long message is omitted …]\n\n"


class LlmAnswerWriter:
    """Write answers with a language model."""

    depth = 10

    def __init__(self, name: str, ask: assisted.AskModel) -> None:
        self.name = name
        self._ask = ask

    def strategy(self, question: str) -> Strategy:
        """Return the searches that the model proposes, or else the question itself."""
        reply = assisted.ask_once(self._ask, strategy_prompt(question, MAX_SEARCHES))
        plans = (plan for plan in parse_json(reply, "{") if "searches" in plan)
        proposal: Mapping[str, Any] = next(plans, {})
        searches = tuple(_parse_searches(proposal.get("searches")))[:MAX_SEARCHES]
        reasoning = _clean_text(proposal.get("reasoning"))
        return Strategy(
            reasoning or "The question itself is searched for.",
            searches or search_question(question).searches,
        )

    def rerank(self, term: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the passages in the order of the model."""
        return assisted.rerank(self._ask, term, hits)

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:
        """Return the model's answer from passages; without any, the model is not called."""
        if not hits:
            return NO_MATCH
        prompt = answer_prompt(question, search.term, search.instructions, hits)
        return _parse_reply(assisted.ask_once(self._ask, prompt), hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:
        """Return the model's merged answer; without passages, the model is not called."""
        if not hits:
            return NO_MATCH
        marks = ["".join(map(passage_mark, answer.citations)) for answer in answers]
        reply = assisted.ask_once(self._ask, final_prompt(question, answers))
        return parse_citations(name_passages(reply, marks), hits)

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """Return the model's reply to a message, given the earlier messages."""
        turns = [*_recent_turns(history), ChatTurn(True, message)]
        messages = [{"role": "user" if s.human else "assistant", "content": s.text} for s in turns]
        system = {"role": "system", "content": chat_prompt(hits)}
        return _parse_reply(self._ask([system, *messages]), hits)


def _parse_reply(reply: str, hits: Sequence[Hit]) -> Answer:
    return parse_citations(name_passages(reply, [*map(passage_mark, hits)]), hits)


def _recent_turns(history: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Return the last messages within the limits, starting with a human's.

    Long ones are shortened, so that the last message and its reply are always among them.
    """
    recent: list[ChatTurn] = []
    size = 0
    for turn in reversed(history[-MAX_HISTORY_MESSAGES:]):
        text = _shorten_middle(turn.text, MAX_HISTORY_LENGTH // 2)
        size += len(text)
        if size > MAX_HISTORY_LENGTH:
            break
        recent.append(ChatTurn(turn.human, text))
    while recent and not recent[-1].human:
        recent.pop()
    return recent[::-1]


def _shorten_middle(text: str, length: int) -> str:
    """Return a text without its middle, if it has more characters."""
    if len(text) <= length:
        return text
    half = (length - len(_OMISSION)) // 2
    return f"{text[:half]}{_OMISSION}{text[-half:]}"


def _parse_searches(value: Any) -> list[Search]:
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    searches = [
        Search(_clean_text(item.get("term")), _clean_text(item.get("instructions")))
        for item in items
    ]
    # A copy of the prompt's example has the term “…”.
    return [search for search in searches if any(map(str.isalnum, search.term))]


def _clean_text(value: Any) -> str:
    return segmentation.encodable(value).strip() if isinstance(value, str) else ""
