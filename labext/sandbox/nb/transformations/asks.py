"""What a prompt asks of the built-in model: how many sentences, in which shape, about what.

This model reads a prompt by its words alone; what it can't do, such as translating, it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from labext.sandbox.nb import faults
from labext.sandbox.nb.models import words
from labext.sandbox.nb.transformations.concepts import CONCEPTS, Concept

PROSE, BULLETS, NUMBERED = "prose", "bullets", "numbered"

PARAGRAPH = 5
"""Sentences of a paragraph whose number is not said."""

_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {name: number for number, name in enumerate(_COUNTED.split(), 1)} | {
    "single": 1,
    "fifteen": 15,
    "twenty": 20,
}

_PIECES = (
    r"(?:sentences?|bullets?|points?|items?|lines?|findings?|facts?|questions?|ideas?|insights?|"
    r"statements?|steps?|takeaways?|things?)"
)
_COUNT = re.compile(
    rf"(?i)\b(\d{{1,3}}|{'|'.join(_NUMBERS)})\s+(?:[\w-]+\s+){{0,3}}?{_PIECES}\b"
    r"|\btop\s+(\d{1,3})\b"
)
_SHAPES = (
    (NUMBERED, r"\bnumbered\b|\bstep by step\b|\benumerate"),
    (BULLETS, r"\blist\b|\blists\b|\bbullet|\bitems?\b|\bpoints\b|\bcheck ?list\b|\boutline\b"),
    (PROSE, r"\bparagraphs?\b|\bsentences?\b|\bprose\b|\babstract\b|\bsummar"),
)
_EVERY = re.compile(r"(?i)\b(?:all|every|each|any|complete)\b")
_REFUSED = re.compile(
    r"(?i)\b(?:no|not|never|without|omit|except|excluding|exclude|avoid|skip|don't|leave out)\b"
    r"(?:\s+(?:do|any|the|all|use|include|give|write|add|mention))*\s+"
    r"((?:[\w-]+(?:\s+(?:and|or|nor)\s+|,\s*)?){1,3})"
)
_BEYOND = re.compile(
    r"(?i)\b(translat\w+|rephras\w+|paraphras\w+|rewrit\w+|rewrite|poems?|rhymes?)\b"
)

# What a prompt says of how to answer, and not of what about.
_INSTRUCTING = frozenset(
    words.terms(
        """
        above according add additional adopt aim analyse analysis analyze answer article aspect
        assistant bullet brief briefly capture careful carefully clear clearly comment complete
        concise condense consider contain content create crucial describe detail detailed document
        enumerate essential exactly explain extract fact finding find focus following form format
        full gather general generate heading highlight idea identify important include information
        input insight instruction interesting introduction invent involve item itself key language
        least length line list main major markdown mention message most name note number numbered
        one only order original output outline overview own page paper paragraph part passage
        person piece please plain point possible precise present prompt prose provide question read
        reader relevant reply report research response result review scientist section sentence
        short show significant simple single source specific stand state statement step structure
        student style sum summarise summarize summary takeaway teacher tell text thing title top
        topic two three four five six seven eight nine ten total user useful various way whole word
        write writer writing follow together introduce value
        """
    )
)


@dataclass(frozen=True)
class Asks:
    """What is asked.

    Attributes:
        count: how many sentences at most; None where the prompt says nothing of it.
        shape: `PROSE`, `BULLETS` or `NUMBERED`; None where the prompt says nothing of it.
        every: whether all there are of a kind are asked for.
        topics: stems of the words that say what about.
        concepts: kinds of sentences, such as those with a concentration.
        without: what is not wanted, by stems and concepts.
    """

    count: int | None
    shape: str | None
    every: bool
    topics: frozenset[str]
    concepts: Sequence[Concept]
    without: Asks | None = None


def asks(prompt: str) -> Asks:
    """What a prompt asks.

    Raises:
        HTTPException: 422, it asks for what picking sentences can't do.
    """
    refused = " ".join(_REFUSED.findall(prompt))
    wanted = _REFUSED.sub(" ", prompt)
    beyond = _BEYOND.search(wanted)
    if beyond:
        raise faults.unconfigured(
            f"The prompt says “{beyond.group()}”; the built-in model picks sentences of the text "
            "and writes none. Choose another model for it."
        )
    without = _asks(refused, None) if refused else None
    return _asks(wanted, without)


def topics(prompt: str) -> frozenset[str]:
    """Stems of the words of a prompt that say what about, and not how."""
    return frozenset(term for term in words.terms(prompt) if not term.isdigit()) - _INSTRUCTING


def _asks(prompt: str, without: Asks | None) -> Asks:
    concepts = [each for each in CONCEPTS if re.search(rf"(?i)\b(?:{each.called})", prompt)]
    named = {
        term
        for each in concepts
        for found in re.finditer(rf"(?i)\b(?:{each.called})\w*", prompt)
        for term in words.terms(found.group())
    }
    return Asks(
        _count(prompt),
        next((shape for shape, says in _SHAPES if re.search(f"(?i){says}", prompt)), None),
        _EVERY.search(prompt) is not None,
        topics(prompt) - named,
        concepts,
        without,
    )


def _count(prompt: str) -> int | None:
    found = _COUNT.search(prompt)
    if found is not None:
        said = (found.group(1) or found.group(2)).lower()
        return max(1, _NUMBERS.get(said) or int(said))
    return PARAGRAPH if re.search(r"(?i)\bparagraph\b", prompt) else None
