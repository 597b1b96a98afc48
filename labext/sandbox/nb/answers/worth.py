"""What sentences are worth as an answer to a question.

A sentence is worth what it has of the question's words, the rare ones counting more, and how near
it is in meaning. Where none is worth enough, nothing supports an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from labext.sandbox.nb.models import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Nearness = Callable[[str, Sequence[str]], Sequence[float]]
"""How near each of some sentences is to a question in meaning: cosines, -1 to 1."""

SUPPORT = 0.5
"""What a sentence's shared words and nearness are together, at least, to support an answer."""

SUPPORT_BY_MEANING = 0.34
"""The nearness that a sentence needs that shares no word: chance makes it 0.3 at most."""

SUPPORT_BY_WORDS = 0.35
"""The same where only words count: of the question's, weighted by their rarity."""

_UNKNOWN = 2.0
"""How much more a word of the question counts that stands in no passage."""

_CUE = 0.15
"""What a sentence of the kind that is asked for is worth more."""

_ECHO = 0.5
"""What a sentence keeps of its worth that has no word beside the question's: it answers nothing."""

_CUES = (
    (r"why\b", r"because|reason|since|so that|in order to|therefore|thus|to (?:prevent|avoid)|due"),
    (r"how (?:much|many|long|often|far|hot|old|high|low)\b|when\b", r"\d"),
    (r"(?:what|which) (?:concentration|temperature|amount|time|volume|density|yield)s?\b", r"\d"),
)


def worths(question: str, sentences: Sequence[str], nearness: Nearness | None) -> list[float]:
    """What each sentence is worth, 0 or more; nothing where none supports an answer.

    Args:
        question: in words.
        sentences: of the passages that were found for it.
        nearness: of meaning; None where there is nothing to tell it by.
    """
    asked = frozenset(words.terms(question))
    if not sentences or not asked:
        return []
    terms = [frozenset(words.terms(each)) for each in sentences]
    weights = _weights(asked, terms)
    total = sum(weights.values())
    shared = [sum(weights[term] for term in asked & each) / total for each in terms]
    near = None
    if nearness is not None:
        near = [max(0.0, cosine) for cosine in nearness(question, sentences)]
    unknown = _names(question).difference(*terms)
    if not _supports(shared, near, named=bool(unknown)):
        return []
    found = zip(shared, near or [0.0] * len(shared), sentences, terms, strict=True)
    return [
        (a + b + _cue(question, sentence)) * (_ECHO if has <= asked else 1.0)
        for a, b, sentence, has in found
    ]


def by_embedding(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> Nearness:
    """Nearness by an embedding model's vectors, which are of length 1."""

    def nearness(question: str, sentences: Sequence[str]) -> Sequence[float]:
        vectors = embed([question, *sentences])
        cosines: Sequence[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines

    return nearness


def _supports(shared: Sequence[float], near: Sequence[float] | None, *, named: bool) -> bool:
    """Whether any sentence is enough to answer.

    Args:
        shared: what each has of the question's words.
        near: how near each is in meaning, if that is known.
        named: whether the question names what no passage knows: it is mostly about something else
            then, however near that is.
    """
    if named:
        return max(shared) >= SUPPORT
    if near is None:
        return max(shared) >= SUPPORT_BY_WORDS
    return any(
        a + b >= (SUPPORT if a else SUPPORT_BY_MEANING) for a, b in zip(shared, near, strict=True)
    )


def _weights(asked: frozenset[str], found: Sequence[frozenset[str]]) -> Mapping[str, float]:
    """What each word of a question counts: the rarer it is in the sentences, the more."""
    counts = Counter(term for each in found for term in each)
    many = len(found)
    return {
        term: math.log(1 + many / counts[term]) if counts[term] else _UNKNOWN * math.log(1 + many)
        for term in asked
    }


def _names(question: str) -> frozenset[str]:
    """The stems of names in a question: of words with a capital letter or a digit."""
    return frozenset(
        term
        for sentence in words.sentences(question)
        for word in sentence.split()[1:]
        if any(letter.isupper() or letter.isdigit() for letter in word)
        for term in words.terms(word)
    )


def _cue(question: str, sentence: str) -> float:
    for asks, tells in _CUES:
        if re.search(rf"(?i)\b(?:{asks})", question):
            return _CUE if re.search(rf"(?i)(?<!\w)(?:{tells})", sentence) else 0.0
    return 0.0
