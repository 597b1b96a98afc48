"""The built-in model of type `stt`: pocketsphinx, which hears English, and that roughly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from labext.sandbox.nb.speech.decoding import RATE, Decoded, missing

_LONGEST_SECONDS = 60
"""What is said without a pause is cut after so long."""


def pocketsphinx() -> Any:
    """The package.

    Raises:
        Unreadable: it isn't installed.
    """
    try:
        import pocketsphinx  # type: ignore[import-untyped]
    except (ImportError, OSError):
        raise missing() from None
    return pocketsphinx


def heard(sound: Decoded, tell: Callable[[str], None]) -> str:
    """What is said: a paragraph between two pauses; empty where nobody speaks.

    Args:
        sound: it.
        tell: takes the stage.

    Raises:
        Unreadable: what is needed is not installed, or there is no sound.
    """
    minutes = "" if sound.seconds is None else f" of {int(sound.seconds // 60) + 1}"
    said = []
    for second, words in _utterances(_frames(sound.blocks)):
        tell(f"listening, minute {int(second // 60) + 1}{minutes}")
        if words:
            said.append(words)
    return "\n\n".join(said)


def _frames(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces as long as the detector of speech wants them; the last one may be shorter."""
    length = pocketsphinx().Endpointer(sample_rate=RATE).frame_bytes
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
    package = pocketsphinx()
    speech = package.Endpointer(sample_rate=RATE)
    decoder = package.Decoder(samprate=RATE, loglevel="FATAL", dither=True, seed=1)
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
