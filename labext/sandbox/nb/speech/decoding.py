"""Files of sound and film as samples of one channel, a few seconds at a time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.extras import install_line
from labext.sandbox.nb.ingestion.reasons import Unreadable

RATE = 16_000
"""Samples a second, as models that hear speech want them."""

_BLOCK_SECONDS = 10
_CHUNK = 64 * 1024
_TAPS = 63


@dataclass(frozen=True)
class Decoded:
    """What is heard in a file.

    Attributes:
        blocks: 16-bit samples of one channel, `RATE` a second.
        seconds: how long it is in all, where that is known.
    """

    blocks: Iterator[bytes]
    seconds: float | None = None


@contextmanager
def decoded(path: Path) -> Iterator[Decoded]:
    """A file's sound, while the block runs; what soundfile doesn't know, ffmpeg does.

    Raises:
        Unreadable: the extra or ffmpeg is missing, it is broken, or there is no sound in it.
    """
    package = soundfile()
    try:
        with package.SoundFile(path) as sound:
            yield Decoded(_samples(sound), sound.frames / sound.samplerate)
            return
    except package.LibsndfileError:
        pass
    with closing(_by_ffmpeg(path)) as blocks:
        yield Decoded(blocks)


def soundfile() -> Any:
    """The package that reads and writes files of sound.

    Raises:
        Unreadable: it isn't installed.
    """
    try:
        import soundfile  # type: ignore[import-untyped]
    except (ImportError, OSError):  # OSError: without its library
        raise missing() from None
    return soundfile


def missing() -> Unreadable:
    """What hears is not installed."""
    return Unreadable(
        "Sound is read with packages that are not installed here: "
        f"run `{install_line('speech')}`, then retry it."
    )


def _samples(sound: Any) -> Iterator[bytes]:
    """A file's samples as one channel of the rate that is wanted."""
    import numpy as np

    rate = sound.samplerate
    for block in sound.blocks(blocksize=rate * _BLOCK_SECONDS, dtype="float32", always_2d=True):
        mono = block.mean(axis=1)
        if rate > RATE:  # what is too high for the lower rate would sound as something else
            place = np.arange(_TAPS) - _TAPS // 2
            kernel = np.sinc(place * RATE / rate) * np.hamming(_TAPS)
            mono = np.convolve(mono, kernel / kernel.sum(), mode="same")
        if rate != RATE:
            wanted = np.arange(0, len(mono), rate / RATE)
            mono = np.interp(wanted, np.arange(len(mono)), mono)
        yield (np.nan_to_num(mono).clip(-1, 1) * 32767).astype("<i2").tobytes()


def _by_ffmpeg(path: Path) -> Generator[bytes, None, None]:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise Unreadable(
            "Its sound is taken out by ffmpeg, which is not installed here: "
            "`apt install ffmpeg` or `brew install ffmpeg`, then retry it."
        )
    # A file may be a list of others: ffmpeg must not look elsewhere.
    command = [ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error"]
    command += ["-protocol_whitelist", "file,pipe", "-i", str(path)]
    command += ["-vn", "-ac", "1", "-ar", str(RATE), "-f", "s16le", "pipe:1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        there = False
        try:
            while chunk := process.stdout.read(_CHUNK):
                there = True
                yield chunk
        finally:
            process.kill()
    if not there:
        raise Unreadable("It is broken, or has no sound.")
