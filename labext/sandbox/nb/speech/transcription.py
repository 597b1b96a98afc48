"""Decode audio files, and transcribe what is said in them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.extras import install_line
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Model

RATE = 16_000
"""Samples a second, as models that hear speech want them."""

_BLOCK_SECONDS = 10
_CHUNK_SIZE = 64 * 1024
_TAPS = 63


@dataclass(frozen=True)
class DecodedAudio:
    """What is heard in a file.

    Attributes:
        blocks: 16-bit samples of one channel, `RATE` a second.
        seconds: how long it is in all, where that is known.
    """

    blocks: Iterator[bytes]
    seconds: float | None = None


@contextmanager
def decode_audio(path: Path) -> Iterator[DecodedAudio]:
    """A file's sound, while the block runs; what soundfile doesn't know, ffmpeg does.

    Raises:
        Unreadable: the extra or ffmpeg is missing, it is broken, or there is no sound in it.
    """
    package = import_soundfile()
    try:
        with package.SoundFile(path) as sound:
            yield DecodedAudio(_resample_blocks(sound), sound.frames / sound.samplerate)
            return
    except package.LibsndfileError:
        pass
    with closing(_decode_by_ffmpeg(path)) as blocks:
        yield DecodedAudio(blocks)


def import_soundfile() -> Any:
    """The package that reads and writes files of sound.

    Raises:
        Unreadable: it isn't installed.
    """
    try:
        import soundfile  # type: ignore[import-untyped]
    except (ImportError, OSError):  # OSError: without its library
        raise packages_missing() from None
    return soundfile


def packages_missing() -> UnreadableError:
    """What hears is not installed."""
    return UnreadableError(
        "Sound is read with packages that are not installed here: "
        f"run `{install_line('speech')}`, then retry it."
    )


def _resample_blocks(sound: Any) -> Iterator[bytes]:
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


def _decode_by_ffmpeg(path: Path) -> Generator[bytes, None, None]:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise UnreadableError(
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
            while chunk := process.stdout.read(_CHUNK_SIZE):
                there = True
                yield chunk
        finally:
            process.kill()
    if not there:
        raise UnreadableError("It is broken, or has no sound.")


_MAX_UTTERANCE_SECONDS = 60
"""What is said without a pause is cut after so long."""


def import_pocketsphinx() -> Any:
    """The package.

    Raises:
        Unreadable: it isn't installed.
    """
    try:
        import pocketsphinx  # type: ignore[import-untyped]
    except (ImportError, OSError):
        raise packages_missing() from None
    return pocketsphinx


def recognize(sound: DecodedAudio, tell: Callable[[str], None]) -> str:
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
    length = import_pocketsphinx().Endpointer(sample_rate=RATE).frame_bytes
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
    package = import_pocketsphinx()
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
        if not speech.in_speech or second > begun + _MAX_UTTERANCE_SECONDS:
            yield second, _finish_utterance(decoder)
            begun = None
        elif int(second) != int(second - len(frame) / 2 / RATE):
            yield second, None
    if begun is not None:
        yield second, _finish_utterance(decoder)


def _finish_utterance(decoder: Any) -> str | None:
    """The words of the utterance that ends here."""
    decoder.end_utt()
    hypothesis = decoder.hyp()
    return None if hypothesis is None else str(hypothesis.hypstr).strip() or None


SLOT = "speech_to_text"

OnStage = Callable[[str], None]
"""Takes a stage in a few words, such as `listening, minute 2 of 9`."""


def transcribe_by_default(site: Site, path: Path, tell: OnStage) -> str:
    """As `transcript`, by the model of the slot `speech_to_text`.

    Raises:
        HTTPException: 422 also where the slot has none.
    """
    with site.database.read() as session:
        model = registry.get_default_model(session, SLOT)
    if model is None:
        # Without the extra there is nothing that the slot could be set to.
        import_soundfile()
        import_pocketsphinx()
        raise UnreadableError(
            f"No model hears what is said in it. Set the default slot {SLOT}: "
            f"`labext sandbox nb models default {SLOT} NAME`, then retry it."
        )
    return transcribe(site, model, path, tell)


def transcribe(site: Site, model: Model, path: Path, tell: OnStage) -> str:
    """What is said in a file of sound or film; empty where nobody speaks.

    Args:
        site: has the key of the model's server.
        model: of type `stt`.
        path: the file.
        tell: takes the stage.

    Raises:
        Unreadable: there is no sound in it, or what is needed to hear it is not installed.
        HTTPException: 502, the model's server failed; 422, it can't be asked.
    """
    if registry.is_built_in(model):
        return transcribe_built_in(path, tell)
    from labext.sandbox.nb.providers import openai

    with tempfile.TemporaryDirectory(prefix="labext-") as folder:
        sent = Path(folder, "sound.mp3")
        with decode_audio(path) as sound:
            _compress(sound, sent, tell)
        tell(f"listening, by {model.name}")
        return openai.transcribe(site, model, sent)


def transcribe_built_in(path: Path, tell: OnStage) -> str:
    """What the built-in model hears in a file.

    Raises:
        Unreadable: as `transcript`.
    """
    import_pocketsphinx()
    with decode_audio(path) as sound:
        return recognize(sound, tell)


def _compress(sound: DecodedAudio, target: Path, tell: OnStage) -> None:
    """The sound as a small MP3, since servers take but 25 MB: that is over an hour of it."""
    import numpy as np

    tell("taking the sound out")
    with import_soundfile().SoundFile(
        target,
        "w",
        samplerate=RATE,
        channels=1,
        format="MP3",
        subtype="MPEG_LAYER_III",
        bitrate_mode="CONSTANT",
        compression_level=0.7,
    ) as file:
        rest = b""
        for block in sound.blocks:  # of a pipe they may end within a sample
            block = rest + block
            file.write(np.frombuffer(block[: len(block) & ~1], "<i2"))
            rest = block[len(block) & ~1 :]
