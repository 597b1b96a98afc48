"""Place the ticks and the labels of drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return ordered positions moved apart to a distance of at least `gap`.

    They stay between `low` and `high` if there is room, and close to where they were.
    """
    clusters: list[list[float]] = []  # sum of the desired first positions, count
    for position in positions:
        clusters.append([position, 1])
        while len(clusters) > 1:
            before, last = clusters[-2:]
            end = _start(before, low, high, gap) + gap * before[1]
            if end <= _start(last, low, high, gap):
                break
            total, count = clusters.pop()
            before[0] += total - count * gap * before[1]
            before[1] += count
    return [
        _start(cluster, low, high, gap) + gap * index
        for cluster in clusters
        for index in range(int(cluster[1]))
    ]


def _start(cluster: Sequence[float], low: float, high: float, gap: float) -> float:
    total, count = cluster
    return max(low, min(total / count, high - gap * (count - 1)))


def nice_step(length: float, steps: float) -> int:
    """Return the distance of about `steps` marks on a scale: 1, 2 or 5 times a power of ten."""
    rough = max(length / max(steps, 1), 1)
    power = 10 ** math.floor(math.log10(rough))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= rough))
