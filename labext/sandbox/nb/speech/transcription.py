"""Decode audio files and transcribe speech."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.extras import install_line
from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech.audio import open_mp3
from labext.sandbox.nb.tables import Model

OnStage = Callable[[str], None]
"""Called with a stage in a few words, such as `page 12 of 300`."""

RATE = 16_000
"""Sample rate that speech recognition models expect."""

BUILT_IN_MODEL = "pocketsphinx"

_BLOCK_SECONDS = 10
_CHUNK_SIZE = 64 * 1024
_TAPS = 63
_COMPRESSION = 0.7


@dataclass(frozen=True)
class Transcript:
    """The speech that a model recognized, and the probability of each of its words, if known."""

    text: str
    model: str
    confidences: tuple[float, ...] = ()


@dataclass(frozen=True)
class DecodedAudio:
    """Decoded audio in 16-bit mono samples at `RATE`, and its total duration, if known."""

    blocks: Iterator[bytes]
    seconds: float | None = None


@contextmanager
def decode_audio(path: Path) -> Iterator[DecodedAudio]:
    """Yield a file's audio, decoded by soundfile or else by ffmpeg."""
    package = _import_soundfile()
    try:
        sound = package.SoundFile(path)
    except package.LibsndfileError:
        with closing(_decode_by_ffmpeg(path)) as blocks:
            yield DecodedAudio(blocks)
        return
    with sound:
        yield DecodedAudio(_read_blocks(sound), sound.frames / sound.samplerate)


@contextmanager
def _required() -> Iterator[None]:
    """Raise UnreadableError if a package of the extra, imported in the block, isn't installed."""
    try:
        yield
    except (ImportError, OSError):  # OSError: its library is missing
        raise UnreadableError(
            "Reading audio needs packages that are not installed: "
            f"run `{install_line('speech')}`, then retry it."
        ) from None


def _import_soundfile() -> Any:
    with _required():
        import soundfile
    return soundfile


def _import_pocketsphinx() -> Any:
    with _required():
        import pocketsphinx  # type: ignore[import-untyped]
    return pocketsphinx


def _read_blocks(sound: Any) -> Iterator[bytes]:
    """Yield a file's samples as mono at `RATE`."""
    package = _import_soundfile()
    size = sound.samplerate * _BLOCK_SECONDS
    try:
        for block in sound.blocks(blocksize=size, dtype="float32", always_2d=True):
            yield _resample(block.mean(axis=1), sound.samplerate)
    except package.LibsndfileError:
        raise UnreadableError(
            "Its audio is damaged. Record it again, or convert it to another format."
        ) from None


def _resample(mono: Any, rate: int) -> Any:
    import numpy as np

    if rate > RATE:  # low-pass filter against aliasing
        place = np.arange(_TAPS) - _TAPS // 2
        kernel = np.sinc(place * RATE / rate) * np.hamming(_TAPS)
        mono = np.convolve(mono, kernel / kernel.sum(), mode="same")
    if rate != RATE:
        positions = np.arange(0, len(mono), rate / RATE)
        mono = np.interp(positions, np.arange(len(mono)), mono)
    return (np.nan_to_num(mono).clip(-1, 1) * 32767).astype("<i2").tobytes()


