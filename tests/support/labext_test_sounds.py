"""Measurements of audio samples: pitch, loudness and pauses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Samples = Any

_STEP = 0.01
_SILENT = 10 ** (-45 / 20)


def pitch(samples: Samples, rate: int) -> float:
    """Return the median fundamental frequency of voiced parts, in hertz, by autocorrelation."""
    length = int(0.04 * rate)
    loud = 0.5 * math.sqrt(float(np.mean(np.square(samples))))
    lowest, highest = int(rate / 60), int(rate / 400)
    results = []
    for start in range(0, len(samples) - length, length):
        frame = samples[start : start + length] - samples[start : start + length].mean()
        if math.sqrt(float(np.mean(np.square(frame)))) < loud:
            continue
        alike = np.correlate(frame, frame, "full")[length - 1 :]
        best = highest + int(np.argmax(alike[highest:lowest]))
        if alike[best] > 0.5 * alike[0]:
            results.append(rate / best)
    return float(np.median(results))


def loudness(samples: Samples, rate: int) -> float:
    """LUFS of one channel (ITU-R BS.1770-4), by two filters in the time domain."""
    weighed = _biquad(_biquad(samples, *_shelf(rate)), *_high_pass(rate))
    block, hop = int(0.4 * rate), int(0.1 * rate)
    powers = np.array(
        [
            np.mean(np.square(weighed[start : start + block]))
            for start in range(0, len(weighed) - block + 1, hop)
        ]
    )
    powers = powers[powers > 10 ** ((-70 + 0.691) / 10)]
    powers = powers[powers > powers.mean() / 10]
    return -0.691 + 10 * math.log10(float(powers.mean()))


def silences(samples: Samples, rate: int, shortest: float = 0.3) -> list[tuple[float, float]]:
    """Return the silent intervals of at least this length: start and end in seconds."""
    step = int(_STEP * rate)
    steps = len(samples) // step
    levels = np.abs(samples[: steps * step]).reshape(steps, step).max(axis=1)
    quiet = np.concatenate([[False], levels < _SILENT, [False]])
    edges = np.flatnonzero(np.diff(quiet.astype(int)))
    spans = [(float(a * _STEP), float(b * _STEP)) for a, b in edges.reshape(-1, 2)]
    return [(begin, end) for begin, end in spans if end - begin >= shortest]


def _shelf(rate: int) -> tuple[list[float], list[float]]:
    k, high = math.tan(math.pi * 1681.9744509555319 / rate), 10 ** (3.99984385397 / 20)
    q, band = 0.7071752369554193, high**0.4996667741545416
    below = 1 + k / q + k * k
    over = [high + band * k / q + k * k, 2 * (k * k - high), high - band * k / q + k * k]
    return [sample / below for sample in over], [
        1,
        2 * (k * k - 1) / below,
        (1 - k / q + k * k) / below,
    ]


def _high_pass(rate: int) -> tuple[list[float], list[float]]:
    k, q = math.tan(math.pi * 38.13547087613982 / rate), 0.5003270373253953
    below = 1 + k / q + k * k
    return [1, -2, 1], [1, 2 * (k * k - 1) / below, (1 - k / q + k * k) / below]


def _biquad(samples: Samples, over: list[float], under: list[float]) -> Samples:
    x1 = x2 = y1 = y2 = 0.0
    b0, b1, b2 = over
    _, a1, a2 = under
    sounds = []
    for x in samples.tolist():
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1, y2, y1 = x1, x, y1, y
        sounds.append(y)
    return np.array(sounds)
