"""A dialogue as it is heard: an MP3, and when each turn is said in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.nb import faults
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.podcasts.script import ENCODING, SPEECH, Spoken, Turn
from labext.sandbox.nb.speech import casting, encoding, engine, wording
from labext.sandbox.nb.speech.casting import Cast
from labext.sandbox.nb.speech.loudness import normalize
from labext.sandbox.nb.speech.samples import RATE, Samples, Sound, at_rate, trimmed
from labext.sandbox.service import Site

Tell = Callable[[str, int, int], None]
"""Takes the stage, how much of it is done, and of how much: turns, or seconds of sound."""

BEFORE, BETWEEN_PIECES, BETWEEN_TURNS, BETWEEN_SEGMENTS, AFTER = 0.3, 0.25, 0.45, 1.2, 0.6
"""Seconds of silence."""

_WAITING = 16
"""Pieces that may wait for the encoder: some megabytes."""


@dataclass(frozen=True)
class _Piece:
    """As much of a turn as is said in one breath; `first` of its turn, or not."""

    place: int
    text: str
    first: bool


def record(
    site: Site,
    turns: Sequence[Turn],
    cast: casting.Wanted,
    target: Path,
    tell: Tell,
    *,
    language: str | None = None,
) -> list[Spoken]:
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
    voices = casting.cast(site, cast, language)
    times: dict[int, tuple[float, float]] = {}
    tell(SPEECH, 0, len(turns))
    with (
        encoding.mp3(target) as write,
        _aside(write) as tape,
        _spoken(site, _pieces(turns, language), turns, voices) as pieces,
    ):
        tape.pause(BEFORE)
        last = 0
        for piece, sound in pieces:
            if piece.place > last:
                last = piece.place
                tell(SPEECH, last, len(turns))
            samples = trimmed(at_rate(sound))
            if not len(samples):
                continue
            begun = times.get(piece.place)
            if times:
                tape.pause(_pause(turns, piece, begun is not None, max(times)))
            start = begun[0] if begun else tape.seconds
            tape.put(normalize(samples))
            times[piece.place] = (start, tape.seconds)
        if not times:
            raise faults.invalid("Nothing of the dialogue can be spoken. Generate it again.")
        tell(SPEECH, len(turns), len(turns))
        tape.pause(AFTER)
        for done in tape.finished():
            tell(ENCODING, int(done), int(tape.seconds))
        tell(ENCODING, int(tape.seconds), int(tape.seconds))
    return [
        Spoken(turn.speaker, turn.dialogue, *(round(second, 3) for second in times[place]))
        for place, turn in enumerate(turns)
        if place in times
    ]


def _pieces(turns: Sequence[Turn], language: str | None) -> Iterator[_Piece]:
    for place, turn in enumerate(turns):
        for number, text in enumerate(wording.pieces(turn.dialogue, language)):
            yield _Piece(place, text, number == 0)


def _pause(turns: Sequence[Turn], piece: _Piece, within: bool, before: int) -> float:
    """The silence before a piece; `before` is the turn that was heard last."""
    if within:
        return BETWEEN_PIECES
    opened = any(turn.opens for turn in turns[before + 1 : piece.place + 1])
    return BETWEEN_SEGMENTS if opened else BETWEEN_TURNS


@contextmanager
def _spoken(
    site: Site, pieces: Iterable[_Piece], turns: Sequence[Turn], voices: Cast
) -> Iterator[Iterator[tuple[_Piece, Sound]]]:
    """The pieces in their order with their sound; a few are spoken ahead."""
    line = Line()
    at_once = max(engine.at_once(model) for model, _voice in voices.values())
    pool = ThreadPoolExecutor(at_once, "speaking")

    def ask(piece: _Piece) -> Future[Sound]:
        model, voice = voices[turns[piece.place].speaker]
        return pool.submit(engine.say, site, model, voice, piece.text, line)

    def sounds() -> Iterator[tuple[_Piece, Sound]]:
        asked: deque[tuple[_Piece, Future[Sound]]] = deque()
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
        line.hang_up()
        pool.shutdown(cancel_futures=True)


class _Tape:
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
        while len(self._waiting) > _WAITING:
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
def _aside(write: Callable[[Samples], None]) -> Iterator[_Tape]:
    pool = ThreadPoolExecutor(1, "encoding")
    try:
        yield _Tape(pool, write)
    finally:
        pool.shutdown(cancel_futures=True)
