"""What a language model is told. Passages have numbers, and marks by which it cites them."""

from __future__ import annotations

from collections.abc import Sequence

from labext.sandbox.nb.answers.citations import Answer, passage_mark
from labext.sandbox.nb.search.index import Hit

_CITING = (
    "Behind each sentence put the mark of the passage that it is taken from, exactly as the "
    "passage has it, such as [source:abc#1]. Use no other marks, and invent none. Say nothing "
    "that the passages don't say. If they don't answer the question, say so and cite nothing."
)


def strategy(question: str, most: int) -> str:
    """How to go about a question."""
    return (
        "A knowledge base of research material is to answer this question:\n\n"
        f"{question}\n\n"
        f"Which searches find what is needed? Give 1 to {most}, each with a short term and with "
        "instructions for whoever reads what it finds. Answer with a JSON object alone:\n"
        '{"reasoning": "…", "searches": [{"term": "…", "instructions": "…"}]}'
    )


def answer(question: str, term: str, instructions: str, hits: Sequence[Hit]) -> str:
    """What passages say to a question."""
    return (
        f"The question is:\n\n{question}\n\n"
        f"A search for “{term}” found these passages:\n\n{passages(hits)}\n\n"
        f"{instructions}\n{_CITING}"
    )


def final(question: str, answers: Sequence[Answer]) -> str:
    """One answer of several."""
    parts = "\n\n".join(f"Answer {place}:\n{each.text}" for place, each in enumerate(answers, 1))
    return (
        f"The question is:\n\n{question}\n\n"
        f"Several searches were answered:\n\n{parts}\n\n"
        "Make one answer of them. Keep the marks in square brackets, exactly as they are, behind "
        "what they belong to; use no other marks, and invent none. If the answers don't answer the "
        "question, say so and cite nothing."
    )


def talk(hits: Sequence[Hit]) -> str:
    """What a conversation is about."""
    found = passages(hits) if hits else "(none)"
    return (
        "You help a researcher with the material in a notebook. These passages of it were found "
        f"for the last message:\n\n{found}\n\n{_CITING}"
    )


def passages(hits: Sequence[Hit]) -> str:
    """Passages with their numbers and marks."""
    return "\n\n".join(_passage(place, hit) for place, hit in enumerate(hits, 1))


def _passage(place: int, hit: Hit) -> str:
    page = "" if hit.page is None else f", page {hit.page}"
    return f"Passage {place} {passage_mark(hit)} {hit.title}{page}\n{hit.text}"
