"""Audio samples: their loudness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pyloudnorm import Meter  # type: ignore[import-untyped]

from labext.sandbox.nb.speech.audio import RATE, TARGET_LOUDNESS, measure_loudness, normalize

TIMES = np.arange(int(RATE * 5.3)) / RATE
NOISE = np.random.default_rng(3).normal(0, 0.05, len(TIMES))
SOUNDS = {
    "noise": NOISE,
    "low tone": 0.3 * np.sin(2 * np.pi * 60 * TIMES),
    "high tone": 0.3 * np.sin(2 * np.pi * 4000 * TIMES),
    "mostly quiet": NOISE * np.where((TIMES * 2).astype(int) % 3 == 0, 1, 0.01),
}


@pytest.mark.parametrize("name", SOUNDS)
def test_loudness_is_that_of_an_independent_meter(name: str) -> None:
    for seconds in (0.4, 0.93, 5.3):
        samples = SOUNDS[name][: int(RATE * seconds)].astype(np.float32)
        expected = Meter(RATE, block_size=0.4).integrated_loudness(samples)
        assert measure_loudness(samples) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("seconds", [0.1, 0.4, 5.3])
def test_normalized_sound_has_the_target_loudness(seconds: float) -> None:
    samples = NOISE[: int(RATE * seconds)].astype(np.float32)
    assert measure_loudness(normalize(samples)) == pytest.approx(TARGET_LOUDNESS, abs=0.1)


def test_silence_is_unchanged() -> None:
    for count in (0, 100, RATE):
        silence = np.zeros(count, np.float32)
        assert measure_loudness(silence) == -math.inf
        assert not normalize(silence).any()