def _decode_by_ffmpeg(path: Path) -> Generator[bytes, None, None]:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise UnreadableError(
            "Extracting its audio needs ffmpeg, which is not installed: "
            "`apt install ffmpeg` or `brew install ffmpeg`, then retry it."
        )
    # A file may refer to others: ffmpeg must not open any other protocol.
    command = [ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error"]
    command += ["-protocol_whitelist", "file,pipe", "-i", str(path)]
    command += ["-vn", "-ac", "1", "-ar", str(RATE), "-f", "s16le", "pipe:1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        has_audio = False
        try:
            while chunk := process.stdout.read(_CHUNK_SIZE):
                has_audio = True
                yield chunk
        finally:
            process.kill()
    if not has_audio:
        raise UnreadableError("It is broken, or has no audio.")


_MAX_UTTERANCE_SECONDS = 60
"""Speech without a pause is cut after this time."""


_Words = Sequence[tuple[str, float]]
"""Recognized words, each with its probability."""


def recognize(sound: DecodedAudio, on_stage: OnStage) -> Transcript:
    """Return the recognized speech, one paragraph per utterance."""
    minutes = "" if sound.seconds is None else f" of {int(sound.seconds // 60) + 1}"
    paragraphs = []
    confidences: list[float] = []
    for second, words in _utterances(_frames(sound.blocks)):
        on_stage(f"listening, minute {int(second // 60) + 1}{minutes}")
        if words:
            paragraphs.append(" ".join(word for word, _ in words))
            confidences += [probability for _, probability in words]
    return Transcript("\n\n".join(paragraphs), BUILT_IN_MODEL, tuple(confidences))


def _frames(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield frames of the length that the speech detector expects; the last may be shorter."""
    length = _import_pocketsphinx().Endpointer(sample_rate=RATE).frame_bytes
    rest = b""
    for block in blocks:
        rest += block
        whole = len(rest) - len(rest) % length
        for start in range(0, whole, length):
            yield rest[start : start + length]
        rest = rest[whole:]
    if len(rest) > 1:
        yield rest[: len(rest) & ~1]


def _utterances(frames: Iterable[bytes]) -> Iterator[tuple[float, _Words]]:
    """Yield utterances with the second of their end; no words while one is in progress."""
    package = _import_pocketsphinx()
    speech = package.Endpointer(sample_rate=RATE)
    decoder: Any = None  # loading its model takes seconds, and a file may have no speech
    started: float | None = None
    second = 0.0
    for frame in frames:
        second += len(frame) / 2 / RATE
        short = len(frame) < speech.frame_bytes
        sound = speech.end_stream(frame) if short else speech.process(frame)
        if sound is None:
            continue
        if started is None:
            if decoder is None:
                decoder = package.Decoder(samprate=RATE, loglevel="FATAL", dither=True, seed=1)
            decoder.start_utt()
            started = second
        decoder.process_raw(sound)
        if not speech.in_speech or second > started + _MAX_UTTERANCE_SECONDS:
            yield second, _finish_utterance(decoder)
            started = None
        elif int(second) != int(second - len(frame) / 2 / RATE):
            yield second, ()
    if started is not None:
        yield second, _finish_utterance(decoder)


def _finish_utterance(decoder: Any) -> _Words:
    """Return the words of the current utterance and end it."""
    decoder.end_utt()
    if decoder.hyp() is None:
        return ()
    return [
        (_PRONUNCIATION.sub("", segment.word), min(float(segment.prob), 1.0))
        for segment in decoder.seg()
        if segment.word[0] not in "<[+"  # silence and noises
    ]


_PRONUNCIATION = re.compile(r"\(\d+\)$")
"""The number of a word's pronunciation, as in `to(2)`."""

SLOT = "speech_to_text"


def transcribe_by_default(site: Site, path: Path, on_stage: OnStage) -> Transcript:
    """Transcribe as `transcribe`, with the model of the slot `speech_to_text`."""
    with site.database.read() as session:
        model = registry.get_default_model(session, SLOT)
    if model is None:
        # Without the extra, no model for the slot exists.
        _import_soundfile()
        _import_pocketsphinx()
        raise UnreadableError(
            f"No speech-to-text model is set. Set the default slot {SLOT}: "
            f"{admin_command(f'nb models default {SLOT} NAME')}, then retry it."
        )
    return transcribe(site, model, path, on_stage)


def transcribe(site: Site, model: Model, path: Path, on_stage: OnStage) -> Transcript:
    """Return the speech in an audio or video file."""
    if registry.is_built_in(model):
        return transcribe_built_in(path, on_stage)
    from labext.sandbox.nb.providers import calls

    with tempfile.TemporaryDirectory(prefix="labext-") as folder:
        upload = Path(folder, "sound.mp3")
        with decode_audio(path) as sound:
            _compress(sound, upload, on_stage)
        on_stage(f"listening, by {model.name}")
        text, confidences = calls.transcribe(site, model, upload)
        return Transcript(text, model.name, confidences)


def transcribe_built_in(path: Path, on_stage: OnStage) -> Transcript:
    """Return the speech that the built-in model recognizes in a file."""
    _import_pocketsphinx()
    with decode_audio(path) as sound:
        return recognize(sound, on_stage)


def _compress(sound: DecodedAudio, target: Path, on_stage: OnStage) -> None:
    """Write the audio as a small MP3: servers accept at most 25 MB, which is over an hour."""
    import numpy as np

    on_stage("extracting audio")
    with open_mp3(target, RATE, _COMPRESSION) as file:
        rest = b""
        for block in sound.blocks:  # blocks from a pipe may end within a sample
            block = rest + block
            file.write(np.frombuffer(block[: len(block) & ~1], "<i2"))
            rest = block[len(block) & ~1 :]
