"""Answer writer that prompts a language model with passages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from labext.sandbox.nb.ask.answers import (
    MARK,
    MAX_QUOTE_LENGTH,
    NO_MATCH,
    Answer,
    ChatTurn,
    Citation,
    Search,
    Strategy,
    citation_mark,
    cite,
    passage_mark,
    quotable_sentences,
    search_question,
    transcript_note,
    unique_citations,
)
from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.index import Hit
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
    return "\n\n".join(_format_passage(place, hit) for place, hit in enumerate(hits, 1))


def _format_passage(place: int, hit: Hit) -> str:
    page = "" if hit.page is None else f", page {hit.page}"
    title = f"{hit.title}{page}{transcript_note(hit)}"
    return f"Passage {place} {passage_mark(hit)} {title}\n{hit.text}"


MAX_SEARCHES = 5
MAX_HISTORY_MESSAGES = 20
"""Maximum number of earlier messages sent to the model."""

MAX_HISTORY_LENGTH = 24_000
"""Maximum characters of all earlier messages."""


class LlmAnswerWriter:
    """Write answers with a language model."""

    depth = 10

    def __init__(self, name: str, ask: assisted.AskModel) -> None:
        self.name = name
        self._ask = ask

    def strategy(self, question: str) -> Strategy:
        """Return the searches that the model proposes, or else the question itself."""
        proposal = _parse_json_object(self._ask_once(strategy_prompt(question, MAX_SEARCHES)))
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
        return parse_citations(self._ask_once(prompt), hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:
        """Return the model's merged answer; without passages, the model is not called."""
        if not hits:
            return NO_MATCH
        return parse_citations(self._ask_once(final_prompt(question, answers)), hits)

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """Return the model's reply to a message, given the earlier messages."""
        turns = [*_recent_turns(history), ChatTurn(True, message)]
        messages = [{"role": "user" if s.human else "assistant", "content": s.text} for s in turns]
        system = {"role": "system", "content": chat_prompt(hits)}
        return parse_citations(self._ask([system, *messages]), hits)

    def _ask_once(self, prompt: str) -> str:
        return self._ask([{"role": "user", "content": prompt}])


def _recent_turns(history: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Return the last complete messages within the limits, starting with a human's."""
    recent: list[ChatTurn] = []
    size = 0
    for turn in reversed(history[-MAX_HISTORY_MESSAGES:]):
        size += len(turn.text)
        if size > MAX_HISTORY_LENGTH:
            break
        recent.append(turn)
    while recent and not recent[-1].human:
        recent.pop()
    return recent[::-1]


def _parse_json_object(reply: str) -> dict[str, Any]:
    """Return the JSON object in a reply, ignoring text around it; empty if there is none."""
    start = reply.find("{")
    if start < 0:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _parse_searches(value: Any) -> list[Search]:
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    searches = [
        Search(_clean_text(item.get("term")), _clean_text(item.get("instructions")))
        for item in items
    ]
    return [search for search in searches if search.term]


def _clean_text(value: Any) -> str:
    return segmentation.encodable(value).strip() if isinstance(value, str) else ""


NOT_FOUND = "(not found in the sources)"
"""Appended to a sentence that is supported by none of the passages that it cites."""

MIN_SUPPORT = 0.4
"""Minimum share of a sentence's word stems in a passage that it cites without quoted words."""

_MIN_QUOTED_WORDS = 2

_GROUP = re.compile(rf"{MARK.pattern}(?:[ \t,;]{{0,4}}{MARK.pattern})*")
_NAME = re.compile(
    r"(source|note)\s*:\s*(\w+)(?:#(\d{1,18}))?(?:\s*[“\"„«]([^“”\"„«»]{1,500})[”\"“»])?"
)
_QUOTED = re.compile(r"[“\"„«]([^“”\"„«»]{1,500})[”\"“»]")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.|\[…\])\s*")
_NUMBER = re.compile(r"\d[\d.,]*\d")
_SAME = {
    **dict.fromkeys("-‐‑‒–—−", "[-‐‑‒–—−]"),
    **dict.fromkeys("'‘’", "['‘’]"),
    **dict.fromkeys('"“”„«»', '["“”„«»]'),
}
"""Characters that count as equal, as a character class."""


