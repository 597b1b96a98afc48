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


def resample(sound: Sound, rate: int = RATE) -> Samples:
    """Return the samples at another rate, low-pass filtered for the lower of the two rates.

    Uses the Fourier transform, which treats the signal as periodic: silence is appended so that the
    end does not leak into the beginning.
    """
    import numpy as np

    if sound.rate == rate or not len(sound.samples):
        return sound.samples
    step = sound.rate // math.gcd(sound.rate, rate)
    count = len(sound.samples)
    length = -(-(count + int(sound.rate * _MARGIN_SECONDS)) // step) * step
    output_length = length * rate // sound.rate
    padded = np.zeros(length, np.float32)
    padded[:count] = sound.samples
    spectrum = np.fft.rfft(padded)[: output_length // 2 + 1]
    resampled = np.fft.irfft(spectrum, output_length) * (output_length / length)
    return resampled[: -(-count * rate // sound.rate)].astype(np.float32)


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


def normalize(samples: Samples) -> Samples:
    """Return samples at the target loudness, limited below the ceiling; silence is unchanged."""
    measured = measure_loudness(samples)
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


def measure_loudness(samples: Samples) -> float:
    """Return the integrated loudness in LUFS, by ITU-R BS.1770-4; minus infinity for silence.

    The mean power of overlapping blocks of K-weighted samples; blocks below -70 LUFS, or 10 LU
    below the others, do not count. Samples shorter than a block are repeated.
    """
    import numpy as np

    samples = np.tile(samples, math.ceil(_BLOCK / max(len(samples), 1)))
    count = len(samples)
    starts = np.arange(round((count - _BLOCK) / _STEP) + 1) * _STEP
    energy = np.concatenate(([0.0], np.cumsum(np.square(_weight(samples)))))
    power = (energy[np.minimum(starts + _BLOCK, count)] - energy[starts]) / _BLOCK
    power = power[power >= _to_power(_ABSOLUTE_GATE)]
    if not len(power):
        return -math.inf
    gate = power.mean() * 10 ** (_RELATIVE_GATE / 10)
    return _OFFSET + 10 * math.log10(float(power[power > gate].mean()))


_BLOCK, _STEP = RATE * 2 // 5, RATE // 10
"""Samples of a block of 0.4 s, and between the starts of two blocks."""

_ABSOLUTE_GATE = -70.0
_RELATIVE_GATE = -10.0
_OFFSET = -0.691
"""LUFS of a full-scale power of 1 after the weighting."""

_CHUNK, _DECAY = RATE * 2, RATE // 2
"""Samples that are weighted together, and after which the weighting filters have decayed."""


def _to_power(loudness: float) -> float:
    return math.pow(10, (loudness - _OFFSET) / 10)


def _weight(samples: Samples) -> NDArray[np.float64]:
    """Return the samples after the two filters of the K-weighting.

    The filters are applied to the spectra of chunks. The Fourier transform treats a chunk as
    periodic: silence is appended, in which the filters decay. It is added to the next chunk.
    """
    import numpy as np

    chunks = np.zeros((-(-len(samples) // _CHUNK), _CHUNK))
    chunks.flat[: len(samples)] = samples
    length = _CHUNK + _DECAY
    filtered = np.fft.irfft(np.fft.rfft(chunks, length) * _response(length), length)
    weighted = filtered[:, :_CHUNK]
    weighted[1:, :_DECAY] += filtered[:-1, _CHUNK:]
    return weighted.ravel()[: len(samples)]


@cache
def _response(length: int) -> NDArray[np.complex128]:
    import numpy as np

    delay = np.exp(-2j * np.pi * np.fft.rfftfreq(length))
    product: NDArray[np.complex128] = np.ones_like(delay)
    for numerator, denominator in (_high_shelf(), _high_pass()):
        product *= np.polyval(numerator[::-1], delay) / np.polyval(denominator[::-1], delay)
    return product


_Coefficients: TypeAlias = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Numerator and denominator of a filter, in powers of the delay by one sample."""


def _high_shelf() -> _Coefficients:
    """The filter that raises frequencies above 1500 Hz by 4 dB, as the head does."""
    gain = 10 ** (4 / 40)
    angle = 2 * math.pi * 1500 / RATE
    cosine = math.cos(angle)
    width = 2 * math.sqrt(gain) * math.sin(angle) / math.sqrt(2)
    above, below = gain + 1, gain - 1
    numerator = (
        gain * (above + below * cosine + width),
        -2 * gain * (below + above * cosine),
        gain * (above + below * cosine - width),
    )
    denominator = (
        above - below * cosine + width,
        2 * (below - above * cosine),
        above - below * cosine - width,
    )
    return numerator, denominator


def _high_pass() -> _Coefficients:
    """The filter that removes frequencies below 38 Hz."""
    angle = 2 * math.pi * 38 / RATE
    cosine, width = math.cos(angle), math.sin(angle)
    numerator = ((1 + cosine) / 2, -(1 + cosine), (1 + cosine) / 2)
    return numerator, (1 + width, -2 * cosine, 1 - width)
