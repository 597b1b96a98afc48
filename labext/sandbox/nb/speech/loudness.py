"""How loud speech is, and what brings it to one level.

Source of the measure: ITU-R BS.1770-4, for one channel: K-weighted blocks of 0.4 s, of which those
count that are above -70 LUFS and no more than 10 below the mean of these.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from labext.sandbox.nb.speech.samples import RATE, Samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TARGET = -19.0
"""LUFS: what is usual for a podcast of one channel."""

CEILING = 0.85
"""No sample is over it, so that none is over 1 when the MP3 is decoded."""

_KNEE = 0.6
_MOST = 20.0
"""Decibels that a voice is changed by at most."""

_BLOCK = int(RATE * 0.4)
_OFFSET = -0.691
_ABSOLUTE, _RELATIVE = -70.0, -10.0

# The two filters at 48 kHz: numerator and denominator.
_FILTERS = (
    (
        (1.53512485958697, -2.69169618940638, 1.19839281085285),
        (1, -1.69065929318241, 0.73248077421585),
    ),
    ((1.0, -2.0, 1.0), (1, -1.99004745483398, 0.99007225036621)),
)
_FILTERS_RATE = 48_000


class Level:
    """Brings each voice to one loudness, by all that it has said so far."""

    def __init__(self) -> None:
        self._heard: dict[Any, list[float]] = {}

    def brought(self, voice: Any, samples: Samples) -> Samples:
        """What a voice says next, at the level."""
        powers = self._heard.setdefault(voice, [])
        powers += block_powers(samples).tolist()
        found = loudness(powers)
        if found is None:
            return samples
        change = max(-_MOST, min(_MOST, TARGET - found))
        return limited(samples * 10 ** (change / 20))


def limited(samples: Samples) -> Samples:
    """The samples with what is over the knee bent down below the ceiling."""
    import numpy as np

    size = np.abs(samples)
    if not len(size) or float(size.max()) <= _KNEE:
        return samples
    room = CEILING - _KNEE
    bent = _KNEE + room * np.tanh((size - _KNEE) / room)
    limited: Samples = np.where(size > _KNEE, np.copysign(bent, samples), samples)
    return limited.astype(np.float32)


def loudness(powers: Any) -> float | None:
    """LUFS of blocks by their powers; None where all is silence."""
    import numpy as np

    blocks = np.asarray(powers)
    blocks = blocks[blocks > _power(_ABSOLUTE)]
    if not len(blocks):
        return None
    blocks = blocks[blocks > blocks.mean() * 10 ** (_RELATIVE / 10)]
    return _OFFSET + 10 * math.log10(float(blocks.mean()))


def block_powers(samples: Samples) -> NDArray[np.float64]:
    """The mean square of each block as the ear weighs it; a rest counts where there is no block."""
    import numpy as np

    if len(samples) < _BLOCK:
        if not len(samples):
            return np.zeros(0)
        scale = _BLOCK / len(samples)
        samples = np.pad(samples, (0, _BLOCK - len(samples)))
    else:
        scale = 1.0
        samples = samples[: len(samples) // _BLOCK * _BLOCK]
    spectrum = np.fft.rfft(samples.reshape(-1, _BLOCK), axis=1)
    powers: NDArray[np.float64] = (np.abs(spectrum) ** 2 @ _weights()) * scale
    return powers


def _power(lufs: float) -> float:
    return float(10 ** ((lufs - _OFFSET) / 10))


@cache
def _weights() -> NDArray[np.float64]:
    """How much the power of each frequency of a block's spectrum counts."""
    import numpy as np

    turn = np.exp(-2j * np.pi * np.fft.rfftfreq(_BLOCK, 1 / RATE) / _FILTERS_RATE)
    weight = np.full(len(turn), 2 / _BLOCK**2)  # of a real signal each frequency stands for two
    weight[0] = weight[-1] = 1 / _BLOCK**2
    for above, below in _FILTERS:
        over, under = (c[0] + c[1] * turn + c[2] * turn**2 for c in (above, below))
        weight *= np.abs(over / under) ** 2
    return weight