def parse_citations(reply: str, hits: Iterable[Hit]) -> Answer:
    """Return the answer in a model's reply, with the citations that its marks name.

    A citation is kept if the passage contains the words quoted in its mark and in the sentence;
    without quoted words, if the passage contains enough words of the sentence. The cited passages
    must contain the numbers of the sentence. A sentence of which no citation is kept is marked by
    `NOT_FOUND`.
    """
    passages: dict[str, list[Hit]] = {}
    for hit in hits:
        passages.setdefault(hit.parent_id, []).append(hit)
    citations: list[Citation] = []
    text = ""
    start = 0
    for group in _GROUP.finditer(reply):
        text += reply[start : group.start()]
        start = group.end()
        claim = _last_sentence(text)
        cited = list(_supported_citations(group.group(), passages, claim))
        if not _has_numbers(claim, cited):
            cited = []
        citations += cited
        marks = "".join(citation_mark(id) for id in dict.fromkeys(item.id for item in cited))
        if not marks:
            text = text.rstrip(" ")
            marks = f" {NOT_FOUND}" if segmentation.stem_words(claim) else ""
        text += marks
    text += reply[start:]
    return Answer(text.strip(), unique_citations(citations))


def _supported_citations(
    marks: str, passages: Mapping[str, Sequence[Hit]], claim: str
) -> Iterator[Citation]:
    """Yield the citations named in marks, with the words of the passage that support the claim."""
    for name in _NAME.finditer(marks):
        available = passages.get(f"{name[1]}:{name[2]}", ())
        exact = [hit for hit in available if str(hit.passage_id) == name[3]]
        supported = [
            (hit, quote)
            for hit in exact or available
            if (quote := _supporting_quote(hit.text, claim, name[4])) is not None
        ]
        if supported:
            yield cite(*max(supported, key=lambda pair: _word_overlap(pair[1], claim)))


def _supporting_quote(passage: str, claim: str, quoted: str | None) -> str | None:
    """Return the words of a passage that support a claim, or None if it does not."""
    if any(find_quote(passage, words) is None for words in _QUOTED.findall(claim)):
        return None
    if quoted is not None and len(quoted.split()) >= _MIN_QUOTED_WORDS:
        return find_quote(passage, quoted)
    stems = set(segmentation.stem_words(claim))
    share = len(stems & set(segmentation.stem_words(passage))) / max(len(stems), 1)
    if not stems or share < MIN_SUPPORT:
        return None
    quotes = quotable_sentences(passage)
    return max(quotes, key=lambda quote: _word_overlap(quote, claim)) if quotes else None


def find_quote(passage: str, quoted: str) -> str | None:
    """Return the substring of a passage that a quotation repeats; None if there is none.

    Case, line breaks, and the kind of dashes and quotation marks may differ. Every part of a
    quotation with an ellipsis must occur; the longest one is returned.
    """
    quotes: list[str] = []
    for part in _ELLIPSIS.split(quoted):
        words = part.strip(" .,;:").split()
        if not words:
            continue
        pattern = r"\s+".join("".join(_SAME.get(c, re.escape(c)) for c in word) for word in words)
        match = re.search(rf"(?<!\w){pattern}(?!\w)", passage, re.IGNORECASE)
        if match is None:
            return None
        quotes.append(match.group())
    longest = max(quotes, key=len, default="")
    return longest if 0 < len(longest) <= MAX_QUOTE_LENGTH else None


def _has_numbers(claim: str, cited: Sequence[Citation]) -> bool:
    """Return whether the cited passages contain the numbers of a claim, except single digits."""
    available = {number for item in cited for number in _numbers(f"{item.title} {item.passage}")}
    return _numbers(claim) <= available


def _numbers(text: str) -> set[str]:
    return {re.sub(r"[.,](?=\d{3}(?!\d))", "", number) for number in _NUMBER.findall(text)}


def _word_overlap(quote: str, claim: str) -> float:
    """Return the share of common word stems of two sentences, from 0 to 1."""
    one, other = set(segmentation.stem_words(quote)), set(segmentation.stem_words(claim))
    return len(one & other) / max(len(one | other), 1)


def _last_sentence(text: str) -> str:
    sentences = segmentation.split_sentences(MARK.sub(" ", text[-2000:]).replace(NOT_FOUND, " "))
    return sentences[-1] if sentences else ""
