"""Bring speech to one loudness (ITU-R BS.1770-4, by pyloudnorm)."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from labext.sandbox.nb.speech.samples import RATE, Samples

if TYPE_CHECKING:
    from pyloudnorm import Meter  # type: ignore[import-untyped]

TARGET = -19.0
"""LUFS: the usual loudness of a podcast in mono."""

CEILING = 0.85
"""Largest sample, so that none is over 1 when the MP3 is decoded."""

_KNEE = 0.6
_MAX_CHANGE = 20.0
"""Decibels."""

_BLOCK_SECONDS = 0.4


def normalize(samples: Samples) -> Samples:
    """Return samples at the target loudness, limited below the ceiling; silence stays silence."""
    import numpy as np

    # Shorter than a block: repeated, so that it fills one.
    repeats = math.ceil(_BLOCK_SECONDS * RATE / max(len(samples), 1))
    measured = float(_meter().integrated_loudness(np.tile(samples, repeats)))
    if not math.isfinite(measured):
        return samples
    change = max(-_MAX_CHANGE, min(_MAX_CHANGE, TARGET - measured))
    return limit(samples * 10 ** (change / 20))


def limit(samples: Samples) -> Samples:
    """Return samples with those above the knee bent below the ceiling."""
    import numpy as np

    size = np.abs(samples)
    room = CEILING - _KNEE
    bent = _KNEE + room * np.tanh((size - _KNEE) / room)
    limited: Samples = np.where(size > _KNEE, np.copysign(bent, samples), samples)
    return limited.astype(np.float32)


@cache
def _meter() -> Meter:
    from pyloudnorm import Meter  # and with it scipy.signal, which takes 1.5 s

    return Meter(RATE, block_size=_BLOCK_SECONDS)
