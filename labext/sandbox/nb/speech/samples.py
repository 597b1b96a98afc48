"""Sound as it is heard: samples of one channel, and what is done to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Samples: TypeAlias = "NDArray[np.float32]"
"""From -1 to 1."""

RATE = 22_050
"""Samples a second of an episode: espeak-ng's own, and an MP3's."""

_QUIET = 10 ** (-50 / 20)
"""What is softer than the loudest by so much is silence."""

_EDGE_SECONDS = 0.02
"""What is left of the silence around speech, so that no sound is cut."""

_MARGIN_SECONDS = 0.05


@dataclass(frozen=True)
class Sound:
    """Samples of one channel, `rate` a second."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.rate


def at_rate(sound: Sound, rate: int = RATE) -> Samples:
    """The samples at another rate, without what is too high for the lower one of the two.

    By the spectrum, which is exact. The sound is taken to go round in a circle, so that silence is
    put at its end: the end shall not be heard at the beginning.
    """
    import numpy as np

    if sound.rate == rate or not len(sound.samples):
        return sound.samples
    step = sound.rate // math.gcd(sound.rate, rate)
    have = len(sound.samples)
    length = -(-(have + int(sound.rate * _MARGIN_SECONDS)) // step) * step
    made = length * rate // sound.rate
    padded = np.zeros(length, np.float32)
    padded[:have] = sound.samples
    spectrum = np.fft.rfft(padded)[: made // 2 + 1]
    resampled = np.fft.irfft(spectrum, made) * (made / length)
    return resampled[: -(-have * rate // sound.rate)].astype(np.float32)


def trimmed(samples: Samples) -> Samples:
    """The samples without the silence at both ends; none where all is silence."""
    import numpy as np

    loud = np.abs(samples)
    if not len(loud) or not (most := float(loud.max())):
        return samples[:0]
    heard = np.flatnonzero(loud > most * _QUIET)
    edge = int(RATE * _EDGE_SECONDS)
    return samples[max(0, int(heard[0]) - edge) : int(heard[-1]) + 1 + edge]
