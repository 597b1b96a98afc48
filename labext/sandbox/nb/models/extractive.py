"""The built-in model: it writes nothing of its own, it picks sentences of the text it is given.

No language model comes with the service. What this one says stands in the sources word for word,
and is named as what it is: `model: extractive`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labext.sandbox.nb.models import words

NAME = "extractive"

_FEWEST_TERMS = 4
"""A shorter sentence is a heading or a remnant, and says little."""


def summary(text: str, sentences: int) -> str:
    """The sentences that say most of a text, at most so many, in the text's order.

    Each stands in the text word for word, but for line ends, which are blanks here.
    """
    return " ".join(" ".join(sentence.split()) for sentence in salient(text, sentences))


class _Candidate(NamedTuple):
    place: int
    text: str
    terms: frozenset[str]


def salient(text: str, most: int) -> list[str]:
    """The sentences that say most of a text, in its order.

    Frequent words carry what a text is about; each that a sentence has said counts half for the
    next one, so that little is said twice (after SumBasic: Nenkova and Vanderwende, 2005).
    """
    every = words.sentences(text)
    found = _candidates(every)
    counts = Counter(term for sentence in every for term in set(words.terms(sentence)))
    weights = {term: float(count) for term, count in counts.items()}
    chosen: list[_Candidate] = []
    while found and len(chosen) < most:
        best = max(found, key=lambda each: (_worth(each, weights), -each.place))
        chosen.append(best)
        found.remove(best)
        for term in best.terms:
            weights[term] /= 2
    return [each.text for each in sorted(chosen)]


def _candidates(sentences: Sequence[str]) -> list[_Candidate]:
    """Every sentence once; the short ones only where there are no others."""
    once = dict.fromkeys(sentences)
    every = [_Candidate(p, s, frozenset(words.terms(s))) for p, s in enumerate(once)]
    return [each for each in every if len(each.terms) >= _FEWEST_TERMS] or every


def _worth(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    return sum(weights[term] for term in candidate.terms) / max(len(candidate.terms), 1)
