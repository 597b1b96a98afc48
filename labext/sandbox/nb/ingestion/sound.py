"""Reads sound: what is said in it in English, roughly, by pocketsphinx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from labext.extras import install_line
from labext.sandbox.nb.ingestion import video
from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable

RATE = 16_000
"""Samples a second that the model of speech was made of."""

_BLOCK_SECONDS = 10
_LONGEST_SECONDS = 60
"""What is said without a pause is cut after so long."""

_TAPS = 63


def read(file: File, tell: Tell) -> Reading:
    """Read sound.

    Raises:
        Unreadable: the extra is missing, it is broken, or nobody speaks in it.
    """
    soundfile = modules()[0]
    try:
        with soundfile.SoundFile(file.path) as sound:
            return heard(_samples(sound), tell, sound.frames / sound.samplerate)
    except soundfile.LibsndfileError:
        # What the library doesn't know, such as AAC, ffmpeg does.
        return video.read(file, tell)


def modules() -> tuple[Any, Any]:
    """Load soundfile and pocketsphinx.

    Raises:
        Unreadable: they aren't installed.
    """
    try:
        import pocketsphinx  # type: ignore[import-untyped]
        import soundfile  # type: ignore[import-untyped]
    except (ImportError, OSError):  # OSError: without its library
        raise Unreadable(
            "Sound is read with packages that are not installed here: "
            f"run `{install_line('speech')}`, then retry it."
        ) from None
    return soundfile, pocketsphinx


def heard(blocks: Iterable[bytes], tell: Tell, seconds: float | None = None) -> Reading:
    """What is said.

    Args:
        blocks: 16-bit samples of one channel, `RATE` a second.
        tell: takes the stage.
        seconds: how long it is in all, where that is known.

    Raises:
        Unreadable: nothing.
    """
    minutes = "" if seconds is None else f" of {int(seconds // 60) + 1}"
    said = []
    for second, words in _utterances(_frames(blocks)):
        tell(f"listening, minute {int(second // 60) + 1}{minutes}")
        if words:
            said.append(words)
    if not said:
        raise Unreadable("Nobody is heard to speak English in it, and nothing else can be read.")
    return Reading([(None, "\n\n".join(said))])


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


def _frames(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces as long as the detector of speech wants them; the last one may be shorter."""
    length = modules()[1].Endpointer(sample_rate=RATE).frame_bytes
    rest = b""
    for block in blocks:
        rest += block
        whole = len(rest) - len(rest) % length
        for start in range(0, whole, length):
            yield rest[start : start + length]
        rest = rest[whole:]
    if len(rest) > 1:
        yield rest[: len(rest) & ~1]


def _utterances(frames: Iterable[bytes]) -> Iterator[tuple[float, str | None]]:
    """What is said between pauses, with the second where it ends; None while it is said."""
    pocketsphinx = modules()[1]
    speech = pocketsphinx.Endpointer(sample_rate=RATE)
    decoder = pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL", dither=True, seed=1)
    begun: float | None = None
    second = 0.0
    for frame in frames:
        second += len(frame) / 2 / RATE
        short = len(frame) < speech.frame_bytes
        sound = speech.end_stream(frame) if short else speech.process(frame)
        if sound is None:
            continue
        if begun is None:
            decoder.start_utt()
            begun = second
        decoder.process_raw(sound)
        if not speech.in_speech or second > begun + _LONGEST_SECONDS:
            yield second, _ended(decoder)
            begun = None
        elif int(second) != int(second - len(frame) / 2 / RATE):
            yield second, None
    if begun is not None:
        yield second, _ended(decoder)


def _ended(decoder: Any) -> str | None:
    """The words of the utterance that ends here."""
    decoder.end_utt()
    hypothesis = decoder.hyp()
    return None if hypothesis is None else str(hypothesis.hypstr).strip() or None
