"""Record a dialogue as an MP3 with the times of its turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.podcasts.draft import Draft
from labext.sandbox.nb.podcasts.script import ENCODING, SPEECH, SpokenTurn, Turn
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import normalization, synthesis
from labext.sandbox.nb.speech.audio import (
    RATE,
    Samples,
    Sound,
    normalize,
    open_mp3,
    resample,
    trim_silence,
)
from labext.sandbox.nb.speech.engines import require_packages
from labext.sandbox.nb.speech.voices import VoiceAssignments, VoiceRequests, assign_voices

_COMPRESSION = 0.5
"""80 kbit/s."""


@contextmanager
def write_mp3(target: Path) -> Iterator[Callable[[Samples], None]]:
    """Yield a function that writes samples to a mono MP3, which appears when the block ends.

    The file states the encoder delay and the number of samples, so that players skip the padding.

    Raises:
        TaskError: if the file can't be written completely.
    """
    require_packages("soundfile")
    import soundfile

    part = target.with_name(f"{target.name}.part")
    written = 0
    try:
        try:
            with open_mp3(part, RATE, _COMPRESSION) as file:

                def write(samples: Samples) -> None:
                    nonlocal written
                    file.write(samples)
                    written += len(samples)

                yield write
            is_complete = soundfile.info(str(part)).frames == written
        except (soundfile.LibsndfileError, AssertionError):  # the latter: too few samples written
            is_complete = False
        if not is_complete:
            raise TaskError(
                "The audio file can't be written. Check the free disk space, then retry it."
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the amount done and the total: turns, or seconds of audio."""

SILENCE_BEFORE, SILENCE_BETWEEN_PIECES, SILENCE_AFTER = 0.3, 0.25, 0.6
SILENCE_BETWEEN_TURNS, SILENCE_BETWEEN_SEGMENTS = 0.45, 1.2
"""Seconds of silence at these positions."""


def record_dialogue(
    site: Site,
    turns: Sequence[Turn],
    voice_requests: VoiceRequests,
    target: Path,
    on_progress: OnProgress,
    *,
    language: str | None = None,
    draft: Draft | None = None,
) -> list[SpokenTurn]:
    """Synthesize a dialogue into an MP3, which appears when it is complete.

    Synthesis runs ahead of encoding, and memory use doesn't grow with the length. Turns without
    speakable text are skipped. The draft keeps the speech of servers for a retry. The turns that
    are returned have their original text and their times, counted in samples written.

    Raises:
        TaskError: if the file can't be written completely.
    """
    import numpy as np

    voices = assign_voices(site, voice_requests, language)
    texts = (
        (place, text)
        for place, turn in enumerate(turns)
        for text in normalization.split_for_speech(turn.dialogue, language)
    )
    times: dict[int, tuple[float, float]] = {}
    frames = 0
    on_progress(SPEECH, 0, len(turns))
    with write_mp3(target) as write, _synthesized(site, texts, turns, voices, draft) as pieces:

        def add(samples: Samples) -> float:
            """Write samples, and return the seconds so far."""
            nonlocal frames
            write(samples)
            frames += len(samples)
            return frames / RATE

        def pause(seconds: float) -> float:
            return add(np.zeros(int(seconds * RATE), np.float32))

        now = pause(SILENCE_BEFORE)
        last = 0
        for place, sound in pieces:
            if place > last:
                last = place
                on_progress(SPEECH, last, len(turns))
            samples = trim_silence(resample(sound))
            if not len(samples):
                continue
            if place in times:
                now = pause(SILENCE_BETWEEN_PIECES)
            elif times:
                opened = any(turn.opens for turn in turns[max(times) + 1 : place + 1])
                now = pause(SILENCE_BETWEEN_SEGMENTS if opened else SILENCE_BETWEEN_TURNS)
            start = times[place][0] if place in times else now
            now = add(normalize(samples))
            times[place] = (start, now)
        if not times:
            raise errors.bad_request("Nothing of the dialogue can be spoken. Generate it again.")
        on_progress(SPEECH, len(turns), len(turns))
        seconds = int(pause(SILENCE_AFTER))
        on_progress(ENCODING, seconds, seconds)
    return [
        SpokenTurn(turn.speaker, turn.dialogue, round(start, 3), round(end, 3), turn.sources)
        for turn, (start, end) in ((turns[place], times[place]) for place in times)
    ]


@contextmanager
def _synthesized(
    site: Site,
    pieces: Iterable[tuple[int, str]],
    turns: Sequence[Turn],
    voices: VoiceAssignments,
    draft: Draft | None,
) -> Iterator[Iterator[tuple[int, Sound]]]:
    """Yield the audio of pieces in order with their turns' places; a few are synthesized ahead.

    A piece is given by its place and its text.
    """
    cancel_token = CancelToken()
    parallel = max(synthesis.max_parallel(model) for model, _voice in voices.values())
    pool = ThreadPoolExecutor(parallel, "speaking")

    def submit(place: int, text: str) -> Future[Sound]:
        model, voice = voices[turns[place].speaker]
        request = (site, model, voice, text, cancel_token)
        if draft is None or registry.is_built_in(model):
            return pool.submit(synthesis.synthesize, *request)
        return pool.submit(draft.synthesize, place, *request)

    def sounds() -> Iterator[tuple[int, Sound]]:
        submitted = ((place, submit(place, text)) for place, text in pieces)
        pending = deque(islice(submitted, parallel + 1))
        while pending:
            place, sound = pending.popleft()
            yield place, sound.result()
            pending.extend(islice(submitted, 1))

    try:
        yield sounds()
    finally:
        cancel_token.cancel()
        pool.shutdown(cancel_futures=True)
