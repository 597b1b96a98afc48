"""Record a dialogue as an MP3 with the times of its turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.podcasts.script import ENCODING, SPEECH, SpokenTurn, Turn
from labext.sandbox.nb.speech import engine, normalization
from labext.sandbox.nb.speech.audio import RATE, Samples, Sound, normalize, resample, trim_silence
from labext.sandbox.nb.speech.engine import require_packages
from labext.sandbox.nb.speech.voices import VoiceAssignments, VoiceRequests, assign_voices

_COMPRESSION = 0.5
"""80 kbit/s. The rate is constant, so that a player finds a second of the sound exactly."""


class AudioWriteError(TaskError):
    """The file did not come out whole."""

    def __init__(self) -> None:
        super().__init__(
            "The sound can't be written. See that there is room on the disk, then retry it."
        )


@contextmanager
def write_mp3(target: Path) -> Iterator[Callable[[Samples], None]]:
    """What writes samples into an MP3 of one channel, which is there at the end of the block.

    The file says by how much the encoder delays and how many samples there are, so that players
    begin and end with the sound itself.

    Args:
        target: the file; what is there is replaced. Its part lies beside it meanwhile.

    Raises:
        HTTPException: 422, what it needs is not installed.
        Broken: it can't be written.
    """
    require_packages("soundfile")
    import soundfile  # type: ignore[import-untyped]

    part = target.with_name(f"{target.name}.part")
    written = 0
    try:
        try:
            with soundfile.SoundFile(
                part,
                "w",
                samplerate=RATE,
                channels=1,
                format="MP3",
                subtype="MPEG_LAYER_III",
                bitrate_mode="CONSTANT",
                compression_level=_COMPRESSION,
            ) as file:

                def write(samples: Samples) -> None:
                    nonlocal written
                    file.write(samples)
                    written += len(samples)

                yield write
            there = soundfile.info(str(part)).frames
        except (soundfile.LibsndfileError, AssertionError):  # the latter: fewer were written
            raise AudioWriteError from None
        if there != written:
            raise AudioWriteError
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


OnProgress = Callable[[str, int, int], None]
"""Takes the stage, how much of it is done, and of how much: turns, or seconds of sound."""

(
    SILENCE_BEFORE,
    SILENCE_BETWEEN_PIECES,
    SILENCE_BETWEEN_TURNS,
    SILENCE_BETWEEN_SEGMENTS,
    SILENCE_AFTER,
) = 0.3, 0.25, 0.45, 1.2, 0.6
"""Seconds of silence."""

_MAX_WAITING = 16
"""Pieces that may wait for the encoder: some megabytes."""


@dataclass(frozen=True)
class _SpeechPiece:
    """As much of a turn as is said in one breath; `first` of its turn, or not."""

    place: int
    text: str
    first: bool


def record_dialogue(
    site: Site,
    turns: Sequence[Turn],
    cast: VoiceRequests,
    target: Path,
    tell: OnProgress,
    *,
    language: str | None = None,
) -> list[SpokenTurn]:
    """Speak a dialogue into an MP3, which is there when it is whole.

    What is spoken is written while the next is spoken, and memory doesn't grow with the length.

    Args:
        site: where the service lives.
        turns: what is said; a turn without anything that can be said is left out.
        cast: for each speaker's name the model, and a voice of it or None.
        target: the file; its folder is there.
        tell: called in this thread with `speech` and turns, then with `encoding` and seconds.
        language: of what is said: `de`; None is English.

    Returns:
        the turns with their words as they stand in the dialogue, and when they are heard, as was
        counted in the samples written.

    Raises:
        HTTPException: 422, what is needed is not installed or set, or there are too few voices;
            400, nothing can be said; 502, a model's server failed.
        Broken: the file can't be written.
    """
    voices = assign_voices(site, cast, language)
    times: dict[int, tuple[float, float]] = {}
    tell(SPEECH, 0, len(turns))
    with (
        write_mp3(target) as write,
        _encoding_thread(write) as tape,
        _synthesized(site, _split_turns(turns, language), turns, voices) as pieces,
    ):
        tape.pause(SILENCE_BEFORE)
        last = 0
        for piece, sound in pieces:
            if piece.place > last:
                last = piece.place
                tell(SPEECH, last, len(turns))
            samples = trim_silence(resample(sound))
            if not len(samples):
                continue
            begun = times.get(piece.place)
            if times:
                tape.pause(_silence_before(turns, piece, begun is not None, max(times)))
            start = begun[0] if begun else tape.seconds
            tape.put(normalize(samples))
            times[piece.place] = (start, tape.seconds)
        if not times:
            raise errors.bad_request("Nothing of the dialogue can be spoken. Generate it again.")
        tell(SPEECH, len(turns), len(turns))
        tape.pause(SILENCE_AFTER)
        for done in tape.finished():
            tell(ENCODING, int(done), int(tape.seconds))
        tell(ENCODING, int(tape.seconds), int(tape.seconds))
    return [
        SpokenTurn(turn.speaker, turn.dialogue, *(round(second, 3) for second in times[place]))
        for place, turn in enumerate(turns)
        if place in times
    ]


def _split_turns(turns: Sequence[Turn], language: str | None) -> Iterator[_SpeechPiece]:
    for place, turn in enumerate(turns):
        for number, text in enumerate(normalization.split_for_speech(turn.dialogue, language)):
            yield _SpeechPiece(place, text, number == 0)


def _silence_before(turns: Sequence[Turn], piece: _SpeechPiece, within: bool, before: int) -> float:
    """The silence before a piece; `before` is the turn that was heard last."""
    if within:
        return SILENCE_BETWEEN_PIECES
    opened = any(turn.opens for turn in turns[before + 1 : piece.place + 1])
    return SILENCE_BETWEEN_SEGMENTS if opened else SILENCE_BETWEEN_TURNS


@contextmanager
def _synthesized(
    site: Site, pieces: Iterable[_SpeechPiece], turns: Sequence[Turn], voices: VoiceAssignments
) -> Iterator[Iterator[tuple[_SpeechPiece, Sound]]]:
    """The pieces in their order with their sound; a few are spoken ahead."""
    line = CancelToken()
    at_once = max(engine.max_parallel(model) for model, _voice in voices.values())
    pool = ThreadPoolExecutor(at_once, "speaking")

    def ask(piece: _SpeechPiece) -> Future[Sound]:
        model, voice = voices[turns[piece.place].speaker]
        return pool.submit(engine.synthesize, site, model, voice, piece.text, line)

    def sounds() -> Iterator[tuple[_SpeechPiece, Sound]]:
        asked: deque[tuple[_SpeechPiece, Future[Sound]]] = deque()
        for piece in pieces:
            asked.append((piece, ask(piece)))
            if len(asked) > at_once:
                piece, sound = asked.popleft()
                yield piece, sound.result()
        while asked:
            piece, sound = asked.popleft()
            yield piece, sound.result()

    try:
        yield sounds()
    finally:
        line.cancel()
        pool.shutdown(cancel_futures=True)


class _AudioQueue:
    """Samples on their way to the encoder, which works in a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor, write: Callable[[Samples], None]) -> None:
        self._pool, self._write = pool, write
        self._waiting: deque[tuple[int, Future[None]]] = deque()
        self._length = 0

    @property
    def seconds(self) -> float:
        """How long it is so far."""
        return self._length / RATE

    def put(self, samples: Samples) -> None:
        self._length += len(samples)
        self._waiting.append((self._length, self._pool.submit(self._write, samples)))
        while len(self._waiting) > _MAX_WAITING:
            self._waiting.popleft()[1].result()

    def pause(self, seconds: float) -> None:
        import numpy as np

        self.put(np.zeros(int(seconds * RATE), np.float32))

    def finished(self) -> Iterator[float]:
        """The seconds that are encoded, until all are."""
        while self._waiting:
            length, written = self._waiting.popleft()
            written.result()
            yield length / RATE


@contextmanager
def _encoding_thread(write: Callable[[Samples], None]) -> Iterator[_AudioQueue]:
    pool = ThreadPoolExecutor(1, "encoding")
    try:
        yield _AudioQueue(pool, write)
    finally:
        pool.shutdown(cancel_futures=True)
