"""Several rankings made into one, by the ranks alone: their scores can't be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

SMOOTHING = 60
"""How much the first ranks stand out; Cormack, Clarke and Büttcher's own value."""


def fused(rankings: Iterable[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).

    Args:
        rankings: of the same things, each the best first.

    Returns:
        What any of them has, the best first, with its score; equals in the order they came in.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, thing in enumerate(ranking, start=1):
            scores[thing] += 1 / (SMOOTHING + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
