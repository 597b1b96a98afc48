"""Audio samples: resampling, trimming and loudness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyloudnorm import Meter  # type: ignore[import-untyped]

Samples: TypeAlias = "NDArray[np.float32]"
"""Audio samples from -1 to 1."""

RATE = 22_050
"""Sample rate of an episode: that of espeak-ng, valid in an MP3."""

_SILENCE_LEVEL = 10 ** (-50 / 20)
"""Samples quieter than this, relative to the loudest one, are silence."""

_EDGE_SECONDS = 0.02
"""Silence kept around speech, so that no sound is cut off."""

_MARGIN_SECONDS = 0.05


@dataclass(frozen=True)
class Sound:
    """Mono samples with their sample rate."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        """Return the duration."""
        return len(self.samples) / self.rate


def resample(sound: Sound) -> Samples:
    """Return the samples at `RATE`, low-pass filtered for the lower of the two rates.

    Uses the Fourier transform, which treats the signal as periodic: silence is appended so that the
    end does not leak into the beginning.
    """
    import numpy as np

    if sound.rate == RATE or not len(sound.samples):
        return sound.samples
    step = sound.rate // math.gcd(sound.rate, RATE)
    count = len(sound.samples)
    length = -(-(count + int(sound.rate * _MARGIN_SECONDS)) // step) * step
    output_length = length * RATE // sound.rate
    padded = np.zeros(length, np.float32)
    padded[:count] = sound.samples
    spectrum = np.fft.rfft(padded)[: output_length // 2 + 1]
    resampled = np.fft.irfft(spectrum, output_length) * (output_length / length)
    return resampled[: -(-count * RATE // sound.rate)].astype(np.float32)


def trim_silence(samples: Samples) -> Samples:
    """Return the samples without the silence at both ends; empty if all is silence."""
    import numpy as np

    loud = np.abs(samples)
    if not len(loud) or not (peak := float(loud.max())):
        return samples[:0]
    audible = np.flatnonzero(loud > peak * _SILENCE_LEVEL)
    edge = int(RATE * _EDGE_SECONDS)
    return samples[max(0, int(audible[0]) - edge) : int(audible[-1]) + 1 + edge]


def open_mp3(path: Path, rate: int, compression: float) -> Any:
    """Open a mono MP3 for writing; its bit rate is constant, so that players seek exactly."""
    import soundfile

    return soundfile.SoundFile(
        path,
        "w",
        samplerate=rate,
        channels=1,
        format="MP3",
        subtype="MPEG_LAYER_III",
        bitrate_mode="CONSTANT",
        compression_level=compression,
    )


TARGET_LOUDNESS = -19.0
"""LUFS: the usual loudness of a podcast in mono."""

CEILING = 0.85
"""Largest sample, so that none is over 1 when the MP3 is decoded."""

_KNEE = 0.6
_MAX_CHANGE = 20.0
"""Decibels."""

_BLOCK_SECONDS = 0.4


def normalize(samples: Samples) -> Samples:
    """Return samples at the target loudness, limited below the ceiling; silence is unchanged."""
    import numpy as np

    # Shorter than a block: repeated, so that it fills one.
    repeats = math.ceil(_BLOCK_SECONDS * RATE / max(len(samples), 1))
    measured = float(_meter().integrated_loudness(np.tile(samples, repeats)))
    if not math.isfinite(measured):
        return samples
    change = max(-_MAX_CHANGE, min(_MAX_CHANGE, TARGET_LOUDNESS - measured))
    return soft_limit(samples * 10 ** (change / 20))


def soft_limit(samples: Samples) -> Samples:
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
