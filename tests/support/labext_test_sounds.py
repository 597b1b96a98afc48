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
    """Return the LUFS of one channel (ITU-R BS.1770-4)."""
    from pyloudnorm import Meter  # type: ignore[import-untyped]

    return float(Meter(rate).integrated_loudness(samples))


def silences(samples: Samples, rate: int, shortest: float = 0.3) -> list[tuple[float, float]]:
    """Return the silent intervals of at least this length: start and end in seconds."""
    step = int(_STEP * rate)
    steps = len(samples) // step
    levels = np.abs(samples[: steps * step]).reshape(steps, step).max(axis=1)
    quiet = np.concatenate([[False], levels < _SILENT, [False]])
    edges = np.flatnonzero(np.diff(quiet.astype(int)))
    spans = [(float(a * _STEP), float(b * _STEP)) for a, b in edges.reshape(-1, 2)]
    return [(begin, end) for begin, end in spans if end - begin >= shortest]
