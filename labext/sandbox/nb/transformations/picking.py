"""What the built-in model makes of a text: the sentences that a prompt asks for, word for word.

It writes nothing. Where the text has nothing of what is asked for, it says that, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from labext.sandbox.nb.models import prose, words
from labext.sandbox.nb.models.prose import Statement
from labext.sandbox.nb.transformations.asks import BULLETS, NUMBERED, PROSE, Asks, asks

LONGEST = 1_000_000
"""Characters of a text that are looked at."""

SENTENCES = 5
"""Sentences that are picked where a prompt doesn't say how many."""

EVERY = 200
"""The same where it asks for every one."""

NOTHING = "The text says nothing of what the prompt asks for."

_SEVERAL = 2
"""Where the best sentence has more of what is asked for, others needn't have half as much."""

_FEW_TOPICS = 8
"""A prompt with more is a description; its words are preferred, and none is needed."""


def picked(prompt: str, text: str, before: str = "") -> str:
    """The sentences of a text that a prompt asks for.

    Args:
        prompt: says how many, in which shape and about what, all in plain words.
        text: what they are picked of.
        before: a prompt that counts where the other one says nothing.

    Raises:
        HTTPException: 422, it is asked for what it can't do.
    """
    wanted, default = asks(prompt), asks(before)
    there = _statements(text[:LONGEST], wanted, default)
    found = _asked_for(there, wanted)
    whole = found is there
    few = EVERY if wanted.every and not whole else SENTENCES
    chosen = _chosen(found, wanted.count or default.count or few, default, whole=whole)
    if not chosen:
        return NOTHING
    return _shaped(chosen, wanted.shape or default.shape or PROSE)


def _statements(text: str, wanted: Asks, default: Asks) -> list[Statement]:
    """What may be picked: no headings, each once, nothing that is not wanted."""
    once = {each.text: each for each in prose.statements(text) if each.kind != prose.HEADING}
    refused = [each.without for each in (wanted, default) if each.without is not None]
    kept = [e for e in once.values() if not any(_score(e.text, asked) for asked in refused)]
    return kept if once else prose.statements(text)


def _asked_for(found: Sequence[Statement], wanted: Asks) -> Sequence[Statement]:
    """Those that have most of what is asked for, in their order; all, if nothing is."""
    if not wanted.topics and all(each.is_general for each in wanted.concepts):
        return found
    scores = [_score(each.text, wanted) for each in found]
    best = max(scores, default=0)
    if not best:
        return [] if len(wanted.topics) <= _FEW_TOPICS else found
    least = best / 3 if best > _SEVERAL else best / 2 + 0.1
    return [each for each, has in zip(found, scores, strict=True) if has >= least]


def _score(sentence: str, wanted: Asks) -> int:
    """How many of the things that are asked for a sentence has."""
    kinds = sum(each.is_in(sentence) for each in wanted.concepts)
    return kinds + len(wanted.topics.intersection(words.terms(sentence)))


def _chosen(
    found: Sequence[Statement], most: int, default: Asks, *, whole: bool
) -> list[Statement]:
    """So many of those that were found: what says most, in the text's order."""
    preferred = [each for each in found if _score(each.text, default)]
    if len(preferred) >= most or (preferred and not whole):
        found = preferred
    if len(found) <= most and not whole:
        return list(found)
    return prose.telling(found, most)


def _shaped(chosen: Sequence[Statement], shape: str) -> str:
    said = [each.text for each in chosen]
    if shape == BULLETS:
        return "\n".join(f"- {each}" for each in said)
    if shape == NUMBERED:
        return "\n".join(f"{number}. {each}" for number, each in enumerate(said, 1))
    return " ".join(said)
